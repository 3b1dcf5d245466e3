"""Question whether root runs what files of other users hold, at the terminal."""

from __future__ import annotations

import sys

from polarlab.api.command_line.declarations import Demands, Experiment, approved
from polarlab.cli.error_stream import print_line
from polarlab.process import shown_exactly

_MOST = 10_000  # characters, which a user may be expected to read at the terminal


def approved_at_terminal(experiment: Experiment, *, allowed: bool, asks: bool) -> Experiment:
    """Returns an experiment once what files of other users would have root do is approved.

    Args:
        experiment: the experiment.
        allowed: whether it was approved by an option.
        asks: whether the user may be asked, if there is a terminal.

    Raises:
        UsageError: it is not approved.
    """
    terminal = asks and sys.stdin.isatty() and sys.stderr.isatty()
    return approved(experiment, lambda demands: allowed or (terminal and _approves(demands)))


def _approves(demands: Demands) -> bool:
    """Shows what root would do, and returns the answer to the question; what is too long is not approved."""
    lines = [shown_exactly(line) for line in (*demands.programs, *demands.others)]
    if sum(map(len, lines)) > _MOST:
        return False
    print_line(f"polarlab: {demands.reason}, and asks root for:")
    for line in lines:
        print_line(f"  {line}")
    count = len(demands.programs)
    what = f"run these {count} lines on hosts and switches" if count else "do this"
    print(f"{what}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
