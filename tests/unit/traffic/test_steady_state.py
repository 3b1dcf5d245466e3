"""The warm-up criterion."""

import numpy as np

from traffic.metrics.steady_state import SteadyState

STEADY = SteadyState(span_s=2.0, max_s=60.0, duration_ns=1)
STEP_S = 0.25


def reached(rates):
    """Returns whether throughput is steady after quarter seconds with these rates in packets per second."""
    total_bytes = 1000 * np.concatenate([[0], np.cumsum(np.round(np.array(rates[:-1]) * STEP_S))]).astype(int)
    return STEADY.reached(STEP_S * np.arange(len(rates)), total_bytes)


def test_too_few_readings_are_not_steady():
    assert not STEADY.reached(np.array([]), np.array([], int))
    assert not reached([1000])


def test_an_even_rate_is_steady_once_two_spans_are_over():
    assert not reached([1000] * 16)
    assert reached([1000] * 18)


def test_a_rate_that_rises_is_not_steady():
    assert not reached(np.linspace(500, 1000, 40))


def test_it_is_steady_again_after_a_rise():
    assert reached([*np.linspace(100, 1000, 20), *[1000] * 20])


def test_noise_does_not_keep_it_from_being_steady():
    generator = np.random.default_rng(1)
    found = [reached(generator.normal(1000, 100, 40)) for _ in range(50)]
    assert sum(found) > 40


def test_a_throughput_of_nothing_is_steady():
    assert reached([0] * 40)
