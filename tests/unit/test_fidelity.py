"""When a run can be trusted, and what is said when it cannot."""

from experiments.fidelity import CpuSamples, judge


def test_an_idle_machine_and_a_punctual_sender_are_valid():
    verdict = judge([0.9, 0.5], 0.1, 4.0)
    assert verdict["valid"]
    assert verdict["reasons"] == []
    assert (verdict["cpu_idle"], verdict["generator_lag_ms_p99"]) == (0.5, 0.1)
    assert "link_rate_error" in verdict


def test_one_busy_second_is_a_reason():
    verdict = judge([0.9, 0.2, 0.9], 0.1, 4.0)
    assert not verdict["valid"]
    assert verdict["reasons"] == ["only 20% of the CPU was idle in one second; 35% are needed"]


def test_a_late_sender_is_a_reason():
    [reason] = judge([0.9], 4.5, 4.0)["reasons"]
    assert "4.50 ms late; one packet time is 4.00 ms" in reason


def test_nothing_sent_is_a_reason():
    verdict = judge([0.9], None, 4.0)
    assert verdict["reasons"] == ["nothing was sent in the measured window"]
    assert verdict["generator_lag_ms_p99"] is None


def test_all_reasons_are_told():
    assert len(judge([0.1], 9.0, 4.0)["reasons"]) == 2


def test_samples_are_those_wholly_within_the_span():
    samples = CpuSamples([10.0, 11.0, 12.0, 13.0], [0.1, 0.2, 0.3, 0.4])
    assert samples.between(10.0, 12.0) == [0.2, 0.3]
    assert samples.between(10.5, 12.5) == [0.3]
    assert samples.between(20, 30) == []
