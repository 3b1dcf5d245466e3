"""Completion in the shell: names and files that options take, by their declarations."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

import argcomplete

from polarlab.cli.parser import CommandParser


def complete(parser: argparse.ArgumentParser) -> None:
    """Prints the completions of the command line for the shell, and ends the program."""
    command, *words = _words() or [""]
    for action in parser._actions:  # argparse offers them in no other form
        if isinstance(action, argparse._SubParsersAction) and command in action.choices:
            subparser = action.choices[command]
            assert isinstance(subparser, CommandParser)
            subparser.complete_options(words)
    argcomplete.autocomplete(parser, default_completer=argcomplete.SuppressCompleter())


def _words() -> Sequence[str]:
    """Returns the finished words of the command line, the command and others; one may name a family."""
    line = os.environ["COMP_LINE"].encode()[: int(os.environ["COMP_POINT"])].decode(errors="ignore")
    return [str(word) for word in argcomplete.split_line(line)[3][1:]]
