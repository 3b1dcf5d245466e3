"""Sessions at the prompt whose results are kept: `polarlab up --out`."""

import csv
import json
import signal
import time

import pytest
from conftest import one_line, polarlab, start_polarlab

from polarlab import report

pytestmark = pytest.mark.usefixtures("no_leftovers")


# More than a host's queue holds.
FLOOD = (
    'h2_1 for n in 1 2 3 4; do python3 -c "import socket; s = socket.socket(2, 2); '
    "[s.sendto(bytes(1400), ('10.0.2.1', 9)) for _ in range(100)]\" & done; wait"
)


def test_a_session_leaves_loads_faults_and_lines(tmp_path):
    lines = ("fail link:s1-s5", "h1_1 ping -c 5 -i 0.3 h5_1", "restore all", FLOOD, "drops", "h1_1 false")
    words = [word for line in lines for word in ("--exec", line)]
    done = polarlab("up", "polarfly", "--q", "2", *words, "--out", "session", "--pcap", "h2_1", cwd=tmp_path)
    assert done.returncode == 1, done.stderr  # the last line fails
    out = tmp_path / "session"
    summary = json.loads((out / "summary.json").read_text())
    assert summary["pattern"] == "session"
    assert [(line["line"], line["status"]) for line in summary["lines"]] == [
        *((line, 0) for line in lines[:-1]),
        (lines[-1], 1),
    ]
    ping = summary["lines"][1]
    assert ping["ended_s"] - ping["started_s"] > 1
    assert [fault["fault"] for fault in summary["faults"]["done"]] == [
        "fail link:s1-s5",
        "restore link:s1-s5",
    ]
    assert (out / "h2_1.pcap").stat().st_size > 20_000  # also what passed just before the end
    with (out / "host_links.csv").open() as file:
        hosts = {row["link"]: row for row in csv.DictReader(file)}
    dropped = int(hosts["h2_1-s2"]["dropped_packets"])
    assert dropped > 50
    assert summary["host_links"]["dropped_by_hosts"] == dropped
    assert summary["host_links"]["dropped_packets"] == sum(
        int(row["dropped_packets"]) for row in hosts.values()
    )
    assert int(hosts["s3-h3_1"]["tx_bytes"]) > 1400
    (shown,) = (line.split() for line in done.stdout.splitlines() if "h2_1-s2" in line)
    assert shown == ["h2_1-s2", "0", str(dropped), "0"]
    with (out / "links.csv").open() as file:
        rows = list(csv.DictReader(file))
    sent = {
        link: sum(int(row["tx_bytes"]) for row in rows if row["link"] == link) for link in ("s1-s5", "s1-s7")
    }
    carried = sum(int(row["tx_bytes"]) for row in rows)
    assert sent["s1-s5"] == 0
    assert carried >= 5 * 2 * 98 * 2  # there and back, around the link
    assert (out / "throughput.png").stat().st_size > 10_000
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["routing"] == "min"
    assert [line.split(maxsplit=1)[1] for line in manifest["traffic"]["faults"]] == [
        "fail link:s1-s5",
        "restore link:s1-s5",
    ]
    assert "session" in report(tmp_path / "session").read_text()


def test_a_session_keeps_failures_of_hosts_links_and_switches_that_end_by_themselves(tmp_path):
    lines = (
        *("link s1 h1_1 down", "fail", "restore all"),
        *("px net['s5'].vswitch.processes[0].kill()", "sh sleep 1", "switch s5 start"),
    )
    words = [word for line in lines for word in ("--exec", line)]
    done = polarlab("up", "polarfly", "--q", "2", *words, "--out", "session", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "failed: link:s1-h1_1\nfailed: link:s1-h1_1\nrestored: link:s1-h1_1\n" in done.stdout
    faults = json.loads((tmp_path / "session" / "summary.json").read_text())["faults"]["done"]
    assert [fault["fault"] for fault in faults] == [
        *("fail link:s1-h1_1", "restore link:s1-h1_1", "fail hang:s5", "restore hang:s5"),
    ]
    assert "session" in report(tmp_path / "session").read_text()


@pytest.mark.slow
def test_background_traffic_of_a_session_is_kept_and_told_if_it_still_flows_at_the_end(tmp_path):
    lines = (
        *("traffic start", "sh sleep 0.3", "traffic stop", "traffic start tornado 0.1", "sh sleep 0.3"),
        *("routing threshold=1/2 rest-returned=9", "web 127.0.0.1:0", "web", "routing threshold=2 || true"),
    )
    words = [word for line in lines for word in ("--exec", line)]
    fabric = ("polarfly", "--q", "2", "--routing", "ugal-pf")
    done = polarlab("up", *fabric, *words, "--out", "session", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "routing ugal-pf:threshold=0.5,rest-returned=9, was ugal-pf\n  threshold=0.5\n" in done.stdout
    assert "got 2" in done.stderr
    first, again = (line for line in done.stdout.splitlines() if line.startswith("http://127.0.0.1:"))
    assert first == again
    assert '"routing threshold=1/2 rest-returned=9"' in (tmp_path / "session" / "summary.json").read_text()
    stopped, flowing = json.loads((tmp_path / "session" / "summary.json").read_text())["background"]
    assert (stopped["pattern"], stopped["load"]) == ("uniform", 0.3)
    assert f"{stopped['received_packets']} of {stopped['sent_packets']} packets arrived" in done.stdout
    assert (flowing["pattern"], flowing["load"]) == ("tornado", 0.1)
    assert flowing["sent_packets"] > 0
    assert "tornado at 0.1" in done.stderr
    assert "session" in report(tmp_path / "session").read_text()


@pytest.mark.tried_again
def test_a_session_that_is_interrupted_leaves_what_it_had(tmp_path):
    out = tmp_path / "session"
    process = start_polarlab(
        *("up", "polarfly", "--q", "2", "--exec", "traffic start uniform 0.2"),
        *("--exec", "h1_1 ping -i 0.2 h2_1", "--out", str(out)),
    )
    assert "uniform traffic runs" in process.stdout.readline()
    assert "bytes from" in process.stdout.readline() + process.stdout.readline()
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert one_line(errors) == "polarlab: interrupted"
    summary = json.loads((out / "summary.json").read_text())
    assert summary["interrupted"] is True
    (background,) = summary["background"]
    assert background["sent_packets"] > 100
    assert background["offered"] == pytest.approx(0.2, rel=0.3)
    assert [line["line"] for line in summary["lines"]][1:] == ["h1_1 ping -i 0.2 h2_1"]
