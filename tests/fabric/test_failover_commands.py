"""`polarlab demo failover`, and runs that play faults."""

import json

import pytest
from conftest import one_line, polarlab

pytestmark = pytest.mark.usefixtures("no_leftovers")


def test_demo_failover_tells_what_a_cut_cost(tmp_path):
    out = tmp_path / "demo"
    done = polarlab("demo", "failover", "polarfly", "--q", "3", "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["failed"][0].startswith("link:s")
    assert summary["pairs_affected"] == 2 * 2 * 3  # a link of a quadric carries 2q pairs each way
    assert summary["repaired_by"] == "switches"
    assert 0 < summary["gap_ms"] < 1000
    assert summary["probe_interval_ms"] <= 2
    assert summary["controller_converged_ms"] > 0
    assert summary["restored"] is True
    assert summary["lost_at_restore"] == 0
    assert summary["phases"]["before"] | {"sent": 0, "longest_silence_ms": 0} == {
        "sent": 0,
        "lost": 0,
        "longest_silence_ms": 0,
        "hops_mean": summary["phases"]["before"]["hops_mean"],
        "hops_max": 2,
    }
    assert {path.name for path in out.iterdir()} == {
        *("manifest.json", "summary.json", "probes.csv", "events.csv", "failover.png", "failover.svg")
    }


def test_demo_failover_of_the_controller_alone_loses_nothing(tmp_path):
    words = ("polarfly", "--q", "3", "--kill-controller", "--routing", "ugal-pf")
    done = polarlab("demo", "failover", *words, "--out", str(tmp_path / "demo"), "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["failed"] == ["controller"]
    assert summary["packets_lost"] == 0


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("demo", "failover", "polarfly", "--q", "3", "--fail", "link:s1-s1"), "there is no such link"),
        (("demo", "failover", "--fail", "controller"), "--kill-controller is for the controller"),
        (("demo", "failover", "--link-rate", "auto"), "give a rate"),
        (("demo", "failover", "--link-loss", "0.1"), "on links without delay and loss"),
        (("demo", "outage"), "invalid choice"),
        (("run", "polarfly", "--q", "3", "--faults", "/nowhere"), "/nowhere cannot be read"),
        (("rules", "polarfly", "--q", "3", "s99"), "no switch 's99'"),
    ],
)
def test_wrong_use_is_one_line(words, said):
    done = polarlab(*words)
    assert done.returncode == 2
    assert said in one_line(done.stderr)
