"""Keeper of hosts: a single-threaded program that creates their namespaces and keeps their first processes.

Only a single-threaded process can enter a user namespace. The keeper is the first process of a PID namespace
that contains those of all hosts: when the keeper ends, the kernel kills all programs on hosts. It reads a
line with the description from standard input and ends when standard input ends, even if the writing process
is killed. Standard output is a socket, on which it sends one message per host, with the host's name and
first process.

A host's user namespace owns its other namespaces. Its first process sleeps and ignores SIGCHLD, so the kernel
reaps all orphaned processes of the host.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
from dataclasses import asdict, dataclass
from typing import NoReturn

from emulation.hosts.file_system import HostFiles
from emulation.hosts.identity import Identity
from emulation.kernel.system_call_filter import filter_calls
from emulation.kernel.system_calls import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    call,
    fork_into_namespaces,
    keep_mounts_private,
    leave_keys,
    mount,
    set_no_new_privileges,
)

FAILED = "failed"  # the first word of an error message
_OWN = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
_FIRST_PROGRAM = ("sleep", "infinity")
_CREDENTIALS = struct.Struct("=iII")  # struct ucred: process, user, group
_MAX_MESSAGE_BYTES = 1 << 12
_MAPPED = b"\n"
_UMASK = 0o022


@dataclass(frozen=True)
class Description:
    """The hosts of a fabric.

    Attributes:
        names: host -> its machine name (hostname), in the order of the hosts.
        identity: the machine's user and group to which root on hosts is mapped.
        folder: an empty folder, at which the hosts' file system is created.
        files: path in the file system of hosts -> file of the machine that appears there.
        caller: folder in which the command was started.
        environment: environment of the first processes.
    """

    names: dict[str, str]
    identity: Identity
    folder: str
    files: dict[str, str]
    caller: str
    environment: dict[str, str]

    def line(self) -> str:
        """Returns the description as one line of JSON."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def parse(cls, line: str) -> Description:
        """Returns the description that `line` encodes."""
        values = json.loads(line)
        return cls(**{**values, "identity": Identity(*values["identity"])})


class Keeper:
    """Creates the hosts of a fabric, one after another."""

    def __init__(self, description: Description, channel: socket.socket) -> None:
        """Creates the file system and the filter that all hosts share.

        Args:
            description: the hosts.
            channel: socket to which the names and first processes of the hosts are sent.

        Raises:
            OSError, subprocess.SubprocessError: the kernel refuses.
        """
        self._description, self._channel = description, channel
        set_no_new_privileges()
        leave_keys()
        filter_calls()
        os.umask(_UMASK)
        call("unshare", CLONE_NEWNS)
        keep_mounts_private()
        mount("proc", "/proc")  # of the keeper's PID namespace
        self._proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
        caller = description.caller if _may_read(description.identity, description.caller) else ""
        owners = self._owners()
        self._files = HostFiles(description.folder, description.files, caller, owners)
        os.close(owners)

    def make_all(self) -> None:
        """Creates all hosts and sends a message for each.

        Raises:
            OSError: the kernel refuses.
        """
        for index, (name, machine) in enumerate(self._description.names.items()):
            # The kernel translates the process id into the receiver's PID namespace.
            credentials = _CREDENTIALS.pack(self._make(index, machine), 0, 0)
            rights = [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, credentials)]
            self._channel.sendmsg([name.encode()], rights)

    def _owners(self) -> int:
        """Returns the descriptor of a new user namespace that maps one user, the hosts' root, to itself."""
        child = fork_into_namespaces(CLONE_NEWUSER)
        if child == 0:
            signal.pause()
        try:
            user, group = (f"{own} {own} 1\n" for own in self._description.identity)
            self._write_maps(child, (user, group))
            return os.open(f"{child}/ns/user", os.O_RDONLY, dir_fd=self._proc)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def _make(self, index: int, machine: str) -> int:
        """Creates a host, with the hostname `machine`, and returns the id of its first process."""
        identity = self._description.identity
        errors, error_end = os.pipe()
        mapped, mapped_end = os.pipe()
        # The kernel counts a host's resources for the owner of its user namespace, who must not be root.
        os.setegid(identity.group)
        os.seteuid(identity.user)
        child = fork_into_namespaces(_OWN)
        if child == 0:
            self._become_host(machine, mapped, error_end)
        os.seteuid(0)
        os.setegid(0)
        os.close(error_end)
        os.close(mapped)
        self._write_maps(child, identity.maps(index))
        os.write(mapped_end, _MAPPED)
        os.close(mapped_end)
        with open(errors, errors="replace") as answer:
            if error := answer.read():
                raise OSError(error)
        return child

    def _write_maps(self, child: int, maps: tuple[str, str]) -> None:
        """Writes the uid_map and the gid_map of a process."""
        for file, content in zip(("uid_map", "gid_map"), maps, strict=True):
            descriptor = os.open(f"{child}/{file}", os.O_WRONLY, dir_fd=self._proc)
            os.write(descriptor, content.encode())
            os.close(descriptor)

    def _become_host(self, machine: str, mapped: int, error_end: int) -> NoReturn:
        """Becomes the first process of a host once its ids are mapped.

        Args:
            machine: the host's machine name.
            mapped: pipe that becomes readable when the ids are mapped.
            error_end: pipe for an error; closes when the host exists.
        """
        try:
            os.read(mapped, 1)
            os.setgroups([])
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
            call("sethostname", machine.encode(), len(machine.encode()))
            self._files.mount_own()
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the program below inherits this
            os.setsid()
            devnull = os.open(os.devnull, os.O_RDWR)
            for descriptor in range(3):
                os.dup2(devnull, descriptor)
            os.execvpe(_FIRST_PROGRAM[0], _FIRST_PROGRAM, self._description.environment)  # noqa: S606
        except BaseException as error:
            os.write(error_end, str(error).encode(errors="replace"))
        finally:
            os._exit(1)


def _become(identity: Identity) -> None:
    """Reduces this process to the rights of a user."""
    os.setgroups([])
    os.setresgid(*[identity.group] * 3)
    os.setresuid(*[identity.user] * 3)


def _may_read(identity: Identity, folder: str) -> bool:
    """Returns whether a user may read a folder."""
    child = os.fork()
    if child == 0:
        allowed = False
        try:
            _become(identity)
            allowed = os.access(folder, os.R_OK | os.X_OK)
        finally:
            os._exit(0 if allowed else 1)
    return os.waitpid(child, 0)[1] == 0


def receive(channel: socket.socket) -> tuple[str, int]:
    """Returns the text of a keeper's next message, and the id of the host's first process in our namespace.

    The text is a host's name, or FAILED and an error; it is empty if the keeper has ended.

    Args:
        channel: the other end of the keeper's channel, with SO_PASSCRED set.
    """
    message, rights, _, _ = channel.recvmsg(_MAX_MESSAGE_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size))
    processes = [_CREDENTIALS.unpack(data)[0] for _, _, data in rights]
    return message.decode(errors="replace"), processes[0] if processes else 0


def main() -> None:
    """Creates the hosts that standard input describes, and ends when standard input ends."""
    with socket.socket(fileno=os.dup(sys.stdout.fileno())) as channel:
        try:
            Keeper(Description.parse(sys.stdin.readline()), channel).make_all()
            sys.stdin.read()
        except Exception as error:
            reason = f"{FAILED} {' '.join(str(error).split())}"
            channel.send(reason.encode(errors="replace")[:_MAX_MESSAGE_BYTES])


if __name__ == "__main__":
    main()
