"""Runs side by side, from their summaries alone."""

import json
from dataclasses import replace

import pytest
from support.builders import records, result_folders

import polarlab
from experiments.codec import plain
from experiments.comparison.compare import compare
from experiments.comparison.settings import flat_settings
from experiments.results.model import Latencies, PacketCounts, Predicted
from experiments.results.parts.collective import CollectiveSize, CollectiveSummary
from polarlab.cli import main as entry
from topology.errors import ParameterError, Status

SUMMARY = records.summary(predicted=Predicted(0.31))
DETOURED = replace(SUMMARY, routing="ugal-pf", accepted=0.49, predicted=None, hops={3: 4})
SILENT = replace(
    SUMMARY, seed=2, packets=PacketCounts(0, 0), hops={}, latency_ms=Latencies(None, None, None, None)
)


def write_run(folder, summary, **changes):
    """Writes summary and manifest of a run, which agree but for some changes; returns the folder."""
    records.write(folder, "summary.json", summary)
    manifest = {"routing": summary.routing, "seed": summary.seed, **changes}
    records.write(folder, "manifest.json", records.run_manifest(**manifest))
    return folder


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")


@pytest.fixture
def runs(tmp_path):
    folders = []
    for name, summary in (("one", SUMMARY), ("two", DETOURED), ("silent", SILENT)):
        write_run(tmp_path / name, summary)
        folders.append(tmp_path / name)
    return folders


def test_what_runs_have_in_common_and_in_what_they_differ(runs):
    found = compare(*runs)
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
    write_run(again, SUMMARY)
    assert compare(runs[0], again).runs == (str(runs[0]), str(again))


@pytest.mark.parametrize(
    "damage", ["{", "[]", "{}", '{"accepted": 1}', json.dumps({**plain(SUMMARY), "hops": {"x": 1}})]
)
def test_damaged_and_foreign_folders_are_told(runs, damage):
    (runs[1] / "summary.json").write_text(damage)
    with pytest.raises(ParameterError, match="two"):
        compare(*runs)


def test_a_manifest_of_an_odd_kind_is_told(tmp_path):
    folders = [result_folders.write_run(tmp_path / name, experiment={"kind": "run"}) for name in "ab"]
    file = folders[1] / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"experiment": {"kind": ["run", "run"]}}))
    with pytest.raises(ParameterError, match="damaged"):
        compare(*folders)


def test_what_cannot_be_compared_is_told(runs, tmp_path):
    with pytest.raises(ParameterError, match="two runs"):
        compare(*runs[:1])
    with pytest.raises(ParameterError, match="got one twice"):
        compare(runs[0], tmp_path / "." / "one")
    with pytest.raises(ParameterError, match="nowhere"):
        compare(runs[0], tmp_path / "nowhere")


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
        write_run(tmp_path / name, summary)
    found = compare(*(tmp_path / name for name in "abc"))
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
        compare(*runs)


def test_runs_in_which_nothing_arrived_are_drawn(runs, tmp_path):
    for name in ("other", "another"):
        write_run(tmp_path / name, SILENT)
    names = [str(tmp_path / name) for name in ("other", "another")]
    assert entry.main(["compare", *names, "--figure", str(tmp_path / "silent.png")]) == Status.DONE


def table(text):
    """Returns the cells of the lines of a printed table by their first word."""
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}


def test_every_differing_entry_of_the_manifests_is_told(tmp_path, capsys):
    """Faults, flows and local repair as well as an entry of which the comparison has never heard."""
    traffic = records.run_manifest().traffic
    changes = replace(traffic, faults=("1 fail link:s1-s2", "2 fail controller"), flows=1)
    write_run(tmp_path / "calm", SUMMARY)
    write_run(tmp_path / "cut", SUMMARY, traffic=changes, local_repair=False, versions={"numpy": "9"})
    content = json.loads((tmp_path / "cut" / "manifest.json").read_text())
    content["traffic"]["new_setting"] = 7
    found = compare(tmp_path / "calm", tmp_path / "cut")
    assert found.differing["faults"] == [None, ["1 fail link:s1-s2", "2 fail controller"]]
    assert found.differing["flows"] == [None, 1]
    assert found.differing["local_repair"] == [True, False]
    assert found.differing["versions.numpy"] == [None, "9"]
    assert flat_settings(content)["new_setting"] == 7
    assert entry.main(["compare", str(tmp_path / "calm"), str(tmp_path / "cut")]) == Status.DONE
    printed = capsys.readouterr().out
    assert table(printed)["local_repair"] == ["yes", "no"]
    assert "2 fail controller" in printed


def test_replications_are_compared_with_their_seeds_and_intervals(tmp_path, capsys):
    several = result_folders.write_replications(tmp_path / "several")
    one = write_run(tmp_path / "one", SUMMARY)
    found = compare(several, one)
    assert found.differing == {"seeds": [[1, 2, 3], [1]]}
    assert found.intervals["accepted"] == [pytest.approx(0.0248, rel=1e-2), None]
    assert entry.main(["compare", str(several), str(one)]) == Status.DONE
    assert table(capsys.readouterr().out)["accepted"] == ["0.31", "±", "0.025", "0.3"]
    assert "0.31 ± 0.025" in repr(polarlab.compare(several, one))


