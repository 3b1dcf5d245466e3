"""The latency histogram: quantiles within 1 %, exact means, bounded bins."""

import numpy as np
import pytest

from traffic.metrics.histogram import LogHistogram, bin_middles_ms, histogram_from_counts

FRACTIONS = (0.01, 0.5, 0.9, 0.99, 0.999, 1.0)


def histogram_of(*durations_ns: float) -> LogHistogram:
    histogram = LogHistogram()
    histogram.add(np.array(durations_ns, np.int64))
    return histogram


@pytest.mark.parametrize("fraction", FRACTIONS)
@pytest.mark.parametrize("shape", ["exponential", "lognormal", "uniform"])
def test_quantiles_are_right_within_one_percent(shape, fraction):
    generator = np.random.default_rng(3)
    samples = {
        "exponential": generator.exponential(2e6, 50_000) + 1000,
        "lognormal": generator.lognormal(14, 2, 50_000) + 1000,
        "uniform": generator.uniform(1e3, 1e9, 50_000),
    }[shape].astype(np.int64)
    expected = np.sort(samples)[int(np.ceil(fraction * len(samples))) - 1] / 1e6
    assert histogram_of(*samples).quantile_ms(fraction) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("duration_ns", [100, 101, 12_345, 10**6, 999_999_999, 9 * 10**11])
def test_a_single_duration_is_every_quantile(duration_ns):
    histogram = histogram_of(duration_ns)
    for fraction in (0.0, 0.5, 1.0):
        assert histogram.quantile_ms(fraction) == pytest.approx(duration_ns / 1e6, rel=0.006)


def test_quantile_counts_by_rank():
    histogram = histogram_of(*[10**6] * 99, 10**9)
    assert histogram.quantile_ms(0.99) == pytest.approx(1, rel=0.01)
    assert histogram.quantile_ms(0.991) == pytest.approx(1000, rel=0.01)


def test_mean_and_count_are_exact():
    histogram = histogram_of(1_000_000, 2_000_000, 6_000_000)
    histogram.add(np.array([3_000_000]))
    assert (histogram.count, histogram.mean_ms()) == (4, 3.0)


def test_nothing_counted_has_no_mean_and_no_quantile():
    histogram = histogram_of()
    assert (histogram.count, histogram.mean_ms(), histogram.quantile_ms(0.5)) == (0, None, None)


def test_what_lies_outside_goes_into_the_outermost_bins():
    histogram = histogram_of(-5, 0, 99, 10**15)
    assert histogram.counts[0] == 3
    assert histogram.counts[-1] == 1


def test_bins_grow_by_one_percent_from_100_ns_to_1000_s():
    middles = bin_middles_ms()
    assert len(middles) == len(LogHistogram().counts)
    assert middles[1:] / middles[:-1] == pytest.approx(1.01)
    assert middles[0] == pytest.approx(1e-4, rel=0.01)
    assert middles[-1] == pytest.approx(1e6, rel=0.011)


def test_counts_of_another_process_give_the_same_histogram():
    one = histogram_of(10**6, 10**7, 10**8)
    other = histogram_from_counts(one.counts, one.total_ns)
    assert (other.count, other.mean_ms()) == (one.count, one.mean_ms())
    assert other.quantile_ms(0.5) == one.quantile_ms(0.5)
