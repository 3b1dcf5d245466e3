"""The control law of UGAL_PF: what it moves, what it leaves, and where it settles."""

import os
import socket
from collections import Counter

import pytest

from controller.adaptation import BUCKETS, HIGH, LOW, MOST_MOVED, REST, SwitchAdapter, out_port
from controller.adaptive_loop import AdaptiveLoop
from controller.detour_groups import FAR_GROUPS
from controller.handover import Queues, channel, receive_queues, send_queues
from controller.occupancy import SwitchQueues
from controller.routings import make_plan
from topology.polarfly import PolarFly

ROUTER = 20
PLAN = make_plan(PolarFly(5), 1, "ugal-pf")
SWITCH = PLAN.switches[ROUTER]
PORTS = range(1, 7)


def shares(groups, port):
    """Returns how many buckets of a port's far group send by which port."""
    (group,) = [g for g in groups if g.number == FAR_GROUPS + port]
    return Counter(map(out_port, group.buckets))


def after(adapter, occupancies, steps):
    """Returns every change of a number of steps under the same occupancies."""
    return [changed for _ in range(steps) if (changed := adapter.update(occupancies))]


def test_nothing_changes_while_nothing_is_congested():
    adapter = SwitchAdapter(SWITCH)
    for occupancy in (0.0, LOW, 0.5, HIGH):
        assert adapter.update(dict.fromkeys(PORTS, occupancy)) == []


def test_a_port_over_two_thirds_sends_some_buckets_to_the_emptiest_neighbours():
    changed = SwitchAdapter(SWITCH).update({1: 1.0, 2: 0.5, 3: 0.1, 4: 0.5, 5: 0.5, 6: 0.5})
    assert {group.number & 0xFFF for group in changed} == {1}
    assert shares(changed, 1) == {1: BUCKETS - MOST_MOVED, 3: MOST_MOVED}


def test_every_bucket_is_one_that_the_proof_covered():
    adapter = SwitchAdapter(SWITCH)
    for _ in range(50):
        for group in adapter.update({1: 1.0, 4: 0.9}):
            assert set(group.buckets) <= set(group.alternatives)
            assert len(group.buckets) == BUCKETS


def test_detours_are_spread_over_equally_empty_neighbours():
    counts = shares(after(SwitchAdapter(SWITCH), {1: 1.0}, 4 * (REST + 1))[-1], 1)
    assert max(counts[port] for port in PORTS[1:]) - min(counts[port] for port in PORTS[1:]) <= 1


def test_where_all_ports_are_full_nothing_moves():
    adapter = SwitchAdapter(SWITCH)
    for _ in range(20):
        assert adapter.update(dict.fromkeys(PORTS, 1.0)) == []


def test_traffic_goes_back_one_bucket_at_a_time_when_the_port_is_free():
    adapter = SwitchAdapter(SWITCH)
    moved = MOST_MOVED * len(after(adapter, {1: 1.0}, 3 * (REST + 1)))
    counts = [shares(changed, 1)[1] for changed in after(adapter, dict.fromkeys(PORTS, 0.0), 100 * REST)]
    assert counts == list(range(BUCKETS - moved + 1, BUCKETS + 1))


def test_a_group_rests_after_a_change():
    assert len(after(SwitchAdapter(SWITCH), {1: 1.0}, 5 * (REST + 1))) == 5


def test_a_crowded_detour_is_relieved():
    adapter = SwitchAdapter(SWITCH)
    adapter.update({1: 1.0, 3: 0.5, 4: 0.5, 5: 0.5, 6: 0.5})
    changes = after(adapter, {1: 0.5, 2: 1.0, 3: 0.5, 4: 0.5, 5: 0.5, 6: 0.0}, 20)
    # Groups whose own port is 2 are relieved, too.
    first = next(c for c in changes if any(group.number == FAR_GROUPS + 1 for group in c))
    assert shares(first, 1) == {1: BUCKETS - MOST_MOVED, 2: MOST_MOVED - 1, 6: 1}


@pytest.mark.parametrize("demand", [1.2, 1.5, 2.0, 3.0])
def test_the_share_settles_where_the_port_is_busy_and_nobody_flaps(demand):
    """A queue of 32 packets that is served 62.5 times a second and offered `demand` times as many."""
    adapter = SwitchAdapter(SWITCH)
    queue, minimal = 0.0, BUCKETS
    kept, changes, passed = [], 0, 0.0
    for step in range(600):
        arriving = demand * 62.5 * 0.05 * minimal / BUCKETS
        leaving = min(queue + arriving, 62.5 * 0.05)
        queue = min(32.0, queue + arriving - leaving)
        changed = [g for g in adapter.update({1: queue / 32}) if g.number == FAR_GROUPS + 1]
        if changed:
            minimal = shares(changed, 1)[1]
        if step >= 300:
            kept.append(minimal / BUCKETS)
            changes += bool(changed)
            passed += leaving
    assert passed / (300 * 62.5 * 0.05) > 0.95
    assert sum(kept) / len(kept) == pytest.approx(1 / demand, rel=0.15)
    assert max(kept) - min(kept) < 0.35


def test_the_loop_asks_only_ready_switches_and_counts_what_it_changes():
    class Source:
        def read(self):
            return {ROUTER + 1: {1: 1.0}, 2: {1: 1.0}}

    loop = AdaptiveLoop(PLAN, Source())
    assert list(loop.step(frozenset())) == []
    ((number, groups),) = loop.step(frozenset({ROUTER + 1}))
    assert number == ROUTER + 1
    assert loop.groups_modified == len(groups) == 2
    loop.reset(ROUTER + 1)
    ((_, again),) = loop.step(frozenset({ROUTER + 1}))
    assert again == groups


def test_sockets_of_many_switches_are_handed_over():
    ours, theirs = channel()
    reading, writing = os.pipe()
    queues = Queues({n: SwitchQueues(reading, {1000 + n: 1, 2000 + n: 2}) for n in range(1, 258)}, 32)
    try:
        send_queues(ours, queues)
        received = receive_queues(theirs)
        assert received.queue_packets == 32
        assert {n: s.ports for n, s in received.switches.items()} == {
            n: s.ports for n, s in queues.switches.items()
        }
        os.write(writing, b"x")
        assert os.read(received.switches[257].descriptor, 1) == b"x"
    finally:
        for switch in received.switches.values():
            os.close(switch.descriptor)
        for descriptor in (reading, writing):
            os.close(descriptor)
        ours.close()
        theirs.close()


def test_a_handover_that_is_cut_short_is_told():
    ours, theirs = channel()
    ours.shutdown(socket.SHUT_RDWR)
    ours.close()
    with theirs, pytest.raises(OSError, match="not handed over"):
        receive_queues(theirs)
