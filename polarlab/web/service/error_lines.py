"""Log of the web process on standard error: only errors, and one per ten minutes from each place in the code.

The fabric's process keeps this log up to a limited size, which a request that often fails must not use up.
"""

from __future__ import annotations

import logging
import time

_QUIET_S = 600.0


class OncePerPlace(logging.Filter):
    """Passes a record unless one from the same place has passed in the last ten minutes."""

    def __init__(self) -> None:
        super().__init__()
        self._passed_s: dict[object, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns whether to write a record."""
        place, now_s = _place(record), time.monotonic()
        if now_s - self._passed_s.get(place, -_QUIET_S) < _QUIET_S:
            return False
        self._passed_s[place] = now_s
        return True


def write_errors() -> None:
    """Makes libraries log only errors, to standard error."""
    handler = logging.StreamHandler()
    handler.addFilter(OncePerPlace())
    logging.basicConfig(level=logging.ERROR, handlers=[handler], format="%(name)s: %(message)s")


def _place(record: logging.LogRecord) -> object:
    """Returns where an error was raised in the code; without an exception, where it was logged."""
    error, trace = (record.exc_info or (None, None, None))[1:]
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return record.pathname, record.lineno
    return type(error), trace.tb_frame.f_code.co_filename, trace.tb_lineno
