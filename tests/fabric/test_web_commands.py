"""Commands with a live page: the demonstration of it, experiments that are watched, and a taken port."""

import os
import signal
import subprocess

import pytest
from conftest import POLARLAB, eventually, one_line, start_polarlab, wait_for_line
from web_requests import ask

from polarlab.web.address import WebAddress

pytestmark = pytest.mark.fabric


@pytest.mark.usefixtures("no_leftovers")
def test_the_demonstration_of_the_page_ends_with_ctrl_c():
    with start_polarlab("demo", "web", "polarfly", "--q", "2", "--web=0") as process:
        wait_for_line(process, "in a browser")
        os.killpg(process.pid, signal.SIGINT)
        process.stderr.read()
    assert process.returncode == 0


@pytest.mark.usefixtures("no_leftovers")
def test_a_run_is_watched(tmp_path):
    with start_polarlab(
        *("run", "polarfly", "--q", "2", "--link-rate", "1Mbit", "--load", "0.2", "--warmup", "1"),
        *("--duration", "4", "--web=0", "--out", str(tmp_path / "run")),
    ) as process:
        url = next(line.split()[-1] for line in process.stderr if "live page: " in line)
        seen = []

        def shows_traffic():
            state = ask(url, "GET", "api/state")[1]
            seen.append(state)
            return state and state["traffic"] and state["traffic"]["accepted"] > 0.1

        eventually(shows_traffic)
        assert ask(url, "POST", "api/fail", {"elements": "link:s1-s2"})[0] == 409
        process.stderr.read()
    assert process.returncode == 0
    assert (tmp_path / "run" / "summary.json").exists()


def test_a_port_that_is_taken_is_told_before_anything_starts():
    with WebAddress("127.0.0.1", 0).listen() as taken:
        port = taken.getsockname()[1]
        words = [POLARLAB, "up", "polarfly", "--q", "2", f"--web={port}", "--exec", "net"]
        ended = subprocess.run(
            words, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
        )
    assert ended.returncode == 3
    assert "choose another port" in one_line(ended.stderr)
    assert "starting" not in ended.stderr


@pytest.mark.slow
def test_the_events_of_a_failover_are_watched(tmp_path):
    with start_polarlab(
        *("demo", "failover", "polarfly", "--q", "2", "--fail", "link:s1-s6", "--web=0"),
        *("--out", str(tmp_path / "failover")),
    ) as process:
        url = next(line.split()[-1] for line in process.stderr if "live page: " in line)
        eventually(lambda: any("s1-s6" in entry["text"] for entry in ask(url, "GET", "api/timeline")[1]))
        eventually(lambda: any("is down" in entry["text"] for entry in ask(url, "GET", "api/timeline")[1]))
        process.stderr.read()
    assert process.returncode == 0
