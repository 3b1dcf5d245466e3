"""Detours with real packets: tags pushed, followed and popped, and no packet lost on the way."""

import json

import pytest
from conftest import polarlab

pytestmark = pytest.mark.usefixtures("no_leftovers")


@pytest.mark.parametrize("routing", ["valiant", "compact-valiant"])
def test_packets_take_detours_and_all_arrive(tmp_path, routing):
    done = polarlab(
        *("run", "polarfly", "--q", "3", "--hosts", "2", "--routing", routing, "--pattern", "perm1hop"),
        *("--link-rate", "1Mbit", "--load", "0.2", "--duration", "3", "--warmup", "0.5"),
        *("--out", str(tmp_path / "run"), "--json"),
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["loss"] == 0
    assert summary["out_of_order"] == 0
    assert summary["verified"]["pairs"] == 26 * 25
    hops = {int(number) for number in summary["hops"]}
    # Neighbours, not by their own link: the triangle's two hops, or four.
    assert hops == {2, 4} if routing == "compact-valiant" else max(hops) == 4
    assert summary["predicted"]["accepted"] == pytest.approx(0.2)


def adaptive_run(tmp_path, load):
    done = polarlab(
        *(
            "run",
            "polarfly",
            "--q",
            "3",
            "--hosts",
            "3",
            "--routing",
            "ugal-pf",
            "--pattern",
            "random-permutation",
        ),
        *("--link-rate", "500kbit", "--load", load, "--duration", "6", "--warmup", "4"),
        *("--out", str(tmp_path / "run"), "--json"),
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_under_load_traffic_moves_to_detours_and_more_gets_through(tmp_path):
    """Minimal routing accepts 0.308 of this permutation; fixed splits up to 0.41."""
    summary = adaptive_run(tmp_path, "0.5")
    assert summary["adaptation"]["groups_modified"] > 0
    assert summary["accepted"] > 0.34
    assert set(summary["hops"]) > {"1", "2"}


def test_without_congestion_no_group_is_modified(tmp_path):
    summary = adaptive_run(tmp_path, "0.1")
    assert summary["adaptation"]["groups_modified"] == 0
    assert summary["loss"] == 0
    assert summary["hops_as_distances"]
