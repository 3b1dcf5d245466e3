"""The channel to the web process, of which somebody else may have taken the other end over."""

import contextlib
import os
import signal
import time
from pathlib import Path

import psutil
import pytest
from support.fixtures.taken_over_page import stolen_fd, taken_over, web_processes

from polarlab.web.actions import actions
from polarlab.web.address import WebAddress
from polarlab.web.channel import MAX_ASKED_BYTES, Ask, ChannelError, Watchers, to_fabric
from polarlab.web.events import PageEnded, PageTrouble
from polarlab.web.page_server import PageServer

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes the web process's descriptors")
PATIENCE_S = 20.0


@pytest.mark.parametrize(
    "line",
    [
        *(b"", b"\n", b"{}", b"[]", b"null", b"GET / HTTP/1.1", b"\x00" * 100, b"\xff\xfe{}"),
        b'{"type": "state", "state": {}}',
        b'{"type": "watchers"}',
        b'{"type": "watchers", "count": -1}',
        b'{"type": "watchers", "count": 1e9}',
        b'{"type": "watchers", "count": 99999999}',
        b'{"type": "watchers", "count": 1, "more": 2}',
        b'{"type": "ask", "number": 1, "action": "fail"}',
        b'{"type": "ask", "number": -1, "action": "fail", "arguments": {}}',
        b'{"type": "ask", "number": 1' + b"0" * 400 + b', "action": "fail", "arguments": {}}',
        b'{"type": "ask", "number": 1, "action": ["fail"], "arguments": {}}',
        b'{"type": "ask", "number": 1, "action": "fail", "arguments": {}, "out": "/etc"}',
        b'{"type": "ask", "number": 1, "action": "' + b"x" * 65 + b'", "arguments": {}}',
        b'{"type": "ask", "number": 1, "action": "fail", "arguments": ' + b"[" * 30_000,
        b'{"type": "ask", "number": 1, "action": "fail", "arguments": "' + b"x" * MAX_ASKED_BYTES + b'"}',
    ],
    ids=lambda line: repr(line[:60]),
)
def test_lines_that_are_no_message_are_told_apart(line):
    with pytest.raises(ChannelError):
        to_fabric(line)


def test_messages_are_read():
    assert to_fabric(b'{"type": "watchers", "count": 3}\n') == Watchers(3)
    ask = to_fabric(b'{"type": "ask", "number": 7, "action": "fail", "arguments": {"elements": "s1"}}\n')
    assert isinstance(ask, Ask)
    assert (ask.number, ask.action, bytes(ask.arguments)) == (7, "fail", b'{"elements": "s1"}')
    assert ask.action in actions()


def until(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def watched():
    """A page of its own, its web process, and the events of both."""
    before, events = {one.pid for one in web_processes()}, []
    with PageServer(WebAddress("127.0.0.1", 0), events.append) as page:
        [process] = [one for one in web_processes() if one.pid not in before]
        yield page, process, events


@needs_root
@pytest.mark.parametrize(
    "sent",
    [b"\n", b"{" * 60_000 + b"\n", b"x" * (MAX_ASKED_BYTES + 1), b'{"type": "watchers", "count": 1.5}\n'],
    ids=["empty", "deep", "long", "odd"],
)
def test_a_process_that_breaks_the_rules_is_ended_and_told_in_a_line(watched, sent):
    page, process, events = watched
    with taken_over(process) as channel:
        with contextlib.suppress(OSError):
            channel.send(sent)
        until(lambda: any(isinstance(event, PageEnded) for event in events))
    [ended] = [event for event in events if isinstance(event, PageEnded)]
    assert ended.reason
    assert "\n" not in str(ended)
    assert not process.is_running()
    assert page.restart() == page.url
    assert sum(isinstance(event, PageEnded) for event in events) == 1  # it is not started again by itself


@needs_root
def test_lines_without_end_take_no_memory(watched):
    _, process, events = watched
    before = psutil.Process().memory_info().rss
    with taken_over(process) as channel, contextlib.suppress(OSError):
        for _ in range(300):
            channel.send(b"x" * (1 << 20))
    until(lambda: any(isinstance(event, PageEnded) for event in events))
    assert psutil.Process().memory_info().rss - before < 20 << 20


@needs_root
def test_the_process_has_nothing_of_the_terminal_and_its_words_are_no_escapes(watched):
    _, process, events = watched
    for fd in (0, 1, 2):
        assert os.readlink(f"/proc/{process.pid}/fd/{fd}").startswith("pipe:")
    assert os.getsid(process.pid) == process.pid
    with stolen_fd(process, 2) as stderr:
        os.write(stderr, b"\x1b]0;owned\x07 caf\xc3\xa9 \x9b31m\n" + b"y" * 4_000_000)
    until(lambda: any(isinstance(event, PageTrouble) for event in events))
    [trouble] = [event for event in events if isinstance(event, PageTrouble)]
    until(lambda: trouble.log.stat().st_size > 20_000)
    text = trouble.log.read_text()
    trouble.log.unlink()
    assert text.startswith("\\x1b]0;owned\\x07 café")
    assert all(one.isprintable() or one == "\n" for one in text)
    assert len(text) < 100_000
    assert str(trouble).isprintable()


@needs_root
def test_a_log_that_is_exchanged_for_a_link_leads_nowhere(watched, tmp_path):
    _, process, events = watched
    victim = tmp_path / "victim"
    victim.write_text("root's")
    with stolen_fd(process, 2) as stderr:
        os.write(stderr, b"first\n")
        until(lambda: any(isinstance(event, PageTrouble) for event in events))
        [log] = [event.log for event in events if isinstance(event, PageTrouble)]
        moved = log.rename(tmp_path / "moved")
        log.symlink_to(victim)
        os.write(stderr, b"more\n")
        until(lambda: "more" in moved.read_text() + victim.read_text())
    log.unlink()
    assert victim.read_text() == "root's"


@needs_root
def test_the_process_finds_no_files_no_network_and_starts_nothing(watched):
    _, process, _ = watched
    assert os.listdir(f"/proc/{process.pid}/root/") == []
    assert os.readlink(f"/proc/{process.pid}/ns/net") != os.readlink("/proc/self/ns/net")
    limits = Path(f"/proc/{process.pid}/limits").read_text()
    for name in ("Max processes", "Max file size", "Max core file size"):
        [line] = [line for line in limits.splitlines() if line.startswith(name)]
        assert line.split()[-3] == "0" or line.split()[-2] == "0"


@needs_root
def test_a_process_that_hangs_does_not_keep_the_page_up():
    before = {one.pid for one in web_processes()}
    with PageServer(WebAddress("127.0.0.1", 0)) as page:
        [process] = [one for one in web_processes() if one.pid not in before]
        process.send_signal(signal.SIGSTOP)
        for _ in range(3_000):
            page.timeline.add("fabric", "x" * 1_000)
    assert process.pid not in {one.pid for one in web_processes()}
