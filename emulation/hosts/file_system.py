"""File system that hosts see: the machine's, which they cannot change, and places of their own.

It is made once for a fabric, in mounts that belong to the machine. A host's namespace of mounts is a copy of
these, in which the kernel keeps its root from removing one or making it writable (mount_namespaces(7)).
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from emulation.hosts.sockets import cover_sockets
from emulation.kernel.system_calls import (
    CLONE_NEWNET,
    CLONE_NEWPID,
    NO_DEVICES,
    NO_PROGRAMS,
    NO_SUID,
    attach,
    bind,
    copy_mounts,
    detach,
    fork_into_namespaces,
    know_owners,
    make_read_only,
    mount,
    restrict,
)

HOME = "/root"
TERMINALS = "/dev/pts"
_DEVICES, _RUN = "/dev", "/run"
_SHARED_MODE, _OWN_MODE = 0o1777, 0o755
# Places in memory of a host's own, all in one file system, which is first at the last one.
_OWN = {
    HOME: _OWN_MODE,
    "/var/tmp": _SHARED_MODE,  # noqa: S108
    "/dev/shm": _SHARED_MODE,  # noqa: S108
    "/tmp": _SHARED_MODE,  # noqa: S108
    _RUN: _OWN_MODE,
}
_MEMORY = "size=128m,nr_inodes=16k,mode=0755"
# Places of which hosts see nothing that is the machine's, beside those.
_HIDDEN = (_DEVICES, "/proc", "/sys")
# Place of the caller's folder until a host has places of its own.
_CALLER = "/tmp/caller"  # noqa: S108
_NODES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "/proc/self/fd", "ptmx": "pts/ptmx", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
_TERMINAL_OPTIONS = "newinstance,ptmxmode=0666,mode=0620,uid=0,gid=0"


class HostFiles:
    """The file system of a fabric's hosts, made by a process of one thread whose mounts are its own."""

    def __init__(self, folder: str, files: Mapping[str, str], caller: str, owners: int) -> None:
        """Makes it, in place of the machine's for this process and for those that it starts.

        Args:
            folder: an empty folder.
            files: place -> file that appears there.
            caller: a folder that hosts may read although it is in a place of their own, except HOME; empty
                for none.
            owners: user namespace of the only owner whose files may be opened to be written, as a socket or a
                FIFO, where the file system of the machine can tell owners apart so.

        Raises:
            OSError, subprocess.SubprocessError: the kernel refuses.
        """
        hidden = tuple(f"{place}/" for place in _OWN if place != HOME)
        self._caller = caller if caller.startswith(hidden) else ""
        self._late: dict[str, str] = {}  # contents of files in places of a host's own
        shown = {"": folder}
        _show("/", folder, owners)
        for place in (*_HIDDEN, *_OWN):
            with contextlib.suppress(OSError):  # it is no mount, or none any more
                while True:
                    detach(folder + place)
        for place, file in files.items():
            self._place_file(folder, os.path.realpath(place), file)
        restrict(folder)
        _cover(folder)
        if self._caller:
            _show(self._caller, folder + _CALLER, owners)
            restrict(folder + _CALLER)
            shown[self._caller] = folder + _CALLER
        cover_sockets(shown)
        _mount_empty_proc_and_sys(folder)
        os.chdir(folder)
        # The C library has no function for it.
        subprocess.run(["pivot_root", ".", "."], check=True, capture_output=True, text=True)
        detach(".")
        os.chdir("/")

    def mount_own(self) -> None:
        """Mounts the places of a host's own, by a process in its namespaces."""
        *_, base = _OWN
        mount("tmpfs", base, NO_SUID | NO_DEVICES, _MEMORY)
        for place, mode in _OWN.items():
            os.mkdir(_part(base, place))
            os.chmod(_part(base, place), mode)
        for place, content in self._late.items():
            path = Path(_part(base, _RUN) + place.removeprefix(_RUN))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        for place in _OWN:
            if self._caller.startswith(f"{place}/"):
                caller = _part(base, place) + self._caller.removeprefix(place)
                os.makedirs(caller)
                bind(_CALLER, caller, recursive=True)
        _bind_parts(base, _OWN)
        mount("sysfs", "/sys", NO_SUID | NO_DEVICES | NO_PROGRAMS)
        mount("proc", "/proc", NO_SUID | NO_DEVICES | NO_PROGRAMS)
        mount("devpts", TERMINALS, NO_SUID | NO_PROGRAMS, _TERMINAL_OPTIONS)

    def _place_file(self, folder: str, place: str, file: str) -> None:
        if place.startswith(f"{_RUN}/"):
            self._late[place] = Path(file).read_text()
        else:
            bind(file, folder + place)


