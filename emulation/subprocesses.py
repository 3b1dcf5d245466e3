"""Child processes: run with an argument list and limits; errors contain the command.

Programs on hosts belong to others and may block PolarLab: a program may be stopped, print forever, leave its
pipes to its children, or be traced by another program, which hides its end. Every read and wait therefore has
a limit of time and bytes.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from emulation.kernel.namespaces import in_namespaces
from emulation.prompt.process_state import descendants, tracers
from topology.errors import MachineError, PolarLabError
from topology.files.escaping import escape_controls

# Signals that end a command: Ctrl-C, `kill`, a closed terminal, Ctrl-\.
END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
DEFAULT_TIMEOUT_S = 60.0
MAX_BYTES = 16 << 20  # limit of a program's output
_PIPE_BYTES = 1 << 20  # capacity of a pipe
_END_TIMEOUT_S = 2.0  # for the end of a killed program
_SEARCH_TIMEOUT_S = 2.0  # for the search of a program's descendants
TRACED_S = 0.2  # time that a tracer has to acknowledge the end of a process
_MAX_CHARACTERS = 200  # of a program's output in an error
# A function that starts a program, with the arguments of `subprocess.Popen`.
Starter = Callable[..., subprocess.Popen[Any]]

# Every process of a fabric inherits this variable, by which clean-up recognises it. Its value names the
# process that started the fabric.
MARK_VARIABLE = "POLARLAB_FABRIC"


class CommandError(PolarLabError):
    """A program failed, took too long or printed too much; the text has the command and its output.

    Attributes:
        reason: the start of the program's output in one line, or the exceeded limit; may be empty.
    """

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason


def marked_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the environment for a fabric's processes: this process's own with the mark and `extra`."""
    return {**os.environ, MARK_VARIABLE: process_mark(os.getpid()), **(extra or {})}


def process_mark(pid: int) -> str:
    """Returns the mark that a process puts on its children, such as `4711:123456:pid:[4026531836]`.

    It consists of the process's id, start time and PID namespace: another process may get the same id later,
    but not with this start time. Empty if the process has ended.
    """
    try:
        stat = Path("/proc", str(pid), "stat").read_bytes()
        namespace = process_namespace(pid)
    except OSError:
        return ""
    # The state is the first field after the command, which may itself contain spaces and parentheses.
    state, *fields = stat.rpartition(b")")[2].split()
    return "" if state in (b"Z", b"X") else f"{pid}:{fields[18].decode()}:{namespace}"


def process_namespace(pid: int) -> str:
    """Returns the PID namespace of a process; raises OSError if the process has ended."""
    return os.readlink(f"/proc/{pid}/ns/pid")


