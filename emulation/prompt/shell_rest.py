"""Detects that a shell waits for a line, has been stopped, or waits for a stopped program."""

from __future__ import annotations

import time

from emulation.prompt.process_state import Waiting, children, is_stopped, switch_count, waiting_place

_SETTLED_S = 0.3  # after this time, a state counts as lasting
_PROMPT_S = 2.0  # this long after the prompt, a shell that waits at another point counts as ready
_CALIBRATION_S = 1.0
_CALIBRATION_STEP_S = 0.002


class ShellState:
    """Observations of a shell since the last line; `check_idle` and `is_ready` observe it anew."""

    def __init__(self, pid: int) -> None:
        """Starts observing a shell whose process has just been started."""
        self._pid = pid
        self._place: Waiting | None = None  # where the shell waits for a line
        self._written_switches = 0  # context switches of the shell when it was last written to
        self._earlier_children: frozenset[int] = frozenset()  # process ids, before the last line
        self._prompt_s: float | None = None
        self._waiting_since_s: float | None = None  # since when it has been waiting for a line
        self._stopped_s: float | None = None

    @property
    def place_known(self) -> bool:
        """Whether the system call in which the shell waits for a line is known; some kernels hide it."""
        return self._place is not None

    def find_place(self) -> None:
        """Finds the point where the shell waits for a line; call it when the shell is about to wait."""
        end_s = time.monotonic() + _CALIBRATION_S
        while self._place is None and time.monotonic() < end_s:
            place = waiting_place(self._pid)
            if place and place.reads_terminal:
                self._place = place
            else:
                time.sleep(_CALIBRATION_STEP_S)

    def note_line(self) -> None:
        """Records that a line is about to be sent; the shell counts as waiting only after it runs again."""
        self._written_switches = switch_count(self._pid)
        self._earlier_children = children(self._pid)
        self._prompt_s = self._waiting_since_s = self._stopped_s = None

    def note_prompt(self) -> None:
        """Records that the prompt was printed, by the shell or by a program."""
        self._prompt_s = self._prompt_s or time.monotonic()

    def is_ready(self) -> bool:
        """Returns whether the shell waits for a line after a prompt, which a program may have printed."""
        if self._place is None or self._waits_for_line():
            return True
        place = waiting_place(self._pid)
        if place and place.reads_terminal and time.monotonic() > (self._prompt_s or 0.0) + _PROMPT_S:
            self._place = place  # readline's, after `set -o emacs`
            return True
        return False

    def check_idle(self) -> str:
        """Checks a shell that has printed nothing for a while; returns why it cannot continue, or ""."""
        now_s = time.monotonic()
        started = children(self._pid) - self._earlier_children
        waits = bool(started) and all(map(is_stopped, started))  # no input can reach them
        self._stopped_s = (self._stopped_s or now_s) if waits or is_stopped(self._pid) else None
        self._waiting_since_s = (self._waiting_since_s or now_s) if self._waits_for_line() else None
        if self._stopped_s is None or now_s <= self._stopped_s + _SETTLED_S:
            return ""
        return "waited for a stopped program" if waits else "was stopped"

    def has_waited(self, seconds: float = _SETTLED_S) -> bool:
        """Returns whether all checks during the last `seconds` found the shell waiting for a line."""
        return self._waiting_since_s is not None and time.monotonic() > self._waiting_since_s + seconds

    def _waits_for_line(self) -> bool:
        """Returns whether the shell waits for a line, and has run since it was last written to."""
        if self._place is None or waiting_place(self._pid) != self._place:
            return False
        return switch_count(self._pid) > self._written_switches
