"""Commands with a live page: the demonstration of it, experiments that are watched, and a taken port."""

import contextlib
import os
import re
import signal
import subprocess

import pytest
from conftest import POLARLAB, eventually, one_line, start_polarlab
from support.builders.repeats import repeats
from support.fixtures.browser import browser, needs_browser
from support.fixtures.web_requests import ask

from polarlab.web.address import WebAddress

pytestmark = pytest.mark.fabric


@contextlib.contextmanager
def ended_by_ctrl_c(process):
    """Ends a command behind the block, whatever comes of that."""
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.stderr.read()


@pytest.mark.tried_again
@needs_browser
@pytest.mark.usefixtures("no_leftovers")
@pytest.mark.parametrize(
    ("fabric", "facts", "link"),
    [
        ("polarfly --q 3", "13 switches, 24 links", "s1-s10"),
        *repeats(("", "31 switches, 90 links", "s1-s28")),  # the README's one line
    ],
)
def test_a_link_of_the_demonstration_is_cut_by_a_click_and_the_page_tells_who_repaired_it(
    fabric, facts, link
):
    """With gentle traffic, which Ctrl-C takes down."""
    words = ("demo", "web", *fabric.split(), "--web=0")
    with start_polarlab(*words) as process, ended_by_ctrl_c(process), browser() as page:
        page.open(next(line.split()[-1] for line in process.stderr if "live page: " in line))
        assert facts in page.text("facts")
        page.wait(lambda: page.text("traffic-state").startswith("uniform offered 0.0"))
        page.click_drawn(f"link:{link}")
        page.wait(lambda: page.text("selected-name") == f"link {link}")
        page.press("cut")
        page.wait(lambda: page.dead() == {link})
        page.wait(lambda: "is down" in page.text("entries"))
        repaired = r"repaired by(switches|the controller|nothing was lost)"
        page.wait(lambda: re.search(repaired, page.text("incident-facts")))
        page.wait(lambda: "packets of the traffic lost" in page.text("incident-facts"))
        page.wait(lambda: f"the controller's plan without {link} is in place" in page.text("entries"))
        page.press("restore")
        page.wait(lambda: not page.dead())
        page.wait(lambda: "fully recovered" in page.text("entries"))
        assert page.errors() == []
    assert process.returncode == 0


def test_the_demonstration_has_a_help_of_its_own():
    for words in ("demo web --help", "demo web polarfly -h"):
        ended = subprocess.run(
            [POLARLAB, *words.split()], capture_output=True, text=True, timeout=60, check=False
        )
        assert ended.returncode == 0
        assert ended.stdout.startswith("usage: polarlab demo web ")
        assert len(ended.stdout.splitlines()) < 25


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
            return state.get("traffic") and state["traffic"]["accepted"] > 0.1

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
