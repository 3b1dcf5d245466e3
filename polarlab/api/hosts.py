"""Hosts of a running fabric: run programs in their namespaces to the end, or in the background."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from pathlib import Path

from emulation.programs import NodeProgram, ProgramSupervisor
from emulation.subprocesses import Starter
from experiments.spec.values import check_range

_POLL_INTERVAL_S = 0.005
_MAX_TIMEOUT_S = 86_400.0
_numbers = itertools.count(1)


@dataclass(frozen=True)
class CommandResult:
    """Result of a program on a host; `print` shows its output.

    Attributes:
        host: name of the host.
        command: the command line.
        status: exit status, or minus the number of the signal that ended it.
        output: its standard output, truncated to 4 MiB.
        errors: its standard error, truncated to 4 MiB.
        seconds: its duration in s.
        timed_out: whether it was killed because it took too long.

    Examples:
        With `fabric`, which is up:

        >>> found = fabric.host("h1_1").run("echo not yet; exit 7")
        >>> found.status, found.ok, found.timed_out
        (7, False, False)
        >>> print(found)
        not yet
    """

    host: str
    command: str
    status: int
    output: str
    errors: str
    seconds: float
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        """Whether the program ended by itself, with status 0."""
        return self.status == 0 and not self.timed_out

    def __str__(self) -> str:
        return (self.output + self.errors).rstrip("\n")

    def __repr__(self) -> str:
        end = "timed out" if self.timed_out else f"status {self.status}"
        return f"<{self.host} {self.command}: {end}, {self.seconds:.3f} s>"

    def _repr_pretty_(self, printer: object, _cycle: bool) -> None:
        """Shows the output below the summary in IPython."""
        text = f"{self!r}\n{self}".rstrip()
        printer.text(text)  # type: ignore[attr-defined]


class Program:
    """A program that runs on a host, from `Host.start` until it ends or is stopped.

    Attributes:
        host: name of the host.
        command: the command line.

    Examples:
        With `fabric`, which is up:

        >>> server = fabric.host("h5_1").start("iperf3 -s")
        >>> server
        <h5_1 iperf3 -s: running>
        >>> server.stop().timed_out, server.running
        (False, False)
    """

    def __init__(self, host: Host, command: str) -> None:
        """Starts the program.

        Args:
            host: the host.
            command: command line of the shell.
        """
        self.host, self.command = host.name, command
        self._supervisor = host.supervisor
        files = [host.folder / f"program-{next(_numbers)}.{kind}" for kind in ("out", "err")]
        self._program: NodeProgram = self._supervisor.start(host.begin, command, *files)
        self._result: CommandResult | None = None

    @property
    def running(self) -> bool:
        """Whether the program is running."""
        return self._result is None and self._program.running

    @property
    def output(self) -> str:
        """The program's standard output so far."""
        if self._result is not None:
            return self._result.output
        return self._program.output.path.read_text(errors="replace")

    def wait(self, timeout: float = 60.0) -> CommandResult:
        """Waits until the program ends, and returns its result.

        Args:
            timeout: longest time in s; then the program is killed, with its children.

        Raises:
            ParameterError: the time is outside its domain.
        """
        check_range("timeout", timeout, 0, _MAX_TIMEOUT_S, "s")
        deadline_s = time.monotonic() + timeout
        try:
            while self.running and time.monotonic() < deadline_s:
                time.sleep(_POLL_INTERVAL_S)
        except BaseException:  # Ctrl-C ends the program, too
            self.stop()
            raise
        return self._finish(timed_out=self.running)

    def stop(self) -> CommandResult:
        """Ends the program if it runs, by SIGTERM and after 2 s by SIGKILL, and returns its result."""
        return self._finish(timed_out=False)

    def _finish(self, *, timed_out: bool) -> CommandResult:
        if self._result is None:
            program = self._program
            self._supervisor.end([program])
            self._supervisor.release(program)
            files = (program.output.path, program.errors.path)
            output, errors = (path.read_text(errors="replace") for path in files)
            for path in files:
                path.unlink()
            assert program.status is not None
            assert program.ended_s is not None
            self._result = CommandResult(
                self.host,
                self.command,
                program.status,
                output,
                errors,
                round(program.ended_s - program.started_s, 3),
                timed_out,
            )
        return self._result

    def __repr__(self) -> str:
        return f"<{self.host} {self.command}: {'running' if self.running else 'ended'}>"


@dataclass(frozen=True, repr=False)
class Host:
    """A host, or a switch, of a fabric that is up; its programs can reach hosts by name.

    Attributes:
        name: its name, such as `h1_1` or `s1`.
        ip: its address; empty for a switch, which has none.
        pid: a process in its namespaces.
        begin: starts a program on it.
        folder: folder for the output of its programs.
        supervisor: supervisor of its programs.

    Examples:
        With `fabric`, which is up:

        >>> host = fabric.host("h1_1")
        >>> host, host.ip
        (<h1_1 10.0.0.1>, '10.0.0.1')
        >>> host.run("ping -c 1 h5_1").ok
        True
    """

    name: str
    ip: str
    pid: int
    begin: Starter
    folder: Path
    supervisor: ProgramSupervisor

    def run(self, command: str, timeout: float = 60.0) -> CommandResult:
        """Runs a command line of bash to its end, and returns its result.

        Args:
            command: the command line, such as `ping -c 3 h5_1`.
            timeout: longest time in s; then the command is killed, with its children.

        Raises:
            ParameterError: the time is outside its domain.
        """
        check_range("timeout", timeout, 0, _MAX_TIMEOUT_S, "s")
        return Program(self, command).wait(timeout)

    def start(self, command: str) -> Program:
        """Starts a bash command line, such as a server, and returns the running program.

        Args:
            command: the command line, such as `iperf3 -s`.
        """
        return Program(self, command)

    def __repr__(self) -> str:
        return f"<{self.name} {self.ip}>" if self.ip else f"<{self.name}>"
