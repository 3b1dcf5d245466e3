"""Spaces of hosts: the set of namespaces of each host, created by a keeper; starts programs in them.

A program that starts on a host enters all namespaces of the host. Before other programs on the host can reach
it, it gives up all rights on the machine. `setpriv` makes it the user who is root on hosts, with only the
capabilities that `nsenter` needs; after entering, these apply to the host alone. Both are programs of the
machine and run before they see the host's file system.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from emulation.hosts.file_system import HOME
from emulation.hosts.identity import Identity, host_root
from emulation.hosts.keeper import FAILED, Description, receive
from emulation.hosts.working_folder import clear_rights, make_working_folder, remove_empty_folders
from emulation.kernel.namespaces import MOUNTS, in_namespaces, in_new_pid_namespace, start_filtered
from emulation.kernel.system_calls import attach, creating_files_as, detach, folder_to_attach
from emulation.subprocesses import (
    DEFAULT_TIMEOUT_S,
    MARK_VARIABLE,
    CommandError,
    await_end,
    marked_environment,
)
from topology.errors import MachineError

_MULTIPLEXER, _DEVICE = "/dev/pts/ptmx", os.makedev(5, 2)
_TIOCGPTN, _TIOCSPTLCK, _TIOCGPTPEER = 0x80045430, 0x40045431, 0x5441
_NUMBER = struct.Struct("=i")


class Terminal(NamedTuple):
    """A pseudo-terminal: file descriptors of both ends, and the path of the slave on the host."""

    master: int
    slave: int
    name: str


def open_terminal() -> Terminal:
    """Opens a new terminal in this mount namespace.

    Raises:
        OSError: the namespace has no terminals.
    """
    flags = os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC
    master = os.open(_MULTIPLEXER, flags | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        status = os.fstat(master)
        # A program may have put another file there.
        if not stat.S_ISCHR(status.st_mode) or status.st_rdev != _DEVICE:
            raise FileNotFoundError(None, f"{_MULTIPLEXER} is not a terminal multiplexer")
        fcntl.ioctl(master, _TIOCSPTLCK, _NUMBER.pack(0))
        number = _NUMBER.unpack(fcntl.ioctl(master, _TIOCGPTN, _NUMBER.pack(0)))[0]
        slave = fcntl.ioctl(master, _TIOCGPTPEER, flags)
        os.set_inheritable(slave, False)
        os.set_blocking(master, True)
    except BaseException:
        os.close(master)
        raise
    return Terminal(master, slave, f"/dev/pts/{number}")


CALLER_FOLDER = "POLARLAB_CALLER_DIR"  # environment variable with the folder in which the command started
FOLDER = "hosts"  # folder of the working folders, in a results folder
_RIGHTS = "+sys_admin,+sys_chroot,+sys_ptrace"
_END_TIMEOUT_S = 2.0
_CLEAR_TIMEOUT_S = 5.0  # for all working folders: programs may have left any number of files
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TERM", "TZ", MARK_VARIABLE)


class HostSpaces:
    """The namespaces of all hosts of a fabric, created by one keeper process."""

    def __init__(
        self,
        names: Mapping[str, str],
        run_dir: Path,
        files: Mapping[Path, Path],
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> None:
        """Starts to create the spaces; `space` waits for one.

        Args:
            names: host -> its machine name (hostname), in the order in which `space` is called.
            run_dir: folder of the fabric's files.
            files: path in the file system of hosts -> file of the machine that appears there.
            timeout_s: time limit for each space.
        """
        self.identity = host_root()
        self._kept: Path | None = None
        self._written: set[tuple[Path, str]] = set()  # (results folder, host) with a working folder
        self._spaces: dict[str, HostSpace] = {}
        folder = run_dir / "root"
        folder.mkdir()
        self.caller = os.getcwd()
        described = {str(place): str(file) for place, file in files.items()}
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._channel.settimeout(timeout_s)
        with theirs:
            self._process = in_new_pid_namespace(lambda: _start_keeper(theirs.fileno()))
        description = Description(
            dict(names), self.identity, str(folder), described, self.caller, self.environment()
        )
        assert self._process.stdin
        self._process.stdin.write(description.line())
        self._process.stdin.flush()

    def environment(self) -> dict[str, str]:
        """Returns the environment of programs on hosts; they inherit nothing else from this process."""
        marked = marked_environment()
        kept = {name: marked[name] for name in _KEPT_VARIABLES if name in marked}
        own = {"HOME": HOME, "USER": "root", "LOGNAME": "root", "SHELL": "/bin/bash"}
        return {**kept, **own, CALLER_FOLDER: self.caller}

    def space(self, name: str) -> HostSpace:
        """Waits for the space of a host and returns it.

        Raises:
            MachineError: the kernel refuses the namespaces, or the keeper does not create them in time.
        """
        while name not in self._spaces:
            try:
                text, pid = receive(self._channel)
            except TimeoutError:
                limit_s = self._channel.gettimeout()
                raise MachineError(
                    f"the hosts' keeper did not create {name} within {limit_s:g} s; was it stopped?"
                ) from None
            first, _, reason = text.partition(" ")
            if not text or first == FAILED:
                raise MachineError(
                    f"hosts cannot have their own namespaces here ({reason or 'their keeper has ended'}); "
                    "--host-root real needs none, but programs on hosts are then root on this machine"
                )
            self._spaces[text] = HostSpace(self, text, pid)
        return self._spaces[name]

    def keep_in(self, folder: Path | None) -> Path | None:
        """Sets the results folder for the working folders of hosts.

        Empty working folders in the previous one are removed.

        Args:
            folder: the results folder; None to keep no working folders.

        Returns:
            The previous results folder.
        """
        kept, self._kept = self._kept, folder
        if kept is not None:
            remove_empty_folders(kept, FOLDER, self._spaces)
        return kept

    @contextlib.contextmanager
    def working_folder(self, name: str) -> Iterator[int | None]:
        """Yields the open working folder of a host, created if necessary; None if no folder is kept.

        Raises:
            CommandError: it cannot be created, or belongs to another user.
        """
        if self._kept is None:
            yield None
            return
        try:
            folder = make_working_folder(self._kept, (FOLDER, name), self.identity)
        except OSError as error:
            place = self._kept / FOLDER / name
            raise CommandError(f"cannot use the working folder {place}: {error.strerror}") from error
        self._written.add((self._kept, name))
        try:
            yield folder
        finally:
            os.close(folder)

    def close(self, hurried: Callable[[], bool] = lambda: False) -> None:
        """Ends all programs on all hosts, and cleans up working folders; may be called more than once.

        Args:
            hurried: returns whether to skip steps that may take long.
        """
        self.keep_in(None)
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            # The keeper ends only after all its descendants, and a tracer can delay the end of any of them.
            self._process.kill()
            await_end(self._process)
        self._channel.close()
        end_s = time.monotonic() + _CLEAR_TIMEOUT_S
        while self._written:
            results, name = self._written.pop()
            clear_rights(
                results, (FOLDER, name), self.identity, lambda: hurried() or time.monotonic() > end_s
            )


class HostSpace:
    """The namespaces of a host.

    Attributes:
        pid: the host's first process, which lives as long as the namespaces.
    """

    def __init__(self, spaces: HostSpaces, name: str, pid: int) -> None:
        self._spaces, self._name, self.pid = spaces, name, pid
        self._home: tuple[int, int] | None = None  # device and inode of the working folder that is its home

    def start(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Starts a program as the host's root, in the host's working folder, with the environment of hosts.

        Args:
            argv: the program and its arguments.
            options: options of `subprocess.Popen`; `env` adds to the environment.

        Raises:
            CommandError: the host has ended, or its working folder cannot be created.
        """
        identity = self._spaces.identity
        # Not `--target`: newer versions of nsenter look for that number in the host's own PID namespace.
        kinds = {"user": "user", "mount": "mnt", "net": "net", "ipc": "ipc", "uts": "uts"}
        entered = [f"--{kind}=/proc/{self.pid}/ns/{file}" for kind, file in kinds.items()]
        command = [
            *("setpriv", f"--reuid={identity.user}", f"--regid={identity.group}", "--clear-groups"),
            *(f"--inh-caps={_RIGHTS}", f"--ambient-caps={_RIGHTS}"),
            *("nsenter", *entered, f"--wdns={HOME}", "--", *argv),
        ]
        options["env"] = {**self._spaces.environment(), **(options.get("env") or {})}
        # A session of its own, so that the program has no terminal of the machine; and the working folder /,
        # where a program that crashes before it has entered the namespaces cannot leave a core file.
        options = {"stdin": subprocess.DEVNULL, **options, "start_new_session": True, "cwd": "/"}
        try:
            self._change_home()
            # The program is in the host's PID namespace from the start.
            return start_filtered(self.pid, lambda: _start(command, identity, options))
        except OSError as error:
            raise CommandError(
                f"cannot start `{' '.join(argv)}` on {self._name}: {error.strerror}"
            ) from error

    def open_terminal(self) -> Terminal:
        """Opens a new terminal of the host.

        Raises:
            CommandError: the host has ended, or has removed its terminals.
        """
        try:
            return in_namespaces(self.pid, open_terminal, MOUNTS)
        except OSError as error:
            raise CommandError(f"{self._name} has no terminal: {error.strerror}") from error

    def _change_home(self) -> None:
        """Mounts the host's working folder at HOME; if none is kept, mounts a file system in memory."""
        with self._spaces.working_folder(self._name) as folder:
            home = None if folder is None else _identity(folder)
            if home == self._home:
                return
            with contextlib.nullcontext() if folder is None else folder_to_attach(folder) as tree:
                attached = self._home is not None
                in_namespaces(self.pid, lambda: _replace_home(tree, attached=attached), MOUNTS)
            self._home = home


def _start_keeper(channel: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "emulation.hosts.keeper"],
        stdin=subprocess.PIPE,
        stdout=channel,
        env=marked_environment(),
        text=True,
        start_new_session=True,
    )


def _start(command: Sequence[str], owner: Identity, options: Mapping[str, Any]) -> subprocess.Popen[Any]:
    """Starts a program whose pipes belong to `owner`, so that it can open them again as /dev/stdout."""
    with creating_files_as(*owner):
        return subprocess.Popen(command, **options)


def _identity(folder: int) -> tuple[int, int]:
    """Returns device and inode of an open folder."""
    status = os.fstat(folder)
    return status.st_dev, status.st_ino


def _replace_home(tree: int | None, *, attached: bool) -> None:
    if attached:
        with contextlib.suppress(OSError):  # a program has removed it
            detach(HOME)
    if tree is not None:
        attach(tree, HOME)
