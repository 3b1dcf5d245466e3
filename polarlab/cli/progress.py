"""Progress of experiments on standard error."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypedDict

from polarlab.api.command_line.events import ONGOING_EVERY_S, Event, Ongoing, Pace
from polarlab.process import print_line

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from rich.progress import Progress

    from polarlab.api.command_line.records import LookOptions, Results
    from polarlab.cli.drawing import Draughtsman

LONG_S = 2.0  # time in s after which a running activity is shown as a bar
LINE_AFTER_S = ONGOING_EVERY_S  # the same without a terminal, for a line instead of a bar


DRAWING = "drawing figures"


@contextmanager
def shown_if_long(activity: str) -> Iterator[None]:
    """Shows what a block is doing if it takes long: as a bar or, without a terminal, as a line."""
    with ConsoleProgress() as progress:
        progress.begin(activity)
        yield


def look_of(arguments: argparse.Namespace) -> LookOptions:
    """Returns the style options of a command as arguments of `polarlab.plot`."""
    return {
        "width": arguments.width,
        "title": not arguments.no_title,
        "order": arguments.order or (),
        "x": arguments.x or "",
        "booksim": arguments.booksim,
    }


def draw_figures(
    results: Results, progress: ConsoleProgress, draughtsman: Draughtsman | None = None
) -> list[Path]:
    """Draws the figures of results into their folder, reports them, and returns the files."""
    from polarlab.api.command_line.events import Notice

    progress.begin(DRAWING)
    files = draughtsman.draw(results) if draughtsman else results.plot().save()
    progress(Notice("figures-drawn", paths=tuple(files)))
    return files


class ConsoleProgress:
    """Prints each event as a line with the seconds since the start, and shows long activities as a bar.

    The bar shows the text of the latest `Ongoing` event, or of the latest line. If standard error is not a
    terminal, some `Ongoing` events are printed as lines instead. The bar ends with the block.
    """

    def __init__(self) -> None:
        self._started_s = time.monotonic()
        self._pace = Pace()
        self._text = ""
        self._fraction: float | None = None
        self._timer: threading.Timer | None = None
        self._bar: Progress | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> ConsoleProgress:
        return self

    def __exit__(self, *_error: object) -> None:
        self.rest()

    def __call__(self, event: Event) -> None:
        """Shows an event."""
        if not isinstance(event, Ongoing):
            self._pace.due(event)
            self._line(str(event))
            if sys.stderr.isatty():
                self._expect(str(event), None)
        elif sys.stderr.isatty():
            self._expect(str(event), event.fraction)
        elif self._pace.due(event):
            self._line(str(event))

    def begin(self, activity: str) -> None:
        """Shows an activity that reports no events, once it takes long, until `rest` or the next event."""
        self.rest()
        self._expect(activity, None)

    def rest(self) -> None:
        """Removes the bar until the next event, so that other output stays readable."""
        with self._lock:
            timer, self._timer = self._timer, None
            bar, self._bar = self._bar, None
        if timer:
            timer.cancel()
        if bar:
            bar.stop()

    def _line(self, text: str) -> None:
        self.rest()
        print_line(f"[{time.monotonic() - self._started_s:6.1f} s] {text}")

    def _expect(self, text: str, fraction: float | None) -> None:
        """Updates the bar, or starts a timer that shows it after a delay."""
        with self._lock:
            self._text, self._fraction = text, fraction
            if self._bar:
                self._bar.update(self._bar.task_ids[0], description=text, **_extent(fraction))
            elif self._timer is None:
                terminal = sys.stderr.isatty()
                delay_s, shown = (LONG_S, self._show) if terminal else (LINE_AFTER_S, self._say)
                self._timer = threading.Timer(delay_s, shown)
                self._timer.daemon = True
                self._timer.start()

    def _say(self) -> None:
        if threading.current_thread() is self._timer:
            self._line(f"{self._text}; this can take a while")

    def _show(self) -> None:
        """Shows the bar when its timer expires, unless the activity has ended meanwhile."""
        from polarlab.cli.progress_bar import make_bar

        with self._lock:
            if threading.current_thread() is self._timer:
                self._bar = make_bar(self._started_s)
                self._bar.update(self._bar.add_task(self._text), **_extent(self._fraction))
                self._bar.start()


class _Extent(TypedDict):
    total: float | None
    completed: float


def _extent(fraction: float | None) -> _Extent:
    """Returns a bar's total and completed amounts for the fraction done; for None, the bar only pulses."""
    return {"total": None if fraction is None else 1.0, "completed": fraction or 0.0}
