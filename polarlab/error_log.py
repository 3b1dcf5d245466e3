"""Logs of internal errors, kept among the temporary files; `polarlab clean` removes old ones."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
import traceback
from pathlib import Path
from typing import IO

from topology.files.escaping import escape_controls
from topology.files.libraries import temporary_folder

_PREFIX, _SUFFIX = "polarlab-error-", ".log"
OLD_S = 3_600.0  # age in s from which logs are removed; users may need newer logs for a report


def write_log(error: BaseException) -> Path:
    """Writes the traceback of an error to a new log and returns its path."""
    return write_text("".join(traceback.format_exception(error)))


def write_text(text: str) -> Path:
    """Writes a text to a new log and returns its path."""
    with new_log() as log:
        log.write(text)
    return Path(log.name)


def new_log() -> IO[str]:
    """Returns a new log file, open and with a name."""
    return tempfile.NamedTemporaryFile(
        "w",
        prefix=_PREFIX,
        suffix=_SUFFIX,
        dir=temporary_folder(),
        delete=False,
        errors="backslashreplace",
    )


def escaped(text: str) -> str:
    """Returns a text that is safe on a terminal: all control characters except line feeds are escaped."""
    return "\n".join(escape_controls(line) for line in text.split("\n"))


def remove_old_logs() -> list[Path]:
    """Removes this user's logs that are older than an hour, and returns their paths."""
    removed = []
    for path in sorted(temporary_folder().glob(f"{_PREFIX}*{_SUFFIX}")):
        with contextlib.suppress(OSError):  # the log is another user's, or has just been removed
            status = path.lstat()
            ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
            if ours and status.st_mtime < time.time() - OLD_S:
                path.unlink()
                removed.append(path)
    return removed
