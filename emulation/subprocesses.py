"""Child processes that run other programs: an argument list, a time limit, an error with the command."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from emulation.kernel.namespaces import in_namespaces
from topology.errors import MachineError, PolarLabError

DEFAULT_TIMEOUT_S = 60.0
# A function that starts a program: its arguments, and options of `subprocess.Popen`.
Starter = Callable[..., subprocess.Popen[Any]]

# Every process of a fabric inherits this variable, so that clean-up can tell them from all others. Its value
# names the process that started them.
MARK_VARIABLE = "POLARLAB_FABRIC"


class CommandError(PolarLabError):
    """A program failed or took too long; the text has the command and its output.

    Attributes:
        reason: the program's output in one line, or the exceeded time limit; may be empty.
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
        CommandError: it exits with another status than 0, or runs for more than `timeout_s` seconds.
        MachineError: the program is not installed.
    """
    process = start(argv, begin=begin)
    return finish(process, stdin=stdin, timeout_s=timeout_s)


def start(argv: Sequence[str], *, begin: Starter | None = None) -> subprocess.Popen[str]:
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
            text=True,
            start_new_session=True,  # Ctrl-C ends this process alone, which then ends its children
        )
    except FileNotFoundError:
        raise MachineError(f"{argv[0]} is not installed; `make setup` installs it") from None


def finish(process: subprocess.Popen[str], *, stdin: str = "", timeout_s: float = DEFAULT_TIMEOUT_S) -> str:
    """Feeds a started program, waits for its end and returns its standard output.

    Raises:
        CommandError: it exits with another status than 0, or runs for more than `timeout_s` seconds.
    """
    command = " ".join(process.args) if isinstance(process.args, list) else str(process.args)
    try:
        output, errors = process.communicate(stdin, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        reason = f"not done after {timeout_s:g} s"
        raise CommandError(f"`{command}` was {reason}", reason) from None
    if process.returncode:
        reason = " ".join((errors or output).split())
        raise CommandError(f"`{command}` failed with status {process.returncode}: {reason}", reason)
    return output


def _start_here(argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    return subprocess.Popen(argv, env=marked_environment(), **options)


def answer(argv: Sequence[str], *, begin: Starter | None = None) -> str:
    """Runs a program to its end and returns its output and errors, at any exit status; see `start`.

    Raises:
        MachineError: the program is not installed.
    """
    process = start(argv, begin=begin)
    try:
        return "".join(process.communicate())
    finally:  # Ctrl-C
        process.kill()
        process.wait()


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
