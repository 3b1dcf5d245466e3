"""What those who watch a fabric are told: the timeline, probes, recordings and switches' tables."""

import random
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from fuzz.frames import Air
from support.builders.port_tables import with_shuffled_ports

from experiments.observation import pair_probes
from experiments.observation.pair_probes import (
    INTERVAL_S,
    PairProbes,
    ProbeArrivals,
    fitting_pairs,
    probe_interval_s,
)
from experiments.observation.recording import directions_down, failed_at
from experiments.observation.switch_tables import adaptive_groups
from experiments.observation.timeline import MAX_ENTRIES, Timeline
from experiments.results.link_loads import directed_links
from routing.plan.model import Output
from routing.registry import make_plan
from topology.addressing import hosts_of
from topology.registry import make_topology
from traffic.wire.layout import HEADER_BYTES
from traffic.wire.probe_codec import FrameBuffer
from traffic.wire.tags import Tagger, new_key

ER3 = make_topology("polarfly", {"q": 3})


# ---- timeline ----


def test_events_are_kept_in_order_with_their_times():
    told = []
    timeline = Timeline(told.append)
    timeline.add("fabric", "one")
    timeline.add("port", "two", incident=3, monotonic_s=time.monotonic() - 10)
    one, two = timeline.entries()
    assert told == [one, two]
    assert (one.number, one.kind, one.text, one.incident) == (0, "fabric", "one", None)
    assert (two.number, two.incident) == (1, 3)
    assert 0 <= one.time_s <= timeline.now_s
    assert two.time_s == pytest.approx(-10, abs=1)


def test_old_events_are_forgotten_but_counted():
    timeline = Timeline()
    for number in range(MAX_ENTRIES + 5):
        timeline.add("fabric", str(number))
    assert len(timeline) == MAX_ENTRIES + 5
    kept = timeline.entries()
    assert [entry.number for entry in kept] == list(range(5, MAX_ENTRIES + 5))
    assert kept[0].text == "5"


