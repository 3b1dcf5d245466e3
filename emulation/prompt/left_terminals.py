"""Terminals that ended shells leave to their programs, which may print there as before; nobody reads it."""

from __future__ import annotations

import os
import select
import threading
import time
from typing import IO

_MOST = 16  # terminals of a node; the programs of an older one find it closed
_LOOK_EVERY_MS = 500
_READ_EVERY_S = 0.02  # a program that prints without end takes no more of the machine than this
_READ_BYTES = 1 << 16


class LeftTerminals:
    """The terminals that shells of a node have left, open as long as programs use them."""

    def __init__(self) -> None:
        self._masters: list[IO[str]] = []
        self._changing = threading.Lock()
        self._reads = False  # a thread does

    def keep(self, master: IO[str]) -> None:
        """Takes the master end of a terminal, which does not block, and closes it when no program uses it."""
        with self._changing:
            self._masters.append(master)
            if len(self._masters) > _MOST:
                self._masters.pop(0).close()
            if not self._reads:
                self._reads = True
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
                self._masters = [master for master in self._masters if _is_used(master)]
                self._reads = bool(self._masters)
                for master in self._masters:
                    poller.register(master, select.POLLIN)
            if not self._reads:
                return
            poller.poll(_LOOK_EVERY_MS)
            time.sleep(_READ_EVERY_S)


def _is_used(master: IO[str]) -> bool:
    """Discards what was printed on a terminal; closes it, and returns False, if no program uses it."""
    try:
        os.read(master.fileno(), _READ_BYTES)
    except BlockingIOError:
        pass
    except OSError:
        master.close()
        return False
    return True
