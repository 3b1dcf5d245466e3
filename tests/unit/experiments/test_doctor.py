"""Findings on a machine, their remedies, and the fabrics that it carries."""

import importlib.metadata
import json
import os
import subprocess
import sys

import pytest

from emulation.requirements import kernel_datapath_available
from experiments.doctor import default_rate, findings, installation
from experiments.doctor.default_rate import largest_fabric_routers, link_rate_bps
from experiments.doctor.features import examine_features
from experiments.doctor.findings import Finding, examine
from polarlab.cli import main as entry
from topology.errors import Status


def finding_on(name):
    (finding,) = [finding for finding in examine() if finding.name == name]
    return finding


def lose(monkeypatch, *names, keep=None):
    """Hides some distributions from Python; `keep` is installed whether it is or not."""

    def version(name):
        if name in names:
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.0" if name == keep else importlib.metadata.distribution(name).version

    monkeypatch.setattr(importlib.metadata, "version", version)


def test_a_missing_program_is_named_with_its_remedy(monkeypatch, capsys):
    monkeypatch.setattr(findings, "PROGRAMS", {"ovs-nothing": "openvswitch-switch"})
    missing = finding_on("ovs-nothing")
    assert not missing.present
    assert missing.needed
    assert missing.remedy == "apt-get install openvswitch-switch"
    assert entry.main(["doctor"]) == Status.MACHINE
    assert "missing: " in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("system", "package"),
    [("debian", "linux-image-cloud-"), ("ubuntu", f"linux-modules-extra-{os.uname().release}")],
)
def test_the_package_with_missing_modules_is_that_of_the_system(monkeypatch, system, package):
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": system, "PRETTY_NAME": system})
    monkeypatch.setattr(findings, "qdisc_available", lambda _options: False)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert package in finding_on("qdisc netem").remedy


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


_WITHOUT = ["unshare", "--mount", "sh", "-ec"]
_LESS = {
    "no capability SYS_ADMIN": ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"],
    "no capability SYS_PTRACE": ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"],
    "/proc/sys is read-only": [*_WITHOUT, 'mount --bind --read-only /proc/sys /proc/sys; exec "$@"', "sh"],
    "cannot open /dev/net/tun": [*_WITHOUT, 'mount -t tmpfs none /dev/net; exec "$@"', "sh"],
}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to lose")
@pytest.mark.parametrize("lack", _LESS)
def test_a_right_that_root_lacks_in_a_container_is_named(lack):
    if lack.endswith("tun") and kernel_datapath_available():
        pytest.skip("the kernel's switches need no such device")
    command = [sys.executable, "-c", "import sys; from polarlab.cli.main import main; sys.exit(main())"]
    for words in (["doctor"], ["up", "polarfly", "--q", "2", "--exec", "h1_1 true"]):
        given = [*_LESS[lack], *command, *words]
        done = subprocess.run(given, check=False, capture_output=True, text=True, timeout=60)
        assert done.returncode == Status.MACHINE
        assert lack in done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_python_packages_are_found_with_their_versions():
    assert finding_on("networkx").detail == importlib.metadata.version("networkx")
    assert finding_on("ryu").present or finding_on("os-ken").present


def test_a_package_that_is_missing_is_set_up(monkeypatch, tmp_path):
    lose(monkeypatch, "scapy")
    monkeypatch.setattr(installation.sys, "prefix", str(installation.ROOT / ".venv"))
    assert finding_on("scapy").remedy == "make setup"
    monkeypatch.setattr(installation.sys, "prefix", str(tmp_path))
    assert finding_on("scapy").remedy.endswith(" -P -m pip install scapy")


def test_without_root_queues_cannot_be_tried(monkeypatch):
    monkeypatch.setattr(findings.os, "geteuid", lambda: 1000)
    assert not finding_on("root").present
    assert finding_on("qdisc tbf").remedy == "cannot be tried without root"


def test_the_size_and_rate_that_it_carries_follow_from_memory_and_cores(monkeypatch):
    monkeypatch.setattr(default_rate, "available_memory_bytes", lambda: 1 << 30)
    assert 57 <= largest_fabric_routers(1) < 183  # ER_7 took 0.8 GiB, and ER_13 took 2.9
    assert largest_fabric_routers(3) < largest_fabric_routers(1)
    assert link_rate_bps(10, 0.5, 1000) == pytest.approx(2 * link_rate_bps(10, 1.0, 1000))


def test_the_command_prints_one_object(capsys):
    status = entry.main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    absent = [one["name"] for one in report["findings"] if one["needed"] and not one["there"]]
    assert status == (Status.MACHINE if absent else Status.DONE)
    assert {fabric["switches"] for fabric in report["fabrics"]} == {13, 31, 57, 133}


# ---- features ----


def feature(name, found=None):
    (examined,) = [one for one in examine_features(examine() if found is None else found) if one.name == name]
    return examined


