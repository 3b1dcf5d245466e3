"""The file system of hosts: the machine's, which they cannot change, and folders of their own.

It is mounted once for a fabric, in the machine's mount namespace. Each host has a copy of that namespace, in
which the kernel prevents the host's root from removing a mount or making it writable (mount_namespaces(7)).
"""

from __future__ import annotations

import contextlib
import os
import re
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
    change_root,
    copy_mounts,
    detach,
    fork_into_namespaces,
    make_read_only,
    map_owners,
    mount,
    restrict,
)

HOME = "/root"
TERMINALS = "/dev/pts"
_DEVICES, _RUN = "/dev", "/run"
_SHARED_MODE, _OWN_MODE = 0o1777, 0o755
# A host's own folders, with their modes. All are folders of one file system in memory, from which they are
# bind-mounted; the file system itself is first mounted at the path of the last one.
_OWN = {
    HOME: _OWN_MODE,
    "/var/tmp": _SHARED_MODE,  # noqa: S108
    "/dev/shm": _SHARED_MODE,  # noqa: S108
    "/tmp": _SHARED_MODE,  # noqa: S108
    _RUN: _OWN_MODE,
}
_MEMORY = "size=128m,nr_inodes=16k,mode=0755"
# Further folders whose content on the machine is hidden from hosts.
_HIDDEN = (_DEVICES, "/proc", "/sys")
# Where the caller's folder is mounted until a host has its own folders.
_CALLER = "/tmp/caller"  # noqa: S108
_NODES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "/proc/self/fd", "ptmx": "pts/ptmx", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
_TERMINAL_OPTIONS = "newinstance,ptmxmode=0666,mode=0620,uid=0,gid=0"


class HostFiles:
    """The file system of a fabric's hosts; needs a single-threaded process with its own mounts."""

    def __init__(self, folder: str, files: Mapping[str, str], caller: str, owners: int) -> None:
        """Creates the file system and makes it the root of this process and its descendants.

        Args:
            folder: an empty folder, at which the file system is created.
            files: path in the file system of hosts -> file of the machine that appears there.
            caller: a folder of the machine that hosts may read, even if one of their own folders (except
                HOME) hides its path; empty for no folder.
            owners: descriptor of a user namespace that maps one user. If the machine's file system supports
                mounts with mapped ids, hosts can open no other user's sockets and FIFOs, and can open no
                other user's files for writing.

        Raises:
            OSError: the kernel refuses.
        """
        hidden = tuple(f"{place}/" for place in _OWN if place != HOME)
        self._caller = caller if caller.startswith(hidden) else ""
        self._late: dict[str, str] = {}  # path -> content of files below /run, one of a host's own folders
        shown = {"": folder}
        _show("/", folder, owners)
        for place in (*_HIDDEN, *_OWN):
            with contextlib.suppress(OSError):  # it is not a mount, or no longer one
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
        change_root(folder)

    def mount_own(self) -> None:
        """Mounts a host's own folders; called by a process in the host's namespaces."""
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
    """Bind-mounts a folder of the machine so that files of most users appear to belong to nobody there.

    The kernel does not let anyone connect to a socket, or write into a FIFO, that belongs to nobody, whatever
    its mode.

    Args:
        source: the folder; the mounts in it are included.
        place: path of the new mount.
        owners: descriptor of a user namespace; files of the users that it maps keep their owners.
    """
    tree = copy_mounts(source)
    inside = {source, *(one for one in _mount_points() if one.startswith(source.rstrip("/") + "/"))}
    for one in inside:
        with contextlib.suppress(OSError):  # this file system has no such mounts, or another one covers it
            map_owners(tree, one.removeprefix(source).strip("/"), owners)
    attach(tree, place)
    os.close(tree)


def _mount_points() -> list[str]:
    """Returns the paths of all mounts, which may contain any bytes because users can choose some of them."""
    places = re.findall(
        rb"^(?:[^ \n]+ ){4}([^ \n]+)", Path("/proc/self/mountinfo").read_bytes(), re.MULTILINE
    )
    # The kernel writes spaces, tabs, newlines and backslashes as octal numbers.
    escape = re.compile(rb"\\([0-3][0-7]{2})")
    return [os.fsdecode(escape.sub(lambda code: bytes([int(code[1], 8)]), place)) for place in places]


def _cover(folder: str) -> None:
    """Hides the machine's folders: those in `_OWN` behind empty ones, /dev behind one with a few devices.

    The folders that hide them are read-only.

    Args:
        folder: the root of the hosts' file system.
    """
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
    """Returns the path of the subfolder of `base` that will be bind-mounted at the path `place`."""
    return f"{base}/{place.strip('/').replace('/', '-')}"


def _bind_parts(base: str, places: Iterable[str], folder: str = "") -> None:
    for place in places:
        with contextlib.suppress(FileNotFoundError):  # the machine has no such folder
            bind(_part(base, place), folder + place, recursive=True)


def _mount_empty_proc_and_sys(folder: str) -> None:
    """Mounts a /proc without processes and a /sys without networks.

    Without them, the kernel would not let hosts mount their own. If a host's root unmounts the host's own
    /proc or /sys, these still hide the machine's.
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
        raise PermissionError("hosts cannot have their own /proc and /sys")
