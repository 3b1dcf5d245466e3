"""Schedules: repeatable, ascending, for the right hosts."""

import json
from dataclasses import replace

import numpy as np
import pytest

from traffic.workload.arrivals import CHUNK_EVENTS
from traffic.workload.patterns import Pattern
from traffic.workload.schedule import (
    AllPairsSchedule,
    ConsecutiveSchedule,
    PatternSchedule,
    ProbeSchedule,
    ProbeStream,
    schedule_from_dict,
)

SECOND_NS = 1_000_000_000
POISSON = PatternSchedule(Pattern("uniform", 20), 500.0, 4 * SECOND_NS, 8, 1)
FIELDS = ("time_ns", "source", "destination", "flow", "sequence")


def all_events(schedule) -> dict[str, np.ndarray]:
    chunks = list(schedule.chunks())
    return {name: np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in FIELDS}


@pytest.fixture(scope="module")
def events() -> dict[str, np.ndarray]:
    return all_events(POISSON)


def test_the_same_seed_offers_the_same_packets(events):
    again = all_events(replace(POISSON))
    assert all(np.array_equal(events[name], again[name]) for name in FIELDS)


def test_another_seed_offers_others(events):
    other = all_events(replace(POISSON, seed=2))
    size = min(len(events["time_ns"]), len(other["time_ns"]))
    for name in ("time_ns", "source", "destination", "flow"):
        assert not np.array_equal(events[name][:size], other[name][:size])


def test_a_longer_run_begins_like_a_shorter_one(events):
    longer = all_events(replace(POISSON, duration_ns=6 * SECOND_NS))
    size = len(events["time_ns"])
    assert len(longer["time_ns"]) > size
    assert all(np.array_equal(longer[name][:size], events[name]) for name in FIELDS)


def test_times_ascend_within_the_duration(events):
    assert np.all(np.diff(events["time_ns"]) >= 0)
    assert events["time_ns"][0] >= 0
    assert events["time_ns"][-1] < POISSON.duration_ns == POISSON.end_ns


def test_flows_are_drawn_evenly(events):
    counts = np.bincount(events["flow"])
    assert len(counts) == 8
    assert counts.min() > 0.9 * counts.mean()


def test_numbers_of_a_source_count_up_from_zero(events):
    for source in range(20):
        numbers = events["sequence"][events["source"] == source]
        assert np.array_equal(numbers, np.arange(len(numbers)))


def test_chunks_are_bounded_and_not_empty():
    sizes = [len(chunk) for chunk in POISSON.chunks()]
    assert sum(sizes) > 10 * CHUNK_EVENTS
    assert set(sizes[:-1]) == {CHUNK_EVENTS}
    assert 0 < sizes[-1] <= CHUNK_EVENTS


def test_a_run_too_short_for_a_packet_has_none():
    assert list(replace(POISSON, duration_ns=1).chunks()) == []


@pytest.mark.parametrize("hosts", [2, 3, 7, 50])
def test_all_pairs_covers_every_ordered_pair_once(hosts):
    events = all_events(AllPairsSchedule(hosts, 1000))
    pairs = events["source"] * hosts + events["destination"]
    apart = ~np.eye(hosts, dtype=bool)
    assert sorted(pairs.tolist()) == np.flatnonzero(apart).tolist()


def test_all_pairs_gives_each_host_one_packet_a_round():
    schedule = AllPairsSchedule(7, 1000)
    events = all_events(schedule)
    assert np.all(np.diff(events["time_ns"]) >= 0)
    rounds = events["time_ns"] // 1000
    for number in range(6):
        here = rounds == number
        assert sorted(events["source"][here]) == sorted(events["destination"][here]) == list(range(7))
    assert rounds.max() == 5
    assert events["time_ns"].max() < schedule.end_ns


