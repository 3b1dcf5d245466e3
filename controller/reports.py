"""What the controller's process tells whoever started it."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from typing import Any, NoReturn

STATUS_INTERNAL_ERROR = 4


def report(event: str, **details: Any) -> None:
    """Tells whoever started the controller what happened and when: one JSON object per line.

    `monotonic_s` is by the machine's monotonic clock, which all of its processes share.
    """
    sys.stdout.write(json.dumps({"event": event, "monotonic_s": time.monotonic(), **details}) + "\n")
    sys.stdout.flush()


def die(reason: str) -> NoReturn:
    """Reports an internal error and ends the process at once: a controller never limps on."""
    traceback.print_exc(file=sys.stderr)
    sys.stderr.flush()
    report("fatal", text=reason)
    os._exit(STATUS_INTERNAL_ERROR)
