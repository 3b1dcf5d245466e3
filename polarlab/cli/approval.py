"""Asks at the terminal before root runs programs or plug-ins that other users' files contain."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise, takewhile
from pathlib import Path

from polarlab.api.command_line.declarations import Demands, Experiment, approved
from polarlab.process import escape_ambiguous, escape_controls, print_line

_PLUGIN, _ALLOWED = "--plugin", "--run-programs"
_MAX_CHARACTERS = 10_000  # longest text in characters that a user can be expected to read


def approved_at_terminal(experiment: Experiment, *, allowed: bool, asks: bool) -> Experiment:
    """Returns an experiment once the user has approved the actions that other users' files request from root.

    Args:
        experiment: the experiment.
        allowed: whether an option of the command line has already approved the actions.
        asks: whether the user may be asked, given a terminal.

    Raises:
        UsageError: the user does not approve the actions.
    """

    def approves(demands: Demands) -> bool:
        what = f"run these {len(demands.programs)} lines on hosts and switches"
        if demands.others:
            what = "do all of this" if demands.programs or len(demands.others) > 1 else "do this"
        return allowed or _approves(demands.reason, (*demands.programs, *demands.others), what, asks=asks)

    return approved(experiment, approves)


def load_plugins(words: Sequence[str]) -> None:
    """Runs the files named by `--plugin` before parsing, which needs the names that they register.

    Args:
        words: words of the command line.

    Raises:
        UsageError: a file cannot be read, is not approved, fails, or registers something wrong.
    """
    words = [*takewhile(lambda word: word != "--", words)]  # `--` ends the options
    files = []
    for word, next_word in pairwise([*words, ""]):
        flag, given, value = word.partition("=")
        if flag.startswith("--plu") and _PLUGIN.startswith(flag):  # argparse accepts abbreviations
            files.append(value if given else next_word)
    if not files:
        return
    from polarlab.api.plugins import Foreign, load_plugin

    def approves(foreign: Foreign, text: str) -> bool:
        lines, asks = text.removesuffix("\n").split("\n"), "--json" not in words
        return _ALLOWED in words or _approves(
            foreign.reason, lines, f"run this plug-in, {foreign.path}", asks=asks
        )

    for file in files:
        load_plugin(Path(file), approves)


def _approves(reason: str, lines: Sequence[str], what: str, *, asks: bool) -> bool:
    """Lists actions for root on standard error, asks for approval, and returns whether the user approves.

    Args:
        reason: clause that names the file that requests them, and its owner.
        lines: the actions; more text than a user can read is never approved.
        what: the question, without its question mark.
        asks: whether the user may be asked; if not, or without a terminal, nothing is approved.
    """
    lines = [escape_ambiguous(line) for line in lines]
    if not (asks and sys.stdin.isatty() and sys.stderr.isatty()) or sum(map(len, lines)) > _MAX_CHARACTERS:
        return False
    print_line(f"polarlab: {reason}, and asks root for:")
    for line in lines:
        print_line(f"  {line}")
    print(f"{escape_controls(what)}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
