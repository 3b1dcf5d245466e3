"""Working folders of hosts, made in folders of results that may be somebody else's."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from emulation.hosts.identity import Identity


def make_working_folder(results: Path, parts: Sequence[str], owner: Identity) -> int:
    """Opens a folder in a folder of results; makes it, and those above it, if need be.

    No symbolic link is followed below the folder of results, and no folder changes hands that was there.

    Args:
        results: the folder of results.
        parts: names of the folders below it.
        owner: owner of the last one.

    Raises:
        OSError: one cannot be made, or the last one has another owner.
    """
    descriptor = os.open(results, os.O_RDONLY | os.O_DIRECTORY)
    made = False
    for name in parts:
        made, above = False, descriptor
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=above)
                made = True
            descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
        finally:
            os.close(above)
    try:
        _give(descriptor, owner, made=made)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _give(folder: int, owner: Identity, *, made: bool) -> None:
    if os.fstat(folder).st_uid == owner.user:
        return
    if not made or os.listdir(folder):
        raise PermissionError(None, "it is somebody else's")
    os.fchown(folder, *owner)
