"""Processes that are stopped or killed while something is measured: what the others measured is kept."""

import contextlib
import os
import signal
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import KIB, QUIET, collective_options, eventually, settle

import polarlab
from emulation.cleanup import marked_processes
from experiments.events.marks import CollectiveStarted, TrafficStarted
from experiments.events.progress import CollectiveProgress, FlowProgress, TrafficProgress
from experiments.failover.demonstration import observe_failure
from experiments.measurement import measure
from experiments.results.model import PairCheck
from experiments.run import run_on_fabric
from experiments.session.fabric_session import FabricSession
from experiments.spec.failover import FailoverOptions
from experiments.spec.flows import FlowOptions
from experiments.spec.resolve import Run
from experiments.spec.traffic import TrafficOptions
from topology.faults import Fault, link_component

CHECK = PairCheck(0, 0, 0, 0, 0)
TRAFFIC = TrafficOptions("uniform", 0.3, 1000, 64, 0.0, 3.0, seed=1)


def begun_at_once():
    begun = threading.Event()
    begun.set()
    return begun


@contextlib.contextmanager
def killed(name, number, begun, after_s):
    """Sends a signal to a process, chosen by its command, some time after an event."""

    def disturb():
        begun.wait()
        found = []

        def running():
            found[:] = [one.pid for one in marked_processes() if name in one.command]
            return bool(found)

        eventually(running)
        settle(after_s)
        os.kill(found[0], number)

    disturbing = threading.Thread(target=disturb)
    disturbing.start()
    try:
        yield
    finally:
        begun.set()
        disturbing.join()


def measured(fabric, options, name, number, after_s=1.0):
    """Returns the measurement of traffic in whose middle a process gets a signal, chosen by its command."""
    begun = threading.Event()

    def on_event(event):
        if isinstance(event, TrafficStarted | CollectiveStarted) or event.key == "flows-started":
            begun.set()

    with killed(name, number, begun, after_s):
        return measure(fabric, options, CHECK, on_event)


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)])
def test_a_result_whose_held_frames_were_seen_in_part_of_the_window_is_not_valid(er2, number):
    summary = measured(er2, TRAFFIC, "held_reader", number, 2.0).summary
    assert not summary.fidelity.valid
    (reason,) = (one for one in summary.fidelity.reasons if "observed for" in one)
    assert "of 3 s" in reason
    assert ("SIGKILL" in reason) == (number == signal.SIGKILL)
    assert summary.fidelity.observed < 0.9
    assert summary.packets.received > 0


@pytest.mark.tried_again
def test_a_window_that_was_observed_to_its_end_is_valid_in_that_respect(er2):
    fidelity = measure(er2, replace(TRAFFIC, duration_s=1.0), CHECK, QUIET).summary.fidelity
    assert not any("observed for" in reason for reason in fidelity.reasons)
    assert fidelity.observed > 0.95


@pytest.mark.parametrize("role", ["send", pytest.param("collect", marks=pytest.mark.slow)])
def test_a_traffic_process_that_stays_stopped_leaves_what_was_measured(er2, role):
    run = measured(er2, TRAFFIC, f"worker {role}", signal.SIGSTOP)
    assert role in run.record.troubles[0]
    assert run.record.troubles[0] in run.summary.fidelity.reasons
    assert not run.summary.fidelity.valid
    assert run.summary.packets.sent > 0
    assert run.summary.packets.received > 0
    assert run.summary.links.load_max > 0
    assert run.summary.measured_s > 0


@pytest.mark.slow
def test_a_switch_that_hangs_at_the_end_of_a_run_leaves_a_result_that_is_not_valid(er2, tmp_path):
    switch, begun = er2.network["s3"].vswitch.processes[-1], threading.Event()

    def on_event(event):
        if isinstance(event, TrafficStarted):
            begun.set()

    with killed(" ".join(switch.args[:2]), signal.SIGSTOP, begun, 1.0):
        summary = run_on_fabric(er2, Run(er2.options, TRAFFIC), tmp_path / "run", on_event, check=CHECK)
    switch.send_signal(signal.SIGCONT)
    assert any("did not end within" in reason for reason in summary.fidelity.reasons)
    assert polarlab.Run(tmp_path / "run").summary == summary