def test_all_pairs_leaves_out_what_is_to_be_skipped():
    hosts = 6
    skip = (*range(0, 36, 7), 1, 8, 33)
    events = all_events(AllPairsSchedule(hosts, 1000, tuple(sorted(skip))))
    sent = set((events["source"] * hosts + events["destination"]).tolist())
    assert sent == set(range(36)) - set(skip)
    assert len(events["source"]) == len(sent)


def test_all_pairs_numbers_count_up_per_source_and_flow_is_the_first():
    events = all_events(AllPairsSchedule(5, 1000, (1,)))
    assert events["sequence"][events["source"] == 0].tolist() == [0, 1, 2]
    assert events["sequence"][events["source"] == 1].tolist() == [0, 1, 2, 3]
    assert not events["flow"].any()


def test_all_pairs_chunks_are_bounded_for_many_hosts():
    schedule = AllPairsSchedule(CHUNK_EVENTS + 5, 10**9)
    chunks = schedule.chunks()
    assert [len(next(chunks)) for _ in range(4)] == [CHUNK_EVENTS, 5, CHUNK_EVENTS, 5]


@pytest.mark.parametrize("schedule", [POISSON, AllPairsSchedule(5, 1000, (0, 6))], ids=["poisson", "pairs"])
def test_settings_survive_json(schedule):
    again = schedule_from_dict(json.loads(json.dumps(schedule.to_dict())))
    assert again == schedule
    assert again.end_ns == schedule.end_ns


def test_consecutive_schedules_are_their_parts_one_after_the_other():
    uniform = PatternSchedule(Pattern("uniform", 4), 1000.0, 2 * SECOND_NS, 8, seed=1)
    fixed = PatternSchedule(Pattern("fixed", 4, (1, 2, 3, 0)), 500.0, SECOND_NS, 8, seed=1)
    both = ConsecutiveSchedule((uniform, fixed))
    assert both.end_ns == 3 * SECOND_NS
    events = list(both.chunks())
    times = np.concatenate([e.time_ns for e in events])
    sources = np.concatenate([e.source for e in events])
    assert (np.diff(times) >= 0).all()
    first = sum(map(len, uniform.chunks()))
    assert len(times) == first + sum(map(len, fixed.chunks()))
    assert times[first] >= 2 * SECOND_NS > times[first - 1]
    numbers = np.concatenate([e.sequence for e in events])
    for host in range(4):
        assert (numbers[sources == host] == np.arange((sources == host).sum())).all()
    again = schedule_from_dict(json.loads(json.dumps(both.to_dict())))
    assert again == both


def test_probes_are_steady_and_spread_over_their_interval():
    streams = (ProbeStream((1, 7, 14), 3000), ProbeStream((2, 8), 10_000))
    probes = ProbeSchedule(4, streams, 60_000)
    events = list(probes.chunks())
    times = np.concatenate([e.time_ns for e in events])
    pairs = np.concatenate([e.source * 4 + e.destination for e in events])
    flows = np.concatenate([e.flow for e in events])
    assert (np.diff(times) >= 0).all()
    assert times[flows == 0].tolist() == list(range(0, 60_000, 1000))
    assert pairs[flows == 0].tolist() == [1, 7, 14] * 20
    assert times[flows == 1].tolist() == list(range(0, 60_000, 5000))
    numbers = np.concatenate([e.sequence for e in events])
    for host in range(4):
        mine = numbers[pairs // 4 == host]
        assert (mine == np.arange(len(mine))).all()
    assert schedule_from_dict(json.loads(json.dumps(probes.to_dict()))) == probes


def test_many_probes_come_in_bounded_chunks_and_none_is_left_out():
    stream = ProbeStream(tuple(range(1, 5000)), 50_000_000)
    chunks = list(ProbeSchedule(100, (stream,), 200_000_000).chunks())
    assert max(map(len, chunks)) <= CHUNK_EVENTS
    assert sum(map(len, chunks)) == 4 * 4999


def test_no_pairs_are_no_probes():
    assert list(ProbeSchedule(3, (ProbeStream((), 1000),), 10_000).chunks()) == []
