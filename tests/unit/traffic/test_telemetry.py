"""What traffic processes tell of themselves, and when their throughput is steady."""

import json

import numpy as np
import pytest

from traffic.engine.telemetry import Live, LiveCounts, SteadyState, Told

MS = 1_000_000


def told_of(rates, step_s=0.25, packet_bytes=1000, begin_s=0.0, p99_ms=None):
    """Returns what a process told whose packets per second were these, one after another."""
    told = Told()
    packets = 0
    for number, rate in enumerate(rates):
        told.hear(json.dumps([begin_s + number * step_s, packets, packets * packet_bytes, p99_ms]))
        packets += round(rate * step_s)
    return told


def test_totals_are_told_at_most_a_few_times_a_second():
    lines = []
    counts = LiveCounts(lines.append)
    for _ in range(1000):
        counts.add(2, 200, np.array([MS, 3 * MS]))
    assert len(lines) == 1
    _, packets, frame_bytes, p99_ms = json.loads(lines[0])
    assert (packets, frame_bytes) == (2, 200)
    assert p99_ms == pytest.approx(3, rel=0.01)


def test_the_live_line_has_the_rates_of_the_last_second():
    sender, collector = told_of([100] * 9), told_of([100] * 5 + [50] * 4)
    live = Live.of(2.0, sender, collector)
    assert live.offered_bps == pytest.approx(100 * 8000)
    assert live.accepted_bps == pytest.approx(50 * 8000, rel=0.3)
    assert 0 < live.loss < 0.5


def test_before_anything_was_sent_there_is_no_loss():
    assert Live.of(0.0, Told(), Told()) == Live(0.0, 0.0, 0.0, None, None)


@pytest.mark.parametrize("late_s", [0.05, 0.4])
def test_what_is_on_its_way_is_not_lost(late_s):
    """The two processes do not tell at the same time, and packets take a while."""
    sender = told_of([100] * 9)
    collector = told_of([100] * 8, begin_s=late_s, p99_ms=1e3 * late_s)
    assert Live.of(2.0, sender, collector).loss == pytest.approx(0.0, abs=1e-9)


def test_where_nothing_arrives_any_more_the_loss_grows():
    sender = told_of([100] * 21)
    collector = told_of([100] * 9)
    assert Live.of(5.0, sender, collector).loss == pytest.approx(1 - 200 / 450)
    assert Live.of(5.0, sender, Told()).loss == 1.0


STEADY = SteadyState(span_s=2.0, most_s=60.0, duration_ns=1)


def test_an_even_rate_is_steady_once_two_spans_are_over():
    assert not STEADY.reached(told_of([1000] * 16))
    assert STEADY.reached(told_of([1000] * 18))


def test_a_rate_that_rises_is_not_steady():
    assert not STEADY.reached(told_of(np.linspace(500, 1000, 40)))


def test_it_is_steady_again_after_a_rise():
    assert STEADY.reached(told_of([*np.linspace(100, 1000, 20), *[1000] * 20]))


def test_noise_does_not_keep_it_from_being_steady():
    generator = np.random.default_rng(1)
    found = [STEADY.reached(told_of(generator.normal(1000, 100, 40))) for _ in range(50)]
    assert sum(found) > 40


def test_a_throughput_of_nothing_is_steady():
    assert STEADY.reached(told_of([0] * 40))
