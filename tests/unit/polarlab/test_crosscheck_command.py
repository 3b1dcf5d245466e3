"""`polarlab crosscheck`: what it prints, and what it refuses."""

import json
import re
from pathlib import Path

import pytest
from support.builders import records
from support.builders.result_folders import write_replications, write_run, write_sweep
from support.fixtures.alarms import no_longer_than

import polarlab
from controller.adaptation_loop import step_s
from experiments.codec import plain
from experiments.results.replications import combine
from experiments.simulation import crosscheck
from polarlab.cli import main as entry

pytestmark = pytest.mark.usefixtures("compiled_kernels")

# A run of ER_3 with a schedule of its own; the simulation has its packets, whatever was measured.
MEASURED = {"queueing_frame_times": 1.5}


def test_a_point_has_measured_simulated_and_predicted_values(tmp_path, capsys):
    folder = write_run(tmp_path / "run", records.summary(**MEASURED))
    assert entry.main(["crosscheck", str(folder), "--json"]) == 0
    [point] = json.loads(capsys.readouterr().out)["points"]
    assert point["accepted"] == records.SUMMARY.accepted
    assert point["accepted_simulated"] == pytest.approx(records.SUMMARY.load, rel=0.1)
    assert point["accepted_credit"] == pytest.approx(records.SUMMARY.load, rel=0.12)
    assert point["queueing_frame_times_simulated"] > 0
    assert 1 < point["hops_mean_simulated"] < 2


def test_an_adaptive_point_has_the_controllers_law_at_its_period(tmp_path, monkeypatch, capsys):
    periods = []

    class Noted(crosscheck.BucketLoop):
        def __init__(self, plan, tables, period, routers):
            super().__init__(plan, tables, period, routers)
            periods.append(period)

    monkeypatch.setattr(crosscheck, "BucketLoop", Noted)
    folder = write_run(tmp_path / "run", records.summary(routing="ugal-pf", **MEASURED))
    assert entry.main(["crosscheck", str(folder), "--json"]) == 0
    [point] = json.loads(capsys.readouterr().out)["points"]
    summary = records.summary()
    packets_per_s = summary.link_rate_bps / 8 / summary.frame_bytes
    step = step_s(summary.link_rate_bps, summary.queue_packets)
    assert periods == [pytest.approx(step * packets_per_s * 4, abs=0.5)]
    assert point["accepted_simulated"] == pytest.approx(records.SUMMARY.load, rel=0.1)


@pytest.mark.parametrize(
    "changed",
    [
        {"measured_s": 1e9},
        {"warmup_s": 1e12},
        {"warmup_s": -1.0},
        {"load": 1e300},
        {"frame_bytes": 1},
        {"link_rate_bps": 10**10},
    ],
)
def test_packets_that_no_run_can_have_sent_are_refused_at_once(tmp_path, capsys, changed):
    folder = write_run(tmp_path / "run", records.summary(**MEASURED))
    kept = folder / "summary.json"
    kept.write_text(json.dumps(json.loads(kept.read_text()) | changed))
    with no_longer_than(10):
        assert entry.main(["crosscheck", str(folder)]) == 2
    assert f"{folder} is damaged: " in capsys.readouterr().err


