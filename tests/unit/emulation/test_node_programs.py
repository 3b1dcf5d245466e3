"""Programs of users: their output, their ends, and the sockets at which they wait."""

import os
import signal
import sys
import time
from pathlib import Path
from subprocess import Popen

import pytest

from emulation import programs
from emulation.listening import listening_sessions
from emulation.programs import ProgramSupervisor, wait_until_listening


@pytest.fixture
def started(monkeypatch, tmp_path):
    """Starts command lines in this very namespace; returns each program, and its files."""
    with ProgramSupervisor() as supervisor:

        def start(command):
            name = f"{len(list(tmp_path.iterdir()))}"
            return supervisor.start(Popen, command, tmp_path / f"{name}.out", tmp_path / f"{name}.err")

        start.supervisor = supervisor
        yield start


def ended(program):
    """Waits for the end of a program."""
    deadline = time.monotonic() + 20
    while program.running:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return program.status


def test_output_and_errors_are_kept_apart_with_the_status(monkeypatch, tmp_path):
    with ProgramSupervisor() as supervisor:
        program = supervisor.start(
            Popen, "echo out; echo err >&2; exit 3", tmp_path / "out", tmp_path / "err"
        )
        assert ended(program) == 3
        killed = supervisor.start(Popen, "kill -SEGV $$", tmp_path / "out2", tmp_path / "err2")
        assert ended(killed) == -signal.SIGSEGV
    assert (tmp_path / "out").read_text() == "out\n"
    assert (tmp_path / "err").read_text() == "err\n"
    assert program.started_s < program.ended_s


def test_a_program_that_writes_without_end_is_cut_off_and_goes_on(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "OUTPUT_BYTES", 100_000)
    with ProgramSupervisor() as supervisor:
        line = "head -c 1000000 /dev/zero; echo done >&2"
        program = supervisor.start(Popen, line, tmp_path / "out", tmp_path / "err")
        assert ended(program) == 0  # it was not stopped
    content = (tmp_path / "out").read_bytes()
    assert content.startswith(b"\0" * 100_000 + b"\n[polarlab: 100000 bytes are kept")
    assert len(content) < 100_200
    assert program.output.cut_off
    assert not program.errors.cut_off
    assert (tmp_path / "err").read_text() == "done\n"


def test_a_program_that_reads_the_terminal_gets_the_end_of_the_file(started):
    assert ended(started("read line")) == 1


def test_a_program_that_ignores_requests_to_end_is_killed_with_all_that_it_started(started, monkeypatch):
    monkeypatch.setattr(programs, "_END_GRACE_S", 0.2)
    program = started("trap '' TERM; sleep 600 & echo $!; while :; do sleep 600; done")
    deadline = time.monotonic() + 20
    while not (child := program.output.path.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    started.supervisor.end([program])
    assert program.status == -signal.SIGKILL
    deadline = time.monotonic() + 20
    while Path("/proc", child.strip()).exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_a_server_is_waited_for_until_it_listens(started, kind):
    listen = "s.listen();" if kind == "SOCK_STREAM" else ""
    code = "open('/proc/self/comm', 'wb').write(b'\\xff)');"  # its name is no text
    code += f"import socket, time; s = socket.socket(type=socket.{kind}); time.sleep(0.2);"
    code += f"s.bind(('127.0.0.1', 0)); print('bound', flush=True); {listen} time.sleep(600)"
    server = started(f'{sys.executable} -c "{code}"')
    assert listening_sessions({server.pid}) == set()
    assert wait_until_listening([server]) == []
    assert listening_sessions({server.pid}) == {server.pid}


def test_servers_that_do_not_listen_or_have_ended_hold_nobody_up(started, monkeypatch):
    monkeypatch.setattr(programs, "LISTEN_TIMEOUT_S", 0.1)
    silent, gone = started("sleep 600"), started("true")
    ended(gone)
    assert wait_until_listening([silent, gone]) == [silent]


def test_output_that_is_not_kept_is_not_read(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "OUTPUT_BYTES", 100_000)
    read, real = [], os.read
    monkeypatch.setattr(os, "read", lambda number, most: read.append(real(number, most)) or read[-1])
    with ProgramSupervisor() as supervisor:
        program = supervisor.start(Popen, "head -c 5000000 /dev/zero", tmp_path / "out", tmp_path / "err")
        assert ended(program) == 0
    assert program.output.total_bytes == 5_000_000
    assert sum(map(len, read)) < 1_000_000