def test_sweeps_are_compared_point_by_point(tmp_path, capsys):
    sweeps = [
        result_folders.write_sweep(tmp_path / "one", ("min", "ugal"), ("tornado",)),
        result_folders.write_sweep(tmp_path / "two", ("ugal", "min"), ("tornado",), (1.0,), flows=3),
    ]
    found = compare(*sweeps)
    assert found.differing == {"flows": [64, 3], "routings": [["min", "ugal"], ["ugal", "min"]]}
    points = {point.name: point for point in found.points}
    assert points["min tornado 1"].values["accepted"] == [0.3, 0.4]
    assert points["min tornado 1"].differences["accepted"] == [0.0, 0.1]
    assert points["min tornado 1"].values["valid"] == [True, False]
    names = list(map(str, sweeps))
    assert entry.main(["compare", *names, "--figure", str(tmp_path / "both.svg")]) == Status.DONE
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["min", "tornado", "1", "0.3", "0.4", "(not", "valid)", "+0.1"] in rows
    assert "crossed out" in (tmp_path / "both.svg").read_text()


def test_sweeps_that_vary_options_are_compared_point_by_point(tmp_path, capsys):
    queues = [("queue=8,32",), ("queue=8,100",)]
    sweeps = [
        result_folders.write_sweep(tmp_path / str(n), ("min",), ("tornado",), loads=(0.5,), vary=vary)
        for n, vary in enumerate(queues)
    ]
    found = compare(*sweeps)
    assert found.differing == {"vary": [{"queue": [8, 32]}, {"queue": [8, 100]}]}
    assert "queue_packets" not in found.same
    points = {point.name: point for point in found.points}
    assert list(points) == [f"min tornado 0.5 queue={queue}" for queue in (8, 32, 100)]
    assert points["min tornado 0.5 queue=8"].differences["accepted"] == [0.0, 0.0]
    assert points["min tornado 0.5 queue=32"].values["accepted"] == [0.3, None]
    assert entry.main(["compare", *map(str, sweeps), "--json"]) == Status.DONE
    assert json.loads(capsys.readouterr().out)["points"][0]["varied"] == {"queue": 8}
    assert entry.main(["compare", *map(str, sweeps)]) == Status.DONE
    assert "min tornado 0.5 queue=100" in capsys.readouterr().out


def test_routings_of_two_families_meet_by_their_roles(tmp_path):
    sweeps = [
        result_folders.write_sweep(tmp_path / "one", ("min", "ugal-pf", "valiant"), ("tornado",)),
        result_folders.write_sweep(tmp_path / "two", ("hierarchical", "ugal", "valiant"), ("tornado",)),
    ]
    apart = {"min", "hierarchical", "ugal", "ugal-pf", "valiant"}
    assert {point.routing for point in compare(*sweeps).points} == apart
    manifest = sweeps[1] / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"name": "dragonfly"}))
    points = compare(*sweeps).points
    assert {point.routing for point in points} == {"min / hierarchical", "ugal-pf / ugal", "valiant"}
    assert all(None not in point.values["accepted"] for point in points)


def test_failovers_are_compared(tmp_path, capsys):
    summary = replace(result_folders.FAILOVER, gap_ms=400.0, repaired_by="controller")
    folders = [
        result_folders.write_failover(tmp_path / "one"),
        result_folders.write_failover(tmp_path / "two", summary, kill_controller=True),
    ]
    found = compare(*folders)
    assert found.differing == {"kill_controller": [None, True]}
    assert found.results["gap_ms"] == [17.6, 400.0]
    assert found.results["failed.hops_max"] == [4, 4]
    names = list(map(str, folders))
    assert entry.main(["compare", *names, "--figure", str(tmp_path / "both.svg")]) == Status.DONE
    assert table(capsys.readouterr().out)["repaired_by"] == ["switches", "controller"]


def test_results_of_different_kinds_are_refused_in_a_line(runs, tmp_path, capsys):
    failover = result_folders.write_failover(tmp_path / "failover")
    assert entry.main(["compare", str(runs[0]), str(failover)]) == Status.USAGE
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "must be of the same kind" in error
    assert "failover" in error


@pytest.mark.parametrize("measured_first", [True, False])
def test_a_measured_and_a_simulated_result_lead_to_the_cross_check(runs, tmp_path, capsys, measured_first):
    words = ["simulate", "polarfly", "--q", "2", "--load", "0.1", "--cycles", "200", "--warmup", "100"]
    assert entry.main([*words, "--out", str(tmp_path / "simulated")]) == Status.DONE
    capsys.readouterr()
    both = [str(runs[0]), str(tmp_path / "simulated")]
    assert entry.main(["compare", *(both if measured_first else both[::-1])]) == Status.USAGE
    assert f"`polarlab crosscheck {runs[0]}`" in capsys.readouterr().err
