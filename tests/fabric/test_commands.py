"""The commands that launch fabrics, run as a user runs them."""

import contextlib
import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import (
    POLARLAB,
    TIMEOUT_S,
    completed,
    eventually,
    marked_processes,
    one_line,
    polarlab,
    start_polarlab,
    wait_for_line,
)
from support.fixtures.documents import ROOT

from polarlab import plot
from traffic.workload.patterns import Pattern
from traffic.workload.schedule import PatternSchedule

pytestmark = pytest.mark.usefixtures("no_leftovers")

SMALL_RUN = ("run", "polarfly", "--q", "2", "--hosts", "2", "--link-rate", "1Mbit", "--load", "0.4")
SMALL_RUN += ("--warmup", "0.5")
SUMMARY_KEYS = {
    *("name", "params", "routing", "pattern", "hosts", "link_rate_bps", "offered", "accepted", "loss"),
    *("latency_ms", "hops", "out_of_order", "bringup_s", "rules", "fidelity", "seed", "versions"),
}


def test_ping_tcp_and_udp_between_hosts_from_single_lines():
    done = polarlab(
        *("up", "polarfly", "--q", "3", "--link-rate", "5Mbit"),
        *("--exec", "h1_1 ping -c 3 -i 0.2 h5_1"),
        *("--exec", "h5_1 iperf3 -s -D"),
        *("--exec", "h5_1 timeout 10 sh -c 'until ss -ltn | grep -q :5201; do sleep 0.05; done'"),
        *("--exec", "h1_1 iperf3 -c h5_1 -t 1"),
        *("--exec", "h1_1 iperf3 -u -b 1M -c h5_1 -t 1"),
    )
    assert done.returncode == 0, done.stderr
    assert "3 received, 0% packet loss" in done.stdout
    assert done.stdout.count("iperf Done") == 2


def test_a_line_that_fails_ends_with_status_1():
    done = polarlab("up", "polarfly", "--q", "2", "--exec", "h1_1 false", "--exec", "h1_1 echo later")
    assert done.returncode == 1
    assert "later" not in done.stdout
    assert "`h1_1 false`" in done.stderr


def test_ctrl_c_ends_a_line_and_all_that_follow():
    process = start_polarlab(
        *("up", "polarfly", "--q", "2", "--exec", "h1_1 ping -i 0.2 h2_1", "--exec", "h1_1 echo later")
    )
    assert "bytes from" in process.stdout.readline() + process.stdout.readline()
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert "later" not in said
    assert one_line(errors) == "polarlab: interrupted"


@pytest.mark.parametrize(
    "delay_s",
    [pytest.param(0.4, marks=pytest.mark.slow), 0.8, pytest.param(1.2, marks=pytest.mark.slow), 1.6],
)
def test_many_signals_in_quick_succession_leave_nothing_behind(delay_s):
    process = start_polarlab("up", "polarfly", "--q", "3", "--exec", "h1_1 sleep 20")
    time.sleep(delay_s)
    for _ in range(6):
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert one_line(errors) == "polarlab: interrupted"


def test_closed_standard_streams_do_no_harm():
    words = f"{POLARLAB} up polarfly --q 2 --exec 'h1_1 true' <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", words], check=False, timeout=TIMEOUT_S).returncode == 0