def test_events_of_all_threads_are_told_in_the_order_of_their_numbers():
    """A client that has had an event is not told older ones: they must not come after it."""
    told = []

    def tell(entry):
        time.sleep(0.0005 if entry.number % 2 else 0)
        told.append(entry)

    timeline = Timeline(tell)
    threads = [
        threading.Thread(target=lambda: [timeline.add("fabric", "x") for _ in range(50)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.number for entry in told] == list(range(200))
    assert tuple(told) == timeline.entries()


# ---- probes ----


@pytest.mark.parametrize("rate_bps", [100_000, 2_000_000, 10_000_000, 10**9])
@pytest.mark.parametrize("pairs", [1, 2, 16])
def test_probes_take_at_most_a_twentieth_of_a_link(pairs, rate_bps):
    interval_s = probe_interval_s(pairs, rate_bps)
    assert interval_s >= INTERVAL_S
    share = pairs * HEADER_BYTES * 8 / (interval_s * rate_bps)
    assert share <= 0.05 * (1 + 1e-9)
    assert interval_s == INTERVAL_S or share == pytest.approx(0.05)


@pytest.mark.parametrize("rate_bps", [100_000, 2_000_000, 10_000_000, 10**9])
def test_pairs_that_fit_are_probed_at_the_full_pace_and_one_more_is_not(rate_bps):
    fitting = fitting_pairs(rate_bps)
    assert probe_interval_s(fitting, rate_bps) == INTERVAL_S
    assert probe_interval_s(fitting + 1, rate_bps) > INTERVAL_S


def probes(*arrived, sent_s, interval_s=INTERVAL_S, begun_s=0.0):
    """Returns the arrivals of probes that were sent at some times: each pair's (sequence, time)."""
    made = ProbeArrivals(len(arrived), interval_s, begun_s)
    made.sent_s[:], made.arrived[:] = sent_s, map(list, arrived)
    return made


def steady(sequences, interval_s=INTERVAL_S):
    """Returns the arrivals of probes that come a millisecond after they were sent."""
    return [(sequence, sequence * interval_s + 0.001) for sequence in sequences]


SENT_S = [number * INTERVAL_S for number in range(101)]  # until 1.0 s


def test_overtaken_and_overdue_probes_are_lost():
    whole = steady(range(101))
    made = probes(whole, whole[:40] + whole[43:], sent_s=SENT_S)
    assert made.sent == 202
    assert made.lost(1.0) == 3
    silent = probes(whole, whole[:40], sent_s=SENT_S)
    assert silent.lost(0.395) == 0  # those under way may come yet
    assert silent.lost(1.0) == 10  # sent before 0.5 s: 40 to 49
    assert silent.lost(9.0) == 61
    assert probes([], sent_s=[]).lost(5.0) == 0
    assert probes([], sent_s=SENT_S).lost(9.0) == 101


def test_a_pair_is_silent_after_three_intervals():
    whole = steady(range(101))
    made = probes(whole, whole[:-2], sent_s=SENT_S)
    assert not made.silent(1.005)
    assert made.silent(whole[-3][1] + 3.1 * INTERVAL_S)
    unheard = probes(whole, [], sent_s=SENT_S, begun_s=0.99)
    assert not unheard.silent(1.0)
    assert unheard.silent(1.03)


def test_the_longest_silence_is_that_of_one_pair_around_the_change():
    whole = steady(range(101))
    gap = whole[:50] + whole[70:]
    made = probes(whole, gap, sent_s=SENT_S)
    assert made.longest_silence_s(1.002, 0.5) == pytest.approx(21 * INTERVAL_S)
    assert made.longest_silence_s(1.002, 0.8) == pytest.approx(INTERVAL_S)  # a change after it
    unheard = probes(whole, gap, sent_s=[number * INTERVAL_S for number in range(201)])
    assert unheard.longest_silence_s(2.001, 0.8) == pytest.approx(1.0)  # it goes on
    early = whole[:10] + whole[60:]
    assert probes(early, sent_s=SENT_S).longest_silence_s(1.002, 0.5) == pytest.approx(0.51)


def test_the_longest_silence_of_rare_probes_begins_with_the_last_one_before_the_change():
    """On slow links probes are further apart than the span before the change that is looked at."""
    sent_s = [number * 0.2 for number in range(20)]
    whole = steady(range(20), 0.2)
    made = probes(whole[:5] + whole[15:], sent_s=sent_s, interval_s=0.2)
    assert made.longest_silence_s(3.802, 0.9) == pytest.approx(11 * 0.2)


def test_a_machine_that_does_not_send_makes_no_silence():
    sent_s = [number * INTERVAL_S + (0.4 if number >= 50 else 0.0) for number in range(100)]
    whole = [(number, time_s + 0.001) for number, time_s in enumerate(sent_s)]
    made = probes(whole, sent_s=sent_s)
    assert made.longest_silence_s(1.392, 0.48) == pytest.approx(INTERVAL_S)
    lost = probes(whole[:45] + whole[60:], sent_s=sent_s)  # beside it 16 intervals of silence
    assert lost.longest_silence_s(1.392, 0.44) == pytest.approx(16 * INTERVAL_S)


def test_a_pair_that_is_first_heard_late_was_silent_from_the_start():
    whole = steady(range(101))
    assert probes([], sent_s=SENT_S).longest_silence_s(0.79, 0.05) == pytest.approx(0.79)
    later = probes(whole[80:], sent_s=SENT_S)
    assert later.longest_silence_s(1.002, 0.05) == pytest.approx(0.801)  # not less than before


def test_pairs_are_heard_again_when_the_last_of_them_is():
    whole = steady(range(101))
    short, long = whole[:51] + whole[60:], whole[:51] + whole[80:]
    assert probes(whole, short, long, sent_s=SENT_S).recovered_s(0.505, 1.002) == pytest.approx(0.801)
    assert probes(whole, short, sent_s=SENT_S).recovered_s(0.505, 1.002) == pytest.approx(0.601)
    assert probes(whole, sent_s=SENT_S).recovered_s(0.505, 1.002) == 0.505  # nothing was broken
    inner = whole[:53] + whole[60:]  # it fails a little after the change
    assert probes(inner, sent_s=SENT_S).recovered_s(0.505, 1.002) == pytest.approx(0.601)


def test_pairs_are_not_heard_again_while_one_is_silent_or_too_early():
    whole = steady(range(101))
    assert probes(whole, whole[:51], sent_s=SENT_S).recovered_s(0.505, 1.002) is None
    assert probes(whole, [], sent_s=SENT_S).recovered_s(0.505, 1.002) is None
    fell_silent = whole[:51] + whole[60:90]
    assert probes(fell_silent, sent_s=SENT_S).recovered_s(0.505, 1.002) is None
    just_now = whole[:51] + whole[98:]
    assert probes(just_now, sent_s=SENT_S).recovered_s(0.505, 1.002) is None
    assert probes(whole[:52], sent_s=SENT_S[:52]).recovered_s(0.505, 0.52) is None


# ---- recordings ----


def test_elements_have_failed_from_their_failure_to_their_restoration():
    happened = [
        (1.0, "fail link:s1-s10"),
        (2.0, "fail controller"),
        (2.0, "replan"),
        (3.0, "restore link:s1-s10"),
        (4.0, "restore switch:s4"),
        (5.0, "restore controller"),
    ]
    expected = {
        0.9: (),
        1.0: ("link:s1-s10",),
        2.5: ("link:s1-s10", "controller"),
        3.0: ("controller",),
        4.5: ("controller",),
        5.0: (),
    }
    assert {time_s: failed_at(happened, time_s) for time_s in expected} == expected
    assert failed_at([(0.0, "fail switch:s1"), (1.0, "fail switch:s1")], 2.0) == ("switch:s1",)


def test_directions_of_links_are_down_with_the_link_or_one_of_its_switches():
    places = directed_links(ER3)

    def names(failed):
        return {(places[at].name, places[at].port) for at in directions_down(ER3, failed)}

    assert directions_down(ER3, ()) == ()
    assert directions_down(ER3, ("controller", "hang:s2", "link:s1-h1_1")) == ()
    assert {name for name, _ in names(("link:s1-s10", "controller"))} == {"s1-s10", "s10-s1"}
    dead = names(("switch:s1",))
    neighbours = [f"s{one + 1}" for one in ER3.neighbours(0)]
    assert {name for name, _ in dead} == {
        name for other in neighbours for name in (f"s1-{other}", f"{other}-s1")
    }
    assert directions_down(ER3, ("switch:s1", "link:s1-s10")) == directions_down(ER3, ("switch:s1",))
    assert list(directions_down(ER3, ("switch:s1",))) == sorted(directions_down(ER3, ("switch:s1",)))


# ---- adaptive groups ----

FABRIC = SimpleNamespace(options=SimpleNamespace(topology=ER3))


def dumped(group, buckets):
    """Returns the line in which `ovs-ofctl dump-groups` tells a select group whose buckets hand over."""
    made = (
        f"bucket=bucket_id:{number},weight:1,actions=group:{bucket.actions[-1].group}"
        for number, bucket in enumerate(buckets)
    )
    return f"group_id={group.number},type=select,selection_method=dp_hash," + ",".join(made)


def first_link(topology, plan, bucket):
    """Returns the link of the first output behind a bucket, followed by hand."""
    groups = {group.number: group for group in plan.groups}
    actions = bucket.actions
    while not isinstance(actions[-1], Output):
        actions = groups[actions[-1].group].buckets[0].actions
    place = topology.link_ports(plan.router).tolist().index(actions[-1].port)
    return f"s{plan.router + 1}-s{topology.neighbours(plan.router)[place] + 1}"


@pytest.mark.parametrize("topology", [ER3, with_shuffled_ports(ER3, 1)], ids=["default", "given"])
@pytest.mark.parametrize("routing", ["ugal-pf", "ugal"])
def test_adaptive_groups_name_the_links_that_their_buckets_point_at(routing, topology):
    fabric = SimpleNamespace(options=SimpleNamespace(topology=topology))
    for plan in make_plan(topology, 1, routing).switches:
        groups = [group for group in plan.groups if group.candidates]
        assert groups
        for group in groups:
            minimal, detour = group.candidates[0], group.candidates[-1]
            lines = (dumped(group, [minimal] * 24 + [detour] * 40),)
            [told] = adaptive_groups(fabric, plan, lines)
            assert told.group == f"{group.number:#x}"
            first, beside = (first_link(topology, plan, bucket) for bucket in (minimal, detour))
            assert told.minimal == first
            expected = {beside: 40}
            expected[first] = expected.get(first, 0) + 24
            assert told.buckets == expected


def test_other_lines_of_groups_are_no_adaptive_groups():
    plan = make_plan(ER3, 1, "ugal-pf").switches[2]
    group = next(group for group in plan.groups if group.candidates)
    other = next(one for one in plan.groups if not one.candidates)
    assert adaptive_groups(FABRIC, plan, ()) == ()
    head = "NXST_GROUP_DESC reply (xid=0x2):"
    foreign = "group_id=99999,type=all,bucket=bucket_id:0,actions=output:1"
    known = f"group_id={other.number},type=indirect,bucket=bucket_id:0,actions=dec_ttl,output:1"
    assert adaptive_groups(FABRIC, plan, (head, "", foreign, known)) == ()
    [told] = adaptive_groups(FABRIC, plan, (dumped(group, []),))
    assert told.buckets == {}
    unknown = f"group_id={group.number},type=select,bucket=bucket_id:0,weight:1,actions=group:77777"
    [told] = adaptive_groups(FABRIC, plan, (unknown,))
    assert told.buckets == {"no link": 1}


def test_oblivious_routings_have_no_adaptive_groups():
    plan = make_plan(ER3, 1, "min").switches[0]
    lines = tuple(f"group_id={group.number},type=select" for group in plan.groups)
    assert adaptive_groups(FABRIC, plan, lines) == ()


@pytest.mark.parametrize("sequence", [0, 1, 1 << 40, (1 << 64) - 1])
def test_probes_that_a_host_makes_up_are_no_arrivals(sequence, monkeypatch):
    def made_up(frame, _rng):
        buffer = FrameBuffer(frame, 1, Tagger(new_key()))
        ends = (np.array([host.ip], np.uint32) for host in hosts_of(ER3, 1)[:2])
        buffer.fill(*ends, np.zeros(1, int), np.array([sequence], np.uint64))
        buffer.stamp(0, 1, time.time_ns())
        return bytes(buffer.views[0])

    air = Air(random.Random(1), made_up=20, lies=made_up)
    monkeypatch.setattr(pair_probes, "Receivers", air.receivers)
    monkeypatch.setattr(pair_probes, "open_all", air.open_all)
    hosts = hosts_of(ER3, 1)[:2]
    interface = lambda host: (1, host.name)  # noqa: E731
    network = SimpleNamespace(host_interface=interface, switch_interface=interface)
    made = PairProbes(SimpleNamespace(network=network), [hosts], 1, INTERVAL_S)
    now_s = time.monotonic()
    for _ in range(10):
        made.send(now_s)
        made.receive()
    assert made.lost(now_s) == 0
    assert made.longest_silence_s(now_s, now_s) < 1
    air.loss = 1.0
    made.send(now_s)
    made.receive()
    assert made.lost(now_s + 9) == 1
