"""The parent's view of a controller process, with a script in the controller's place."""

import os
import signal
import time
from types import SimpleNamespace

import pytest

from controller.reports import (
    Adapted,
    Connected,
    Fatal,
    Incomplete,
    Installed,
    Listening,
    Planned,
    PortSet,
    Proven,
    Refused,
    Replanned,
    Restored,
    Warned,
    format_report,
)
from experiments import controller_process
from experiments.controller_process import ControllerProcess
from experiments.controller_reports import ControllerError
from experiments.live_fabric import controlled
from experiments.spec.fabric import FabricOptions
from topology.errors import MachineError, NegativeResult, UsageError, known_status
from topology.families.low_diameter.polarfly import PolarFly
from topology.links import LinkSpec

PLANNED, PROVEN = Planned(242, 54, "5f3a", 0.25), Proven(42, 2, 0.5)


def replanned(failed):
    return Replanned(failed, 30, 2, 0, (), 0.25, 0.5)


@pytest.fixture
def script(monkeypatch):
    """Sets a controller that writes lines so many times and ends with a status, or, without one, stays."""
    # Without the mark by which a fabric's clean-up finds, and kills, the processes of others.
    monkeypatch.setattr(controller_process, "marked_environment", lambda extra: os.environ | extra)

    def set_script(*reports, status=None, times=1):
        lines = "".join(line if isinstance(line, str) else format_report(line) for line in reports)
        end = "time.sleep(60)" if status is None else f"sys.exit({status})"
        code = f"import sys, time; sys.stdout.write({times} * {lines!r}); sys.stdout.flush(); {end}"
        monkeypatch.setattr(controller_process, "SERVICE", ("-c", code))

    return set_script


@pytest.fixture
def controller(script, tmp_path):
    """Starts a controller by a script; see `script`."""
    started = []

    def start(*reports, **options):
        script(*reports, **options)
        log = tmp_path / "log"
        started.append(ControllerProcess("polarfly", {"q": 2}, 1, "min", "unix:/nowhere", log))
        return started[-1]

    yield start
    for process in started:
        process.stop()


def test_its_plan_is_known_when_it_listens(controller):
    process = controller(PLANNED, PROVEN, Listening("unix:/nowhere"))
    process.wait_until_listening()
    assert (process.latest(Planned), process.latest(Proven)) == (PLANNED, PROVEN)
    with pytest.raises(ControllerError, match="`restored`"):
        process.latest(Restored)


def test_a_controller_that_ends_while_its_log_is_removed_is_named(controller, tmp_path):
    process = controller(PLANNED, status=3)
    (tmp_path / "log").unlink()
    with pytest.raises(ControllerError, match="status 3"):
        process.wait_until_listening()


def test_a_plan_that_differs_from_the_parents_is_an_internal_error(controller):
    process = controller(PLANNED, Listening("unix:/nowhere"))
    process.wait_until_listening()
    process.check_plan("5f3a")
    with pytest.raises(ControllerError, match="digest 77ce, got 5f3a") as raised:
        process.check_plan("77ce")
    assert known_status(raised.value) is None


def test_a_network_is_not_started_for_another_plan_than_the_parents(script, tmp_path):
    script(PLANNED, PROVEN, Listening("unix:/nowhere"))
    options = FabricOptions("polarfly", {"q": 2}, PolarFly(2), 1, "min", LinkSpec(1_000_000, 32), "user")
    network = SimpleNamespace(  # its missing `start` would be an AttributeError
        settings=SimpleNamespace(datapath="user"),
        started=False,
        built=True,
        controller_target="unix:/nowhere",
        run_dir=tmp_path,
    )
    with (
        pytest.raises(ControllerError, match="got 5f3a"),
        controlled(options, network, lambda _event: None),
    ):
        pass


def test_the_times_of_an_installation_are_those_of_its_reports(controller):
    process = controller(
        Connected(1, monotonic_s=1.0), Connected(2, monotonic_s=2.0), Installed(2, monotonic_s=3.5)
    )
    counts = []
    installation = process.wait_until_installed(2, lambda *count: counts.append(count))
    assert (installation.connected_s, installation.installed_s) == (2.0, 3.5)
    assert counts == [(1, 2), (2, 2), (2, 2)]


def test_a_refused_rule_ends_the_installation(controller):
    process = controller(Connected(1), Refused("s1 reports TABLE_FULL"), Installed(1))
    with pytest.raises(ControllerError, match="s1 reports TABLE_FULL"):
        process.wait_until_installed(1, lambda *_counts: None)


def test_it_is_in_charge_also_when_switches_are_missing(controller):
    process = controller(Incomplete(7, ("s3",)))
    process.wait_until_in_charge()
    process.wait_until_in_charge()  # known by now


def test_a_plan_is_found_by_the_name_of_its_failure(controller):
    process = controller(replanned("s1-s2"), replanned("s3"), replanned("none"))
    assert process.wait_for_plan(lambda failed: failed == "s3", 10) == process.replans[1]
    assert process.wait_until_recovered(10)
    assert process.wait_for_plan(lambda failed: failed == "s4", 0.1) is None


def test_reports_on_the_way_are_kept(controller):
    set_s = time.monotonic()
    process = controller(
        Adapted(5),
        PortSet("s1", 2, "down", monotonic_s=set_s),
        Warned("s3 does not answer"),
        Incomplete(7, ()),
    )
    process.wait_until_in_charge()
    assert process.groups_modified == 5
    assert list(process.ports_set) == [PortSet("s1", 2, "down", monotonic_s=set_s)]
    assert list(process.warnings) == ["s3 does not answer"]


def test_a_line_that_is_not_a_report_is_a_warning(controller):
    process = controller("a library's greeting\n", Incomplete(7, ()))
    process.wait_until_in_charge()
    assert "a library's greeting" in process.warnings[0]


@pytest.mark.parametrize(
    ("status", "error"), [(1, NegativeResult), (2, UsageError), (3, MachineError), (4, ControllerError)]
)
def test_its_exit_status_tells_the_kind_of_error(controller, status, error):
    process = controller(Fatal("the plan fails its proof"), status=status)
    with pytest.raises(error, match="proof"):
        process.wait_until_listening()


def test_an_end_without_a_report_is_told_with_its_status(controller):
    process = controller(PLANNED, status=7)
    with pytest.raises(ControllerError, match="status 7"):
        process.wait_until_listening()


def test_a_controller_that_was_just_killed_does_not_run(controller):
    for _ in range(10):
        process = controller()
        assert process.running
        os.kill(process.pid, signal.SIGKILL)
        assert not process.running
        process.stop()


def test_ports_that_the_controller_set_down_are_known(controller):
    process = controller(PortSet("s1", 2, "down"), PortSet("s2", 1, "down"), PortSet("s1", 2, "up"), status=0)
    with pytest.raises(ControllerError):
        process.wait_until_listening()
    assert process.ports_down == {("s2", 1)}


def test_any_number_of_reports_is_counted_and_the_latest_are_kept(controller):
    """Nobody asks for them meanwhile: they are processed as they come."""
    plans = [replanned(f"s{number}") for number in range(4)]
    process = controller(*plans, times=10_000, status=0)
    deadline = time.monotonic() + 60
    while len(process.replans) < 20_000 or process.running:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.stop()
    assert len(process.replans) == 40_000
    assert process.replans[-1] == plans[3]
    assert process.replans[39_998:] == plans[2:]
    assert len(process.replans[:]) == len(list(process.replans)) == 10_000
    assert process.replans[:30_000] == []
