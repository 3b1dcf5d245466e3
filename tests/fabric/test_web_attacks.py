"""Attacks on a real fabric through its live page, and through a web process that somebody has taken over."""

import contextlib
import os
import threading
import time
from http import HTTPStatus

import psutil
import pytest
from conftest import eventually
from support.fixtures.alarms import no_longer_than
from support.fixtures.taken_over_page import taken_over, web_processes
from support.fixtures.web_requests import ask

import polarlab
from polarlab.web.events import PageEnded

pytestmark = [pytest.mark.fabric, pytest.mark.xdist_group("web")]


@pytest.fixture(scope="module")
def fabric(tmp_path_factory):
    """ER_2 under ugal-pf with its page, in a folder of its own."""
    os.chdir(tmp_path_factory.mktemp("attacked"))
    events = []
    with polarlab.Fabric("polarfly", q=2, routing="ugal-pf", web="0", progress=events.append) as up:
        up.told = events
        yield up


@pytest.fixture
def channel(fabric):
    """The channel of its web process, which is taken over; after the test it serves again."""
    fabric.web_start()
    [process] = web_processes()
    with taken_over(process) as taken:
        yield taken
    fabric.web_start()


@pytest.fixture
def secrets(tmp_path):
    """Files of root's, by what they are, whose content begins with `root-only`."""
    (tmp_path / "file").write_text("root-only,h2_1,1\n")
    (tmp_path / "file").chmod(0o600)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    return [*tmp_path.iterdir(), tmp_path / "missing"]


@pytest.mark.parametrize(
    "form", ["matrix:{}", "matrix:file={}", "matrix:./..{}", "matrix:{},x", "matrix:{}:"]
)
@pytest.mark.parametrize("path", ["api/traffic", "api/results", "api/collectives"])
def test_no_file_is_read_for_those_who_reach_the_page(fabric, secrets, path, form):
    answers = {str(ask(fabric.url, "POST", path, {"pattern": form.format(file)})) for file in secrets}
    [answer] = answers  # the same for what is there and what is not
    assert answer.startswith("(400,")
    assert "root-only" not in answer


@pytest.mark.parametrize(
    ("action", "arguments"),
    [
        ("measure", {"exec": ["s1 touch MARK"], "out": "MARK"}),
        (
            "measure",
            {"pattern": "uniform", "load": 0.1, "seed": 1, "duration": 1, "warmup": 0, "out": "MARK"},
        ),
        ("measure", {"exec-file": "MARK"}),
        ("measure-collective", {"out": "MARK"}),
        ("measure-collective", {"pattern": "matrix:/etc/passwd"}),
        ("measure-collective", {"message_bytes": ["64KiB"]}),
        ("start-traffic", {"pattern": "matrix:/etc/passwd"}),
        ("start-traffic", {"pattern": ["uniform"]}),
        ("start-traffic", {"load": "0.3"}),
        ("start-traffic", {"load": 2}),
        ("start-traffic", {"seed": -1}),
        ("fail", {"elements": "link:s1-s6\nsh touch MARK"}),
        ("fail", {"elements": {"$": 1}}),
        ("fail", {}),
        ("fail", []),
        ("fail", None),
        ("fail", b'{"elements": "\xff"}'),
        ("set-routing", {"parameters": "threshold=1/0"}),
        ("set-routing", {"parameters": "threshold=" + "9" * 400 + "/7"}),
        ("switch", {"switch": "s1; touch MARK"}),
        ("switch", {"switch": "../../s1"}),
        ("download", {"name": "../../../etc"}),
        ("download", {"name": ""}),
        ("stop-traffic", {"self": 1}),
        ("__init__", {}),
        ("changed", {"verb": "fail"}),
        ("recording", {}),
        ("", {}),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_web_process_that_is_taken_over_gets_what_the_page_declares_and_no_more(
    fabric, channel, tmp_path, action, arguments
):
    mark = tmp_path / "mark"
    answer = channel.asked(action, _marked(arguments, str(mark)))
    assert answer["status"] in (400, 409)
    assert "root:" not in str(answer)
    assert not mark.exists()
    assert fabric.traffic_status() is None
    assert fabric.session.active_failures() == ()


def _marked(value, mark):
    if isinstance(value, dict):
        return {key: _marked(one, mark) for key, one in value.items()}
    if isinstance(value, list):
        return [_marked(one, mark) for one in value]
    return value.replace("MARK", mark) if isinstance(value, str) else value


def test_what_is_declared_still_works_from_there(fabric, channel):
    assert channel.asked("fail", {"elements": "link:s1-s6"})["status"] == HTTPStatus.OK
    assert channel.asked("restore", {"elements": "all"})["status"] == HTTPStatus.OK


def test_a_flood_of_requests_is_refused_and_takes_no_memory(fabric, channel):
    before = psutil.Process().memory_info().rss
    numbers = [channel.ask("switch", {"switch": "s1"}) for _ in range(400)]
    statuses = [channel.answer(number)["status"] for number in (numbers[0], numbers[-1])]
    assert statuses == [HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE]
    assert psutil.Process().memory_info().rss - before < 32 << 20
    assert channel.asked("fail", {"elements": "link:s1-s6"})["status"] == HTTPStatus.OK  # no look holds it up
    assert channel.asked("restore", {"elements": "all"})["status"] == HTTPStatus.OK


def test_a_web_process_that_breaks_the_rules_is_ended_and_the_fabric_goes_on(fabric, channel):
    with contextlib.suppress(OSError):
        channel.send(b"x" * (1 << 20))
    eventually(lambda: any(isinstance(event, PageEnded) and event.reason for event in fabric.told))
    assert fabric.host("h1_1").run("ping -c 1 h2_1").status == 0


@pytest.mark.spoils_fabric
def test_the_fabric_ends_though_a_request_does_not(fabric):
    """A verb in another thread holds the session's turn for good, and a request waits for it."""
    fabric.start_traffic("uniform", 0.05)
    held = threading.Event()

    def hold():
        with fabric.session.turns.verb():
            held.set()
            threading.Event().wait()

    threading.Thread(target=hold, daemon=True).start()
    held.wait()
    url = fabric.url
    waiting = threading.Thread(target=lambda: _ask_in_vain(url), daemon=True)
    waiting.start()
    time.sleep(0.5)  # until the request waits
    with no_longer_than(40):
        fabric.close()
    assert not fabric.up


def _ask_in_vain(url):
    with contextlib.suppress(OSError, ValueError):
        ask(url, "POST", "api/drain", {"elements": "s3"})
