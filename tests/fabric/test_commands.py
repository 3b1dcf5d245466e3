"""The commands that launch fabrics, run as a user runs them."""

import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import (
    PATIENCE,
    POLARLAB,
    TIMEOUT_S,
    marked_processes,
    one_line,
    polarlab,
    start_polarlab,
    wait_for_line,
)

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
        *("--exec", "h1_1 iperf3 -c h5_1 -t 2"),
        *("--exec", "h1_1 iperf3 -u -b 1M -c h5_1 -t 2"),
    )
    assert done.returncode == 0, done.stderr
    assert "3 received, 0% packet loss" in done.stdout
    assert done.stdout.count("iperf Done") == 2


def test_a_line_that_fails_ends_with_status_1():
    done = polarlab("up", "polarfly", "--q", "2", "--exec", "h1_1 false", "--exec", "h1_1 echo later")
    assert done.returncode == 1
    assert "later" not in done.stdout
    assert "`h1_1 false`" in one_line(done.stderr)


@pytest.mark.parametrize("line", ["h99_1 ping h1_1", "link s1 nowhere down", "switch s99 stop"])
def test_a_line_that_mininet_cannot_do_ends_with_status_1(line):
    assert polarlab("up", "polarfly", "--q", "2", "--exec", line).returncode == 1


def test_a_line_that_ends_its_own_shell_is_told_and_does_not_hang():
    done = polarlab("up", "polarfly", "--q", "2", "--exec", "h1_1 exit")
    assert done.returncode == 4
    assert "h1_1" in one_line(done.stderr)


def test_a_switch_that_is_stopped_at_the_prompt_can_be_started_again():
    done = polarlab(
        *("up", "polarfly", "--q", "2"),
        *("--exec", "switch s3 stop", "--exec", "switch s3 start", "--exec", "h3_1 ping -c 12 -i 0.5 h1_1"),
    )
    assert done.returncode == 0, done.stderr
    assert "100% packet loss" not in done.stdout


def test_a_switch_that_is_stopped_at_the_prompt_does_not_hurt_the_others():
    words = ("--exec", "switch s3 stop", "--exec", "h1_1 ping -c 3 h2_1")
    done = polarlab("up", "polarfly", "--q", "2", *words)
    assert done.returncode == 0, done.stderr


def test_lines_after_exit_are_not_run():
    done = polarlab("up", "polarfly", "--q", "2", "--exec", "exit", "--exec", "h1_1 echo later")
    assert done.returncode == 0
    assert "later" not in done.stdout


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


@pytest.mark.parametrize("delay_s", [0.4, 0.8, 1.2, 1.6])
def test_many_signals_in_quick_succession_leave_nothing_behind(delay_s):
    process = start_polarlab("up", "polarfly", "--q", "3", "--exec", "h1_1 sleep 20")
    time.sleep(delay_s)
    for _ in range(6):
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert one_line(errors) == "polarlab: interrupted"


