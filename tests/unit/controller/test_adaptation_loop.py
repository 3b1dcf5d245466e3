"""The adaptive loop: the switches it asks, its changes, and the end of all detours on request."""

from controller.adaptation_loop import MAX_STEP_S, MIN_STEP_S, AdaptiveLoop, step_s
from controller.occupancy.queue_handoff import AdaptationRequest
from controller.openflow.commands import Message, PutGroup
from routing.registry import make_plan
from routing.replan.replan import surviving_plan
from topology.drains import drain_of
from topology.failures import NO_FAILURE
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import parse_drained

PLAN = make_plan(PolarFly(5), 1, "ugal-pf")
DATAPATH = 21


class FixedSource:
    """A source that always reads the same."""

    def __init__(self, occupancies):
        self.occupancies = occupancies

    def due(self, _ready, _now_s):
        return []

    def read(self):
        return self.occupancies

    def new_problems(self):
        return ["port 4 of s7 has lost its queue"]


def test_a_step_is_a_tenth_of_a_full_queues_drain_within_bounds():
    assert step_s(500_000, 32) == 32 * 1000 * 8 / 500_000 / 10
    assert step_s(10**9, 32) == MIN_STEP_S
    assert step_s(10_000, 32) == MAX_STEP_S


def test_only_ready_switches_change_and_the_changes_are_counted():
    loop = AdaptiveLoop(PLAN, FixedSource({DATAPATH: {1: 1.0}, 2: {1: 1.0}}))
    assert list(loop.step(frozenset())) == []
    ((datapath_id, groups),) = loop.step(frozenset({DATAPATH}))
    assert datapath_id == DATAPATH
    assert loop.groups_modified == len(groups) == 2
    loop.reset(DATAPATH)
    ((_, again),) = loop.step(frozenset({DATAPATH}))
    assert again == groups


def test_a_request_ends_all_detours_before_the_next_change():
    requests = [AdaptationRequest()]
    loop = AdaptiveLoop(
        PLAN, FixedSource({DATAPATH: {1: 1.0}}), requested=lambda: requests.pop() if requests else None
    )
    ready = frozenset({DATAPATH})
    (restored, changed) = loop.step(ready)
    assert restored == (DATAPATH, [])
    assert loop.restored == 1
    requests.append(AdaptationRequest())
    (datapath_id, groups), *_ = loop.step(ready)
    assert datapath_id == DATAPATH
    assert {group.number for group in groups} == {group.number for group in changed[1]}
    assert loop.restored == 2
    list(loop.step(ready))
    assert loop.restored == 2


def test_other_parameters_hold_from_the_next_step_on_and_leave_detours_in_use():
    requests = []
    loop = AdaptiveLoop(
        PLAN, FixedSource({DATAPATH: {1: 0.5}}), requested=lambda: requests.pop() if requests else None
    )
    ready = frozenset({DATAPATH})
    assert list(loop.step(ready)) == []  # half full is below the threshold of 2/3
    requests.append(AdaptationRequest("ugal-pf:threshold=0.25,rest-detoured=0"))
    ((datapath_id, groups),) = loop.step(ready)
    assert (datapath_id, len(groups)) == (DATAPATH, 2)
    assert loop.new_names() == ["ugal-pf:threshold=0.25,rest-detoured=0"]
    assert loop.new_names() == []
    loop.reset(DATAPATH)  # a switch that is filled again has the same parameters
    assert list(loop.step(ready)) == [(DATAPATH, groups)]
    detoured = loop.detoured()
    requests.append(AdaptationRequest("ugal-pf:threshold=0.9,release=0"))
    assert list(loop.step(ready)) == []
    assert loop.detoured() == detoured > 0


def test_the_problems_of_the_source_and_of_the_adaptation_are_gathered():
    loop = AdaptiveLoop(PLAN, FixedSource({}))
    for _ in range(2):
        loop.add_problem("s3 refuses a group")
    assert loop.new_problems() == ["port 4 of s7 has lost its queue", "s3 refuses a group"]
    assert loop.new_problems() == ["port 4 of s7 has lost its queue"]  # this source repeats itself


def test_detours_stay_when_another_plan_leaves_fewer_and_none_is_over_a_drained_switch():
    graph = PLAN.topology
    neighbour = int(graph.neighbours(DATAPATH - 1)[2])  # behind port 3
    drain = drain_of(graph, parse_drained(f"s{neighbour + 1}", graph))
    drained = surviving_plan(PLAN, NO_FAILURE, drain)
    loop = AdaptiveLoop(PLAN, FixedSource({DATAPATH: {1: 1.0}}))
    ready = frozenset({DATAPATH})
    before = {group.number: group for _ in range(40) for _, groups in loop.step(ready) for group in groups}
    assert any(3 in ports_of(group) for group in before.values())
    loop.use_plan(drained)
    for group in drained.switches[DATAPATH - 1].groups:
        if group.number in before:
            (message,) = loop.adapted(DATAPATH, [Message(1, PutGroup(group, exists=True))])
            present = message.command.group
            kept = [b for b in before[group.number].buckets if b in group.candidates[1:]]
            assert sorted(map(repr, present.buckets)) == sorted(
                map(repr, kept + [group.candidates[0]] * (len(present.buckets) - len(kept)))
            )
            assert kept
    for _ in range(40):
        for _, groups in loop.step(ready):
            assert not any(3 in ports_of(group) for group in groups)


def ports_of(group):
    """Returns the ports of the detours that a group's buckets take."""
    ports = dict(zip(group.candidates, group.ports, strict=True))
    return {port for bucket in group.buckets if bucket != group.candidates[0] for port in ports[bucket]}


def piggybacking():
    """Returns a loop, its source, the datapath id of a switch, and those of its group's other gateways."""
    plan = make_plan(Dragonfly(h=4, a=8, groups=9, trunking=4), 1, "four-color-adaptive")
    group = next(one for one in plan.switches[0].groups if one.candidates)
    far = [port for port in group.far_ports[0] if port[0] != 0]
    readings = {router + 1: {port: 1.0} for router, port in far}
    source = FixedSource({**readings, 1: dict.fromkeys(group.ports[0], 0.0)})
    return AdaptiveLoop(plan, source), source, frozenset(readings)


def changed_switches(loop, ready):
    return {datapath_id for _ in range(3) for datapath_id, _ in loop.step(ready)}


def test_a_full_queue_of_another_router_moves_buckets():
    loop, _, others = piggybacking()
    assert others
    changed_switches(loop, others)
    assert 1 in changed_switches(loop, others | {1})


def test_queues_of_a_router_that_is_not_ready_or_filled_again_are_forgotten():
    for again in (True, False):
        loop, source, others = piggybacking()
        changed_switches(loop, others)
        source.occupancies = {1: source.occupancies[1]}
        for other in others if again else ():
            loop.reset(other)
        assert 1 not in changed_switches(loop, others | {1} if again else frozenset({1}))
