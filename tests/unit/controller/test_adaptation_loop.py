"""The adaptive loop: the switches it asks, its changes, and the end of all detours on request."""

from controller.adaptation_loop import LEAST_STEP_S, MOST_STEP_S, AdaptiveLoop, step_s
from routing.registry import make_plan
from topology.families.polarfly import PolarFly

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
    assert step_s(10**9, 32) == LEAST_STEP_S
    assert step_s(10_000, 32) == MOST_STEP_S


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
    requests = [True, True]
    loop = AdaptiveLoop(
        PLAN, FixedSource({DATAPATH: {1: 1.0}}), restore_requested=lambda: bool(requests and requests.pop())
    )
    ready = frozenset({DATAPATH})
    (restored, changed) = loop.step(ready)
    assert restored == (DATAPATH, [])
    assert loop.restored == 1
    (datapath_id, groups), *_ = loop.step(ready)
    assert datapath_id == DATAPATH
    assert {group.number for group in groups} == {group.number for group in changed[1]}
    assert loop.restored == 2
    list(loop.step(ready))
    assert loop.restored == 2


def test_the_problems_of_the_source_and_of_the_adaptation_are_gathered():
    loop = AdaptiveLoop(PLAN, FixedSource({}))
    for _ in range(2):
        loop.add_problem("s3 refuses a group")
    assert loop.new_problems() == ["port 4 of s7 has lost its queue", "s3 refuses a group"]
    assert loop.new_problems() == ["port 4 of s7 has lost its queue"]  # this source repeats itself
