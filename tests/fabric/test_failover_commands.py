"""`polarlab demo failover`, and runs that play faults."""

import json

import pytest
from conftest import polarlab

pytestmark = pytest.mark.usefixtures("no_leftovers")


def test_a_run_plays_faults_and_tells_of_them(tmp_path):
    schedule = tmp_path / "faults.txt"
    schedule.write_text(
        "0.5 fail switch:s4\n1 fail controller\n1.5 restore controller\n2 restore switch:s4\n"
    )
    words = ("polarfly", "--q", "2", "--load", "0.1", "--duration", "3", "--warmup", "0.2")
    done = polarlab("run", *words, "--faults", str(schedule), "--out", str(tmp_path / "run"), "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert [fault["fault"] for fault in summary["faults"]["done"]] == [
        *("fail switch:s4", "fail controller", "restore controller", "restore switch:s4")
    ]
    assert any("s4" in plan["failed"] for plan in summary["faults"]["replanned"])
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["traffic"]["faults"][0] == "0.5 fail switch:s4"
