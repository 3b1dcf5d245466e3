"""Mininet's command line on a fabric: its prompt, and single lines run without the prompt."""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from mininet.cli import CLI
from mininet.log import error, lg, output
from mininet.util import quietRun

from topology.errors import PolarLabError

_LOOK_EVERY_MS = 200


class ShellEnded(PolarLabError):
    """The shell that runs a node's commands has ended."""


def open_prompt(network: Any) -> None:
    """Gives the terminal, Ctrl-C included, to Mininet's prompt until the user leaves it."""
    _print_to_standard_output()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        _Prompt(network)
    finally:
        signal.signal(signal.SIGINT, before)


class FailedLine(NamedTuple):
    """A line that failed: the exit status of its node's command, or 1 where Mininet reported an error."""

    line: str
    status: int


def run_lines(network: Any, lines: Sequence[str]) -> FailedLine | None:
    """Runs lines as if typed at the prompt, until one fails or leaves the prompt.

    Returns:
        The line that failed, if one did.

    Raises:
        ShellEnded: a line ended the shell that it ran in.
    """
    _print_to_standard_output()
    errors = _ErrorCounter()
    lg.addHandler(errors)
    try:
        with open(os.devnull) as nothing:
            prompt = _LinePrompt(network, nothing)
            for line in lines:
                prompt.status = 0
                left = prompt.onecmd(prompt.precmd(line))
                if prompt.status or errors.count:
                    return FailedLine(line, prompt.status or 1)
                if left:
                    break
    finally:
        lg.removeHandler(errors)
    return None


class _ErrorCounter(logging.Handler):
    """A counter of the errors that Mininet logs."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.count = 0

    def emit(self, _record: logging.LogRecord) -> None:
        self.count += 1


class _FabricCLI(CLI):  # type: ignore[misc]
    """Mininet's command line; only a terminal's keys are passed on to running commands."""

    def default(self, line: str) -> None:
        """Runs a command on a node, as Mininet does.

        Raises:
            ShellEnded: the node's shell had ended before.
        """
        name = self.parseline(line)[0]
        if name in self.mn:
            _check_shell(self.mn[name])
        super().default(line)

    def waitForNode(self, node: Any) -> None:
        """Prints the output of a node's command until its end.

        Raises:
            ShellEnded: the command ended the node's shell.
        """
        poller = select.poll()
        poller.register(node.stdout, select.POLLIN)
        typed = self.stdin if self.isatty() else None
        if typed:
            quietRun("stty -icanon min 1")  # keys come one by one
            poller.register(typed, select.POLLIN)
        while node.waiting:
            ready = {descriptor for descriptor, _ in poller.poll(_LOOK_EVERY_MS)}
            if typed and typed.fileno() in ready:
                node.write(typed.read(1))
            if node.stdout.fileno() in ready:
                output(node.monitor())
            elif not ready:
                _check_shell(node)


class _Prompt(_FabricCLI):
    """The prompt for a user, which stays open when a line fails."""

    def onecmd(self, line: str) -> bool:
        """Runs a line; returns whether it leaves the prompt."""
        try:
            return bool(super().onecmd(line))
        except Exception as failure:  # a line may fail anywhere in Mininet; the fabric must outlive it
            error(f"*** {failure or type(failure).__name__}\n")
            return False

    def waitForNode(self, node: Any) -> None:
        """Prints the output of a node's command until its end; Ctrl-C interrupts the command.

        Raises:
            ShellEnded: the command ended the node's shell.
        """
        while node.waiting:
            try:
                super().waitForNode(node)
            except KeyboardInterrupt:
                node.sendInt()


class _LinePrompt(_FabricCLI):
    """A prompt that runs single lines and keeps the exit status of node commands."""

    def __init__(self, network: Any, stdin: Any) -> None:
        self.status = 0
        super().__init__(network, stdin=stdin)

    @classmethod
    def initReadline(cls) -> None:
        """Does nothing: lines do not come from a terminal."""

    def run(self) -> None:
        """Does nothing: `run_lines` runs the lines one by one."""

    def default(self, line: str) -> None:
        """Runs a command on a node, as Mininet does, and notes its exit status."""
        name = self.parseline(line)[0]
        if name not in self.mn:
            print(f"unknown command: {line}", file=sys.stderr)
            self.status = 2
            return
        super().default(line)
        answer = self.mn[name].cmd("echo $?").split()
        self.status = int(answer[-1]) if answer and answer[-1].isdecimal() else 0


def _check_shell(node: Any) -> None:
    """Raises ShellEnded if a node's shell has ended."""
    if node.shell is None or node.shell.poll() is not None:
        node.waiting = False
        raise ShellEnded(f"the shell of {node.name} has ended, and the commands that it ran")


def _print_to_standard_output() -> None:
    """Sends Mininet's messages to standard output, where a user expects results."""
    # A reader that closes the pipe early (`| head`) is not an error to report.
    logging.raiseExceptions = False
    for handler in lg.handlers:
        handler.setStream(sys.stdout)
