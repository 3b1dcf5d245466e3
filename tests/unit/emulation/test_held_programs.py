"""Programs that never end, print without end, or are held by others: none of them holds its caller up."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from emulation import subprocesses
from emulation.kernel.namespaces import PROCESSES, in_namespaces
from emulation.programs import ProgramSupervisor
from emulation.prompt.process_state import is_ending
from emulation.subprocesses import CommandError, answer, discard, finish, kill_family, run, start

PTRACE_SEIZE, PTRACE_O_TRACEEXIT = 0x4206, 0x40
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes namespaces of processes")
TRACER = f"""
import ctypes, sys, time
number, options = map(int, sys.argv[1:])
assert ctypes.CDLL(None).ptrace({PTRACE_SEIZE}, number, None, ctypes.c_void_p(options)) == 0
print("traced", flush=True)
time.sleep(40)
"""


@pytest.fixture(autouse=True)
def other_mark(monkeypatch):
    """The clean-up of a fabric that runs at the same time would end processes with the real mark."""
    monkeypatch.setattr(subprocesses, "MARK_VARIABLE", "POLARLAB_UNIT_TEST")


@pytest.fixture
def begin():
    """Starts programs in a namespace of processes, as that of a host."""
    words = ["unshare", "--pid", "--fork", "--kill-child", "sleep", "600"]
    with subprocess.Popen(words) as outer:
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
        eventually(children.read_text)
        first = int(children.read_text())
        eventually(lambda: Path(f"/proc/{first}/comm").read_text() == "sleep\n")
        yield lambda argv, **options: in_namespaces(
            first, lambda: subprocess.Popen(argv, **options), PROCESSES
        )
        outer.kill()


def eventually(holds):
    deadline_s = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.005)


def number_inside(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return re.findall(r"^NSpid:.*?(\d+)$", status, re.MULTILINE)[0]


def traced(process, begin, options=0):
    """Starts a tracer of a program, which then never takes notice of its end."""
    number = process.pid if begin is subprocess.Popen else number_inside(process)
    words = [sys.executable, "-c", TRACER, str(number), str(options)]
    tracer = begin(words, stdout=subprocess.PIPE)
    assert tracer.stdout.readline() == b"traced\n"
    tracer.stdout.close()
    return tracer


@pytest.mark.parametrize("ask", [run, answer])
def test_a_program_that_prints_without_end_is_ended_when_it_has_printed_too_much(ask):
    with pytest.raises(CommandError, match="MiB"):
        ask(["yes"])


@pytest.mark.parametrize(
    "line",
    [
        "while :; do echo word; sleep 0.01; done",
        "exec >&- 2>&-; sleep 600",
        "kill -STOP $$",
        "trap '' TERM INT; sleep 600 & sleep 600",
    ],
)
@pytest.mark.parametrize("ask", [run, answer])
def test_a_program_has_its_time_whatever_it_does(ask, line):
    with pytest.raises(CommandError, match=r"0\.2 s"):
        ask(["sh", "-c", line], timeout_s=0.2)


def test_a_program_that_does_not_read_its_input_has_its_time():
    with pytest.raises(CommandError, match=r"0\.2 s"):
        run(["sleep", "600"], stdin="x" * 1_000_000, timeout_s=0.2)
    assert run(["true"], stdin="x" * 1_000_000) == ""
    assert len(run(["cat"], stdin="x" * 1_000_000)) == 1_000_000


@pytest.mark.parametrize("line", ["sleep 600 & echo $!", "(sleep 0.1; exec yes 2>&-) & echo $!"])
def test_the_end_of_a_program_is_the_end_of_its_output_though_others_keep_the_pipe(line):
    child = int(run(["sh", "-c", line], timeout_s=10).partition("\n")[0])
    os.kill(child, 9)


def test_what_a_program_started_ends_with_it_in_sessions_of_their_own_as_well(tmp_path):
    file = tmp_path / "child"
    with pytest.raises(CommandError, match="did not end"):
        run(["sh", "-c", f"setsid sleep 600 & echo $! > {file}; wait"], timeout_s=0.5)
    eventually(lambda: is_ending(int(file.read_text())))


FORKS = """
import os, signal
for _ in range(3000):
    if not os.fork():
        os.setsid()
        signal.alarm(60)
        os.write(1, b".")
        break
signal.pause()
"""


def test_none_escapes_of_those_that_a_program_starts_all_the_time():
    """In sessions of their own; each has the pipe open."""
    with start([sys.executable, "-S", "-c", FORKS]) as process:
        assert len(process.stdout.read(100)) == 100
        kill_family(process)
        process.communicate(timeout=20)


def test_output_that_is_no_text_is_returned():
    assert run(["printf", r"\377a"]) == "\ufffda"


def test_a_reason_is_a_short_line_that_a_terminal_may_show():
    with pytest.raises(CommandError) as caught:
        run(["sh", "-c", r"printf 'a\033[2J\n%0900d' 0 >&2; exit 1", "x" * 5000])
    assert len(caught.value.reason) < 300
    assert len(str(caught.value)) < 600
    assert caught.value.reason.startswith(r"a\x1b[2J 000")
    assert str(caught.value).isprintable()


@needs_root
@pytest.mark.parametrize("options", [0, PTRACE_O_TRACEEXIT])
def test_a_tracer_of_the_same_host_that_keeps_an_ended_program_is_killed(begin, options):
    process = start(["cat"], begin=begin)
    with traced(process, begin, options) as tracer:
        if options:
            with pytest.raises(CommandError, match="did not end"):
                finish(process, timeout_s=0.2, stdin="text")
        else:
            assert finish(process, stdin="text") == "text"
        assert tracer.wait(20) == -9
    assert process.returncode is not None


@needs_root
def test_a_tracer_of_the_machine_is_left_alone(begin):
    process = start(["sleep", "600"], begin=begin)
    with traced(process, subprocess.Popen) as tracer:
        discard(process)
        assert tracer.poll() is None
        tracer.kill()
    process.wait(20)


@needs_root
def test_a_tracer_does_not_hold_the_end_of_a_users_program_up(begin, tmp_path):
    with ProgramSupervisor() as supervisor:
        program = supervisor.start(begin, "sleep 600", tmp_path / "out", tmp_path / "err")
        with traced(program, begin) as tracer:
            program.kill()
            supervisor.release(program)
            assert tracer.wait(20) == -9
    assert program.status == -9
    assert not program.running
