"""Commands with a live page: the demonstration of it, experiments that are watched, and a taken port."""

import contextlib
import itertools
import os
import re
import signal
import subprocess
import urllib.request

import pytest
from conftest import POLARLAB, eventually, one_line, start_polarlab
from support.builders.repeats import repeats
from support.fixtures.browser import browser, needs_browser
from support.fixtures.web_requests import ask, token_of

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
    """With gentle traffic, which begins with the first viewer and which Ctrl-C takes down."""
    words = ("demo", "web", *fabric.split(), "--web=0", "--wait")
    with start_polarlab(*words) as process, ended_by_ctrl_c(process), browser() as page:
        url = next(line.split()[-1] for line in process.stderr if "live page: " in line)
        assert any("waiting until a browser opens the page" in line for line in process.stderr)
        assert ask(url, "GET", "api/state")[1]["traffic"] is None
        page.open(url)
        assert facts in page.text("facts")
        page.wait(lambda: page.text("traffic-state").startswith("uniform offered 0."))
        flowing = ask(url, "GET", "api/state")[1]["traffic"]["load"]
        page.wait(lambda: page.run("return Number(document.getElementById('traffic-load').value)") == flowing)
        page.click_drawn(f"link:{link}")
        page.wait(lambda: page.text("selected-name") == f"link {link}")
        page.press("cut")
        page.wait(lambda: page.dead() == {link})
        page.wait(lambda: "is down" in page.text("entries"))
        repaired = r"repaired by(switches|the controller|nothing was lost)"
        page.wait(lambda: re.search(repaired, page.text("incident-facts")))
        page.wait(lambda: "packets of the traffic lost" in page.text("incident-facts"))
        page.wait(lambda: f"the controller's plan without {link} is in place" in page.text("entries"))
        page.wait(lambda: re.search(f"Link {link} failed: .* lost.*deliver again", page.text("headline")))
        assert f"✕ {link} failed" in page.text("marks")
        way = page.wait(lambda: page.run("return cy.edges('.around').map((one) => one.data('name'))"))
        assert link not in way
        page.press("restore")
        page.wait(lambda: not page.dead())
        page.wait(lambda: "fully recovered" in page.text("entries"))
        page.wait(lambda: page.run("return document.getElementById('headline').className") == "good")
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


@pytest.mark.tried_again
@pytest.mark.usefixtures("no_leftovers")
def test_a_failover_waits_for_a_viewer_tells_its_course_and_stays_on_the_page(tmp_path):
    """In the terminal as things happen, and on the page also when the fabric is down."""
    with start_polarlab(
        *("demo", "failover", "polarfly", "--q", "2", "--fail", "link:s1-s6", "--web=0", "--wait"),
        *("--out", str(tmp_path / "failover")),
    ) as process:
        lines = iter(process.stderr)
        url = next(line.split()[-1] for line in lines if "live page: " in line)
        assert any("waiting until a browser opens the page" in line for line in lines)
        assert ask(url, "GET", "api/state")[1]["headline"] == ""
        with viewer(url):
            told = list(itertools.takewhile(lambda line: "s1-s6 is back" not in line, lines))
            [cut] = [n for n, line in enumerate(told) if "link:s1-s6 failed" in line]
            assert any("plan without s1-s6" in line for line in told[cut:])
            [repaired] = [line for line in told[cut:] if "repaired by the" in line]
            assert "packet" in repaired
            seen = [one["text"] for one in ask(url, "GET", "api/timeline")[1]]
            assert any("is down" in text for text in seen)
            rest = list(itertools.takewhile(lambda line: "until Ctrl-C" not in line, lines))
            assert any("as before" in line for line in rest)
            assert not any(re.search(r"probes: ([\d.]+) of", line) and beyond(line) for line in told + rest)
            state = ask(url, "GET", "api/state")[1]
            assert state["headline_level"] == "good"
            assert "Link s1-s6 failed" in state["headline"]
            assert ask(url, "GET", "api/fabric")[1]["replay"] == "failover"
            assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        process.stderr.read()
    assert process.returncode == 0


def beyond(line):
    """Returns whether a line of progress is beyond its end."""
    done, total = re.search(r"probes: ([\d.]+) of ([\d.]+) s", line).groups()
    return float(done) > float(total)


@contextlib.contextmanager
def viewer(url):
    """Asks for the states of a page, as a browser does; so few fit into its socket unread."""
    request = urllib.request.Request(
        f"{url.partition('?')[0]}api/stream", headers={"Authorization": f"Bearer {token_of(url)}"}
    )
    with urllib.request.urlopen(request, timeout=60):
        yield
