"""Sessions at the prompt whose results are kept: `polarlab up --out`."""

import csv
import json
import signal
import time

import pytest
from conftest import one_line, polarlab, start_polarlab

pytestmark = pytest.mark.usefixtures("no_leftovers")


def test_a_session_leaves_loads_faults_and_lines(tmp_path):
    lines = ("fail link:s1-s5", "h1_1 ping -c 5 -i 0.3 h5_1", "restore all", "h1_1 false")
    words = [word for line in lines for word in ("--exec", line)]
    done = polarlab("up", "polarfly", "--q", "2", *words, "--out", "session", cwd=tmp_path)
    assert done.returncode == 1, done.stderr  # the last line fails
    out = tmp_path / "session"
    summary = json.loads((out / "summary.json").read_text())
    assert summary["pattern"] == "session"
    assert [(line["line"], line["status"]) for line in summary["lines"]] == [
        *((line, 0) for line in lines[:3]),
        (lines[3], 1),
    ]
    ping = summary["lines"][1]
    assert ping["ended_s"] - ping["started_s"] > 1
    assert [fault["fault"] for fault in summary["faults"]["done"]] == [
        "fail link:s1-s5",
        "restore link:s1-s5",
    ]
    with (out / "links.csv").open() as file:
        rows = list(csv.DictReader(file))
    sent = {
        link: sum(int(row["tx_bytes"]) for row in rows if row["link"] == link) for link in ("s1-s5", "s1-s7")
    }
    carried = sum(int(row["tx_bytes"]) for row in rows)
    assert sent["s1-s5"] == 0
    assert carried >= 5 * 2 * 98 * 2  # there and back, around the link
    assert (out / "throughput.png").stat().st_size > 10_000
    assert json.loads((out / "manifest.json").read_text())["routing"] == "min"
    assert polarlab("report", "session", cwd=tmp_path).returncode == 0


def test_a_session_that_is_interrupted_leaves_what_it_had(tmp_path):
    out = tmp_path / "session"
    process = start_polarlab(
        "up", "polarfly", "--q", "2", "--exec", "h1_1 ping -i 0.2 h2_1", "--out", str(out)
    )
    assert "bytes from" in process.stdout.readline() + process.stdout.readline()
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert one_line(errors) == "polarlab: interrupted"
    summary = json.loads((out / "summary.json").read_text())
    assert summary["interrupted"] is True
    assert [line["line"] for line in summary["lines"]] == ["h1_1 ping -i 0.2 h2_1"]
