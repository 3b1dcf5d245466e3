"""Progress on standard error: lines with seconds, and a bar on a terminal for all that takes long."""

import contextlib
import io
import os
import re
import subprocess
import sys
import time

import pytest

from experiments.events import pace
from experiments.events.notices import Notice
from experiments.events.progress import CollectiveProgress, PairsDelivered, TrafficDraining
from polarlab.cli import progress

SHOW_CURSOR = "\x1b[?25h"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def open_terminal(monkeypatch):
    """Makes standard error a terminal, whose writings it returns; pytest sets its own before each test."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(progress, "LONG_S", 0.05)
    return stream


def eventually(stream, part):
    """Waits until a stream has some text; rich is imported meanwhile."""
    deadline = time.monotonic() + 20
    while part not in stream.getvalue():
        assert time.monotonic() < deadline, stream.getvalue()
        time.sleep(0.01)


def test_a_long_activity_is_one_line_without_a_terminal_and_a_quick_one_none(monkeypatch, capsys):
    monkeypatch.setattr(progress, "LINE_AFTER_S", 0.1)
    with progress.shown_if_long("computing"):
        pass
    time.sleep(0.2)
    assert capsys.readouterr().err == ""
    with progress.shown_if_long("computing"):
        time.sleep(0.5)
    out, err = capsys.readouterr()
    assert err.count("computing") == 1
    assert err.count("\n") == 1
    assert out == ""


def test_an_event_is_a_line_with_the_seconds(capsys):
    with progress.ConsoleProgress() as console:
        console(Notice("pair-check-passed", max_hops=4))
    assert re.fullmatch(r"\[ +0\.\d s\] .*\b4 hops.*\n", capsys.readouterr().err)


def test_progress_without_a_terminal_is_a_line_now_and_then(monkeypatch, capsys):
    with progress.ConsoleProgress() as console:
        for delivered in range(3):
            console(PairsDelivered(delivered, 9))
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(pace, "ONGOING_EVERY_S", 0.0)
        console(PairsDelivered(7, 9))
    assert "7 of 9" in capsys.readouterr().err


def test_an_activity_that_takes_long_has_a_bar_which_goes_with_it(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with progress.ConsoleProgress() as console:
        console(PairsDelivered(0, 9))
        console(Notice("pair-check-passed", max_hops=4))
        console(PairsDelivered(5, 9))
        eventually(terminal, "5 of 9")
        console(PairsDelivered(6, 9))
        eventually(terminal, "6 of 9")
        console(CollectiveProgress(1.0, 77, 0.5, None))  # its end is not known
        eventually(terminal, "77 segments")
    written = terminal.getvalue()
    assert written.count("4 hops") == 1
    assert SHOW_CURSOR in written[-40:]


def test_quick_activities_have_no_bar(monkeypatch):
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(progress, "LONG_S", 60.0)
    with progress.ConsoleProgress() as console:
        console(Notice("pair-check-passed", max_hops=4))
        console(PairsDelivered(5, 9))
    assert "5 of 9" not in terminal.getvalue()


def test_nothing_is_drawn_while_others_write(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with progress.ConsoleProgress() as console:
        console(Notice("pair-check-passed", max_hops=4))
        console.rest()
        before = terminal.getvalue()
        time.sleep(0.3)
        assert terminal.getvalue() == before


def test_a_long_computation_has_a_bar_on_a_terminal(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with progress.shown_if_long("computing"):
        eventually(terminal, "computing")
    assert SHOW_CURSOR in terminal.getvalue()


def test_the_line_after_the_last_packet_tells_of_no_rate_that_fades():
    assert str(TrafficDraining(12.34, 1200, 840.0)) == (
        "12.3 s: sending has ended; about 1200 packets in flight or lost, p99 840 ms"
    )


NOBODY_READS = """
import sys
from experiments.events.notices import Notice
from polarlab.cli import main as entry, parser
from polarlab.cli.console import reader_may_end
from polarlab.cli.progress import ConsoleProgress

def run(arguments):
    with ConsoleProgress() as progress:
        for number in range(3):
            progress(Notice("pair-check-passed", max_hops=4))
    with reader_may_end():
        print("the result")
    open(sys.argv[1], "w").close()
    return 1

parser.run = run
sys.exit(entry.main())
"""


@contextlib.contextmanager
def reader_that_has_ended():
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@contextlib.contextmanager
def terminal_that_is_gone():
    controller, terminal = os.openpty()
    os.close(controller)
    yield terminal
    os.close(terminal)


@contextlib.contextmanager
def full_disk():
    with open("/dev/full", "wb") as full:
        yield full.fileno()


@pytest.mark.parametrize("lost", [reader_that_has_ended, terminal_that_is_gone, full_disk])
def test_a_command_continues_when_its_progress_cannot_be_written(lost, tmp_path):
    """`polarlab run ... 2>&1 | head -4`, for example: the work continues, and the status is its own."""
    done = tmp_path / "done"
    with lost() as stream:
        command = [sys.executable, "-c", NOBODY_READS, str(done)]
        output = subprocess.DEVNULL if lost is full_disk else stream
        status = subprocess.run(command, stdout=output, stderr=stream, check=False).returncode
    assert done.exists()
    assert status == 1


BAR = """
import sys
from polarlab.cli import progress
progress.LONG_S = 0.05
with progress.shown_if_long("computing"):
    sys.stdin.readline()
print("the result")
"""


def test_a_command_continues_when_its_terminal_goes_while_a_bar_is_shown():
    controller, terminal = os.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    words = [sys.executable, "-c", BAR]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": terminal}
    with subprocess.Popen(words, env=environment, text=True, **pipes) as process:
        os.close(terminal)
        shown = b""
        while b"computing" not in shown:
            shown += os.read(controller, 4096)
        os.close(controller)
        printed, _ = process.communicate("\n", timeout=60)
    assert (process.returncode, printed) == (0, "the result\n")


def test_a_command_under_nohup_outlives_its_terminal():
    code = NOBODY_READS.replace(
        'print("the result")', "import os, signal; os.kill(os.getpid(), signal.SIGHUP)"
    )
    words = ["nohup", sys.executable, "-c", code, os.devnull]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 1


CHILD = """
import subprocess, sys
from polarlab.cli import main as entry, parser

parser.run = lambda arguments: subprocess.run(["false"]).returncode
sys.exit(entry.main())
"""


def test_a_caller_that_ignores_the_end_of_children_takes_no_status_of_theirs():
    words = ["env", "--ignore-signal=CHLD", sys.executable, "-c", CHILD]
    assert subprocess.run(words, check=False).returncode == 1
