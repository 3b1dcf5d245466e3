"""Lines for a fabric's command line: typed on a terminal, from a file or a pipe, or given one by one."""

from __future__ import annotations

import contextlib
import os
import readline
import signal
import sys
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple

from emulation.prompt.mininet_commands import FabricCLI
from topology.errors import Status


class FailedLine(NamedTuple):
    """A line that failed.

    Attributes:
        line: the line.
        status: the exit status of its node's command, or 1.
        reason: its error; empty if a program has printed it.
    """

    line: str
    status: int
    reason: str


def run_lines(cli: FabricCLI, lines: Iterable[str]) -> FailedLine | None:
    """Runs lines as if typed, until one fails or leaves the prompt; returns the one that failed, if any."""
    with cli:
        for line in lines:
            left = cli.run_line(line)
            if cli.status:
                return FailedLine(line, cli.status, cli.reason)
            if left:
                break
    return None


def run_stream(cli: FabricCLI, lines: IO[str]) -> Iterator[FailedLine]:
    """Runs the lines of a file or a pipe to its end; yields those that fail. Ctrl-C interrupts one line."""
    with cli, _interrupts(cli):
        while True:
            line = ""
            try:
                with cli.interrupts():
                    line = lines.readline()
                if not line or cli.run_line(line.rstrip("\n")):
                    return
                if cli.status:
                    yield FailedLine(line.strip(), cli.status, cli.reason)
            except KeyboardInterrupt:
                yield FailedLine(line.strip(), Status.INTERRUPTED, "")


def type_lines(cli: FabricCLI) -> None:
    """Gives the terminal, Ctrl-C included, to the prompt until the user leaves it."""
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
    """Has SIGINT and SIGQUIT, by keys, interrupt a line in the block; elsewhere they do nothing."""

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
    """Gives standard input to the block alone; programs that lines start find theirs empty."""
    descriptor = sys.stdin.fileno()
    own = os.dup(descriptor)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), descriptor)
    try:
        with open(os.dup(own), errors="replace") as lines:
            yield lines
    finally:
        os.dup2(own, descriptor)
        os.close(own)
