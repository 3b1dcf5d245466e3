"""Files that must not exist yet: what a user asks to be written replaces nothing."""

from __future__ import annotations

import os
from pathlib import Path

from topology.errors import UsageError


def check_new(path: Path) -> None:
    """Raises UsageError if a file exists, or has no folder to be in."""
    if os.path.lexists(path):
        raise UsageError(f"{path} exists already; choose another file")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is no folder to write {path.name} into")


def write_new(path: Path, content: bytes) -> None:
    """Writes a file that does not exist yet, whole or not at all.

    Raises:
        UsageError: it exists, or its folder does not.
        OSError: it cannot be written.
    """
    try:
        with path.open("xb") as file:
            try:
                file.write(content)
                file.flush()
            except BaseException:  # the disk is full, or Ctrl-C: half a file is none
                path.unlink()
                raise
    except FileExistsError:
        raise UsageError(f"{path} exists already; choose another file") from None
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise UsageError(f"{path.parent} is no folder to write {path.name} into") from None