def test_nothing_is_imported_from_the_working_directory(tmp_path):
    (tmp_path / "numpy.py").write_text("raise SystemExit(7)")
    (tmp_path / "traffic").mkdir()
    (tmp_path / "traffic" / "__init__.py").write_text("raise SystemExit(7)")
    done = polarlab(*SMALL_RUN, "--duration", "1", "--out", str(tmp_path / "run"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr


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


MEASURED = (*SMALL_RUN, "--duration", "2", "--warmup", "1", "--seed", "5")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run that is done: what it said, and its folder."""
    out = tmp_path_factory.mktemp("finished") / "run"
    return polarlab(*MEASURED, "--out", str(out), "--json", "--pcap", "h1_1"), out


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


def test_the_same_seed_offers_the_same_packets(finished, tmp_path):
    again = tmp_path / "again"
    assert polarlab(*MEASURED, "--out", str(again)).returncode == 0
    sent = []
    for folder in (finished[1], again):
        with open(folder / "pairs.csv") as file:
            sent.append(sum(int(row["sent_frames"]) for row in csv.DictReader(file)))
    assert sent[0] == pytest.approx(sent[1], abs=3)  # a packet may leave just before or after an edge


STAGES = (
    "starting 7 switches",
    "wiring",
    "plan proven",
    "starting 7 Open vSwitches",
    "all switches hold",
    "sending one probe",
    "uniform traffic",
)


@pytest.mark.parametrize("stage", STAGES)
def test_ctrl_c_leaves_nothing_behind(tmp_path, stage):
    out = tmp_path / "run"
    process = start_polarlab(*SMALL_RUN, "--duration", "20", "--out", str(out))
    wait_for_line(process, stage)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert one_line(errors) == "polarlab: interrupted"


def test_what_was_measured_before_ctrl_c_is_kept(tmp_path):
    out = tmp_path / "run"
    process = start_polarlab(*SMALL_RUN, "--duration", "20", "--warmup", "0", "--out", str(out))
    wait_for_line(process, "uniform traffic")
    time.sleep(3)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    summary = json.loads((out / "summary.json").read_text())
    assert summary["interrupted"]
    assert summary["packets"]["received"] > 0
    assert f"`polarlab plot {out}`" in errors
    assert polarlab("plot", str(out)).returncode == 0
    assert (out / "links.png").exists()


def test_nothing_is_left_of_a_run_in_which_nothing_was_measured(tmp_path):
    out = tmp_path / "results" / "run"
    process = start_polarlab(*SMALL_RUN, "--duration", "20", "--out", str(out))
    wait_for_line(process, "sending one probe")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []


def test_a_switch_that_dies_during_a_run_is_named_and_the_result_kept(tmp_path):
    out = tmp_path / "run"
    process = start_polarlab(*SMALL_RUN, "--duration", "3", "--warmup", "0", "--out", str(out))
    wait_for_line(process, "uniform traffic")
    time.sleep(1)
    (victim,) = [p.pid for p in marked_processes() if "ovs-vswitchd" in p.command and "s3.sock" in p.command]
    os.kill(victim, signal.SIGKILL)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert "ovs-vswitchd of s3" in one_line(errors)
    summary = json.loads((out / "summary.json").read_text())
    assert any("ovs-vswitchd of s3" in reason for reason in summary["fidelity"]["reasons"])
    assert not summary["fidelity"]["valid"]
    assert summary["loss"] > 0


def test_clean_removes_what_kill_9_leaves_and_nothing_else():
    bystander = subprocess.Popen(["sleep", "600"])
    process = start_polarlab("up", "polarfly", "--q", "2", "--exec", "h1_1 sleep 600")
    try:
        wait_for_line(process, "all switches hold")
        process.kill()
        process.communicate(timeout=TIMEOUT_S)
        first = json.loads(polarlab("clean", "--json").stdout)
        assert any("ovs-vswitchd" in entry["command"] for entry in first["processes"])
        assert first["run_directory"]
        assert bystander.poll() is None
        second = polarlab("clean", "--json")
        assert second.returncode == 0
        assert not any(json.loads(second.stdout).values())
    finally:
        bystander.kill()
        bystander.wait()


def test_a_fabric_comes_up_over_the_leftovers_of_another():
    process = start_polarlab("up", "polarfly", "--q", "2", "--exec", "h1_1 sleep 600")
    wait_for_line(process, "all switches hold")
    process.kill()
    process.communicate(timeout=TIMEOUT_S)
    assert polarlab("up", "polarfly", "--q", "2", "--exec", "h1_1 ping -c 1 h2_1").returncode == 0


def test_a_second_fabric_is_refused_and_the_first_goes_on():
    first = start_polarlab("up", "polarfly", "--q", "2", "--exec", f"h1_1 sleep {5 * PATIENCE:.0f}")
    wait_for_line(first, "all switches hold")
    second = polarlab("up", "polarfly", "--q", "2", "--exec", "h1_1 true")
    assert second.returncode == 3
    assert str(first.pid) in one_line(second.stderr)
    cleaned = polarlab("clean")
    assert cleaned.returncode == 3
    first.communicate(timeout=TIMEOUT_S)
    assert first.returncode == 0


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
    assert "MiB" in one_line(done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_a_host_to_capture_at_that_does_not_exist(tmp_path):
    done = polarlab(*SMALL_RUN, "--pcap", "h99_1", "--out", str(tmp_path / "run"))
    assert done.returncode == 2
    assert "'h99_1'" in one_line(done.stderr)
    assert not (tmp_path / "run").exists()


def test_a_user_without_root_is_told_so(tmp_path):
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    probe = subprocess.run([*nobody, POLARLAB, "--help"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("the checkout is in a folder that other users cannot enter")
    done = subprocess.run(
        [*nobody, POLARLAB, "up", "polarfly", "--q", "2"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 3
    assert "root" in one_line(done.stderr)
