"""Sweeps, strictness and calibration, as users run them."""

import csv
import json
from collections import Counter
from dataclasses import replace

import pytest
from conftest import TIMEOUT_S, fabric_options, one_line, polarlab, start_polarlab, wait_for_line

from experiments import calibration
from experiments.results.open import open_results
from experiments.run import Output, run_experiment
from experiments.spec.traffic import TrafficOptions

pytestmark = pytest.mark.usefixtures("no_leftovers")

SWEEP = ("sweep", "polarfly", "--q", "2", "--hosts", "2", "--link-rate", "500kbit", "--warmup", "0.5")
SWEEP += ("--duration", "1.2", "--routings", "min,ugal-pf", "--patterns", "tornado")


def rows(folder):
    with open(folder / "points.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_a_sweep_that_was_killed_goes_on_where_it_was(tmp_path):
    out = tmp_path / "sweep"
    words = (*SWEEP, "--loads", "0.5", "--out", str(out))
    process = start_polarlab(*words)
    wait_for_line(process, "point 2 of 2")
    process.kill()
    process.communicate(timeout=TIMEOUT_S)
    measured = rows(out)
    assert len(measured) == 1
    with open(out / "points.csv", "a") as file:
        file.write("min,tornado,0.5,0.49")  # torn off in the middle of a row

    done = polarlab(*words, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["measured"] == 1
    assert rows(out)[: len(measured)] == measured
    points = Counter((row["routing"], row["pattern"], row["load"]) for row in rows(out))
    assert len(points) == 2
    assert set(points.values()) == {1}
    assert [point["routing"] for point in result["points"]] == ["min", "ugal-pf"]
    for row in rows(out):
        assert float(row["accepted"]) == pytest.approx(float(row["offered"]), rel=0.3)
        assert (row["predicted_accepted"] != "") == (row["routing"] == "min")
    assert (out / "sweep.png").stat().st_size > 10_000
    sweep = open_results(out)
    for point, values in sweep.points.items():
        loads = [link.load for link in sweep.link_loads(point)]
        assert max(loads) == pytest.approx(values.link_load_max, abs=1e-5)
        assert 1 <= values.hops_mean <= 4

    again = polarlab(*words, "--json")
    assert json.loads(again.stdout)["measured"] == 0
    assert again.stderr.count("starting") == 0
    assert polarlab("plot", str(out)).returncode == 0

    other = polarlab(*SWEEP, "--loads", "0.5", "--seed", "7", "--out", str(out))
    assert other.returncode == 2
    assert "holds a sweep with seed 1, not 7" in one_line(other.stderr)
    assert len(rows(out)) == 2


def test_a_sweep_does_not_touch_the_folder_of_a_run(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"name": "polarfly"}))
    done = polarlab(*SWEEP, "--loads", "0.2", "--out", str(tmp_path))
    assert done.returncode == 2
    assert str(tmp_path) in one_line(done.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


RUN = ("run", "polarfly", "--q", "2", "--link-rate", "500kbit", "--load", "0.3", "--json")


def test_strict_makes_an_invalid_run_a_negative_result(tmp_path):
    """Half a second is too short to sample the CPU in it."""
    done = polarlab(*RUN, "--duration", "0.5", "--warmup", "0", "--strict", "--out", str(tmp_path / "run"))
    assert done.returncode == 1
    assert not json.loads(done.stdout)["fidelity"]["valid"]
    assert "result not valid" in done.stderr


@pytest.mark.tried_again
def test_a_calibrated_rate_is_found_set_and_written_down(tmp_path, monkeypatch):
    """By trials that are shorter, and less choosy, than a user's."""
    monkeypatch.setattr(calibration, "_DURATION_S", 2.2)  # two whole seconds are in it
    monkeypatch.setattr(calibration, "_MOST_ACCEPT_IDLE", 1.0)
    options = replace(fabric_options("polarfly", {"q": 2}), calibrate=True)
    traffic = TrafficOptions("uniform", 0.3, 1000, 64, 0.5, 2.0, seed=1)
    notified = []
    out = tmp_path / "run"
    summary = run_experiment(options, traffic, Output(out), notified.append)
    rate_bps = summary.link_rate_bps
    assert rate_bps > 100_000  # seven switches are few, even for half a machine
    assert rate_bps != options.links.rate_bps
    assert any(f"links of {rate_bps / 1e6:g} Mbit/s" in str(event) for event in notified)
    assert summary.accepted == pytest.approx(0.3, rel=0.2)
    assert json.loads((out / "manifest.json").read_text())["link_rate_bps"] == rate_bps


@pytest.mark.slow
@pytest.mark.tried_again
def test_the_command_calibrates_as_a_user_asks_it_to(tmp_path):
    words = [word if word != "500kbit" else "auto" for word in RUN]
    done = polarlab(*words, "--duration", "2", "--warmup", "0.5", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["link_rate_bps"] > 300_000
    assert summary["accepted"] == pytest.approx(0.3, rel=0.2)
