"""Results are judged by what happened to packets: how long real switches held them."""

import csv
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import QUIET, polarlab, settle

from experiments.failover.demonstration import observe_failure
from experiments.measurement import measure
from experiments.results.model import PairCheck
from experiments.spec.failover import FailoverOptions
from experiments.spec.traffic import TrafficOptions
from experiments.validity.held_reader import frame_memory_bytes
from topology.faults import Fault, parse_components

TRAFFIC = TrafficOptions("uniform", 0.15, 1000, 64, 1.0, 3.0, seed=1)
CHECK = PairCheck(0, 0, 0, 0, 0)


@pytest.mark.tried_again
def test_a_run_tells_how_long_each_switch_held_frames(tmp_path):
    out = tmp_path / "run"
    words = ("--link-rate", "300kbit", "--load", "0.3", "--warmup", "1", "--duration", "3", "--out", str(out))
    done = polarlab("run", "polarfly", "--q", "2", *words, "--json")
    assert done.returncode == 0, done.stderr
    fidelity = json.loads(done.stdout)["fidelity"]
    # Not whether the result is valid: a machine whose time is stolen says no, and is right.
    assert 0 < fidelity["held_frame_times_mean"] < fidelity["held_frame_times_max"]
    assert fidelity["held_frame_times_rms"] >= 0  # no two frames at a time may have been seen
    assert fidelity["worst_switch"] in {f"s{n}" for n in range(1, 8)}
    assert 0 <= fidelity["worst_second"] <= 4
    assert "held frames for" in done.stderr  # the live line
    with open(out / "held.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["switch"] for row in rows} == {f"s{n}" for n in range(1, 8)}
    # 7 hosts x 0.3 x 37.5 frames/s, at two or three switches each.
    per_second = sum(int(row["frames"]) for row in rows) / len({row["time_s"] for row in rows})
    assert 80 < per_second < 260


@pytest.mark.tried_again
def test_packets_of_a_switch_that_a_schedule_switches_off_are_no_loss_of_the_machine(tmp_path):
    faults = tmp_path / "faults.txt"
    faults.write_text("1.5 fail switch:s4\n")
    words = ("--link-rate", "300kbit", "--load", "0.15", "--warmup", "1", "--duration", "3", "--out")
    done = polarlab(
        "run", "polarfly", "--q", "2", *words, str(tmp_path / "run"), "--faults", str(faults), "--json"
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["faults"]["lost_packets"] > 10
    assert f"{result['faults']['lost_packets']} packets were lost to the scheduled failures" in done.stderr
    assert result["fidelity"]["lost_outside_queues"] < 0.01 < result["loss"]


@pytest.mark.tried_again
def test_a_switch_that_stops_for_a_moment_makes_the_result_invalid_and_is_named(er3_alive):
    daemon = er3_alive.network["s5"].vswitch.processes[-1].pid

    def stopped_for_a_moment():
        settle(2.0)
        os.kill(daemon, signal.SIGSTOP)
        settle(0.3)
        os.kill(daemon, signal.SIGCONT)

    stopping = threading.Thread(target=stopped_for_a_moment)
    stopping.start()
    fidelity = measure(er3_alive, TRAFFIC, CHECK, QUIET).summary.fidelity
    stopping.join()
    assert not fidelity.valid
    assert fidelity.worst_switch == "s5"
    assert 0 <= fidelity.worst_second <= 3
    assert fidelity.reasons[0].startswith("s5 held frames for ")
    # A stop of 0.3 s: 0.045 s on average over the second, 0.095 s in the root mean square.
    assert fidelity.held_frame_times_rms > 1.4 * fidelity.held_frame_times_max
    assert any(reason.startswith("s5 held many frames at a time") for reason in fidelity.reasons)


@pytest.fixture
def clock_set_soon(monkeypatch):
    """Sets the clock forward by 30 ms in 2 s for this process alone; the machine's clock stays."""
    wall_ns, at_ns = time.time_ns, time.monotonic_ns() + 2_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: wall_ns() + 30_000_000 * (time.monotonic_ns() > at_ns))


@pytest.mark.usefixtures("clock_set_soon")
def test_a_clock_that_is_set_during_a_run_makes_the_result_invalid(er3_alive):
    fidelity = measure(er3_alive, TRAFFIC, CHECK, QUIET).summary.fidelity
    assert not fidelity.valid
    assert any("clock was set by +30 ms" in reason for reason in fidelity.reasons)


@pytest.mark.usefixtures("clock_set_soon")
def test_a_clock_that_is_set_during_a_failover_makes_it_negative(er3_alive):
    options = FailoverOptions(fail_s=1.0, restore_s=2.0, end_s=3.0)
    summary = observe_failure(er3_alive, options, QUIET, check=False).summary
    assert "clock was set by +30 ms" in summary.negative


@pytest.mark.tried_again
def test_a_switch_that_is_made_to_fail_is_not_judged_for_what_it_holds_then(er3_alive):
    (component,) = parse_components("switch:s5", er3_alive.options.topology, 1)
    faults = (Fault(1.5, component), Fault(2.2, component, restores=True))
    fidelity = measure(er3_alive, replace(TRAFFIC, faults=faults), CHECK, QUIET).summary.fidelity
    assert not any(reason.startswith("s5 held") for reason in fidelity.reasons)


def test_the_memory_of_a_frame_is_what_the_kernel_takes():
    lengths = [60, 200, 400, 1000, 1514, 3000, 5000, 9000]
    done = subprocess.run(
        ["unshare", "--net", sys.executable, __file__, *map(str, lengths)],
        capture_output=True,
        text=True,
        check=True,
    )
    taken = [int(line) for line in done.stdout.split()]
    assert [frame_memory_bytes(length) for length in lengths] == pytest.approx(taken, rel=0.1)


def _memory_of_frames(lengths):
    """Prints the memory that each of some frames takes alone in a packet socket that nobody reads."""
    for command in (
        "link add name va mtu 9500 type veth peer name vb mtu 9500",
        "link set va up",
        "link set vb up",
    ):
        subprocess.run(["ip", *command.split()], check=True)
    for length in lengths:
        print(_memory_of_one_frame(length))


def _memory_of_one_frame(length):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x88B5) as receiver:
        receiver.bind(("vb", 0x88B5))
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sender:
            sender.bind(("va", 0))
            sender.send(b"\xff" * 6 + b"\x02" + b"\0" * 5 + b"\x88\xb5" + bytes(length - 14))
        settle(0.1)
        lines = Path("/proc/net/packet").read_text().split("\n")[1:]
    return max(int(line.split()[6]) for line in lines if line)


if __name__ == "__main__":
    _memory_of_frames(map(int, sys.argv[1:]))
