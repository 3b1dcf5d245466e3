"""Monitor of a fabric's controller: notices when something stops it, such as SIGSTOP or a frozen cgroup."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from typing import NamedTuple

from controller import pulse
from emulation.prompt.process_state import process_file
from experiments.live_fabric import LiveFabric
from experiments.validity.coverage import Coverage, Span
from experiments.validity.samples import ControllerSamples

# Seconds between two checks. The kernel reports even shorter stops by signals (`_stops_of`).
_EVERY_S = 0.05
# A controller that did not run for this time, and did not wait for a processor, was stopped: it missed five
# beats of its pulse.
_MISSED_S = 6 * pulse.EVERY_S
_NOT_RUNNING = b"TtZX"  # states of a process in /proc/PID/stat
# Shared by all monitors, as the kernel reports each stop once, and a session and a run may monitor the same
# controller.
_stops: Counter[int] = Counter()
_counting = threading.Lock()


class _Pulse:
    """The pulse of a process (`controller.pulse`), seen from outside."""

    def __init__(self, pid: int, now_s: float) -> None:
        """Starts to observe a process at a time in s."""
        self.pid, self._since_s, self._looked_s, self._silent_s = pid, now_s, now_s, 0.0
        self._before = _schedstat(pid)

    def missed(self, now_s: float) -> Span | None:
        """Returns the span in which the process neither ran nor waited for a processor; None if it ran."""
        since_s, silent_s, before = self._since_s, self._silent_s, self._before
        late_s, self._looked_s = now_s - self._looked_s, now_s
        now = _schedstat(self.pid)
        if now is None or before is None:
            return None
        if now != before:
            self._since_s, self._silent_s, self._before = now_s, 0.0, now
        else:  # if this check is late, the process may have been late for the same reason
            self._silent_s = silent_s = silent_s + min(late_s, 2 * _EVERY_S)
            if _state(self.pid) == b"R":  # the kernel counts this wait for a processor when it ends
                return None
        waited_s = (now.waited_ns - before.waited_ns) / 1e9
        return (since_s, now_s) if silent_s - waited_s > _MISSED_S else None


class _Schedstat(NamedTuple):
    """Times and turns of a process on processors, as counted in /proc/PID/schedstat.

    Attributes:
        run_ns: time on processors.
        waited_ns: time for which it waited for a processor, up to its last turn.
        turns: how often it got a processor.
    """

    run_ns: int
    waited_ns: int
    turns: int


class ControllerMonitor:
    """Monitor of a fabric's controller; a context manager.

    Waiting for a processor does not count as a stop, nor does an end that PolarLab itself requested.

    Attributes:
        samples: the times in which the controller was stopped.
    """

    def __init__(self, fabric: LiveFabric) -> None:
        """Prepares to observe the controller of a fabric."""
        self._controller = fabric.controller
        self.samples = ControllerSamples()
        self._seen: dict[int, int] = {}  # process id -> stops that the kernel had reported at the last check
        self._pulse: _Pulse | None = None
        self._begin_s = self._end_s = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> ControllerMonitor:
        self._seen = {self._controller.pid: _stops_of(self._controller.pid)}
        self._begin_s = time.monotonic()
        self._pulse = _Pulse(self._controller.pid, self._begin_s)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._end_s = time.monotonic()
        self._stop.set()
        self._thread.join()

    @property
    def coverage(self) -> Coverage:
        """Time for which the controller ran while it was monitored."""
        return self.samples.coverage((self._begin_s, self._end_s))

    def _run(self) -> None:
        looked_s, ends = self._begin_s, False
        while not ends:
            ends = self._stop.wait(_EVERY_S)  # one more check follows, for stops since the last one
            now_s = time.monotonic()
            if stop := self._stopped(looked_s, now_s):
                self._note(stop)
            looked_s = now_s

    def _note(self, stop: Span) -> None:
        stops = self.samples.stops
        while stops and stop[0] <= stops[-1][1]:
            stop = min(stop[0], stops[-1][0]), max(stop[1], stops.pop()[1])
        stops.append(stop)

    def _stopped(self, looked_s: float, now_s: float) -> Span | None:
        """Returns a span up to now in which something other than PolarLab stopped the controller, or None.

        Args:
            looked_s: time of the last check.
            now_s: the current time.
        """
        asked, pid = self._controller.stopped, self._controller.pid
        seen, self._seen[pid] = self._seen.get(pid, 0), _stops_of(pid)
        signalled = (looked_s, now_s) if self._seen[pid] != seen or _stopped_now(pid) else None
        missed = self._pulse.missed(now_s) if self._pulse and self._pulse.pid == pid else None
        # PolarLab itself has just ended or replaced the controller if one of these changed meanwhile.
        if asked or self._controller.stopped or self._controller.pid != pid:
            self._pulse = None
            return None
        self._pulse = self._pulse or _Pulse(pid, now_s)
        return missed or signalled


def _stops_of(pid: int) -> int:
    """Returns how many stops and continuations of a child process the kernel has reported so far."""
    with _counting, contextlib.suppress(ChildProcessError):  # raised if the process has ended
        while os.waitid(os.P_PID, pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG):
            _stops[pid] += 1
    return _stops[pid]


def _stopped_now(pid: int) -> bool:
    """Returns whether a process is stopped, or has ended."""
    return _state(pid) in _NOT_RUNNING


def _state(pid: int) -> bytes:
    """Returns the state of a process, one letter; empty if it has ended."""
    return process_file(pid, "stat").rpartition(b")")[2].strip()[:1]


def _schedstat(pid: int) -> _Schedstat | None:
    """Returns how much a process has run; None if it has ended or the kernel does not count it."""
    numbers = process_file(pid, "schedstat").split()
    return _Schedstat(*map(int, numbers)) if len(numbers) == 3 and numbers[2] != b"0" else None
