"""Runs side by side, from their summaries alone."""

import json
from dataclasses import replace

import pytest
import records

from experiments.codec import plain
from experiments.results.comparison import compare
from experiments.results.model import (
    CollectiveSize,
    CollectiveSummary,
    Latencies,
    PacketCounts,
    Predicted,
)
from polarlab.cli import main as entry
from topology.errors import ParameterError
from topology.exit_status import Status

SUMMARY = records.summary(predicted=Predicted(0.31))
DETOURED = replace(SUMMARY, routing="ugal-pf", accepted=0.49, predicted=None, hops={3: 4})
SILENT = replace(
    SUMMARY, seed=2, packets=PacketCounts(0, 0), hops={}, latency_ms=Latencies(None, None, None, None)
)


@pytest.fixture
def runs(tmp_path):
    folders = []
    for name, summary in (("one", SUMMARY), ("two", DETOURED), ("silent", SILENT)):
        records.write(tmp_path / name, "summary.json", summary)
        folders.append(tmp_path / name)
    return folders


def test_what_runs_have_in_common_and_in_what_they_differ(runs):
    found = compare(runs)
    assert found.runs == ("one", "two", "silent")
    assert found.differing == {"routing": ["min", "ugal-pf", "min"], "seed": [1, 1, 2]}
    assert found.same["pattern"] == "tornado"
    assert found.results["accepted"] == [0.3, 0.49, 0.3]
    assert found.results["predicted"] == [0.31, None, 0.31]
    assert found.results["hops_mean"] == [1.75, 3.0, None]
    assert found.results["reordered"] == [0.005, 0.005, None]


def test_the_command_prints_and_draws(runs, capsys, tmp_path):
    names = list(map(str, runs))
    assert entry.main(["compare", *names, "--figure", str(tmp_path / "c.svg")]) == Status.DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("all: name polarfly")
    assert lines[1].split() == ["one", "two", "silent"]
    assert ["accepted", "0.3", "0.49", "0.3"] in [line.split() for line in lines]
    assert "ugal-pf" not in (tmp_path / "c.svg").read_text()
    assert "accepted" in (tmp_path / "c.svg").read_text()
    assert entry.main(["compare", *names, "--json"]) == Status.DONE
    assert json.loads(capsys.readouterr().out)["differing"]["routing"] == ["min", "ugal-pf", "min"]
    assert entry.main(["compare", *names, "--figure", str(tmp_path / "c.svg")]) == Status.USAGE


def test_folders_of_one_name_go_by_their_paths(runs, tmp_path):
    (tmp_path / "deep").mkdir()
    again = (tmp_path / "deep" / "one").resolve()
    records.write(again, "summary.json", SUMMARY)
    assert compare([runs[0], again]).runs == (str(runs[0]), str(again))


@pytest.mark.parametrize(
    "damage", ["{", "[]", "{}", '{"accepted": 1}', json.dumps({**plain(SUMMARY), "hops": {"x": 1}})]
)
def test_damaged_and_foreign_folders_are_told(runs, damage):
    (runs[1] / "summary.json").write_text(damage)
    with pytest.raises(ParameterError, match="two"):
        compare(runs)


def test_what_cannot_be_compared_is_told(runs, tmp_path):
    with pytest.raises(ParameterError, match="two runs or more"):
        compare(runs[:1])
    with pytest.raises(ParameterError, match="named twice"):
        compare([runs[0], tmp_path / "." / "one"])
    with pytest.raises(ParameterError, match="nowhere"):
        compare([runs[0], tmp_path / "nowhere"])


def collective(*sizes):
    measured = tuple(
        CollectiveSize(size, 2, completion_ms=size / 100, bus_bandwidth_bps=1_000_000) for size in sizes
    )
    result = CollectiveSummary(
        name="allreduce",
        algorithm="ring",
        ranks=4,
        message_bytes=sizes[0],
        iterations=2,
        sizes=measured,
        resent=3,
    )
    return replace(SUMMARY, collective=result)


def test_collectives_are_compared_size_by_size(tmp_path, capsys):
    for name, summary in (("a", collective(1024, 4096)), ("b", collective(4096)), ("c", SUMMARY)):
        records.write(tmp_path / name, "summary.json", summary)
    found = compare([tmp_path / name for name in "abc"])
    assert found.results["completion_ms at 4096"] == [40.96, 40.96, None]
    assert found.results["completion_ms at 1024"] == [10.24, None, None]
    assert found.collectives == [[(1024, 1e6), (4096, 1e6)], [(4096, 1e6)], []]
    figure = tmp_path / "both.svg"
    names = [str(tmp_path / name) for name in "ab"]
    assert entry.main(["compare", *names, "--figure", str(figure)]) == Status.DONE
    assert "bus bandwidth" in figure.read_text()


@pytest.mark.parametrize("value", ["abc", float("nan"), float("inf")])
def test_a_result_that_is_no_number_is_told(runs, value):
    (runs[1] / "summary.json").write_text(json.dumps({**plain(DETOURED), "accepted": value}))
    with pytest.raises(ParameterError, match="damaged"):
        compare(runs)


def test_runs_in_which_nothing_arrived_are_drawn(runs, tmp_path):
    for name in ("other", "another"):
        records.write(tmp_path / name, "summary.json", SILENT)
    names = [str(tmp_path / name) for name in ("other", "another")]
    assert entry.main(["compare", *names, "--figure", str(tmp_path / "silent.png")]) == Status.DONE
