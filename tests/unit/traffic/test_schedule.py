"""Schedules and patterns: repeatable, ascending, at the right rate, to the right hosts."""

import json
from dataclasses import replace

import numpy as np
import pytest

from topology.errors import ParameterError, UsageError
from traffic.workload.events import CHUNK_EVENTS, number_per_source
from traffic.workload.patterns import Pattern, check_load, split_name
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


# ---- Bernoulli and constant ----

SLOTTED = replace(POISSON, arrivals="bernoulli", most_packets_per_s=1000.0)
CONSTANT = replace(POISSON, arrivals="constant")


@pytest.mark.parametrize("schedule", [SLOTTED, CONSTANT], ids=["bernoulli", "constant"])
def test_other_arrivals_are_as_many_in_order_and_repeatable(schedule):
    found, again = (
        all_events(schedule),
        all_events(schedule_from_dict(json.loads(json.dumps(schedule.to_dict())))),
    )
    assert all(np.array_equal(found[name], again[name]) for name in FIELDS)
    assert np.all(np.diff(found["time_ns"]) >= 0)
    assert found["time_ns"][-1] < 4 * SECOND_NS
    assert len(found["time_ns"]) == pytest.approx(20 * 500 * 4, rel=0.02)
    assert max(len(chunk) for chunk in schedule.chunks()) <= CHUNK_EVENTS
    for source in range(20):
        assert found["sequence"][found["source"] == source].tolist() == list(
            range((found["source"] == source).sum())
        )


def test_bernoulli_hosts_send_in_packet_times_of_their_own_by_chance():
    found = all_events(SLOTTED)
    for source in range(20):
        times = found["time_ns"][found["source"] == source]
        gaps = np.diff(times) / 1e6  # a packet time is 1 ms
        assert np.abs(gaps - np.round(gaps)).max() < 0.01
        assert gaps.min() > 0.99
        # In half of the packet times one is sent: gaps are geometric, with mean 2 and deviation 1.41.
        assert gaps.mean() == pytest.approx(2, rel=0.1)
        assert gaps.std() == pytest.approx(2**0.5, rel=0.15)


def test_constant_hosts_send_at_even_distances():
    found = all_events(CONSTANT)
    for source in range(20):
        gaps = np.diff(found["time_ns"][found["source"] == source])
        assert np.abs(gaps - 2_000_000).max() <= 1


# ---- Poisson ----


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


@pytest.mark.parametrize(("rate", "hosts"), [(500.0, 20), (3.5, 7), (2000.0, 2)])
def test_rate_is_right_within_three_standard_deviations(rate, hosts):
    pattern = Pattern("uniform", hosts)
    schedule = replace(POISSON, packets_per_s=rate, pattern=pattern, duration_ns=10 * SECOND_NS)
    expected = rate * hosts * 10
    count = len(all_events(schedule)["time_ns"])
    assert abs(count - expected) <= 3 * expected**0.5


def test_every_host_sends_about_equally_much(events):
    counts = np.bincount(events["source"], minlength=20)
    assert np.all(np.abs(counts - 2000) < 4.5 * 2000**0.5)


def test_gaps_of_one_host_are_exponential(events):
    gaps = np.diff(events["time_ns"][events["source"] == 3])
    # An exponential distribution's standard deviation is its mean; a regular sender's would be 0.
    assert np.std(gaps) == pytest.approx(np.mean(gaps), rel=0.1)
    assert np.median(gaps) == pytest.approx(np.log(2) * np.mean(gaps), rel=0.1)


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


# ---- patterns ----


def test_uniform_never_sends_to_itself_and_covers_all_others_equally():
    hosts, each = 9, 8000
    sources = np.repeat(np.arange(hosts), each)
    destinations = Pattern("uniform", hosts).destinations(sources, np.random.default_rng(5))
    counts = np.zeros((hosts, hosts), int)
    np.add.at(counts, (sources, destinations), 1)
    assert not counts.diagonal().any()
    others = counts[~np.eye(hosts, dtype=bool)]
    assert np.all(np.abs(others - each / (hosts - 1)) < 4.5 * (each / (hosts - 1)) ** 0.5)


@pytest.mark.parametrize("name", ["", "Uniform", "nonsense"])
def test_unknown_pattern_is_refused_with_those_that_exist(name):
    with pytest.raises(UsageError, match=f"uniform, got '{name}'.*allreduce"):
        split_name(name)


@pytest.mark.parametrize("load", [1e-6, 0.3, 1, 1.0])
def test_possible_loads(load):
    check_load(load)


@pytest.mark.parametrize("load", [0, 1.5, -1, 1.0001, float("nan"), float("inf")])
def test_impossible_loads_are_refused(load):
    with pytest.raises(ParameterError, match=f"over 0 and at most 1, got {load:g}"):
        check_load(load)


# ---- all pairs ----


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


# ---- as settings, and numbering ----


@pytest.mark.parametrize("schedule", [POISSON, AllPairsSchedule(5, 1000, (0, 6))], ids=["poisson", "pairs"])
def test_settings_survive_json(schedule):
    again = schedule_from_dict(json.loads(json.dumps(schedule.to_dict())))
    assert again == schedule
    assert again.end_ns == schedule.end_ns


def test_number_per_source_goes_on_where_it_stopped():
    sent = np.array([5, 0, 2])
    numbers = number_per_source(np.array([2, 0, 2, 2, 0]), sent)
    assert numbers.tolist() == [2, 5, 3, 4, 6]
    assert sent.tolist() == [7, 0, 5]


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
