"""When a run can be trusted, and what is said when it cannot."""

import pytest

from controller.occupancy.queues import QueueState
from experiments.results.link_loads import LinkLog
from experiments.results.validity import CpuSamples, Evidence, judge


def verdict_of(idle=(0.9,), lag_ms=0.1, **other):
    return judge(Evidence(list(idle), lag_ms, 4.0, **other))


def test_an_idle_machine_and_a_punctual_sender_are_valid():
    verdict = verdict_of([0.9, 0.5])
    assert verdict.valid
    assert verdict.reasons == ()
    assert (verdict.cpu_idle, verdict.generator_lag_ms_p99) == (0.5, 0.1)
    assert verdict.link_rate_error is verdict.lost_outside_queues is None


def test_one_busy_second_is_a_reason():
    verdict = verdict_of([0.9, 0.2, 0.9])
    assert not verdict.valid
    assert verdict.reasons == ("only 20% of the CPU was idle in one second; 35% are needed",)


def test_a_late_sender_is_a_reason():
    [reason] = verdict_of(lag_ms=4.5).reasons
    assert "4.50 ms late; one packet time is 4.00 ms" in reason


def test_nothing_sent_is_a_reason():
    verdict = verdict_of(lag_ms=None)
    assert verdict.reasons == ("nothing was sent in the measured window",)
    assert verdict.generator_lag_ms_p99 is None


def test_a_saturated_link_that_is_too_slow_or_too_fast_is_a_reason():
    assert verdict_of(rate_errors=[0.01, -0.04]).valid
    assert verdict_of(rate_errors=[0.01, -0.04]).link_rate_error == -0.04
    assert verdict_of(rate_errors=[0.01, -0.06]).reasons == ("a saturated link passed 94.0% of its rate",)
    assert verdict_of(rate_errors=[0.07]).reasons == ("a saturated link passed 107.0% of its rate",)


def test_packets_that_no_queue_dropped_are_a_reason():
    assert verdict_of(sent=1000, lost_elsewhere=9).valid
    verdict = verdict_of(sent=1000, lost_elsewhere=25)
    assert verdict.reasons == ("2.5% of the packets were lost elsewhere than in the links' queues",)
    assert verdict_of(sent=1000, lost_elsewhere=-3).lost_outside_queues == 0


def test_all_reasons_are_told():
    assert len(verdict_of([0.1], 9.0, rate_errors=[-0.2], sent=10, lost_elsewhere=5).reasons) == 4


def queue(waiting, sent, dropped=0):
    return QueueState(waiting // 1000, waiting, sent, dropped)


def test_a_link_counts_as_saturated_only_while_its_queue_cannot_have_been_empty():
    log = LinkLog()
    log.note((1, 1), queue(20_000, 0), queue(5_000, 31_000, 4), 0.25, 500_000)  # 16 kB leave meanwhile
    log.note((1, 1), queue(5_000, 31_000, 4), queue(30_000, 40_000, 9), 0.25, 500_000)
    assert log.busy_s == {(1, 1): 0.25}
    assert log.busy_bytes == {(1, 1): 31_000}
    assert log.dropped_packets == 9


def test_a_rate_is_told_of_links_that_were_saturated_for_a_second_or_more():
    log = LinkLog({(1, 1): 2.0, (2, 1): 0.5}, {(1, 1): 130_000, (2, 1): 1})
    assert log.rate_errors(500_000, 1000) == {(1, 1): pytest.approx(0.04)}


def test_samples_are_those_wholly_within_the_span():
    samples = CpuSamples([10.0, 11.0, 12.0, 13.0], [0.1, 0.2, 0.3, 0.4])
    assert samples.between(10.0, 12.0) == [0.2, 0.3]
    assert samples.between(10.5, 12.5) == [0.3]
    assert samples.between(20, 30) == []
