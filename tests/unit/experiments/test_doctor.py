"""Findings on a machine, their remedies, and the fabrics that it carries."""

import json
import os
import subprocess
import sys

import pytest

from experiments import doctor
from experiments.doctor import examine, largest_fabric_routers, link_rate_bps
from polarlab.cli import main as entry
from topology.exit_status import Status


def finding_on(name):
    (finding,) = [finding for finding in examine() if finding.name == name]
    return finding


def test_a_missing_program_is_named_with_its_remedy(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "PROGRAMS", {"ovs-nothing": "openvswitch-switch"})
    missing = finding_on("ovs-nothing")
    assert not missing.present
    assert missing.needed
    assert missing.remedy == "apt-get install openvswitch-switch"
    assert entry.main(["doctor"]) == Status.MACHINE
    assert "missing: " in capsys.readouterr().err.splitlines()[-1]


def test_programs_are_found_where_the_path_is_a_users(monkeypatch, capsys):
    """Debian's plain `su` keeps it."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    entry.main(["doctor", "--json"])
    report = {one["name"]: one for one in json.loads(capsys.readouterr().out)["findings"]}
    assert report["tc"]["said"] in ("/usr/sbin/tc", "/sbin/tc")


def test_a_requirement_that_cannot_be_tried_is_not_reported_as_missing(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert finding_on("tc").missing
    queue = finding_on("qdisc tbf")
    assert not queue.known
    assert not queue.missing
    assert queue.remedy.startswith("cannot be tried without ")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to lose")
def test_a_root_without_capabilities_is_named(capfd):
    """As in a container that was given no capabilities."""
    less = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
    command = [sys.executable, "-c", "import sys; from polarlab.cli.main import main; sys.exit(main())"]
    for words in (["doctor"], ["up", "polarfly", "--q", "2", "--exec", "h1_1 true"]):
        given = [*less, *command, *words]
        done = subprocess.run(given, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == Status.MACHINE
        report = (done.stdout + done.stderr).splitlines()
        assert any("capabilities SYS_ADMIN" in line for line in report)
    assert len(done.stderr.splitlines()) == 1


def test_python_packages_are_found_with_their_versions():
    assert finding_on("ryu").detail == "4.34"
    assert finding_on("numpy").present


def test_a_package_that_is_missing_is_set_up(monkeypatch):
    assert doctor._package("no-such-package").remedy == "make setup"


def test_without_root_queues_cannot_be_tried(monkeypatch):
    monkeypatch.setattr(doctor.os, "geteuid", lambda: 1000)
    assert not finding_on("root").present
    assert finding_on("qdisc tbf").remedy == "cannot be tried without root"


def test_the_size_and_rate_that_it_carries_follow_from_memory_and_cores(monkeypatch):
    monkeypatch.setattr(doctor, "available_memory_bytes", lambda: 1 << 30)
    assert largest_fabric_routers(1) == (1 << 30) // (28 << 20)
    assert largest_fabric_routers(3) < largest_fabric_routers(1)
    assert link_rate_bps(10, 0.5, 1000) == pytest.approx(2 * link_rate_bps(10, 1.0, 1000))


def test_the_command_prints_one_object(capsys):
    status = entry.main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    absent = [one["name"] for one in report["findings"] if one["needed"] and not one["there"]]
    assert status == (Status.MACHINE if absent else Status.DONE)
    assert {fabric["switches"] for fabric in report["fabrics"]} == {13, 31, 57, 133}
