"""Running other programs: an argument list, a time limit, and an error that says what went wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from topology.errors import MachineError, PolarLabError

DEFAULT_TIMEOUT_S = 60.0

# Every process that a fabric starts inherits this variable, so that clean-up can tell its own.
MARK_VARIABLE = "POLARLAB_FABRIC"


class CommandError(PolarLabError):
    """A program failed or took too long; the text has the command and what it said.

    Attributes:
        said: what the program said, in a line; empty where none did.
    """

    def __init__(self, text: str, said: str = "") -> None:
        super().__init__(text)
        self.said = said


def marked_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Returns the environment for a fabric's processes: ours, the fabric's mark, and `extra`."""
    return {**os.environ, MARK_VARIABLE: str(os.getpid()), **(extra or {})}


def in_namespaces_of(pid: int, argv: Sequence[str]) -> list[str]:
    """Returns the command line that runs `argv` in the namespaces of a Mininet node's shell."""
    return ["mnexec", "-a", str(pid), *argv]


def run(argv: Sequence[str], *, stdin: str = "", timeout_s: float = DEFAULT_TIMEOUT_S) -> str:
    """Runs a program to its end and returns its standard output.

    Raises:
        CommandError: it exits with another status than 0, or is not done in `timeout_s` seconds.
        MachineError: there is no such program.
    """
    process = start(argv)
    return finish(process, stdin=stdin, timeout_s=timeout_s)


def start(argv: Sequence[str]) -> subprocess.Popen[str]:
    """Starts a program whose input and output are pipes; to be followed by `finish`."""
    try:
        return subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=marked_environment(),
            start_new_session=True,  # Ctrl-C is for us to act on
        )
    except FileNotFoundError:
        raise MachineError(f"{argv[0]} is not installed; `make setup` installs it") from None


def finish(process: subprocess.Popen[str], *, stdin: str = "", timeout_s: float = DEFAULT_TIMEOUT_S) -> str:
    """Feeds a started program, waits for its end and returns its standard output; errors as `run`."""
    command = " ".join(process.args) if isinstance(process.args, list) else str(process.args)
    try:
        output, errors = process.communicate(stdin, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        said = f"not done after {timeout_s:g} s"
        raise CommandError(f"`{command}` was {said}", said) from None
    if process.returncode:
        said = " ".join((errors or output).split())
        raise CommandError(f"`{command}` failed with status {process.returncode}: {said}", said)
    return output


def require_programs(programs: Mapping[str, str]) -> None:
    """Checks that programs are there: name -> the Debian package that has it.

    Raises:
        MachineError: names the first one missing and its package.
    """
    for program, package in programs.items():
        if shutil.which(program) is None:
            raise MachineError(f"{program} is not installed; try `apt-get install {package}`")
