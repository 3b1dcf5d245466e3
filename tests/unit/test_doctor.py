"""What a machine is told to have, to lack, and to carry."""

import json

import pytest

from emulation import doctor
from emulation.doctor import examine, largest_fabric_routers, link_rate_bps
from experiments import entry
from experiments.errors import Status


def found(name):
    (finding,) = [finding for finding in examine() if finding.name == name]
    return finding


def test_what_is_missing_is_named_with_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "PROGRAMS", {"ovs-nothing": "openvswitch-switch"})
    missing = found("ovs-nothing")
    assert not missing.there
    assert missing.needed
    assert missing.remedy == "apt-get install openvswitch-switch"
    assert entry.main(["doctor"]) == Status.MACHINE
    assert "missing: " in capsys.readouterr().err.splitlines()[-1]


def test_a_program_that_the_path_does_not_lead_to_is_told_from_one_that_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert found("tc").remedy.startswith("it is /usr/sbin/tc") or found("tc").remedy.startswith(
        "it is /sbin/tc"
    )
    assert not found("qdisc tbf").there  # and no crash where there is no `unshare`


def test_python_packages_are_there_with_their_versions():
    assert found("ryu").said == "4.34"
    assert found("numpy").there


def test_a_package_that_is_missing_is_set_up(monkeypatch):
    assert doctor._package("no-such-package").remedy == "make setup"


def test_without_root_queues_cannot_be_tried(monkeypatch):
    monkeypatch.setattr(doctor.os, "geteuid", lambda: 1000)
    assert not found("root").there
    assert found("qdisc tbf").remedy == "only root can tell"


def test_how_much_it_carries_follows_from_memory_and_cores(monkeypatch):
    monkeypatch.setattr(doctor, "available_memory_bytes", lambda: 1 << 30)
    assert largest_fabric_routers(1) == (1 << 30) // (28 << 20)
    assert largest_fabric_routers(3) < largest_fabric_routers(1)
    assert link_rate_bps(10, 0.5, 1000) == pytest.approx(2 * link_rate_bps(10, 1.0, 1000))


def test_the_command_prints_one_object(capsys):
    status = entry.main(["doctor", "--json"])
    told = json.loads(capsys.readouterr().out)
    lacks = [one["name"] for one in told["findings"] if one["needed"] and not one["there"]]
    assert status == (Status.MACHINE if lacks else Status.DONE)
    assert {fabric["switches"] for fabric in told["fabrics"]} == {13, 31, 57, 133}
