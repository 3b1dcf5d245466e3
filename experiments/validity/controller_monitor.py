"""Monitor of a fabric's controller: notices when another process stops it, for example by SIGSTOP."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from pathlib import Path

from experiments.live_fabric import LiveFabric
from experiments.validity.coverage import Coverage
from experiments.validity.samples import ControllerSamples

# Seconds between two checks. Shorter stops are noticed too, as the kernel reports each one (`_stops_of`).
_EVERY_S = 0.05
_NOT_RUNNING = b"TtZX"  # states of a process in /proc/PID/stat
# Shared by all monitors, as the kernel reports each stop once, and a session and a run may monitor the same
# controller.
_stops: Counter[int] = Counter()
_counting = threading.Lock()


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
        self._begin_s = self._end_s = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> ControllerMonitor:
        self._seen = {self._controller.pid: _stops_of(self._controller.pid)}
        self._begin_s = time.monotonic()
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
        looked_s, stops = self._begin_s, self.samples.stops
        ends = False
        while not ends:
            ends = self._stop.wait(_EVERY_S)  # one more check follows, for stops since the last one
            stopped, now_s = self._stopped(), time.monotonic()
            if stopped and stops and stops[-1][1] == looked_s:
                stops[-1] = stops[-1][0], now_s
            elif stopped:
                stops.append((looked_s, now_s))
            looked_s = now_s

    def _stopped(self) -> bool:
        """Returns whether anything but PolarLab stops the controller, or stopped it since the last check."""
        asked, pid = self._controller.stopped, self._controller.pid
        seen, self._seen[pid] = self._seen.get(pid, 0), _stops_of(pid)
        stopped = self._seen[pid] != seen or _stopped_now(pid)
        # PolarLab itself has just ended or replaced the controller if one of these changed meanwhile.
        return stopped and not (asked or self._controller.stopped or self._controller.pid != pid)


def _stops_of(pid: int) -> int:
    """Returns how many stops and continuations of a child process the kernel has reported so far."""
    with _counting, contextlib.suppress(ChildProcessError):  # raised if the process has ended
        while os.waitid(os.P_PID, pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG):
            _stops[pid] += 1
    return _stops[pid]


def _stopped_now(pid: int) -> bool:
    """Returns whether a process is stopped, or has ended."""
    try:
        content = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:  # the process has ended
        return True
    return content.rpartition(b")")[2].strip()[:1] in _NOT_RUNNING
