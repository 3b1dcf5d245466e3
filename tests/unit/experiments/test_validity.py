"""When a run can be trusted, and what is said when it cannot."""

import pytest

from controller.occupancy.queues import QueueState
from experiments.events.progress import TrafficProgress
from experiments.observation.observer import judged_now
from experiments.results.link_loads import LinkLog
from experiments.validity.held_reader import Pace
from experiments.validity.judgement import Evidence, judge, strain
from experiments.validity.samples import (
    CpuSamples,
    Held,
    HeldSamples,
    HeldSecond,
    SwitchSample,
    mean_held,
    worst_held,
)

PROMPT = Held(0.1, 3.0, "s4")


def verdict_of(held=PROMPT, mean=0.02, rms=PROMPT, lag_ms=0.1, **other):
    return judge(Evidence(4.0, held, mean, rms, lag_ms_p99=lag_ms, **other))


def test_prompt_switches_and_a_punctual_sender_are_valid_however_busy_the_machine_is():
    verdict = verdict_of(idle=[0.9, 0.01])
    assert verdict.valid
    assert verdict.reasons == ()
    assert (verdict.cpu_idle, verdict.generator_lag_ms_p99) == (0.01, 0.1)
    told = (
        verdict.held_frame_times_max,
        verdict.held_frame_times_mean,
        verdict.worst_second,
        verdict.worst_switch,
    )
    assert told == (0.1, 0.02, 3.0, "s4")
    assert verdict.link_rate_error is verdict.lost_outside_queues is None


def test_a_switch_that_holds_frames_in_one_second_is_a_reason():
    [reason] = verdict_of(Held(0.62, 7.0, "s9")).reasons
    assert reason.startswith("s9 held frames for 0.62 frame times in the second from 7 s")


def test_a_second_that_began_before_the_traffic_is_not_said_to_begin_at_minus_zero():
    [reason] = verdict_of(Held(0.62, -0.2, "s9")).reasons
    assert "in the second from -0.2 s;" in reason


def test_switches_that_all_hold_frames_a_little_are_a_reason():
    [reason] = verdict_of(mean=0.2).reasons
    assert reason.startswith("switches held frames for 0.20 frame times")


def test_frames_that_a_switch_holds_seldom_but_many_at_a_time_are_a_reason():
    assert verdict_of(rms=Held(0.9, 7.0, "s9")).valid
    verdict = verdict_of(rms=Held(1.24, 7.0, "s9"))
    [reason] = verdict.reasons
    assert reason.startswith("s9 held many frames at a time, for 1.24 frame times (root mean square)")
    assert verdict.held_frame_times_rms == 1.24
    assert (verdict.held_frame_times_max, verdict.worst_switch) == (0.1, "s4")


def test_what_should_have_been_observed_and_was_not_is_a_reason():
    assert verdict_of(None, None).reasons == ("frames held by switches were not measured",)
    assert verdict_of(None, None, holds_observed=False).valid


def test_time_that_the_machine_below_took_is_a_reason():
    assert verdict_of(stolen=[0.0, 0.1]).valid
    verdict = verdict_of(stolen=[0.0, 0.31])
    assert verdict.reasons == ("hypervisor steal time reached 31% in one second; limit 20%",)
    assert verdict.cpu_stolen == 0.31


def test_strain_is_the_worst_measure_over_its_bound():
    assert strain(Evidence(4.0, Held(0.25, 0.0, "s1"), 0.01, lag_ms_p99=1.0)) == pytest.approx(0.5)
    assert strain(Evidence(4.0, PROMPT, 0.01, lag_ms_p99=8.0)) == pytest.approx(2)


def test_a_late_sender_is_a_reason():
    [reason] = verdict_of(lag_ms=4.5).reasons
    assert "4.50 ms late; one packet time is 4.00 ms" in reason


def test_nothing_sent_is_a_reason():
    verdict = verdict_of(lag_ms=None)
    [reason] = verdict.reasons
    assert reason.startswith("nothing was sent in the measured window; ")
    assert "--load" in reason
    assert verdict.generator_lag_ms_p99 is None


