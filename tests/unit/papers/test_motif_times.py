"""Motifs of PolarStar's Fig 11: ratios of made-up times, and times that are simulated once."""

import pytest

from experiments.papers.claims import claims_of_item
from experiments.papers.model import Scale
from experiments.papers.performance.model import ComputeSettings
from experiments.papers.polarstar import motifs
from experiments.papers.polarstar.motifs import StoredTime, motif_networks, motif_times, speed_ratios
from experiments.results.run_directory import kept_directory
from experiments.simulation import applications

QUICK = Scale(quick=True)


def times(**cycles):
    return {name.replace("_", "-"): StoredTime("", name, "", one, 1, 0.0) for name, one in cycles.items()}


def test_ratios_are_of_speeds():
    made_up = {
        "allreduce": times(
            PS_IQ_MIN=400, HX_MIN=400, DF_MIN=800, PS_IQ_UGAL=220, HX_UGAL=240, DF_UGAL=250, FT_NCA=200
        ),
        "Sweep3D": times(
            PS_IQ_MIN=100, HX_MIN=90, DF_MIN=120, PS_IQ_UGAL=80, HX_UGAL=84, DF_UGAL=90, FT_NCA=76
        ),
    }
    found = speed_ratios(made_up)
    assert found == pytest.approx(
        {
            "allreduce fat tree": 220 / 200,
            "allreduce PS": 200 / 220,
            "allreduce hyperx": 240 / 220,
            "sweep3d MIN": 120 / 100,
            "sweep3d hyperx": 84 / 80,
            "sweep3d fat tree": 76 / 80,
        }
    )
    assert set(found) == {claim.key for claim in claims_of_item("polarstar", "fig11")}


@pytest.mark.parametrize("effort", [QUICK, Scale()])
def test_all_networks_of_the_claims_are_compared(effort):
    names = {"PS-IQ-MIN", "HX-MIN", "DF-MIN", "PS-IQ-UGAL", "HX-UGAL", "DF-UGAL", "FT-NCA"}
    assert set(motif_networks(effort)) == names


def test_times_are_simulated_once_and_never_below_the_least(tmp_path, monkeypatch):
    monkeypatch.setattr(motifs, "QUICK_RANKS", 16)
    with kept_directory(tmp_path / "papers", resume=True) as directory:
        first = motif_times(QUICK, ComputeSettings(directory))
    assert not first.values
    assert len(first.rows) == 14
    ideal = {row["motif"]: row["ideal_cycles"] for row in first.rows}
    assert ideal["allreduce"] != ideal["Sweep3D"]
    assert all(row["slowdown"] >= 1 for row in first.rows)
    assert all(row["speed"] == 1 for row in first.rows if row["curve"].startswith("DF-"))

    def never(*_):
        raise AssertionError("simulated again")

    monkeypatch.setattr(applications, "simulate_messages", never)
    with kept_directory(tmp_path / "papers", resume=True) as directory:
        assert motif_times(QUICK, ComputeSettings(directory)).rows == first.rows
