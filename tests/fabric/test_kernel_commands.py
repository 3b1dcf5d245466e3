"""The commands on the kernel's datapath, as who logs in to a virtual machine gives them."""

import json
import pwd
import shutil

import pytest
from conftest import (
    TIMEOUT_S,
    completed,
    measures_a_failover,
    needs_kernel_datapath,
    polarlab,
    start_polarlab,
    wait_for_line,
)

pytestmark = [needs_kernel_datapath, pytest.mark.usefixtures("no_leftovers")]


@pytest.mark.tried_again
def test_a_run_delivers_what_it_offers_over_shortest_paths(tmp_path):
    out = tmp_path / "run"
    done = polarlab(
        *("run", "polarfly", "--q", "3", "--link-rate", "200kbit", "--load", "0.2", "--duration", "8"),
        *("--datapath", "kernel", "--out", str(out), "--json"),
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["loss"] == 0
    assert summary["accepted"] == pytest.approx(summary["offered"], rel=0.1)
    assert summary["hops_as_distances"]
    assert json.loads((out / "manifest.json").read_text())["datapath"] == "kernel"


def test_the_userspace_datapath_can_still_be_asked_for():
    done = polarlab(
        *("run", "polarfly", "--q", "2", "--link-rate", "200kbit", "--load", "0.1", "--duration", "3"),
        *("--datapath", "user", "--json"),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["hops_as_distances"]


@measures_a_failover
def test_failover_is_measured():
    done = polarlab("demo", "failover", "polarfly", "--q", "2", "--datapath", "kernel", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["restored"] is True
    assert summary["repaired_by"] == "switches"


def test_clean_removes_the_datapaths_that_kill_9_leaves():
    process = start_polarlab("up", "polarfly", "--q", "2", "--exec", "h1_1 sleep 600")
    wait_for_line(process, "all switches have installed")
    process.kill()
    process.communicate(timeout=TIMEOUT_S)
    assert "ovs-vswitchd" in polarlab("clean", "--json").stdout
    assert not any(json.loads(polarlab("clean", "--json").stdout).values())


@pytest.mark.skipif(
    "vagrant" not in {user.pw_name for user in pwd.getpwall()} or not shutil.which("polarlab"),
    reason="this is no machine that was provisioned for PolarLab alone",
)
@needs_kernel_datapath
def test_who_logs_in_runs_fabrics_with_sudo(tmp_path):
    tmp_path.chmod(0o755)
    command = "cd && sudo polarlab run polarfly --q 2 --link-rate 200kbit --load 0.1 --duration 2 --json"
    login = ["su", "vagrant", "-c", command]
    done = completed(login)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["loss"] == 0
