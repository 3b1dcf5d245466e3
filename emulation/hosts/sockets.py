"""Hides sockets of the machine that programs on hosts could use: hosts see /dev/null instead.

Any user of the machine can bind sockets to paths with any bytes, and replace them with links or other files.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from emulation.kernel.system_calls import bind

MAX_COVERED = 256  # each is a mount in every host
_TABLE = Path("/proc/net/unix")


def cover_sockets(shown: Mapping[str, str]) -> None:
    """Mounts /dev/null over the existing sockets of the machine to which programs on hosts could connect.

    If there are more than MAX_COVERED, the sockets of root and of services come first, and a line on
    standard error reports how many are not covered.

    Args:
        shown: folder of the machine, without a trailing slash -> path of its copy, which hosts see.
    """
    owners = {}
    for path in socket_paths(_TABLE.read_bytes()):
        for place in _places(path, shown):
            with contextlib.suppress(OSError), _opened(place) as file:  # gone, or hidden from hosts
                if _is_usable(file):
                    owners[place] = os.stat(file).st_uid
    chosen = sorted(owners, key=owners.__getitem__)[:MAX_COVERED]
    for place in chosen:
        with contextlib.suppress(OSError), _opened(place) as file:
            if _is_usable(file):
                bind(os.devnull, file)
    if left := len(owners) - len(chosen):
        print(
            f"programs on hosts can reach {left} sockets of this machine: only {MAX_COVERED} can be hidden",
            file=sys.stderr,
        )


def socket_paths(table: bytes) -> set[str]:
    """Returns the absolute paths in the kernel's table of Unix sockets.

    Some may belong to other files: a user can bind a path with a newline in it and so add any line.
    """
    return set(map(os.fsdecode, re.findall(rb" (/.*)", table)))


def _places(path: str, shown: Mapping[str, str]) -> list[str]:
    """Returns the paths at which a file of the machine appears in the copies that hosts see.

    Args:
        path: path of the file on the machine; links in the path of its folder are followed.
        shown: folder of the machine -> path of its copy, as in `cover_sockets`.
    """
    folder, name = os.path.split(path)
    try:
        with _opened(f"{folder}/.") as file:
            real = os.path.join(os.readlink(file), name)
    except OSError:
        return []
    return [place + real.removeprefix(top) for top, place in shown.items() if real.startswith(f"{top}/")]


@contextlib.contextmanager
def _opened(place: str) -> Iterator[str]:
    """Opens the file at a path, and yields a path in /proc/self/fd that keeps referring to this file."""
    descriptor = os.open(place, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _is_usable(file: str) -> bool:
    """Returns whether a file is a socket to which the kernel may let a host's root connect.

    In a mount with mapped owners (`map_owners`), not even this process may write to files of other owners.
    """
    return stat.S_ISSOCK(os.stat(file).st_mode) and os.access(file, os.W_OK)
