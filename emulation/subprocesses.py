"""Child processes that run other programs: an argument list, limits, an error with the command.

Programs on hosts are others' who may want to hold PolarLab up: stopped programs, ones that print without end,
that leave their pipes to their children, or that another program traces, so that their ends are not seen.
Whatever is read or waited for has a limit of time and of bytes.
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
from topology.files.shown import shown

# Signals that end a command: Ctrl-C, `kill`, a closed terminal, Ctrl-\.
END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
DEFAULT_TIMEOUT_S = 60.0
MOST_BYTES = 16 << 20  # of a program's output
_PIPE_BYTES = 1 << 20  # the most that a pipe holds
_END_TIMEOUT_S = 2.0  # of a program that was killed
_SEARCH_TIMEOUT_S = 2.0  # of the processes that descend from a program
TRACED_S = 0.2  # in which a tracer has to take notice of an end
_MOST_CHARACTERS = 200  # of a program's words in an error
# A function that starts a program: its arguments, and options of `subprocess.Popen`.
Starter = Callable[..., subprocess.Popen[Any]]

# Every process of a fabric inherits this variable, so that clean-up can tell them from all others. Its value
# names the process that started them.
MARK_VARIABLE = "POLARLAB_FABRIC"


class CommandError(PolarLabError):
    """A program failed, took too long or printed too much; the text has the command and its output.

    Attributes:
        reason: the beginning of the program's output in one line, or the exceeded limit; may be empty.
    """

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason


def marked_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the environment of a fabric's processes: this process's own, the fabric's mark, and `extra`."""
    return {**os.environ, MARK_VARIABLE: process_mark(os.getpid()), **(extra or {})}


def process_mark(pid: int) -> str:
    """Returns the mark of processes that a process starts, as `4711:123456:pid:[4026531836]`.

    It has the process's number, its start and its namespace of processes: another one may get the number
    later, but not with this start. Empty if it has ended.
    """
    try:
        stat = Path("/proc", str(pid), "stat").read_bytes()
        namespace = process_namespace(pid)
    except OSError:
        return ""
    # The state is the first field after the command, which may itself have blanks and brackets.
    state, *fields = stat.rpartition(b")")[2].split()
    return "" if state in (b"Z", b"X") else f"{pid}:{fields[18].decode()}:{namespace}"


def process_namespace(pid: int) -> str:
    """Returns the namespace of processes in which a process is; OSError if it has ended."""
    return os.readlink(f"/proc/{pid}/ns/pid")