def test_the_table_has_a_line_for_each_point(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    folder = write_run(tmp_path / "run", records.summary(**MEASURED))
    assert entry.main(["crosscheck", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "queueing simulated" in printed
    assert records.SUMMARY.pattern in printed


def test_the_figure_of_a_sweep_has_the_simulated_points(tmp_path, capsys):
    folder = write_sweep(tmp_path / "sweep", ["min"], ["tornado"], loads=(0.2, 0.6), vary=["flows=1,2"])
    for path in folder.glob("points/*.json"):
        load = float(path.name.split("-")[2])
        summary = {**json.loads(path.read_text()), **MEASURED, "pattern": "tornado", "load": load}
        path.write_text(json.dumps(summary))
    assert "light" not in str(_labels(folder))
    assert entry.main(["crosscheck", str(folder), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert json.loads((folder / "crosscheck.json").read_text()) == printed
    assert [point["options"] for point in printed["points"]] == [{"flows": 1}] * 2 + [{"flows": 2}] * 2
    assert all(point["latency_ms_simulated"] > 0 for point in printed["points"])
    assert "light: the same packets, simulated" in _labels(folder)


def _labels(folder):
    """Returns the labels of the figure of a sweep."""
    return [text.get_text() for text in polarlab.plot(folder)["sweep"].legends[0].get_texts()]


def test_results_without_queueing_cannot_be_compared(tmp_path, capsys):
    folder = write_run(tmp_path / "run", records.summary(queueing_frame_times=None))
    assert entry.main(["crosscheck", str(folder)]) == 2
    assert "packets of a pattern" in capsys.readouterr().err


def test_a_folder_without_results_is_told(tmp_path, capsys):
    assert entry.main(["crosscheck", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_replications_are_judged_by_the_interval_of_what_was_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    folder = write_replications(tmp_path / "run")
    for path in folder.glob("seed-*/summary.json"):
        path.write_text(json.dumps({**json.loads(path.read_text()), **MEASURED}))
    assert entry.main(["crosscheck", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    [one] = told["replicated"]
    assert (one["seeds"], len(told["points"])) == ([1, 2, 3], 3)
    accepted = one["accepted"]
    assert accepted["mean"] == pytest.approx(sum(p["accepted"] for p in told["points"]) / 3, abs=1e-6)
    assert accepted["within"] == (abs(accepted["mean"] - accepted["simulated"]) <= accepted["ci95"])
    # Three equal measurements have an interval of no width.
    assert (one["queueing_frame_times"]["ci95"], one["queueing_frame_times"]["within"]) == (0, False)
    assert entry.main(["crosscheck", str(folder)]) == 0
    printed = capsys.readouterr()
    assert re.search(r"queueing +1.5 \+- 0 .* yes *$", printed.out, re.MULTILINE)
    rows = [line.split() for line in printed.out.splitlines()[:4]]
    assert [row[rows[0].index("seed")] for row in rows[1:]] == ["1", "2", "3"]
    assert all(f"seed {seed}" in printed.err for seed in (1, 2, 3))
    path = folder / "seed-2" / "summary.json"
    doubted = records.SUMMARY.fidelity.doubted("a switch stalled")
    path.write_text(json.dumps({**json.loads(path.read_text()), "fidelity": plain(doubted)}))
    assert entry.main(["crosscheck", str(folder)]) == 0
    assert re.search(r"queueing +1.5 \+- 0 .* no *$", capsys.readouterr().out, re.MULTILINE)


def test_replications_of_a_sweep_are_compared_and_judged(tmp_path, capsys):
    folder = write_sweep(tmp_path / "sweep", ["min"], ["tornado"], loads=(0.2, 0.3))
    for path in [*folder.glob("points/*.json")]:
        load = float(path.stem.split("-")[2])
        ones = [records.summary(seed=seed, pattern="tornado", load=load, **MEASURED) for seed in (1, 2)]
        for one in ones:
            seeds = path.with_name(f"{path.stem}-seed-{one.seed}.json")
            seeds.write_text(json.dumps(plain(one)))
        path.write_text(json.dumps(plain(combine(ones, 2))))
    assert entry.main(["crosscheck", str(folder), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [point["seed"] for point in told["points"]] == [1, 2, 1, 2]
    assert all(one["seeds"] == [1, 2] for one in told["replicated"])


@pytest.mark.parametrize("word", ["polarfly", "experiment.toml"])
def test_a_fabric_is_measured_with_the_options_of_a_run(tmp_path, monkeypatch, capsys, word):
    """What is run is held; the fabric itself is up in the tests of fabrics."""
    folder, run = write_run(tmp_path / "run", records.summary(**MEASURED)), []

    def measured(experiment, **_others):
        run.append(dict(experiment.values))
        return polarlab.Run(folder)

    monkeypatch.setattr(polarlab, "run", measured)
    monkeypatch.chdir(tmp_path)
    Path("experiment.toml").write_text('version = 1\nkind = "run"\n[topology]\nname = "polarfly"\nq = 3\n')
    words = [word, *(["--q", "3"] if word == "polarfly" else []), "--load", "0.4"]
    assert entry.main(["crosscheck", *words, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["points"]) == 1
    assert (run[0]["topology"], run[0]["q"], run[0]["load"]) == ("polarfly", 3, 0.4)


def test_options_of_a_run_are_not_for_results(tmp_path):
    folder = write_run(tmp_path / "run", records.summary(**MEASURED))
    with pytest.raises(polarlab.UsageError, match="leave out load"):
        polarlab.crosscheck(folder, load=0.3)


@pytest.mark.parametrize("words", [[], ["--q", "3"]])
def test_a_mistyped_family_is_told_with_the_nearest_one(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert entry.main(["crosscheck", "polarfyl", *words]) == 2
    assert "'polarfly'?" in capsys.readouterr().err