def test_the_prompt_answers_and_exits():
    done = subprocess.run(
        [POLARLAB, "up", "polarfly", "--q", "2"],
        input="h1_1 ping -c 1 h7_1\nexit\n",
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0
    assert "1 received" in done.stdout
    # Whose output is whose can be told, as with `set -x` in shells.
    assert re.findall(r"\+ (.+)", done.stderr) == ["h1_1 ping -c 1 h7_1", "exit"]


MEASURED = (*SMALL_RUN, "--duration", "2", "--warmup", "1", "--seed", "5")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run that is done, in a folder with traps for imports: what it said, and its results."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "numpy.py").write_text("raise SystemExit(7)")
    (folder / "traffic").mkdir()
    (folder / "traffic" / "__init__.py").write_text("raise SystemExit(7)")
    done = polarlab(*MEASURED, "--out", "run", "--json", "--pcap", "h1_1", cwd=folder)
    return done, folder / "run"


def test_nothing_is_imported_from_the_working_directory(finished):
    assert finished[0].returncode == 0, finished[0].stderr


def test_a_run_accepts_what_is_offered_and_writes_everything_down(finished):
    done, out = finished
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary.keys() >= SUMMARY_KEYS
    assert summary == json.loads((out / "summary.json").read_text())
    assert summary["accepted"] == pytest.approx(0.4, rel=0.15)
    assert summary["loss"] == 0
    assert summary["out_of_order"] == 0
    assert summary["hops_as_distances"]
    assert set(summary["hops"]) == {"0", "1", "2"}
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["datapath"] in ("kernel", "user")
    assert manifest["traffic"]["load"] == 0.4
    with open(out / "throughput.csv") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["time_s", "host", "tx_bytes", "rx_bytes"]
    assert sum(int(row["tx_bytes"]) for row in rows) == sum(int(row["rx_bytes"]) for row in rows)
    assert (out / "throughput.png").stat().st_size > 10_000


def test_a_capture_holds_the_probes_that_scapy_reads(finished):
    from scapy.utils import rdpcap

    from traffic.wire.probe_frame import Probe

    done, out = finished
    assert done.returncode == 0, done.stderr
    probes = [packet for packet in rdpcap(str(out / "h1_1.pcap")) if Probe in packet]
    assert any(packet["IP"].src == "10.0.0.1" for packet in probes)
    received = [packet for packet in probes if packet["IP"].dst == "10.0.0.1"]
    assert {64 - packet["IP"].ttl for packet in received} == {0, 1, 2}
    assert {packet[Probe].sequence_check for packet in probes} == {
        packet[Probe].sequence ^ (2**64 - 1) for packet in probes
    }


def test_a_run_offers_what_the_schedule_of_its_seed_says(finished):
    """Which is the same for the same seed: a unit test tells."""
    with open(finished[1] / "pairs.csv") as file:
        sent = sum(int(row["sent_frames"]) for row in csv.DictReader(file))
    schedule = PatternSchedule(Pattern("uniform", 14), 0.4 * 1e6 / 8000, 3_000_000_000, 64, seed=5)
    times_ns = np.concatenate([events.time_ns for events in schedule.chunks()])
    # A packet may leave just before or after an edge of the measured window.
    assert sent == pytest.approx((times_ns >= 1_000_000_000).sum(), abs=3)


STAGES = (
    pytest.param("starting shells of 7 switches", marks=pytest.mark.slow),
    pytest.param("creating", marks=pytest.mark.slow),
    pytest.param("plan proven", marks=pytest.mark.slow),
    "starting 7 Open vSwitches",
    pytest.param("all switches have installed", marks=pytest.mark.slow),
    "sending one probe",
    pytest.param("uniform traffic", marks=pytest.mark.slow),  # the next test has it with another signal
)


@pytest.mark.parametrize("stage", STAGES)
def test_ctrl_c_leaves_nothing_behind(tmp_path, stage):
    out = tmp_path / "results" / "run"
    process = start_polarlab(*SMALL_RUN, "--duration", "20", "--out", str(out))
    wait_for_line(process, stage)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert one_line(errors) == "polarlab: interrupted"
    if stage != "uniform traffic":  # nothing was measured
        assert list(tmp_path.iterdir()) == []


def test_what_was_measured_before_ctrl_c_is_kept(tmp_path):
    out = tmp_path / "run"
    process = start_polarlab(*SMALL_RUN, "--duration", "20", "--warmup", "0", "--out", str(out))
    wait_for_line(process, "uniform traffic")
    time.sleep(1.5)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    summary = json.loads((out / "summary.json").read_text())
    assert summary["interrupted"]
    assert summary["packets"]["received"] > 0
    assert f"`polarlab plot {out}`" in errors
    plot(out).save()
    assert (out / "links.png").exists()


def test_a_switch_that_dies_during_a_run_is_named_and_the_result_kept(tmp_path):
    out = tmp_path / "run"
    process = start_polarlab(*SMALL_RUN, "--duration", "2", "--warmup", "0", "--out", str(out))
    wait_for_line(process, "uniform traffic")
    time.sleep(0.7)
    (victim,) = [p.pid for p in marked_processes() if "ovs-vswitchd" in p.command and "s3.sock" in p.command]
    os.kill(victim, signal.SIGKILL)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert "ovs-vswitchd of s3" in one_line(errors)
    summary = json.loads((out / "summary.json").read_text())
    assert any("ovs-vswitchd of s3" in reason for reason in summary["fidelity"]["reasons"])
    assert not summary["fidelity"]["valid"]
    assert summary["loss"] > 0


SLEEPS = ("up", "polarfly", "--q", "2", "--exec", "h1_1 sleep 600")


def killed(process):
    """Ends a command by a signal that it cannot answer."""
    process.kill()
    process.communicate(timeout=TIMEOUT_S)


def test_one_fabric_at_a_time_and_clean_removes_what_kill_9_leaves_and_nothing_else():
    bystander = subprocess.Popen(["sleep", "600"])
    first = start_polarlab(*SLEEPS)
    try:
        wait_for_line(first, "all switches have installed")
        refused = polarlab("up", "polarfly", "--q", "2", "--exec", "h1_1 true")
        assert refused.returncode == 3
        assert str(first.pid) in one_line(refused.stderr)
        assert polarlab("clean").returncode == 3
        assert first.poll() is None
        killed(first)

        over_leftovers = start_polarlab(*SLEEPS)
        wait_for_line(over_leftovers, "all switches have installed")
        killed(over_leftovers)

        removed = json.loads(polarlab("clean", "--json").stdout)
        assert any("ovs-vswitchd" in entry["command"] for entry in removed["processes"])
        assert removed["run_directory"]
        eventually(lambda: not any("sleep" in one.command for one in marked_processes()))  # on the host
        assert bystander.poll() is None
        again = polarlab("clean", "--json")
        assert again.returncode == 0
        assert not any(json.loads(again.stdout).values())
    finally:
        bystander.kill()
        bystander.wait()


def running(words: bytes) -> list[int]:
    """Returns the processes of this machine with some words in their command lines."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            if words in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def test_programs_on_hosts_end_with_the_keeper_of_the_hosts_whatever_they_have_removed():
    program = b"sleep\000604.7"
    command = start_polarlab("up", "polarfly", "--q", "2", "--exec", "h1_1 setsid -w env -i sleep 604.7")
    try:
        eventually(lambda: running(program))
        (keeper,) = running(b"emulation.hosts.keeper")
        os.kill(keeper, signal.SIGSTOP)  # it does not see that the command ends
        command.kill()
        os.kill(keeper, signal.SIGKILL)
        killed(command)
        eventually(lambda: not running(program))
    finally:
        for pid in running(program):
            os.kill(pid, signal.SIGKILL)
        polarlab("clean")


# ---- what the machine may lack ----


def run_into(folder: Path, **options: object) -> tuple[int, str]:
    done = polarlab(*SMALL_RUN, "--duration", "1", "--out", str(folder), **options)
    return done.returncode, one_line(done.stderr)


def test_a_directory_with_another_run_is_not_overwritten(tmp_path):
    (tmp_path / "summary.json").write_text("{}")
    status, line = run_into(tmp_path)
    assert status == 2
    assert str(tmp_path) in line
    assert (tmp_path / "summary.json").read_text() == "{}"


def test_a_machine_without_open_vswitch(tmp_path):
    for name in ("mnexec", "ip", "tc", "ethtool", "setpriv"):
        found = subprocess.run(["which", name], capture_output=True, text=True, check=True)
        (tmp_path / name).symlink_to(found.stdout.strip())
    done = polarlab("up", "polarfly", "--q", "2", "--exec", "h1_1 true", env={"PATH": str(tmp_path)})
    assert done.returncode == 3
    assert "apt-get install openvswitch-switch" in one_line(done.stderr)


def test_a_fabric_that_does_not_fit_into_memory_is_refused_before_it_is_built(tmp_path):
    words = ("--q", "113", "--link-rate", "100kbit", "--out", str(tmp_path / "deep" / "run"))
    done = polarlab("run", "polarfly", *words)
    assert done.returncode == 3
    assert "GiB" in one_line(done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_a_host_to_capture_at_that_does_not_exist(tmp_path):
    done = polarlab(*SMALL_RUN, "--pcap", "h99_1", "--out", str(tmp_path / "run"))
    assert done.returncode == 2
    assert "'h99_1'" in one_line(done.stderr)
    assert not (tmp_path / "run").exists()


def test_a_user_without_root_is_told_so():
    """As nobody, to whom the checkout is shown where everybody may enter."""
    python = Path(sys.executable).relative_to(ROOT)
    command = "import sys; from polarlab.cli.main import main; sys.exit(main())"
    as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    with tempfile.TemporaryDirectory(dir="/tmp") as shown:
        os.chmod(shown, 0o755)
        run = f'exec {as_nobody} ./{python} -c "$1" up polarfly --q 2'
        script = f'mount --bind "$0" {shown} && cd {shown} && {run}'
        done = completed(
            ["unshare", "--mount", "sh", "-c", script, str(ROOT), command],
            env={**os.environ, "PYTHONPATH": shown},
        )
    assert done.returncode == 3, done.stderr
    assert "root" in one_line(done.stderr)
