"""Monitor of a fabric's controller: the times at which somebody stopped it."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from experiments.live_fabric import LiveFabric
from experiments.validity.coverage import Coverage
from experiments.validity.samples import ControllerSamples

# Stops that begin and end between two looks are noticed all the same.
_EVERY_S = 0.05
_NOT_RUNNING = b"TtZX"  # states of a process in /proc/PID/stat


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
        self._begin_s = self._end_s = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> ControllerMonitor:
        _stopped_meanwhile(self._controller.pid)  # before
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
            ends = self._stop.wait(_EVERY_S)  # after a last look
            stopped, now_s = self._stopped(), time.monotonic()
            if stopped and stops and stops[-1][1] == looked_s:
                stops[-1] = stops[-1][0], now_s
            elif stopped:
                stops.append((looked_s, now_s))
            looked_s = now_s

    def _stopped(self) -> bool:
        """Returns whether the controller is stopped, or was since the last look, without being asked to."""
        asked, pid = self._controller.stopped, self._controller.pid
        stopped = _stopped_meanwhile(pid) or _stopped_now(pid)
        # One that was ended or replaced just now was asked to.
        return stopped and not (asked or self._controller.stopped or self._controller.pid != pid)


def _stopped_meanwhile(pid: int) -> bool:
    """Returns whether a child process was stopped, or went on after that, since the last call."""
    try:
        found = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG)
    except ChildProcessError:  # it has ended
        return False
    return found is not None


def _stopped_now(pid: int) -> bool:
    """Returns whether a process is stopped, or has ended."""
    try:
        content = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:  # it has ended
        return True
    return content.rpartition(b")")[2].strip()[:1] in _NOT_RUNNING
