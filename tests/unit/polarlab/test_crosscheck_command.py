"""`polarlab crosscheck`: what it prints, and what it refuses."""

import json

import pytest
import records
from result_folders import write_run

from polarlab.cli import main as entry

# A run of ER_3 with a schedule of its own; the simulation has its packets, whatever was measured.
MEASURED = {"queueing_frame_times": 1.5}


def test_a_point_has_measured_simulated_and_predicted_values(tmp_path, capsys):
    folder = write_run(tmp_path / "run", records.summary(**MEASURED))
    assert entry.main(["crosscheck", str(folder), "--json"]) == 0
    [point] = json.loads(capsys.readouterr().out)["points"]
    assert point["accepted"] == records.SUMMARY.accepted
    assert point["accepted_simulated"] == pytest.approx(records.SUMMARY.load, rel=0.1)
    assert point["queueing_frame_times_simulated"] > 0
    assert 1 < point["hops_mean_simulated"] < 2


def test_the_table_has_a_line_for_each_point(tmp_path, capsys):
    folder = write_run(tmp_path / "run", records.summary(**MEASURED))
    assert entry.main(["crosscheck", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "queueing simulated" in printed
    assert records.SUMMARY.pattern in printed


def test_results_without_queueing_cannot_be_compared(tmp_path, capsys):
    folder = write_run(tmp_path / "run", records.summary(queueing_frame_times=None))
    assert entry.main(["crosscheck", str(folder)]) == 2
    assert "packets of a pattern" in capsys.readouterr().err


def test_a_folder_without_results_is_told(tmp_path, capsys):
    assert entry.main(["crosscheck", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
