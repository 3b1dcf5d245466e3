"""Real packets beside the same packets on simulated switches."""

import json

import pytest
from conftest import polarlab

pytestmark = pytest.mark.usefixtures("no_leftovers")


@pytest.mark.tried_again
def test_simulated_switches_treat_the_packets_of_a_run_as_real_ones_do(tmp_path):
    # Under tornado at half load, links are saturated and drop.
    traffic = ["--pattern", "tornado", "--load", "0.7", "--warmup", "2", "--duration", "4"]
    fabric = ["polarfly", "--q", "3", "--hosts", "3", "--link-rate", "500kbit", "--routing", "min"]
    compared = polarlab("crosscheck", *fabric, *traffic, "--out", str(tmp_path / "run"), "--json")
    assert compared.returncode == 0, compared.stderr
    assert json.loads((tmp_path / "run" / "crosscheck.json").read_text()) == json.loads(compared.stdout)
    [point] = json.loads(compared.stdout)["points"]
    assert point["accepted"] < 0.6
    assert point["accepted_simulated"] == pytest.approx(point["accepted"], rel=0.02)
    assert point["hops_mean_simulated"] == pytest.approx(point["hops_mean"], rel=0.01)
    assert point["queueing_frame_times_simulated"] == pytest.approx(point["queueing_frame_times"], rel=0.1)
