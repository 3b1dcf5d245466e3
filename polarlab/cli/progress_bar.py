"""The bar of an activity, drawn by rich on standard error; loaded when the first bar is shown."""

from __future__ import annotations

import time
from typing import IO, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task
from rich.table import Column
from rich.text import Text

from polarlab.process import PROGRESS, escape_controls

_MIN_WIDTH, _MAX_WIDTH = 6, 20  # characters; leaves room for the text on a narrow terminal
_REDRAWS_PER_S = 2  # a low rate, so that the bar takes little processor time from a run's traffic


class _Seconds(ProgressColumn):
    """Column of the bar with the seconds since the start, in the same format as in printed lines."""

    def __init__(self, started_s: float) -> None:
        self._started_s = started_s
        super().__init__(Column(no_wrap=True))

    def render(self, task: Task) -> Text:
        return Text(f"[{time.monotonic() - self._started_s:6.1f} s]")


class _Activity(ProgressColumn):
    """Column of the bar with the activity in words, shortened to one line on a narrow terminal."""

    def render(self, task: Task) -> Text:
        return Text(escape_controls(task.description), no_wrap=True, overflow="ellipsis")


def make_bar(started_s: float) -> Progress:
    """Returns a bar that is erased from the terminal when it ends.

    Args:
        started_s: the start, on the clock of time.monotonic.
    """
    console = Console(file=cast(IO[str], PROGRESS))
    width = min(_MAX_WIDTH, max(_MIN_WIDTH, console.width // 10))
    return Progress(
        _Seconds(started_s),
        BarColumn(bar_width=width, table_column=Column(no_wrap=True)),
        _Activity(),
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        refresh_per_second=_REDRAWS_PER_S,
    )
