"""User programs in the namespaces of a fabric's nodes: starts, watches and ends them; keeps their output."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import IO

from emulation.listening import listening_sessions
from emulation.subprocesses import TRACED_S, Starter, await_end, kill_family, kill_tracers
from topology.files.writing import open_folder

# Limit of bytes kept of a program's standard output, and of its standard error.
OUTPUT_BYTES = 4 << 20
# Time that a server has until it listens; then the others start without it.
LISTEN_TIMEOUT_S = 5.0
_POLL_INTERVAL_S = 0.02
END_GRACE_S = 2.0
_READ_BYTES = 1 << 16
_DISCARD_BYTES = 1 << 20
# Time between two reads of all pipes; it limits the load that a program causes by writing forever.
_READ_EVERY_S = 0.002
_SHELL = "bash"  # the same as at the prompt


def syntax_error(command: str) -> str | None:
    """Returns the shell's error message about the syntax of a command line, without running it.

    Returns None if the syntax is valid.
    """
    done = subprocess.run([_SHELL, "-n", "-c", command], capture_output=True, check=False)
    if not done.returncode:
        return None
    text = (done.stderr.decode(errors="replace").strip().splitlines() or ["a syntax error"])[0]
    return text.removeprefix(f"{_SHELL}: -c: ").removeprefix("line 1: ")


class OutputFile:
    """File that keeps the first OUTPUT_BYTES of a program's output.

    Attributes:
        path: the file.
        total_bytes: bytes that the program has written so far.
    """

    def __init__(self, path: Path, pipe: IO[bytes]) -> None:
        self.path, self.pipe = path, pipe
        self.total_bytes = self._kept_bytes = 0
        self._file: IO[bytes] | None = open_folder(path.parent).begin(path.name)
        self._devnull: int | None = None
        os.set_blocking(pipe.fileno(), False)

    @property
    def cut_off(self) -> bool:
        """Whether the file lacks the end of the output."""
        return self.total_bytes > self._kept_bytes

    def take(self) -> bool:
        """Reads the content of the pipe; returns False at its end."""
        try:
            if self._kept_bytes >= OUTPUT_BYTES:
                return self._discard()
            content = os.read(self.pipe.fileno(), _READ_BYTES)
        except BlockingIOError:
            return True
        self.total_bytes += len(content)
        kept = content[: OUTPUT_BYTES - self._kept_bytes]
        if kept and self._file:
            try:
                self._file.write(kept)
                self._file.flush()
                self._kept_bytes += len(kept)
            except OSError:  # the disk is full
                self._close()
        return bool(content)

    def _discard(self) -> bool:
        """Empties the pipe without copying its content; returns False at its end."""
        if self._devnull is None:
            self._devnull = os.open(os.devnull, os.O_WRONLY)
        taken = os.splice(self.pipe.fileno(), self._devnull, _DISCARD_BYTES, flags=os.SPLICE_F_NONBLOCK)
        self.total_bytes += taken
        return taken > 0

    def finish(self) -> None:
        """Reads the rest of the pipe, and appends a note to the file if the file lacks some output."""
        for _ in range(OUTPUT_BYTES // _READ_BYTES):
            before = self.total_bytes
            if not self.take() or self.total_bytes == before:
                break
        if self.cut_off and self._file:
            text = f"\n[polarlab: kept {self._kept_bytes} of {self.total_bytes} written bytes]\n"
            with contextlib.suppress(OSError):
                self._file.write(text.encode())
        self._close()
        self.pipe.close()
        if self._devnull is not None:
            os.close(self._devnull)
            self._devnull = None

    def _close(self) -> None:
        if self._file:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None


class NodeProgram:
    """A program in a node's namespaces.

    Attributes:
        started_s, ended_s: times on the clock of `time.monotonic`; `ended_s` is None while it runs.
        status: exit status, or minus the number of the signal that ended it; None while it runs.
        output, errors: files of its standard output and standard error.
    """

    def __init__(self, begin: Starter, command: str, output: Path, errors: Path) -> None:
        """Starts a shell command line with an empty standard input.

        Args:
            begin: starts a program on the node.
            command: the command line.
            output: file for its standard output.
            errors: file for its standard error.
        """
        self.started_s = time.monotonic()
        self.ended_s: float | None = None
        self.status: int | None = None
        self._death_s: float | None = None
        self._process = begin(
            [_SHELL, "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout
        assert self._process.stderr
        self.output = OutputFile(output, self._process.stdout)
        self.errors = OutputFile(errors, self._process.stderr)
        self.descriptor = os.pidfd_open(self.pid)

    @property
    def pid(self) -> int:
        """The process id; the process leads a session of its own."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the program has not ended."""
        return not self.note_end()

    def note_end(self) -> bool:
        """Records the time and the status if the program has ended; returns whether it has."""
        # It is not reaped before `close`, so that its id still identifies its session.
        if self.ended_s is None:
            ended = None
            with contextlib.suppress(ChildProcessError):  # `close` is about to record it
                ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended:
                self._note(ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status)
        return self.ended_s is not None

    def note_death(self) -> bool:
        """Records the end of a program whose process has died; returns whether its status was available.

        A process that traces the program can withhold the status; after a short time, the tracer is killed.
        """
        self._death_s = self._death_s or time.monotonic()
        if not self.note_end() and time.monotonic() > self._death_s + TRACED_S:
            kill_tracers(self.pid)
        return not self.running

    def _note(self, status: int) -> None:
        self.status, self.ended_s = status, time.monotonic()

    def send_signal(self, number: signal.Signals) -> None:
        """Sends a signal to the program and to its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """Kills the program and all its descendants."""
        kill_family(self._process)

    def close(self) -> None:
        """Kills the program's remaining processes, and completes its output files."""
        self.note_end()
        self.kill()
        status = await_end(self._process)
        if self.ended_s is None:
            self._note(-signal.SIGKILL if status is None else status)
        self.output.finish()
        self.errors.finish()
        os.close(self.descriptor)