FLOWS = FlowOptions(
    "uniform",
    0.3,
    "fixed:20000",
    tcp="cubic",
    warmup_s=0.0,
    duration_s=6.0,
    drain_s=1.0,
    frame_bytes=1514,
    seed=1,
)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(FLOWS, marks=pytest.mark.slow),
        collective_options("allreduce:ring", 7, (2 * KIB,), iterations=5000),
    ],
)
def test_flows_and_collectives_keep_what_was_measured_before_their_process_was_killed(er2, options):
    run = measured(er2, options, "traffic.engine.worker", signal.SIGKILL, 2.5)
    assert "SIGKILL" in run.record.troubles[0]
    assert not run.summary.fidelity.valid
    assert run.summary.packets.received > 0


def judged_with_a_stop(fabric, options, name, after_s, seconds):
    """Returns the fidelity of traffic during which processes, chosen by their command, stall."""
    stopped = []

    def on_event(event):
        if stopped or not isinstance(event, CollectiveProgress | FlowProgress) or event.seconds < after_s:
            return
        stopped[:] = [one.pid for one in marked_processes() if name in one.command]
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in stopped:
                os.kill(pid, number)
            settle(seconds if number == signal.SIGSTOP else 0)

    fidelity = measure(fabric, options, CHECK, on_event).summary.fidelity
    assert stopped
    return fidelity


def test_switches_that_stand_still_after_the_window_while_flows_are_under_way_make_it_invalid(er2):
    long = replace(FLOWS, load=2.0, flow_sizes="fixed:2500000", duration_s=0.5, drain_s=10.0)
    fidelity = judged_with_a_stop(er2, long, "ovs-vswitchd", 1.8, 0.4)
    assert any("held many frames at a time" in reason for reason in fidelity.reasons)
    assert fidelity.worst_second > 0.5


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(replace(FLOWS, duration_s=1.5), marks=pytest.mark.slow),
        collective_options("allreduce:ring", 7, (2 * KIB,), iterations=60),
    ],
)
def test_a_process_of_flows_or_ranks_that_stands_still_for_a_moment_makes_a_result_invalid(er2, options):
    fidelity = judged_with_a_stop(er2, options, "traffic.engine.worker", 0.3, 0.3)
    assert any("stalled for" in reason for reason in fidelity.reasons)


@pytest.mark.slow
def test_a_failover_whose_collector_is_killed_keeps_the_probes_until_then(er2):
    kept = []
    options = FailoverOptions(fail_s=0.5, restore_s=3.0, end_s=6.0)
    with killed("worker collect", signal.SIGKILL, begun_at_once(), 2.5):
        observed = observe_failure(er2, options, QUIET, check=False, keep=kept.append)
    assert kept == [observed]
    assert "SIGKILL" in observed.summary.negative
    assert observed.summary.failed
    assert observed.summary.packets_sent > 100
    assert observed.summary.packets_lost < observed.summary.packets_sent / 2


def test_background_traffic_whose_process_is_killed_leaves_its_outcome(er2):
    kept, ended = [], threading.Event()
    with FabricSession(
        er2, lambda event: event.key == "traffic-ended" and ended.set(), kept.append
    ) as session:
        session.start_traffic("uniform", 0.3)
        begun = threading.Event()
        begun.set()
        with killed("worker collect", signal.SIGKILL, begun, 2.0):
            assert ended.wait(20)
    (outcome,) = kept
    assert "SIGKILL" in outcome.failed
    assert outcome.received_packets > 0


def test_a_run_with_faults_whose_controller_is_stopped_is_not_valid(er2):
    controller, faults = er2.controller.pid, (Fault(1.5, link_component(er2.options.topology.link_list[0])),)
    with killed("controller.service", signal.SIGSTOP, begun_at_once(), 0.5):
        summary = measure(er2, replace(TRAFFIC, faults=faults), CHECK, QUIET).summary
    os.kill(controller, signal.SIGCONT)
    assert any("controller observed for" in reason for reason in summary.fidelity.reasons)
    assert summary.packets.received > 0


