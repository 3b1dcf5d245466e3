"""Mininet's prompt on a fabric, and single lines of it without the prompt."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from mininet.cli import CLI
from mininet.log import lg


def open_prompt(network: Any) -> None:
    """Gives the terminal to Mininet's prompt until the user leaves it."""
    _print_to_standard_output()
    CLI(network)


def run_lines(network: Any, lines: Sequence[str]) -> int:
    """Runs lines as if typed at the prompt, until one fails.

    Returns:
        The exit status of the last node command: 0 if all went well.
    """
    _print_to_standard_output()
    # A node's command polls the prompt's input; nothing is ever to be read from this one.
    reading, writing = os.pipe()
    try:
        with os.fdopen(reading) as silent:
            prompt = _LinePrompt(network, silent)
            for line in lines:
                prompt.status = 0
                prompt.onecmd(prompt.precmd(line))
                if prompt.status:
                    return prompt.status
    finally:
        os.close(writing)
    return 0


class _LinePrompt(CLI):  # type: ignore[misc]
    """A prompt that runs single lines and keeps the exit status of node commands."""

    def __init__(self, network: Any, stdin: Any) -> None:
        self.status = 0
        super().__init__(network, stdin=stdin)

    @classmethod
    def initReadline(cls) -> None:
        """Does nothing: there is nobody to type."""

    def run(self) -> None:
        """Does nothing: lines come one by one."""

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


def _print_to_standard_output() -> None:
    """Sends what Mininet prints for its user to standard output, where a user expects results."""
    for handler in lg.handlers:
        handler.setStream(sys.stdout)