def test_a_saturated_link_that_is_too_slow_or_too_fast_is_a_reason():
    assert verdict_of(rate_errors=[0.01, -0.04]).valid
    assert verdict_of(rate_errors=[0.01, -0.04]).link_rate_error == -0.04
    assert verdict_of(rate_errors=[0.01, -0.06]).reasons == ("a saturated link carried 94.0% of its rate",)
    assert verdict_of(rate_errors=[0.07]).reasons == ("a saturated link carried 107.0% of its rate",)


def test_packets_that_no_queue_dropped_are_a_reason():
    assert verdict_of(sent=1000, lost_elsewhere=9).valid
    verdict = verdict_of(sent=1000, lost_elsewhere=25)
    assert verdict.reasons == ("2.5% of the packets were lost outside the links' queues",)
    assert verdict_of(sent=1000, lost_elsewhere=-3).lost_outside_queues == 0


def test_packets_that_nobody_was_to_send_are_a_reason():
    assert verdict_of(sent=1000, surplus=0).valid
    assert "7 more packets" in verdict_of(sent=1000, surplus=7).reasons[0]
    assert "7 damaged or forged" in verdict_of(sent=1000, damaged=7).reasons[0]


def test_all_reasons_are_told():
    wrong = {"rate_errors": [-0.2], "sent": 10, "lost_elsewhere": 5, "stolen": [0.5], "link_loss_doubt": "x"}
    assert len(verdict_of(Held(2.0, 0.0, "s1"), 0.5, Held(3.0, 0.0, "s1"), 9.0, **wrong).reasons) == 8


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
    samples = CpuSamples([10.0, 11.0, 12.0, 13.0], [0.1, 0.2, 0.3, 0.4], [0.0, 0.01, 0.02, 0.03])
    assert samples.idle_between(10.0, 12.0) == [0.2, 0.3]
    assert samples.stolen_between(10.5, 12.5) == [0.02]
    assert samples.idle_between(20, 30) == []


def second(begin_s, stood_still_s=0.0, **switches):
    seen = {name: SwitchSample(*sample) for name, sample in switches.items()}
    return HeldSecond(begin_s, begin_s + 1, seen, stood_still_s)


def test_frames_are_held_for_the_time_in_which_as_many_arrive_as_wait():
    assert second(0.0, s1=(200, 0.4)).held_s("s1") == pytest.approx(0.002)
    assert second(0.0, 0.01, s1=(200, 0.4)).held_s("s1") == pytest.approx(0.012)
    # One look that finds the only frame of a second does not make 20 ms of it.
    assert second(0.0, s1=(1, 0.02)).held_s("s1") < 0.001


def test_a_switch_that_stands_still_for_long_has_a_larger_root_mean_square_than_one_that_is_often_late():
    # 100 frames/s. One stop of 0.3 s finds 0 to 30 frames: n (n - 1) is 270 on average, of all looks 81.
    once, often = second(0.0, s1=(100, 4.5, 81.0)), second(0.0, s1=(100, 4.5, 40.5))
    assert once.held_s("s1") == often.held_s("s1") == pytest.approx(0.045)
    assert once.held_rms_s("s1") == pytest.approx(0.09)
    assert often.held_rms_s("s1") == pytest.approx(0.0636, rel=1e-3)
    stood_still = HeldSecond(0.0, 1.0, {"s1": SwitchSample(100, 0.0)}, 0.045, 0.0081)
    assert stood_still.held_rms_s("s1") == pytest.approx(0.09)
    assert worst_held([often, once], 0.01, measure=HeldSecond.held_rms_s) == (pytest.approx(9), 0.0, "s1")


def test_the_worst_second_and_switch_are_found_and_the_mean_is_that_of_all_frames():
    seconds = [second(5.0, s1=(100, 0.1), s2=(100, 0.2)), second(6.0, s1=(100, 0.5), s2=(300, 0.0))]
    assert worst_held(seconds, 0.01, start_s=4.0) == (pytest.approx(0.5), 2.0, "s1")
    assert mean_held(seconds, 0.01) == pytest.approx(0.8 / 600 / 0.01)
    assert worst_held([], 0.01) is mean_held([], 0.01) is None