def frozen(pid, seconds):
    """Freezes a process by a control group of its own for a while, as `docker pause` does."""
    first = Path("/sys/fs/cgroup/freezer")
    folder = first if first.is_dir() else first.parent
    members, state, on, off = ("cgroup.procs", "cgroup.freeze", "1", "0")
    if folder == first:
        state, on, off = "freezer.state", "FROZEN", "THAWED"
    groups = [line.split(":", 2) for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()]
    before = next(path for _, kind, path in groups if kind == ("freezer" if folder == first else ""))
    group = folder / f"polarlab-test-{pid}"
    group.mkdir()
    (group / members).write_text(str(pid))
    try:
        (group / state).write_text(on)
        settle(seconds)
    finally:
        (group / state).write_text(off)
        (folder / before.lstrip("/") / members).write_text(str(pid))
        group.rmdir()


def test_a_run_with_faults_whose_controller_is_frozen_is_not_valid(er2):
    faults = (Fault(1.5, link_component(er2.options.topology.link_list[0])),)
    freezing = threading.Timer(1.0, frozen, (er2.controller.pid, 1.5))
    freezing.start()
    reasons = measure(er2, replace(TRAFFIC, faults=faults), CHECK, QUIET).summary.fidelity.reasons
    freezing.join()
    assert any("controller observed for" in reason for reason in reasons)


@pytest.mark.parametrize("name", ["worker send", "ovs-vswitchd"])
def test_a_stall_just_before_the_window_makes_a_result_invalid(er2, name):
    options = replace(TRAFFIC, load=0.5, warmup_s=4.0, duration_s=2.0)
    stopped = []

    def on_event(event):
        if stopped or not isinstance(event, TrafficProgress) or event.seconds < 1.0:
            return
        stopped[:] = [one.pid for one in marked_processes() if name in one.command]
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in stopped:
                os.kill(pid, number)
            settle(1.5 if number == signal.SIGSTOP else 0)

    fidelity = measure(er2, options, CHECK, on_event).summary.fidelity
    expected = "packets left more than" if name == "worker send" else "held"
    assert any(expected in reason for reason in fidelity.reasons)


def test_a_host_that_sets_its_interface_down_makes_a_result_invalid(er2):
    host, begun = er2.hosts[0], []

    def on_event(event):
        if begun or not isinstance(event, TrafficProgress):
            return
        begun.append(event)
        pid, interface = er2.network.host_interface(host)
        for state in ("down", "up"):
            subprocess.run(
                ["nsenter", "-t", str(pid), "-n", "ip", "link", "set", interface, state], check=True
            )
            settle(0.3)

    reasons = measure(er2, TRAFFIC, CHECK, on_event).summary.fidelity.reasons
    assert any(f"interfaces of {host.name} were down" in reason for reason in reasons)


def test_a_failover_whose_controller_is_stopped_ends_negative(er2):
    controller, options = er2.controller.pid, FailoverOptions(fail_s=1.0, restore_s=2.0, end_s=3.0)
    with killed("controller.service", signal.SIGSTOP, begun_at_once(), 0.5):
        observed = observe_failure(er2, options, QUIET, check=False)
    os.kill(controller, signal.SIGCONT)
    assert "controller" in observed.summary.negative
    assert observed.summary.packets_sent > 100


def test_background_traffic_of_no_packets_has_an_outcome(er2):
    """Its sender has nothing to do, and has ended when the traffic is stopped."""
    with FabricSession(er2) as session:
        session.start_traffic("uniform", 1e-9)
        settle(0.5)
        outcome = session.stop_traffic()
    assert (outcome.sent_packets, outcome.loss, outcome.failed) == (0, None, None)


@pytest.mark.slow
def test_an_adaptive_routing_whose_controller_is_stopped_is_not_valid(adaptive_er3):
    controller = adaptive_er3.controller.pid
    with killed("controller.service", signal.SIGSTOP, begun_at_once(), 2.0):
        summary = measure(adaptive_er3, TRAFFIC, CHECK, QUIET).summary
    os.kill(controller, signal.SIGCONT)
    assert any("controller observed for" in reason for reason in summary.fidelity.reasons)
    assert summary.packets.received > 0
