"""Monitor of a fabric's controller: the times at which somebody stopped it."""

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

# Stops that begin and end between two looks are noticed all the same.
_EVERY_S = 0.05
_NOT_RUNNING = b"TtZX"  # states of a process in /proc/PID/stat
# The kernel reports each stop once, and a session's monitor looks at the controller beside that of a run.
_stops: Counter[int] = Counter()
_counting = threading.Lock()


class ControllerMonitor:
    """Monitor of a fabric's controller; a context manager.

    A controller that waits for a processor is not stopped, nor one that PolarLab itself ended.

    Attributes:
        samples: what was seen.
    """

    def __init__(self, fabric: LiveFabric) -> None:
        """Prepares to observe the controller of a fabric."""
        self._controller = fabric.controller
        self.samples = ControllerSamples()
        self._seen: dict[int, int] = {}  # process id -> its stops up to the last look
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
        """Time of the block for which the controller ran."""
        return self.samples.coverage((self._begin_s, self._end_s))

    def _run(self) -> None:
        looked_s, stops = self._begin_s, self.samples.stops
        ends = False
        while not ends:
            ends = self._stop.wait(_EVERY_S)  # a last look follows
            stopped, now_s = self._stopped(), time.monotonic()
            if stopped and stops and stops[-1][1] == looked_s:
                stops[-1] = stops[-1][0], now_s
            elif stopped:
                stops.append((looked_s, now_s))
            looked_s = now_s

    def _stopped(self) -> bool:
        """Returns whether the controller is stopped, or was since the last look, without being asked to."""
        asked, pid = self._controller.stopped, self._controller.pid
        seen, self._seen[pid] = self._seen.get(pid, 0), _stops_of(pid)
        stopped = self._seen[pid] != seen or _stopped_now(pid)
        # One that was ended or replaced just now was asked to.
        return stopped and not (asked or self._controller.stopped or self._controller.pid != pid)


def _stops_of(pid: int) -> int:
    """Returns how often a child process has been stopped, or has gone on after that, as far as is known."""
    with _counting, contextlib.suppress(ChildProcessError):  # it has ended
        while os.waitid(os.P_PID, pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG):
            _stops[pid] += 1
    return _stops[pid]


def _stopped_now(pid: int) -> bool:
    """Returns whether a process is stopped, or has ended."""
    try:
        content = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:  # it has ended
        return True
    return content.rpartition(b")")[2].strip()[:1] in _NOT_RUNNING
