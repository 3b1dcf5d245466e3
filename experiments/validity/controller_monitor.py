"""Monitor of a fabric's controller: the time for which it ran, and was not stopped."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from experiments.live_fabric import LiveFabric
from experiments.validity.coverage import Coverage, note_time
from experiments.validity.samples import ControllerSamples

_EVERY_S = 0.25
_NOT_RUNNING = b"TtZX"  # states of a process in /proc/PID/stat


class ControllerMonitor:
    """Monitor of a fabric's controller; a context manager.

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
        while True:
            ends = self._stop.is_set()
            if self._runs():
                note_time(self.samples.spans, time.monotonic(), self.samples.longest_s)
            if ends:  # after a last look
                return
            self._stop.wait(_EVERY_S)

    def _runs(self) -> bool:
        try:
            content = Path(f"/proc/{self._controller.pid}/stat").read_bytes()
        except OSError:  # it has ended
            return False
        return content.rpartition(b")")[2].strip()[:1] not in _NOT_RUNNING