def test_a_feature_names_its_missing_program_and_the_command_that_installs_it(monkeypatch, tmp_path):
    assert "tcpdump" not in [lack.name for lack in feature("packet captures").lacks]
    monkeypatch.setattr(installation, "PROVISION", tmp_path / "no sources")
    monkeypatch.setattr(installation.os, "geteuid", lambda: 0)
    found = examine()
    monkeypatch.setenv("PATH", str(tmp_path))
    captures = feature("packet captures", found).to_dict()
    assert captures["ready"] is False
    assert "tcpdump" in captures["missing"]
    assert "apt-get install tcpdump" in captures["install"]
    monkeypatch.setattr(installation, "APT", tmp_path / "none")
    assert "apt-get" not in str(feature("packet captures", found).remedies())


def test_in_the_environment_of_make_setup_its_script_installs_what_is_missing(monkeypatch, tmp_path):
    script = tmp_path / "vagrant" / "provision.sh"
    script.parent.mkdir()
    script.touch()
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    monkeypatch.setattr(installation, "PROVISION", script)
    monkeypatch.setattr(installation.sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setattr(installation.os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert feature("browser tests (make test)").remedies() == [f"sudo {script} tests"]
    assert feature("tests in a virtual machine (make vm-test)").remedies() == [f"sudo {script} vm-test"]
    assert feature("tests on other systems (make test-systems)").remedies() == [f"sudo {script} systems"]


def test_missing_distributions_of_an_extra_are_installed_by_pip(monkeypatch, tmp_path):
    """As an installed package knows them: from its own metadata."""
    metadata = tmp_path / "polarlab-9.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(
        "Metadata-Version: 2.1\nName: polarlab\nVersion: 9\nProvides-Extra: notebooks\n"
        'Requires-Dist: numpy\nRequires-Dist: absent[more]>=2; extra == "notebooks"\n'
        'Requires-Dist: numpy>=2; extra == "notebooks"\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(installation.sys, "prefix", str(tmp_path))
    notebooks = feature("notebooks").to_dict()
    assert notebooks["missing"] == ["absent"]
    assert notebooks["install"] == [f"{sys.executable} -P -m pip install 'absent[more]>=2'"]
    assert installation.missing_requirements("unheard-of")[0].endswith("[unheard-of]")


def test_features_of_the_sources_are_not_ready_in_a_package(monkeypatch, tmp_path):
    monkeypatch.setattr(installation, "PROVISION", tmp_path / "provision.sh")
    for name in ("documentation (make docs)", "tests (make test, make lint)", "wheel (make package)"):
        assert feature(name).ready is False
        assert "PolarLab's sources" in feature(name).to_dict()["missing"]


def test_features_on_fabrics_follow_from_what_fabrics_need():
    tried = [one for one in examine() if not one.needed]
    whole = [Finding("tc", present=True, needed=True)]
    missing = [Finding("tc", present=False, needed=True, package="iproute2")]
    untried = [Finding("tc", present=False, needed=True, known=False, remedy="cannot be tried without root")]
    assert feature("fabrics", [*tried, *whole]).ready is True
    assert feature("fabrics", [*tried, *missing]).ready is False
    assert feature("fabrics", [*tried, *untried]).ready is None
    assert feature("fabrics", [*tried, *untried]).remedies() == ["cannot be tried without root"]
    assert [lack.name for lack in feature("TCP flows", [*tried, *missing]).lacks] == ["fabrics"]
    assert feature("TCP flows", [*tried, *untried]).ready is None


def test_one_framework_is_enough(monkeypatch):
    frameworks = ("ryu", "os-ken")
    for absent, present in (frameworks, frameworks[::-1]):
        lose(monkeypatch, absent, keep=present)
        assert [finding_on(name).present for name in (absent, present)] == [False, True]
        assert not any(finding_on(name).needed for name in frameworks)
    lose(monkeypatch, *frameworks)
    assert all(finding_on(name).missing for name in frameworks)


def test_a_python_for_which_ryu_cannot_be_built_is_named(monkeypatch):
    lose(monkeypatch, "ryu")
    monkeypatch.setattr(findings.sys, "version_info", (3, 13, 5))
    remedy = finding_on("ryu").remedy
    assert "3.11" in remedy
    assert "make setup" not in remedy
    assert "pip" not in remedy


@pytest.mark.parametrize("provisioned", [True, False], ids=["sources", "package"])
def test_the_remedy_for_ryu_names_the_setuptools_that_builds_it(monkeypatch, provisioned):
    lose(monkeypatch, "ryu", "os-ken")
    for module in (findings, installation):
        monkeypatch.setattr(module, "is_provisioned", lambda: provisioned)
    monkeypatch.setattr(findings.sys, "version_info", (3, 11, 2))
    # `make setup` sees to it.
    assert ("setuptools < 67" in finding_on("ryu").remedy) is not provisioned
    assert "setuptools" not in finding_on("os-ken").remedy


def test_the_command_lists_the_features_as_a_table_and_as_json(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    entry.main(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    assert ["feature", "ready", "missing", "install"] in [line.split() for line in lines]
    entry.main(["doctor", "--json"])
    for one in json.loads(capsys.readouterr().out)["features"]:
        assert set(one) == {"feature", "ready", "missing", "install"}
        assert bool(one["missing"]) == bool(one["install"]) == (one["ready"] is not True)
        [line] = [line for line in lines if line.startswith(f"{one['feature']}  ")]
        ready = {True: "yes", False: "no", None: "?"}[one["ready"]]
        assert line.removeprefix(one["feature"]).split()[0] == ready
