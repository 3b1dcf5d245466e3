"""The item of papers that sends real packets: a tiny network beside its simulations, measured once."""

import pytest

from experiments.events.base import ignore
from experiments.papers.beyond.members import NetworkWithHosts
from experiments.papers.beyond.real import RealNetwork, real_packets
from experiments.papers.model import Scale
from experiments.papers.networks import network
from experiments.papers.performance.model import ComputeSettings
from experiments.results.run_directory import kept_directory


@pytest.mark.tried_again
def test_real_packets_agree_with_simulations_and_theory_and_are_measured_once(tmp_path, monkeypatch):
    member = NetworkWithHosts(network("polarfly q=2", "polarfly", q=2), 1)
    tiny = RealNetwork(member, ("uniform",), (0.3,), 4)
    monkeypatch.setattr("experiments.papers.beyond.real.real_networks", lambda _: iter([tiny]))
    with kept_directory(tmp_path / "papers", resume=True) as directory:
        first = real_packets(Scale(quick=True), ComputeSettings(directory, on_event=ignore))
        assert [row["routing"] for row in first.rows] == ["min", "ugal-pf"]
        minimal = first.rows[0]
        assert minimal["validity"] == "valid"
        for name in ("accepted_simulated", "accepted_credit", "accepted_predicted"):
            assert abs(minimal["accepted"] - minimal[name]) < 0.03
        [points] = (tmp_path / "papers" / "real").glob("*/points.csv")
        before = points.read_bytes()
        again = real_packets(Scale(quick=True), ComputeSettings(directory, on_event=ignore))
    assert again.rows == first.rows
    assert points.read_bytes() == before