def test_a_switch_that_sends_many_frames_at_a_time_is_not_right_while_the_run_goes_on_either():
    # A stop of 80 ms once a second, 100 frames/s from each of three neighbours: 0.32 of a frame's time on
    # average, yet 24 frames go on together.
    samples = HeldSamples([second(0.0, s1=(300, 0.96, 14.4), s2=(300, 0.1))])
    judged = judged_now(samples.lately(0.01), 5.0, 1_000_000)
    assert not judged.valid
    assert judged.held_frame_times == pytest.approx(0.32)
    assert "s1 held many at a time, for 1.26 frame times (root mean square)" in judged.reason
    line = str(TrafficProgress(5.0, 10.0, 0.5, 0.5, None, None, held=samples.lately(0.01)))
    assert line.endswith("; s1 held frames for 0.32 frame times; s1 held many at a time")
    right = HeldSamples([second(0.0, s1=(300, 0.96, 1.0))]).lately(0.01)
    assert judged_now(right, 5.0, 1_000_000).valid
    assert judged_now(HeldSamples().lately(0.01), 5.0, 1_000_000).valid is None


def test_a_switch_that_was_made_to_fail_is_not_judged_meanwhile():
    seconds = [second(5.0, s1=(100, 9.0), s2=(100, 0.2)), second(6.0, s1=(100, 0.1), s2=(100, 0.1))]
    worst = worst_held(seconds, 0.01, excepted={"s1": [(4.5, 5.5)]})
    assert worst == (pytest.approx(0.2), 5.0, "s2")


def test_a_look_while_the_processor_was_stolen_does_not_slow_down_those_to_come():
    pace = Pace()
    assert pace.pause_s(0.0004) == 0.02
    assert pace.pause_s(0.05) == 0.02
    assert Pace().pause_s(0.05) == pytest.approx(2)  # of very many switches


def test_seconds_are_those_that_the_span_touches():
    samples = HeldSamples([second(5.0), second(6.0), second(7.0)])
    assert [one.begin_s for one in samples.between(5.5, 7.0)] == [5.0, 6.0]


@pytest.mark.parametrize(
    ("seconds", "missed"),
    [
        ([(0, 1), (1, 2), (2, 3)], False),
        ([(0.1, 1.1), (1.2, 2.9)], False),  # begun a moment late, and read for a moment
        ([(0, 1), (1, 2)], True),  # ended in the middle
        ([(1, 2), (2, 3)], True),  # begun late
        ([(0, 1), (2, 3)], True),  # stalled
        ([], True),
    ],
)
def test_a_window_that_was_observed_in_part_makes_the_result_invalid(seconds, missed):
    samples = HeldSamples([HeldSecond(begin, end, {}) for begin, end in seconds])
    coverage = samples.coverage((0.0, 3.0))
    fidelity = judge(Evidence(4.0, PROMPT, 0.01, lag_ms_p99=1.0, coverages=[coverage]))
    assert fidelity.valid is not missed
    assert fidelity.observed == pytest.approx(coverage.share, abs=1e-3)
    if missed:
        assert "of 3 s" in fidelity.reasons[0]


def test_processors_are_observed_up_to_the_last_whole_second():
    samples = CpuSamples([1.0, 2.1, 3.2], [0.5] * 3, [0.0] * 3)
    assert not samples.coverage((0.0, 4.1)).lacking
    assert samples.coverage((0.0, 8.0)).lacking
    assert CpuSamples([1.0, 9.0], [0.5] * 2, [0.0] * 2).coverage((0.0, 9.0)).lacking


def test_queues_of_links_that_are_not_read_any_more_are_noticed():
    log = LinkLog()
    for tenth in range(30):
        log.note_reading(tenth / 10, 0.1)
    assert not log.coverage((0.0, 3.0)).lacking
    assert log.coverage((0.0, 6.0)).lacking
