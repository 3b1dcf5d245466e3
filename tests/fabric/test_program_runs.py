"""Runs with own programs: servers, clients, programs that misbehave, captures, and a killed collector."""

import csv
import json
import os
import signal
import time
from pathlib import Path

import pytest
from conftest import one_line, polarlab, start_polarlab, summary_of_run, wait_for_line

from emulation.cleanup import marked_processes
from polarlab import plot, report

pytestmark = pytest.mark.usefixtures("no_leftovers")

RATE_BPS = 2_000_000
PROGRAMS = """# a server, and programs of all kinds
h5_1 iperf3 -s &
h1_1 iperf3 -c h5_1 -t 3 -w 32K -J
h2_1 nosuchprogram --flag
h3_1 while :; do sleep 1; done
h3_1 yes
h4_1 read line || echo end of file
h1_1 time timeout 5 getent hosts h5_1
h2_1 timeout 5 getent hosts h99_1 || echo unknown
s5 cat /etc/hosts
h6_1 echo written > file
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of programs alone: what it said, its folder and its summary."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "programs.txt").write_text(PROGRAMS)
    machine = Path("/etc/hosts").read_bytes()
    words = ("run", "polarfly", "--q", "2", "--exec-file", "programs.txt", "--exec-timeout", "5")
    captures = ("--pcap", "h1_1,s5:1", "--pcap", "link:s1-s5")
    done = polarlab(*words, *captures, "--out", "run", "--json", cwd=folder)
    assert Path("/etc/hosts").read_bytes() == machine
    assert done.stdout, done.stderr
    return done, folder / "run", json.loads(done.stdout)


def program_of(summary, part):
    """Returns the program whose command has `part` in it."""
    (chosen,) = (one for one in summary["programs"] if part in one["command"])
    return chosen


def text_of(out, summary, part, stream="output"):
    """Returns what that program wrote."""
    return (out / program_of(summary, part)[stream]).read_text()


def test_programs_that_fail_are_told_in_a_line_each_and_the_rest_is_kept(finished):
    done, out, summary = finished
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    told = [line for line in done.stderr.splitlines() if "`h" in line]
    assert len(told) == 3, done.stderr
    assert "`h2_1 nosuchprogram --flag` could not be run (status 127)" in told[0]
    assert "`h3_1 while" in told[1]
    assert "`h3_1 yes` did not finish" in told[2]
    assert program_of(summary, "nosuchprogram")["status"] == 127
    endless = program_of(summary, "while")
    assert (endless["status"], endless["timed_out"]) == (None, True)
    assert endless["ended_s"] >= 5
    assert json.loads((out / "summary.json").read_text()) == summary
    assert {path.name for path in out.iterdir()} >= {
        "throughput.png",
        "links.png",
        "links.csv",
        "manifest.json",
    }


def test_a_hosts_working_folder_is_kept_if_it_has_files(finished):
    _, out, _ = finished
    assert (out / "hosts" / "h6_1" / "file").read_text() == "written\n"
    assert [entry.name for entry in (out / "hosts").iterdir()] == ["h6_1"]


def test_a_program_that_writes_without_end_is_cut_off(finished):
    _, out, summary = finished
    writer = program_of(summary, "yes")
    assert (writer["cut_off"], writer["timed_out"]) == (True, True)
    content = (out / writer["output"]).read_bytes()
    assert len(content) < 5 << 20
    assert b"[polarlab: kept 4194304 of" in content[-200:]


def test_a_program_that_reads_gets_the_end_of_the_file(finished):
    _, out, summary = finished
    assert text_of(out, summary, "read line") == "end of file\n"


def test_names_of_hosts_resolve_in_every_node_at_once(finished):
    _, out, summary = finished
    assert text_of(out, summary, "getent hosts h5_1").split() == ["10.0.4.1", "h5_1"]
    assert text_of(out, summary, "getent hosts h99_1") == "unknown\n"
    for part in ("getent hosts h5_1", "getent hosts h99_1"):
        program = program_of(summary, part)
        assert program["status"] == 0
        assert program["ended_s"] - program["started_s"] < 4  # before `timeout`, whose status would be 124
    assert "10.0.6.1 h7_1" in text_of(out, summary, "cat /etc/hosts")


def test_links_carry_what_a_client_says_that_it_sent(finished):
    _, out, summary = finished
    told = json.loads(text_of(out, summary, "iperf3 -c"))["end"]["sum_received"]
    with (out / "links.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["link"] == "s1-s5"]
    carried = sum(int(row["tx_bytes"]) for row in rows)
    # Frames of 1,514 bytes carry 1,448 of the stream; what arrives after the end is not counted by iperf3.
    assert carried == pytest.approx(told["bytes"] * 1514 / 1448, rel=0.06)
    assert summary["links"]["load_max"] == pytest.approx(
        carried * 8 / RATE_BPS / summary["measured_s"], rel=0.05
    )
    server = program_of(summary, "iperf3 -s")
    assert (server["server"], server["status"]) == (True, None)
    assert server["started_s"] < 0
    assert server["ended_s"] >= 5


def test_a_run_of_programs_alone_has_no_figures_of_generated_packets(finished):
    _, out, summary = finished
    assert summary["pattern"] == "programs"
    assert [summary[name] for name in ("offered", "accepted", "loss", "hops_as_distances")] == [None] * 4
    assert not (out / "pairs.csv").exists()
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["traffic"]["programs"] == [line for line in PROGRAMS.splitlines() if line[0] != "#"]
    assert manifest["traffic"]["exec_timeout_s"] == 5


def test_captures_at_hosts_ports_and_both_ends_of_a_link_are_read_by_scapy(finished):
    from scapy.utils import rdpcap

    _, out, _ = finished
    captures = {path.stem: rdpcap(str(path)) for path in out.glob("*.pcap")}
    assert set(captures) == {"h1_1", "s1-eth1", "s5-eth1"}
    seen = {
        name: {bytes(packet["TCP"]) for packet in packets if "TCP" in packet}
        for name, packets in captures.items()
    }
    assert len(seen["h1_1"]) > 100
    assert seen["s1-eth1"] <= seen["h1_1"]
    assert len(seen["s1-eth1"] ^ seen["s5-eth1"]) <= 2  # at the end one may be on its way


def test_reports_and_plots_take_such_runs(finished):
    _, out, _ = finished
    assert "nosuchprogram" in report(out, out.parent / "report.html").read_text()
    assert plot(out).keys() >= {"throughput", "links"}


def test_programs_run_beside_generated_traffic_and_faults(tmp_path):
    (tmp_path / "faults.txt").write_text("0.5 fail link:s1-s5\n1.5 restore link:s1-s5\n")
    traffic = {"load": 0.2, "warmup": 0.5, "duration": 1.5, "faults": tmp_path / "faults.txt"}
    program = "h1_1 ping -i 0.2 -c 15 h5_1"
    summary = summary_of_run(tmp_path / "run", "polarfly", q=2, **traffic, exec=program)
    assert summary["offered"] > 0.1
    assert summary["packets"]["received"] > 100
    assert len(summary["faults"]["done"]) == 2
    ping = program_of(summary, "ping")
    assert ping["status"] == 0
    assert ping["ended_s"] > 2.5  # it was waited for
    assert "15 packets transmitted" in text_of(tmp_path / "run", summary, "ping")
    again = polarlab("compare", "run", "run", cwd=tmp_path)
    assert again.returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_ctrl_c_ends_programs_and_keeps_what_there_is(tmp_path, number):
    out = tmp_path / "run"
    process = start_polarlab(
        *("run", "polarfly", "--q", "2", "--exec", "h1_1 echo begun; sleep 600", "--out", str(out), "--json")
    )
    wait_for_line(process, "program started")
    time.sleep(2.5)
    assert len((out / "links.csv").read_text().splitlines()) > 20  # also for a run that is killed
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert one_line(errors) == "polarlab: interrupted"
    summary = json.loads((out / "summary.json").read_text())
    assert json.loads(output) == summary
    assert {path.name for path in out.iterdir()} == {
        *(
            "cpu.csv",
            "held.csv",
            "host_links.csv",
            "link_loads.csv",
            "links.csv",
            "manifest.json",
            "programs",
        ),
        "summary.json",
    }
    assert summary["interrupted"] is True
    assert program_of(summary, "sleep")["status"] is None
    assert text_of(out, summary, "sleep") == "begun\n"


def test_a_collector_that_is_killed_leaves_what_it_had_counted(tmp_path):
    out = tmp_path / "run"
    process = start_polarlab(
        *("run", "polarfly", "--q", "2", "--load", "0.3", "--warmup", "0", "--duration", "60"),
        *("--out", str(out)),
    )
    wait_for_line(process, "of the injection capacity")
    time.sleep(2.5)  # a checkpoint is due once a second
    (collector,) = (one for one in marked_processes() if "worker collect" in one.command)
    os.kill(collector.pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1, errors
    assert one_line(errors) == "polarlab: the collect process was killed by SIGKILL"
    summary = json.loads((out / "summary.json").read_text())
    assert summary["fidelity"]["valid"] is False
    assert "SIGKILL" in " ".join(summary["fidelity"]["reasons"])
    assert summary["packets"]["received"] > 0
    assert summary["links"]["load_max"] > 0
    assert 1.5 < summary["measured_s"] < 30
    with (out / "pairs.csv").open() as file:
        assert sum(int(row["received_frames"]) for row in csv.DictReader(file)) > 0
    assert plot(out).keys() >= {"throughput", "links"}
