"""Hosts whose root stops, traces and replaces programs: PolarLab does not wait for them for long."""

import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import eventually
from mininet.log import lg

from emulation.capture import CapturePoint, capture
from emulation.prompt.line_input import run_lines
from emulation.prompt.process_state import is_ending
from emulation.subprocesses import CommandError
from polarlab import Fabric
from polarlab.cli.prompt.announcer import Announcer
from polarlab.cli.prompt.commands import SessionPrompt

PYTHON = "/usr/bin/python3"
ENDLESS = "yes packets"
STOPPED = "kill -STOP $$"
GARBAGE = """echo '{"end": {"sum": {"bits_per_second": 1e999, "lost_percent": -1}}}'"""
HUGE = pytest.param(GARBAGE.replace("1e999", "9" * 400).replace("-1", "0"), id="huge")
# Traces all processes of a host as they come, and never takes notice of their ends.
TRACER = """
import ctypes, os, time
libc, mine = ctypes.CDLL(None), {1, os.getpid(), os.getppid()}
print("traces", flush=True)
while True:
    for number in {int(name) for name in os.listdir("/proc") if name.isdecimal()} - mine:
        if libc.ptrace(0x4206, number, None, None) == 0:
            mine.add(number)
    time.sleep(0.01)
"""


def slow(script):
    """A script that is waited for as long as anything of its kind."""
    return pytest.param(script, marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def fabric():
    """ER_2."""
    with Fabric("polarfly", q=2, progress=lambda _event: None) as up:
        yield up


@pytest.fixture
def run(fabric, capsys):
    """Runs lines of the prompt; returns the one that failed, and what was printed."""

    def run_all(*lines):
        prompt = SessionPrompt(fabric.session, Announcer(lambda _event: None))
        return run_lines(prompt, lines), capsys.readouterr().out

    yield run_all
    for handler in lg.handlers:  # pytest's own stream ends with the test
        handler.stream = os.sys.__stderr__


@pytest.fixture
def replaced(fabric):
    """Replaces a program of a host by a script."""
    undone = []

    def replace(host, program, script):
        fake = f"/tmp/{Path(program).name}"
        words = f"printf '#!/bin/sh\n%s\n' {shlex.quote(script)} > {fake}; chmod +x {fake}"
        result = fabric.host(host).run(f"{words}; mount --bind {fake} {program}")
        assert result.ok, result
        undone.append((host, program))

    yield replace
    for host, program in undone:
        # Its shell may be what was replaced.
        node = fabric.session.fabric.network[host]
        node.start_program(["umount", program]).wait(20)


def test_a_shell_that_is_stopped_as_it_starts_is_given_up_and_the_next_line_starts_it(run, replaced, fabric):
    replaced("h1_1", "/bin/bash", STOPPED)
    failed, _ = run("h1_1 true")
    assert "the shell of h1_1 was stopped" in failed.reason
    assert run("h2_1 echo la''ter")[1] == "later\r\n"
    fabric.session.fabric.network["h1_1"].start_program(["umount", "/bin/bash"]).wait(20)
    failed, printed = run("h1_1 echo la''ter")
    assert (failed, printed) == (None, "later\r\n")


@pytest.mark.slow
def test_a_shell_that_never_answers_is_given_up(run, replaced):
    replaced("h1_1", "/bin/bash", "sleep 600")
    failed, _ = run("h1_1 true")
    assert "the shell of h1_1 has not started" in failed.reason


@pytest.mark.parametrize("script", [ENDLESS, slow(STOPPED)])
def test_pings_that_never_end_fail_their_line(run, replaced, script):
    replaced("h1_1", "/usr/bin/ping", script)
    failed, printed = run("pingpair 0.1")
    assert "h1_1" in failed.reason
    assert len(printed) < 1000


@pytest.mark.parametrize("script", [GARBAGE, HUGE, ENDLESS, slow("exec sleep 600"), slow(STOPPED)])
def test_a_faked_iperf3_fails_its_line(run, replaced, script):
    replaced("h3_1", "/usr/bin/iperf3", script)
    failed, _ = run("iperfudp 1M h3_1 h4_1 1")
    assert "iperf3 between h3_1 and h4_1 failed" in failed.reason
    assert len(failed.reason) < 500


@pytest.mark.parametrize("script", [GARBAGE, slow(ENDLESS)])
def test_a_faked_server_of_iperf3_fails_its_line(run, replaced, script):
    replaced("h3_1", "/usr/bin/iperf3", script)
    failed, _ = run("iperf h4_1 h3_1 1")
    assert "iperf3 server" in failed.reason


@pytest.mark.parametrize("script", [ENDLESS + " >&2", slow(STOPPED)])
def test_a_faked_tcpdump_captures_nothing(fabric, replaced, tmp_path, script):
    replaced("h5_1", "/usr/bin/tcpdump", script)
    point = CapturePoint("h5_1", "h5_1-eth0", "h5_1.pcap")
    with (
        pytest.raises(CommandError, match="h5_1-eth0"),
        capture(fabric.session.fabric.network, [point], tmp_path),
    ):
        pass


def test_a_tracer_that_keeps_the_ends_of_all_programs_holds_nothing_up(run, fabric):
    tracer = fabric.host("h6_1").start(f"{PYTHON} -c {shlex.quote(TRACER)}")
    eventually(lambda: tracer.output)
    program = fabric.host("h6_1").start("sleep 600")
    time.sleep(0.2)
    assert program.stop().status in (-9, -15)
    tracer.stop()
    assert run("h6_1 echo la''ter")[1] == "later\r\n"


@pytest.mark.parametrize("end", ["exit", "kill -9 $$"])
def test_programs_in_the_background_outlive_the_shell_of_their_host(run, end):
    run("h7_1 sleep 600 & echo $! > sleeper")
    assert run(f"h7_1 {end}")[0] is not None
    assert "alive" in run("h7_1 kill $(cat sleeper) && echo ali've'")[1]


def test_pings_go_on_at_a_host_that_has_ended(run, fabric):
    """It stays so: one of the last tests."""
    os.kill(fabric.session.fabric.network["h7_1"].pid, signal.SIGKILL)
    eventually(lambda: fabric.session.fabric.network["h7_1"].ended)
    failed, printed = run("pingall 0.1")
    assert "h7_1 has ended" in failed.reason
    assert "/42 received)" in printed


def test_a_fabric_ends_whose_hosts_hold_their_shells(fabric):
    """The last test, with a stopped shell and a traced one."""
    network = fabric.session.fabric.network
    hosts = ("h1_1", "h2_1", "h3_1")
    for name in hosts:
        network[name].cmd("sleep 600 &")
    os.kill(network["h1_1"].shell.pid, signal.SIGSTOP)
    pids = [number for name in hosts for number in (network[name].pid, network[name].shell.pid)]
    with network["h2_1"].start_program([PYTHON, "-c", TRACER], stdout=subprocess.PIPE) as tracer:
        assert tracer.stdout.readline() == b"traces\n"
        status = Path(f"/proc/{network['h2_1'].shell.pid}/status")
        eventually(lambda: "TracerPid:\t0" not in status.read_text())
        fabric.close()
    eventually(lambda: all(map(is_ending, pids)))
    network.spaces.close()  # takes note of the end of the keeper, which waited for that of the tracer