def _show(source: str, place: str, owners: int) -> None:
    """Binds files of the machine to a place; those of all owners but a few appear as nobody's.

    The kernel lets nobody connect to a nobody's socket, or write into such a FIFO, whatever its mode.

    Args:
        source: a folder, shown with the mounts in it.
        place: the place.
        owners: user namespace of those few.
    """
    tree = copy_mounts(source)
    inside = {source, *(one for one in _mount_points() if one.startswith(source.rstrip("/") + "/"))}
    for one in inside:
        with contextlib.suppress(OSError):  # the kind of file system cannot, or another mount covers it
            know_owners(tree, one.removeprefix(source).strip("/"), owners)
    attach(tree, place)
    os.close(tree)


def _mount_points() -> list[str]:
    """Returns the places of all mounts; users mount file systems at places whose names have any bytes."""
    places = re.findall(
        rb"^(?:[^ \n]+ ){4}([^ \n]+)", Path("/proc/self/mountinfo").read_bytes(), re.MULTILINE
    )
    # The kernel writes blanks, tabs, line ends and backslashes as octal numbers.
    escape = re.compile(rb"\\([0-3][0-7]{2})")
    return [os.fsdecode(escape.sub(lambda code: bytes([int(code[1], 8)]), place)) for place in places]


def _cover(folder: str) -> None:
    """Covers the machine's own places by empty ones, which cannot be written, and its devices by a few."""
    *_, last = _OWN
    base = folder + last
    mount("tmpfs", base, options="mode=0755")
    places = [_DEVICES, *_OWN]
    for place in places:
        os.mkdir(_part(base, place))
    devices = _part(base, _DEVICES)
    for name in _NODES:
        Path(devices, name).touch()
    for name, target in _LINKS.items():
        os.symlink(target, f"{devices}/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"{devices}/{name}")
    os.mkdir(f"{_part(base, os.path.dirname(_CALLER))}/{os.path.basename(_CALLER)}")
    make_read_only(base)
    _bind_parts(base, places, folder)
    for name in _NODES:
        bind(f"{_DEVICES}/{name}", f"{folder}{_DEVICES}/{name}")


def _part(base: str, place: str) -> str:
    """Returns the folder in a file system that will appear at a place."""
    return f"{base}/{place.strip('/').replace('/', '-')}"


def _bind_parts(base: str, places: Iterable[str], folder: str = "") -> None:
    for place in places:
        with contextlib.suppress(FileNotFoundError):  # the machine has no such place
            bind(_part(base, place), folder + place, recursive=True)


def _mount_empty_proc_and_sys(folder: str) -> None:
    """Mounts /proc of no process, and /sys of no network.

    Without any, the kernel would let hosts mount none of their own; the machine's must not appear when a
    host's root removes its own.
    """
    child = fork_into_namespaces(CLONE_NEWPID | CLONE_NEWNET)
    if child == 0:
        status = 1
        try:
            mount("proc", f"{folder}/proc")
            mount("sysfs", f"{folder}/sys")
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if status:
        raise PermissionError("hosts cannot have /proc and /sys of their own")