class ProgramSupervisor:
    """Supervises programs; a context manager that ends all of them on exit.

    A thread stores their output and records their ends.
    """

    def __init__(self) -> None:
        self._programs: list[NodeProgram] = []
        self._selector = selectors.DefaultSelector()
        self._stop = threading.Event()
        self._changing = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> ProgramSupervisor:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()
        for program in self._programs:
            program.close()
        self._selector.close()

    def start(self, begin: Starter, command: str, output: Path, errors: Path) -> NodeProgram:
        """Starts a program; see NodeProgram."""
        program = NodeProgram(begin, command, output, errors)
        with self._changing:
            self._programs.append(program)
            for file in (program.output, program.errors):
                self._selector.register(file.pipe, selectors.EVENT_READ, (program, file.take))
            watch = (program, lambda: not program.note_death())
            self._selector.register(program.descriptor, selectors.EVENT_READ, watch)
        return program

    def take_errors(self, program: NodeProgram) -> Path:
        """Returns the file of a program's standard error, after appending what its pipe still contains."""
        with self._changing:
            program.errors.take()
        return program.errors.path

    def release(self, program: NodeProgram) -> None:
        """Kills the remaining processes of a program, completes its files, and stops supervising it."""
        with self._changing:
            self._programs.remove(program)
            for entry in [key for key in self._selector.get_map().values() if key.data[0] is program]:
                self._selector.unregister(entry.fileobj)
        program.close()

    def end(self, programs: Iterable[NodeProgram]) -> None:
        """Terminates programs, and kills those that are still running after END_GRACE_S.

        A program that SIGKILL cannot end within another END_GRACE_S is left running.
        """
        remaining = [program for program in programs if program.running]
        for end in (partial(NodeProgram.send_signal, number=signal.SIGTERM), NodeProgram.kill):
            for program in remaining:
                end(program)
            deadline_s = time.monotonic() + END_GRACE_S
            while any(program.running for program in remaining) and time.monotonic() < deadline_s:
                time.sleep(_POLL_INTERVAL_S)
            remaining = [program for program in remaining if program.running]

    def _run(self) -> None:
        while not self._stop.is_set():
            for key, _ in self._selector.select(_POLL_INTERVAL_S):
                program, handle = key.data
                with self._changing:
                    if program in self._programs and not handle():
                        self._selector.unregister(key.fileobj)
            self._stop.wait(_READ_EVERY_S)


def wait_until_listening(servers: Iterable[NodeProgram]) -> list[NodeProgram]:
    """Waits until all servers listen or have ended, at most LISTEN_TIMEOUT_S.

    Returns:
        The servers that are running but not listening.
    """
    waiting = list(servers)
    deadline_s = time.monotonic() + LISTEN_TIMEOUT_S
    while waiting and time.monotonic() < deadline_s:
        listening = listening_sessions({server.pid for server in waiting}, deadline_s)
        waiting = [server for server in waiting if server.running and server.pid not in listening]
        time.sleep(_POLL_INTERVAL_S if waiting else 0)
    return waiting
