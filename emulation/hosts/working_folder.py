"""Working folders of hosts, made in folders of results that may be somebody else's."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from emulation.hosts.identity import Identity
from topology.files.writing import open_folder


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
    above = open_folder(results)
    for name in parts[:-1]:
        above = above.folder(name)
    folder = above.folder(parts[-1])
    user = os.fstat(folder.descriptor).st_uid
    if user != owner.user:
        # Whoever owns the folder above may have exchanged the new one for another user's.
        ours = folder.is_new and user == os.fstat(above.descriptor).st_uid
        if not ours or os.listdir(folder.descriptor):
            raise PermissionError(None, "it is somebody else's")
        os.fchown(folder.descriptor, *owner)
    return os.dup(folder.descriptor)


def remove_empty_folders(results: Path, name: str, below: Iterable[str]) -> None:
    """Removes the empty ones of some folders in a folder, and then this folder if it is empty.

    Args:
        results: the folder of results.
        name: the folder in it.
        below: names of the folders to remove.
    """
    with contextlib.suppress(OSError):  # it has files, or was not needed
        above = open_folder(results)
        folder = open_folder(results / name)
        with folder.rights():
            for one in below:
                with contextlib.suppress(OSError):
                    os.rmdir(one, dir_fd=folder.descriptor)
        with above.rights():
            os.rmdir(name, dir_fd=above.descriptor)
