"""Distributions of flow sizes: published ones, cut ones, and files that are not distributions."""

import numpy as np
import pytest

from topology.errors import ParameterError, UsageError
from traffic.workload.flows.sizes import PUBLISHED, FlowSizes, make_sizes

HEADER = "bytes,cumulative_probability\n"


@pytest.mark.parametrize(
    ("name", "mean", "most"), [("web-search", 1_711_250, 3e7), ("data-mining", 12_658_199, 1e9)]
)
def test_a_published_distribution_has_the_mean_that_simulators_use(name, mean, most):
    sizes = make_sizes(name)
    assert name in PUBLISHED
    assert sizes.mean_bytes() == pytest.approx(mean, abs=1)
    assert sizes.bytes[-1] == most


def test_drawn_sizes_follow_the_points():
    sizes = make_sizes("web-search")
    drawn = sizes.quantiles(np.random.default_rng(1).random(200_000))
    for size, probability in zip(sizes.bytes, sizes.probability, strict=True):
        assert (drawn <= size).mean() == pytest.approx(probability, abs=0.005)
    assert drawn.mean() == pytest.approx(sizes.mean_bytes(), rel=0.02)
    assert drawn.min() >= 1


def test_a_limit_cuts_larger_flows_and_leaves_smaller_ones():
    sizes = make_sizes("web-search").limited(1_000_000)
    drawn = sizes.quantiles(np.random.default_rng(1).random(100_000))
    assert drawn.max() == 1_000_000
    assert (drawn == 1_000_000).mean() == pytest.approx(0.3, abs=0.01)
    assert (drawn <= 80_000).mean() == pytest.approx(0.53, abs=0.01)
    assert drawn.mean() == pytest.approx(sizes.mean_bytes(), rel=0.02)
    assert make_sizes("web-search").limited(10**9) == make_sizes("web-search")
    assert make_sizes("fixed:5000").limited(100) == FlowSizes((100.0,), (1.0,))


def test_a_fixed_size_is_every_flows():
    sizes = make_sizes("fixed:1500")
    assert set(sizes.quantiles(np.linspace(0, 1, 11)).tolist()) == {1500}
    assert sizes.mean_segments(1500) == 2  # 1,448 bytes fit into a frame


def test_a_file_of_ones_own_may_have_steps_comments_and_a_first_probability(tmp_path):
    file = tmp_path / "sizes.csv"
    file.write_text("# mine\n" + HEADER + "1000,0.5\n\n1000000, 0.5\n1000000,1\n")
    drawn = make_sizes(str(file)).quantiles(np.array([0.1, 0.4999, 0.5001, 0.9]))
    assert drawn.tolist() == [1000, 1000, 1_000_000, 1_000_000]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (HEADER + "100,0.5\n50,1\n", "line 3: bytes must not decrease, got 50"),
        (HEADER + "100,0.5\n200,0.4\n300,1\n", "line 3: cumulative probability must not decrease, got 0.4"),
        (HEADER + "100,0.5\n200,0.9\n", "last cumulative probability must be 1, got 0.9"),
        (HEADER + "0,0\n100,1\n", "line 2: bytes must be 1 to 1000000000000, got '0'"),
        (HEADER + "-5,1\n", "got '-5'"),
        (HEADER + "100,1.5\n", "line 2: cumulative probability must be 0 to 1, got '1.5'"),
        (HEADER + "100,nan\n", "got 'nan'"),
        (HEADER + "100\n", "line 2: number of columns must be 2, got 1"),
        (HEADER, "last cumulative probability must be 1, got no points"),
        ("size,share\n1,1\n", "line 1: columns must be bytes,cumulative_probability, got 'size,share'"),
        ("", "got an empty file"),
    ],
)
def test_a_file_that_is_no_distribution_is_refused_in_a_line(tmp_path, content, said):
    file = tmp_path / "sizes.csv"
    file.write_text(content)
    with pytest.raises(ParameterError) as raised:
        make_sizes(str(file))
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["web", "fixed:", "fixed:0", "fixed:ten", "/nowhere/sizes.csv", ""])
def test_names_that_are_no_sizes_are_refused(name):
    with pytest.raises(UsageError):
        make_sizes(name)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    file = tmp_path / "sizes.csv"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParameterError, match="UTF-8"):
        make_sizes(str(file))


def test_a_file_of_sizes_that_does_not_exist_is_told_as_such():
    with pytest.raises(UsageError, match=r"'nosuch\.csv'"):
        make_sizes("nosuch.csv")
    with pytest.raises(UsageError, match="web-search"):
        make_sizes("websearch")
