"""Terminals that ended shells leave to their background programs: keeps them open and discards the output."""

from __future__ import annotations

import os
import select
import threading
import time
from typing import IO

_MAX_TERMINALS = 16  # limit of a node's terminals; the oldest ones are closed
_POLL_INTERVAL_MS = 500
_READ_EVERY_S = 0.02  # limits the load that a program causes by printing forever
_READ_BYTES = 1 << 16


class LeftTerminals:
    """The terminals that a node's shells have left; each stays open as long as programs use it."""

    def __init__(self) -> None:
        self._masters: list[IO[str]] = []
        self._changing = threading.Lock()
        self._reading = False  # whether a thread reads them

    def keep(self, master: IO[str]) -> None:
        """Keeps the nonblocking master side of a terminal open until no program uses it."""
        with self._changing:
            self._masters.append(master)
            if len(self._masters) > _MAX_TERMINALS:
                self._masters.pop(0).close()
            if not self._reading:
                self._reading = True
                threading.Thread(target=self._read, daemon=True).start()

    def close(self) -> None:
        """Closes all terminals."""
        with self._changing:
            while self._masters:
                self._masters.pop().close()

    def _read(self) -> None:
        while True:
            poller = select.poll()
            with self._changing:
                self._masters = [master for master in self._masters if _drain_or_close(master)]
                self._reading = bool(self._masters)
                for master in self._masters:
                    poller.register(master, select.POLLIN)
            if not self._reading:
                return
            poller.poll(_POLL_INTERVAL_MS)
            time.sleep(_READ_EVERY_S)


def _drain_or_close(master: IO[str]) -> bool:
    """Discards the output on a terminal. If no program uses the terminal, closes it and returns False."""
    try:
        os.read(master.fileno(), _READ_BYTES)
    except BlockingIOError:
        pass
    except OSError:
        master.close()
        return False
    return True
