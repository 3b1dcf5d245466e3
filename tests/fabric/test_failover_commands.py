"""`polarlab demo failover`, and runs that play faults."""

import json
import signal

import pytest
from conftest import TIMEOUT_S, measures_a_failover, start_polarlab, summary_of_run, wait_for_line

from experiments.results.failover import FAILOVER_COLUMNS, FAILOVERS
from experiments.results.open import Failovers, open_results
from experiments.results.tables import read_csv
from polarlab import plot
from polarlab import run as polarlab_run

pytestmark = pytest.mark.usefixtures("no_leftovers")


def test_a_run_plays_faults_and_tells_of_them(tmp_path):
    schedule = tmp_path / "faults.txt"
    schedule.write_text(
        "0.5 fail switch:s4\n1 fail controller\n1.5 restore controller\n2 restore switch:s4\n"
    )
    traffic = {"load": 0.1, "duration": 3, "warmup": 0.2, "faults": schedule}
    summary = summary_of_run(tmp_path / "run", "polarfly", q=2, **traffic)
    assert [fault["fault"] for fault in summary["faults"]["done"]] == [
        *("fail switch:s4", "fail controller", "restore controller", "restore switch:s4")
    ]
    assert any("s4" in plan["failed"] for plan in summary["faults"]["replanned"])
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["traffic"]["faults"][0] == "0.5 fail switch:s4"


def test_a_run_draws_faults_from_its_seed_and_writes_their_schedule(tmp_path):
    asked = "mtbf:links=500ms,switches=2s,mttr=300ms"
    traffic = {"load": 0.1, "duration": 3, "warmup": 0.2, "seed": 4}
    run = polarlab_run("polarfly", q=2, **traffic, faults=asked, out=tmp_path / "run")
    first, *lines = (tmp_path / "run" / "faults.txt").read_text().splitlines()
    assert first == f"# drawn from {asked} with seed 4"
    assert tuple(lines) == run.manifest.traffic.faults
    assert run.manifest.traffic.faults_asked == asked
    assert [fault.fault for fault in run.summary.faults.done] == [line.partition(" ")[2] for line in lines]
    assert len(lines) > 3


@measures_a_failover
@pytest.mark.tried_again
def test_failovers_are_repeated_on_one_fabric_and_an_interrupted_series_keeps_what_it_measured(tmp_path):
    words = ("polarfly", "--q", "2", "--fail", "random-link", "--repeat", "50", "--seed", "7")
    process = start_polarlab("demo", "failover", *words, "--out", str(tmp_path / "series"))
    wait_for_line(process, "seed 8, failover 2 of 50")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    results = open_results(tmp_path / "series")
    assert isinstance(results, Failovers)
    series = results.summary
    assert (series.seeds, series.asked, series.interrupted) == ((7,), 50, True)
    assert series.negative is None
    assert all(0 < gap < 1000 for gap in series.gap_ms.values)
    assert series.repaired_by == {"switches": 1}
    assert [one.summary.gap_ms for one in results.replications] == list(series.gap_ms.values)
    assert all(one.summary.restored for one in results.replications)
    assert read_csv(results.folder / FAILOVERS, FAILOVER_COLUMNS)["seed"] == ["7"]
    assert "failovers" in plot(results.folder)
