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
from emulation.programs import ProgramSupervisor, syntax_error, wait_until_listening


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


def printed(program):
    """Waits until a program has printed something, and returns it."""
    deadline = time.monotonic() + 20
    while not (text := program.output.path.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return text


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
    assert content.startswith(b"\0" * 100_000 + b"\n[polarlab: kept 100000 of")
    assert len(content) < 100_200
    assert program.output.cut_off
    assert not program.errors.cut_off
    assert (tmp_path / "err").read_text() == "done\n"


def test_a_program_that_reads_the_terminal_gets_the_end_of_the_file(started):
    assert ended(started("read line")) == 1


def test_a_program_that_ignores_requests_to_end_is_killed_with_all_that_it_started(started, monkeypatch):
    monkeypatch.setattr(programs, "END_GRACE_S", 0.2)
    program = started("trap '' TERM; sleep 600 & echo $!; while :; do sleep 600; done")
    child = printed(program)
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


def test_an_error_in_a_command_that_is_no_text_is_named():
    assert "unexpected" in syntax_error("echo \udcff (")


def test_processes_are_found_under_any_name(started):
    """The name of this server is no UTF-8, and looks like the end of one."""
    code = "import ctypes, socket, time; ctypes.CDLL(None).prctl(15, bytes([255, 41, 32, 10]), 0, 0, 0); "
    code += "s = socket.create_server(('127.0.0.1', 0)); time.sleep(600)"
    assert wait_until_listening([started(f'{sys.executable} -c "{code}"')]) == []


def test_a_search_for_servers_ends_at_its_deadline(started):
    code = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); time.sleep(600)"
    server = started(f'{sys.executable} -c "{code}"')
    assert wait_until_listening([server]) == []
    assert listening_sessions({server.pid}, time.monotonic() - 1) == set()


def test_a_search_for_servers_reads_the_sockets_of_a_network_once(started):
    """Not once for each process of a program that means to hold PolarLab up."""
    code = "import os, socket, time; s = [socket.socket(type=socket.SOCK_DGRAM) for _ in range(900)]; "
    code += "[one.connect(('127.0.0.1', 9)) for one in s]; "
    code += "[os.fork() or (os.closerange(3, 1000), time.sleep(600)) for _ in range({})]; "
    code += "print('ready', flush=True); time.sleep(600)"
    took_s = []
    for processes in (1, 100):
        program = started(f'{sys.executable} -c "{code.format(processes)}"')
        assert printed(program)
        begin_s = time.process_time()
        assert listening_sessions({program.pid}) == set()
        took_s.append(time.process_time() - begin_s)
        started.supervisor.end([program])
    assert took_s[1] < 10 * took_s[0]


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