def start_in_namespaces(pid: int, argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Starts a program in the namespaces of a Mininet node's shell, without a helper program.

    Args:
        pid: the shell's process.
        argv: the program and its arguments.
        options: options of `subprocess.Popen`; `env` defaults to the environment of a fabric's processes.

    Raises:
        CommandError: the shell has ended.
        FileNotFoundError: the program is not installed.
    """
    options.setdefault("env", marked_environment())
    try:
        return in_namespaces(pid, lambda: subprocess.Popen(argv, **options))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise CommandError(f"cannot start `{' '.join(argv)}` on a node: {error.strerror}") from error


class Ended(NamedTuple):
    """Result of a program: its exit status (or minus the number of a signal), output and error output."""

    status: int
    output: str
    errors: str


def run(
    argv: Sequence[str],
    *,
    stdin: str = "",
    timeout_s: float = DEFAULT_TIMEOUT_S,
    begin: Starter | None = None,
) -> str:
    """Runs a program to its end and returns its standard output.

    Args:
        argv: the program and its arguments.
        stdin: its standard input.
        timeout_s: its time limit.
        begin: starts the program, for example on a node; by default it starts in this process's namespaces.

    Raises:
        CommandError: see `finish`.
        MachineError: the program is not installed.
    """
    return finish(start(argv, begin=begin), stdin=stdin, timeout_s=timeout_s)


def start(argv: Sequence[str], *, begin: Starter | None = None) -> subprocess.Popen[bytes]:
    """Starts a program with pipes for its input and output, which `finish` writes and reads.

    Args:
        argv: the program and its arguments.
        begin: starts the program, for example on a node; by default it starts in this process's namespaces.

    Raises:
        CommandError: the node has ended.
        MachineError: the program is not installed.
    """
    try:
        return (begin or _start_here)(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C ends this process alone, which then ends its children
        )
    except FileNotFoundError:
        raise MachineError(f"{argv[0]} is not installed; `make setup` installs it") from None


def finish(process: subprocess.Popen[bytes], *, stdin: str = "", timeout_s: float = DEFAULT_TIMEOUT_S) -> str:
    """Writes a started program's input, waits for its end and returns its standard output.

    Raises:
        CommandError: the program exits with a nonzero status, runs longer than `timeout_s` seconds, or prints
            more than MAX_BYTES.
    """
    ended = complete(process, stdin=stdin, timeout_s=timeout_s)
    if ended.status:
        reason = in_one_line(ended.errors or ended.output)
        raise CommandError(f"{_named(process)} failed with status {ended.status}: {reason}", reason)
    return ended.output


def finish_all(
    processes: Sequence[subprocess.Popen[bytes]], *, timeout_s: float = DEFAULT_TIMEOUT_S
) -> list[str]:
    """Finishes programs that run in parallel, each with its own time limit; if one fails, all are killed.

    Raises:
        CommandError: see `finish`.
    """
    try:
        return [finish(process, timeout_s=timeout_s) for process in processes]
    finally:
        for process in processes:
            discard(process)


def answer(argv: Sequence[str], *, timeout_s: float = DEFAULT_TIMEOUT_S, begin: Starter | None = None) -> str:
    """Runs a program to its end and returns its output and error output, whatever its status; see `run`.

    Raises:
        CommandError: the program runs longer than `timeout_s` seconds, or prints more than MAX_BYTES.
        MachineError: the program is not installed.
    """
    ended = complete(start(argv, begin=begin), timeout_s=timeout_s)
    return ended.output + ended.errors


def complete(
    process: subprocess.Popen[bytes], *, stdin: str = "", timeout_s: float = DEFAULT_TIMEOUT_S
) -> Ended:
    """Writes a started program's input and waits for its end, but not for programs that it leaves running.

    A program that exceeds a limit is killed with its descendants; Ctrl-C does the same.

    Raises:
        CommandError: the program runs longer than `timeout_s` seconds, or prints more than MAX_BYTES.
    """
    try:
        output, errors = _communicate(process, stdin.encode(), time.monotonic() + timeout_s)
        status = await_end(process)
        if status is None:
            raise TimeoutError
    except TimeoutError:
        reason = f"did not end within {timeout_s:g} s"
        raise CommandError(f"{_named(process)} {reason}", reason) from None
    except OverflowError:
        reason = f"printed more than {MAX_BYTES >> 20} MiB"
        raise CommandError(f"{_named(process)} {reason}", reason) from None
    finally:
        discard(process)
    return Ended(status, output.decode(errors="replace"), errors.decode(errors="replace"))


def _communicate(process: subprocess.Popen[bytes], stdin: bytes, end_s: float) -> list[bytearray]:
    """Writes a program's input, and returns its output and error output once it has ended.

    Raises:
        OverflowError: the program prints too much.
        TimeoutError: the program does not end in time.
    """
    assert process.stdin
    assert process.stdout
    assert process.stderr
    texts = {pipe.fileno(): bytearray() for pipe in (process.stdout, process.stderr)}
    poller, handle, rest = select.poll(), os.pidfd_open(process.pid), memoryview(stdin)
    poller.register(handle, select.POLLIN)
    for descriptor in (process.stdin.fileno(), *texts):
        os.set_blocking(descriptor, False)
        poller.register(descriptor, select.POLLIN if descriptor in texts else select.POLLOUT)
    try:
        while (left_s := end_s - time.monotonic()) > 0:
            ready = {descriptor for descriptor, _ in poller.poll(left_s * 1e3)}
            if handle in ready:  # other processes that still have its pipes open are not waited for
                for descriptor, text in texts.items():
                    _read(descriptor, text)
                return list(texts.values())
            for descriptor in ready & texts.keys():
                if not _read(descriptor, texts[descriptor]):
                    poller.unregister(descriptor)
            if sum(map(len, texts.values())) > MAX_BYTES:
                raise OverflowError
            if ready - texts.keys():
                rest = _feed(process.stdin, rest)
                if not rest:
                    poller.unregister(process.stdin)
                    process.stdin.close()
        raise TimeoutError
    finally:
        os.close(handle)


def _read(descriptor: int, text: bytearray) -> bool:
    """Appends the content of a pipe to a text; returns False at its end."""
    try:
        content = os.read(descriptor, _PIPE_BYTES)
    except BlockingIOError:
        return True
    text += content
    return bool(content)


def _feed(pipe: IO[bytes], content: memoryview) -> memoryview:
    """Writes as much as fits into a pipe and returns the rest, which is empty if nobody reads any more."""
    try:
        return content[os.write(pipe.fileno(), content[:_PIPE_BYTES]) :]
    except BrokenPipeError:
        return content[:0]


def await_end(process: subprocess.Popen[Any]) -> int | None:
    """Waits for the end of a program that was killed or is ending; returns its status.

    The kernel reports the end of a traced program only after its tracer has acknowledged it. A tracer on the
    program's own host that does not do so is killed.

    Returns:
        The exit status, or minus the number of a signal; None if it has not ended after some seconds.
    """
    end_s = time.monotonic() + _END_TIMEOUT_S
    while time.monotonic() < end_s:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(TRACED_S)
        kill_tracers(process.pid)
    return process.poll()


def kill_tracers(pid: int) -> None:
    """Kills the processes that trace a program on a host if they run on that host themselves."""
    with contextlib.suppress(OSError):
        namespace = process_namespace(pid)
        if namespace != process_namespace(os.getpid()):
            for tracer in tracers(pid):
                _kill_in(namespace, tracer)


def kill_family(process: subprocess.Popen[Any]) -> None:
    """Kills a program that leads a session, and all its descendants."""
    if process.returncode is not None:
        return
    with contextlib.suppress(OSError):
        namespace = process_namespace(process.pid)
        os.killpg(process.pid, signal.SIGSTOP)  # so that none of the group starts another process meanwhile
        family = descendants(process.pid, _SEARCH_TIMEOUT_S)
        os.killpg(process.pid, signal.SIGKILL)
        for pid in family:
            _kill_in(namespace, pid)


def _kill_in(namespace: str, pid: int) -> None:
    """Kills a process, unless its id has been reused by a process outside a given PID namespace."""
    with contextlib.suppress(OSError):
        handle = os.pidfd_open(pid)
        try:
            if process_namespace(pid) == namespace:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)


def discard(process: subprocess.Popen[Any]) -> None:
    """Kills a program and its family if it has not been waited for, and closes its pipes."""
    if process.returncode is None:
        kill_family(process)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()
    await_end(process)


def _start_here(argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    return subprocess.Popen(argv, env=marked_environment(), **options)


def _named(process: subprocess.Popen[Any]) -> str:
    words = process.args if isinstance(process.args, list) else [str(process.args)]
    return f"`{in_one_line(' '.join(words))}`"


def in_one_line(text: str, limit: int = _MAX_CHARACTERS) -> str:
    """Returns the start of a program's text as one line, at most `limit` characters, safe for a terminal."""
    line = escape_controls(" ".join(text[: 10 * limit].split()))
    return line if len(line) <= limit else line[:limit] + "..."


def usable_cores() -> int:
    """Returns the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS


def add_administration_folders() -> None:
    """Adds the folders of ovs-vswitchd, ip and tc to PATH, which Debian's plain `su` leaves without them."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    folders += [folder for folder in ("/usr/sbin", "/sbin") if folder not in folders]
    os.environ["PATH"] = os.pathsep.join(folders)


def require_programs(programs: Mapping[str, str]) -> None:
    """Checks that programs are installed.

    Args:
        programs: program name -> the Debian package that contains it.

    Raises:
        MachineError: a program is missing; the text names the first one and its package.
    """
    for program, package in programs.items():
        if shutil.which(program) is None:
            raise MachineError(f"{program} is not installed; try `apt-get install {package}`")