def start_in_namespaces(pid: int, argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Starts a program in the namespaces of a Mininet node's shell, without another program before it.

    Args:
        pid: the shell's process.
        argv: the program and its arguments.
        options: those of `subprocess.Popen`; left out, `env` is that of a fabric's processes.

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
        raise CommandError(f"`{' '.join(argv)}` cannot be started in a node: {error.strerror}") from error


class Ended(NamedTuple):
    """A program that has ended: its exit status, or minus the number of a signal, and what it printed."""

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
        begin: starts it, as on a node; None starts it beside this process.

    Raises:
        CommandError: see `finish`.
        MachineError: the program is not installed.
    """
    return finish(start(argv, begin=begin), stdin=stdin, timeout_s=timeout_s)


def start(argv: Sequence[str], *, begin: Starter | None = None) -> subprocess.Popen[bytes]:
    """Starts a program whose input and output are pipes, for `finish` to feed and to read.

    Args:
        argv: the program and its arguments.
        begin: starts it, as on a node; None starts it beside this process.

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
    """Feeds a started program, waits for its end and returns its standard output.

    Raises:
        CommandError: it exits with another status than 0, runs for more than `timeout_s` seconds, or prints
            more than MOST_BYTES.
    """
    ended = complete(process, stdin=stdin, timeout_s=timeout_s)
    if ended.status:
        reason = in_one_line(ended.errors or ended.output)
        raise CommandError(f"{_named(process)} failed with status {ended.status}: {reason}", reason)
    return ended.output


def finish_all(
    processes: Sequence[subprocess.Popen[bytes]], *, timeout_s: float = DEFAULT_TIMEOUT_S
) -> list[str]:
    """Finishes programs that run side by side, each within a time of its own; if one fails, none is left.

    Raises:
        CommandError: see `finish`.
    """
    try:
        return [finish(process, timeout_s=timeout_s) for process in processes]
    finally:
        for process in processes:
            discard(process)


def answer(argv: Sequence[str], *, timeout_s: float = DEFAULT_TIMEOUT_S, begin: Starter | None = None) -> str:
    """Runs a program to its end and returns its output and errors, at any exit status; see `run`.

    Raises:
        CommandError: it runs for more than `timeout_s` seconds, or prints more than MOST_BYTES.
        MachineError: the program is not installed.
    """
    ended = complete(start(argv, begin=begin), timeout_s=timeout_s)
    return ended.output + ended.errors


def complete(
    process: subprocess.Popen[bytes], *, stdin: str = "", timeout_s: float = DEFAULT_TIMEOUT_S
) -> Ended:
    """Feeds a started program and waits for its end; what it leaves running is not waited for.

    A program that exceeds a limit is killed with its family, and so is one at Ctrl-C.

    Raises:
        CommandError: it runs for more than `timeout_s` seconds, or prints more than MOST_BYTES.
    """
    try:
        output, errors = _communicate(process, stdin.encode(), time.monotonic() + timeout_s)
        status = await_end(process)
        if status is None:
            raise TimeoutError
    except TimeoutError:
        reason = f"not done after {timeout_s:g} s"
        raise CommandError(f"{_named(process)} was {reason}", reason) from None
    except OverflowError:
        reason = f"printed more than {MOST_BYTES >> 20} MiB"
        raise CommandError(f"{_named(process)} {reason}", reason) from None
    finally:
        discard(process)
    return Ended(status, output.decode(errors="replace"), errors.decode(errors="replace"))


def _communicate(process: subprocess.Popen[bytes], stdin: bytes, end_s: float) -> list[bytearray]:
    """Feeds a program until it has ended, and returns its output and its errors.

    Raises:
        OverflowError: it prints too much.
        TimeoutError: it has not ended in time.
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
            if handle in ready:  # whoever else has its pipes open need not end
                for descriptor, text in texts.items():
                    _read(descriptor, text)
                return list(texts.values())
            for descriptor in ready & texts.keys():
                if not _read(descriptor, texts[descriptor]):
                    poller.unregister(descriptor)
            if sum(map(len, texts.values())) > MOST_BYTES:
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
    """Adds to a text what is in a pipe; returns False at its end."""
    try:
        content = os.read(descriptor, _PIPE_BYTES)
    except BlockingIOError:
        return True
    text += content
    return bool(content)


def _feed(pipe: IO[bytes], content: memoryview) -> memoryview:
    """Writes the beginning of a content into a pipe, and returns its rest, which nobody may want to read."""
    try:
        return content[os.write(pipe.fileno(), content[:_PIPE_BYTES]) :]
    except BrokenPipeError:
        return content[:0]


def await_end(process: subprocess.Popen[Any]) -> int | None:
    """Waits for the end of a program that has been killed or is ending; returns its status.

    The kernel tells of an end when the program's tracer has taken notice. One on the program's own host that
    does not is killed.

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
    """Kills those that trace a program on a host and are on that host, too; never an administrator's."""
    with contextlib.suppress(OSError):
        namespace = process_namespace(pid)
        if namespace != process_namespace(os.getpid()):
            for tracer in tracers(pid):
                _kill_in(namespace, tracer)


def kill_family(process: subprocess.Popen[Any]) -> None:
    """Kills a program that leads a session, and all that descends from it."""
    if process.returncode is not None:
        return
    with contextlib.suppress(OSError):
        namespace = process_namespace(process.pid)
        os.killpg(process.pid, signal.SIGSTOP)  # none of the group starts another one meanwhile
        family = descendants(process.pid, _SEARCH_TIMEOUT_S)
        os.killpg(process.pid, signal.SIGKILL)
        for pid in family:
            _kill_in(namespace, pid)


def _kill_in(namespace: str, pid: int) -> None:
    """Kills a process if it is in a namespace of processes; its number may have passed to another one."""
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


def in_one_line(text: str, most: int = _MOST_CHARACTERS) -> str:
    """Returns the beginning of a program's text in a line of `most` characters that a terminal may show."""
    line = shown(" ".join(text[: 10 * most].split()))
    return line if len(line) <= most else line[:most] + "..."


def add_administration_folders() -> None:
    """Adds the folders of ovs-vswitchd, ip and tc to PATH; Debian's plain `su` leaves the user's without."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    folders += [folder for folder in ("/usr/sbin", "/sbin") if folder not in folders]
    os.environ["PATH"] = os.pathsep.join(folders)


def require_programs(programs: Mapping[str, str]) -> None:
    """Checks that programs are installed.

    Args:
        programs: name of each program -> the Debian package that holds it.

    Raises:
        MachineError: a program is missing; the text names the first one and its package.
    """
    for program, package in programs.items():
        if shutil.which(program) is None:
            raise MachineError(f"{program} is not installed; try `apt-get install {package}`")
