"""TrafficSnapshot counts of traffic processes, and the snapshots made from them."""

import json

import numpy as np
import pytest

from traffic.engine.telemetry import CountReporter, LiveCounts, TrafficSnapshot

MS = 1_000_000


def counts_of(rates, step_s=0.25, packet_bytes=1000, begin_s=0.0, p99_ms=None):
    """Returns the counts of a process with these successive rates in packets per second."""
    counts = LiveCounts()
    packets = 0
    for number, rate in enumerate(rates):
        counts.read(
            json.dumps(
                [
                    *(begin_s + number * step_s, packets, packets * packet_bytes),
                    *(p99_ms, p99_ms, packets // 10, None, None),
                ]
            )
        )
        packets += round(rate * step_s)
    return counts


def test_totals_are_reported_at_most_a_few_times_a_second():
    lines = []
    reporter = CountReporter(lines.append)
    for _ in range(1000):
        reporter.add(2, 200, np.array([MS, 3 * MS]))
    assert len(lines) == 1
    _, packets, frame_bytes, p99_ms, p50_ms, *_ = json.loads(lines[0])
    assert (packets, frame_bytes) == (2, 200)
    assert (p50_ms, p99_ms) == (pytest.approx(1, rel=0.01), pytest.approx(3, rel=0.01))


def test_a_snapshot_has_the_rates_of_the_last_second():
    sender, collector = counts_of([100] * 9), counts_of([100] * 5 + [50] * 4)
    snapshot = TrafficSnapshot.of(2.0, sender, collector)
    assert snapshot.offered_bps == pytest.approx(100 * 8000)
    assert snapshot.accepted_bps == pytest.approx(50 * 8000, rel=0.3)
    assert snapshot.out_of_order == pytest.approx(0.1, rel=0.1)
    assert 0 < snapshot.loss < 0.5


def test_before_anything_was_sent_there_is_no_loss():
    assert TrafficSnapshot.of(0.0, LiveCounts(), LiveCounts()) == TrafficSnapshot(0.0, 0.0, 0.0, None, None)


@pytest.mark.parametrize("late_s", [0.05, 0.4])
def test_what_is_on_its_way_is_not_lost(late_s):
    """The two processes do not report at the same time, and packets take a while."""
    sender = counts_of([100] * 9)
    collector = counts_of([100] * 8, begin_s=late_s, p99_ms=1e3 * late_s)
    assert TrafficSnapshot.of(2.0, sender, collector).loss == pytest.approx(0.0, abs=1e-9)


def test_packets_on_their_way_when_the_first_ones_arrive_are_not_lost():
    sender, first = counts_of([100] * 3), counts_of([100], begin_s=0.5)
    assert TrafficSnapshot.of(0.5, sender, first).loss is None
    assert TrafficSnapshot.of(0.5, sender, LiveCounts()).loss is None


def test_where_nothing_arrives_any_more_the_loss_grows():
    sender = counts_of([100] * 21)
    collector = counts_of([100] * 9)
    assert TrafficSnapshot.of(5.0, sender, collector).loss == pytest.approx(1 - 200 / 450)
    assert TrafficSnapshot.of(5.0, sender, LiveCounts()).loss == 1.0


def test_byte_totals_have_a_row_for_every_report():
    times_s, total_bytes = counts_of([100] * 5, packet_bytes=10).byte_totals()
    assert times_s.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert total_bytes.tolist() == [0, 250, 500, 750, 1000]


def test_after_the_windows_end_packets_are_awaited_and_none_is_offered():
    sender, collector = counts_of([100] * 9), counts_of([100] * 5 + [50] * 4)
    assert not TrafficSnapshot.of(2.0, sender, collector, end_s=2.1).draining
    snapshot = TrafficSnapshot.of(2.2, sender, collector, end_s=2.1)
    assert snapshot.draining
    assert snapshot.under_way == sender.packets - collector.packets > 0
