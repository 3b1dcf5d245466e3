"""Lines for a fabric's command line: typed on a terminal, read from a file or pipe, or passed one by one."""

from __future__ import annotations

import contextlib
import os
import readline
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import IO, NamedTuple

from emulation.prompt.mininet_commands import FabricCLI
from topology.errors import Status


class FailedLine(NamedTuple):
    """A line that failed.

    Attributes:
        line: the line.
        status: exit status of its command on a node, or 1.
        reason: its error; empty if a program printed it.
    """

    line: str
    status: int
    reason: str


def run_lines(cli: FabricCLI, lines: Iterable[str]) -> FailedLine | None:
    """Runs lines as if typed until one fails or leaves the prompt; returns the failed line or None."""
    with cli:
        for line in lines:
            left = cli.run_line(line)
            if cli.status:
                return FailedLine(line, cli.status, cli.reason)
            if left:
                break
    return None


def run_stream(
    cli: FabricCLI, lines: IO[str], begins: Callable[[str], None] = lambda _line: None
) -> Iterator[FailedLine]:
    """Runs all lines of a file or pipe and yields those that fail; Ctrl-C interrupts only one line.

    Args:
        cli: the prompt.
        lines: the file or pipe.
        begins: called with each line before it runs.
    """
    with cli, _interrupts(cli):
        while True:
            line = ""
            try:
                with cli.interrupts():
                    line = lines.readline()
                if line.strip():
                    begins(line.strip())
                if not line or cli.run_line(line.rstrip("\n")):
                    return
                if cli.status:
                    yield FailedLine(line.strip(), cli.status, cli.reason)
            except KeyboardInterrupt:
                yield FailedLine(line.strip(), Status.INTERRUPTED, "")


def type_lines(cli: FabricCLI) -> None:
    """Runs lines typed on the terminal until the user leaves the prompt; also handles Ctrl-C."""
    cli.initReadline()
    readline.set_completer(cli.complete)
    readline.parse_and_bind("tab: complete")
    with cli, _interrupts(cli):
        while True:
            try:
                with cli.interrupts():
                    line = cli.read_line()
                if cli.run_line(line):
                    return
            except EOFError:
                print()
                return
            except KeyboardInterrupt:
                print()


@contextlib.contextmanager
def _interrupts(cli: FabricCLI) -> Iterator[None]:
    """Makes SIGINT and SIGQUIT interrupt only the running line; between lines they do nothing."""

    def interrupt(*_arguments: object) -> None:
        if cli.interruptible:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def private_input() -> Iterator[IO[str]]:
    """Yields a standard input that only the block reads; programs of prompt lines get an empty one."""
    descriptor = sys.stdin.fileno()
    own = os.dup(descriptor)
    with open(os.devnull) as devnull:
        os.dup2(devnull.fileno(), descriptor)
    try:
        with open(os.dup(own), errors="replace") as lines:
            yield lines
    finally:
        os.dup2(own, descriptor)
        os.close(own)
