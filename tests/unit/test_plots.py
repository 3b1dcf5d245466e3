"""Figures from a small folder of results made by hand, and what is said of a damaged one."""

import json
from pathlib import Path

import pytest

from experiments.run_plots import plot_run
from topology.errors import ParameterError

SUMMARY = {
    "name": "polarfly",
    "params": {"q": 2},
    "routing": "min",
    "pattern": "uniform",
    "endpoints": 2,
    "link_rate_bps": 2_000_000,
    "offered": 0.3,
    "accepted": 0.29,
    "warmup_s": 0.5,
    "measured_s": 0.5,
}
THROUGHPUT = """time_s,host,tx_bytes,rx_bytes
0.5,h1_1,1000,0
0.5,h2_1,0,1000
1.0,h1_1,2000,0
1.0,h2_1,0,1900
"""
PAIRS = """source,destination,distance,sent_frames,received_frames
h1_1,h2_1,2,30,29
h2_1,h1_1,1,10,10
"""
HOPS = "hops,packets\n1,10\n2,29\n"


@pytest.fixture
def results(tmp_path) -> Path:
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY))
    (tmp_path / "throughput.csv").write_text(THROUGHPUT)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    (tmp_path / "hops.csv").write_text(HOPS)
    return tmp_path


def test_figures_are_drawn(results):
    paths = plot_run(results)
    assert [path.name for path in paths] == ["throughput.png", "throughput.svg"]
    png, svg = (path.read_bytes() for path in paths)
    assert png.startswith(b"\x89PNG")
    assert len(png) > 10_000
    assert b"<svg" in svg


def test_figures_can_be_drawn_again(results):
    assert plot_run(results) == plot_run(results)


def test_a_run_with_longer_paths_than_the_graphs_is_drawn(results):
    (results / "hops.csv").write_text(HOPS + "5,1\n")
    assert plot_run(results)[0].stat().st_size > 0


def test_a_run_in_which_nothing_was_sent_is_drawn(results):
    (results / "summary.json").write_text(json.dumps(SUMMARY | {"offered": 0.0, "accepted": 0.0}))
    (results / "throughput.csv").write_text("time_s,host,tx_bytes,rx_bytes\n0.5,h1_1,0,0\n0.5,h2_1,0,0\n")
    (results / "pairs.csv").write_text(PAIRS.splitlines()[0] + "\n")
    (results / "hops.csv").write_text("hops,packets\n")
    assert plot_run(results)[0].stat().st_size > 0


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(ParameterError, match="nowhere is no folder of results"):
        plot_run(tmp_path / "nowhere")


def test_a_file_is_no_folder_of_results(results):
    with pytest.raises(ParameterError, match="is no folder of results"):
        plot_run(results / "summary.json")


def test_an_empty_folder_holds_no_run(tmp_path):
    with pytest.raises(ParameterError, match="holds no run"):
        plot_run(tmp_path)


@pytest.mark.parametrize("name", ["throughput.csv", "pairs.csv", "hops.csv"])
def test_a_missing_series_is_told(results, name):
    (results / name).unlink()
    with pytest.raises(ParameterError, match=f"is no complete run: {name} is missing"):
        plot_run(results)


@pytest.mark.parametrize("name", ["throughput.csv", "pairs.csv", "hops.csv"])
@pytest.mark.parametrize(
    "content", ["", "a,b\n1,2\n", "\0\1\2", "half"], ids=["empty", "foreign", "binary", "torn"]
)
def test_a_damaged_series_is_told(results, name, content):
    (results / name).write_text(content)
    with pytest.raises(ParameterError, match="damaged"):
        plot_run(results)
    assert not (results / "throughput.png").exists()


def test_a_throughput_without_rows_is_told(results):
    (results / "throughput.csv").write_text(THROUGHPUT.splitlines()[0] + "\n")
    with pytest.raises(ParameterError, match="damaged"):
        plot_run(results)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("throughput.csv", "1000", "many"),
        ("throughput.csv", "0.5", "soon"),
        ("pairs.csv", ",2,30", ",far,30"),
        ("pairs.csv", ",2,30", ",-2,30"),
        ("hops.csv", "29", "x"),
        ("hops.csv", "2,29", "-2,29"),
    ],
)
def test_values_of_a_wrong_kind_are_told(results, name, old, new):
    text = (results / name).read_text()
    assert old in text
    (results / name).write_text(text.replace(old, new, 1))
    with pytest.raises(ParameterError, match="damaged"):
        plot_run(results)


@pytest.mark.parametrize("key", sorted(SUMMARY))
def test_a_summary_of_another_program_is_told(results, key):
    rest = {name: value for name, value in SUMMARY.items() if name != key}
    (results / "summary.json").write_text(json.dumps(rest))
    with pytest.raises(ParameterError, match="is damaged, or of another version"):
        plot_run(results)


@pytest.mark.parametrize(
    "change", [{"params": [1]}, {"params": None}, {"offered": "all"}, {"endpoints": "2"}]
)
def test_a_summary_with_values_of_another_kind_is_told(results, change):
    (results / "summary.json").write_text(json.dumps(SUMMARY | change))
    with pytest.raises(ParameterError, match="damaged"):
        plot_run(results)
