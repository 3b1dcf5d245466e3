"""Arrival processes: their rates, gaps and phases."""

import json
from dataclasses import replace

import numpy as np
import pytest

from traffic.workload.arrivals import CHUNK_EVENTS
from traffic.workload.patterns import Pattern
from traffic.workload.schedule import PatternSchedule, schedule_from_dict

SECOND_NS = 1_000_000_000
POISSON = PatternSchedule(Pattern("uniform", 20), 500.0, 4 * SECOND_NS, 8, 1)
FIELDS = ("time_ns", "source", "destination", "flow", "sequence")


def all_events(schedule) -> dict[str, np.ndarray]:
    chunks = list(schedule.chunks())
    return {name: np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in FIELDS}


@pytest.fixture(scope="module")
def events() -> dict[str, np.ndarray]:
    return all_events(POISSON)


SLOTTED = replace(POISSON, arrivals="bernoulli", max_packets_per_s=1000.0)
CONSTANT = replace(POISSON, arrivals="constant")


@pytest.mark.parametrize("schedule", [SLOTTED, CONSTANT], ids=["bernoulli", "constant"])
def test_other_arrivals_are_as_many_in_order_and_repeatable(schedule):
    found = all_events(schedule)
    again = all_events(schedule_from_dict(json.loads(json.dumps(schedule.to_dict()))))
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
