"""Keeper of hosts: a program of one thread that makes their namespaces and keeps their first processes.

Only a process of one thread can enter a user namespace. The keeper is the first process of a namespace of
processes, in which those of all hosts are: with it, the kernel ends all programs on hosts. Standard input has
a line with the description; its end, also when the process that wrote it is killed, is that of the keeper.
Standard output is a socket, to which a message goes for each host, with its name and its first process.

A host's user namespace owns all its other namespaces. Its first process sleeps; the kernel buries all
processes without parents for it, as it ignores their ends.
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
    refuse_new_rights,
)

FAILED = "failed"  # the first word of a message that has an error
_OWN = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
_FIRST_PROGRAM = ("sleep", "infinity")
_CREDENTIALS = struct.Struct("=iII")  # struct ucred: process, user, group
_MOST_MESSAGE_BYTES = 1 << 12
_ALLOWED = b"\n"
_UMASK = 0o022


@dataclass(frozen=True)
class Description:
    """The hosts of a fabric.

    Attributes:
        names: host -> name of its machine, in the order of the hosts.
        identity: user and group on the machine that are root on hosts.
        folder: an empty folder.
        files: place in the file system of hosts -> file that appears there.
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
        """Returns it as a line."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def parse(cls, line: str) -> Description:
        """Returns the description in a line."""
        values = json.loads(line)
        return cls(**{**values, "identity": Identity(*values["identity"])})


class Keeper:
    """The hosts of a fabric, made one after another."""

    def __init__(self, description: Description, channel: socket.socket) -> None:
        """Makes what hosts share.

        Args:
            description: the hosts.
            channel: takes their names and first processes.

        Raises:
            OSError, subprocess.SubprocessError: the kernel refuses.
        """
        self._description, self._channel = description, channel
        refuse_new_rights()
        leave_keys()
        filter_calls()
        os.umask(_UMASK)
        call("unshare", CLONE_NEWNS)
        keep_mounts_private()
        mount("proc", "/proc")  # of the keeper's namespace of processes
        self._proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
        caller = description.caller if _may_read(description.identity, description.caller) else ""
        owners = self._owners()
        self._files = HostFiles(description.folder, description.files, caller, owners)
        os.close(owners)

    def make_all(self) -> None:
        """Makes all hosts, and sends a message for each.

        Raises:
            OSError: the kernel refuses.
        """
        for place, (name, machine) in enumerate(self._description.names.items()):
            # The kernel translates the number into that of the receiver's namespace.
            credentials = _CREDENTIALS.pack(self._make(place, machine), 0, 0)
            rights = [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, credentials)]
            self._channel.sendmsg([name.encode()], rights)

    def _owners(self) -> int:
        """Returns a user namespace, as an open file, in which who is root on hosts has the same number."""
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

    def _make(self, place: int, machine: str) -> int:
        """Returns the first process of a new host."""
        identity = self._description.identity
        answers, answering = os.pipe()
        allowed, allowing = os.pipe()
        # What a host uses up counts for the owner of its user namespace, who must not be root.
        os.setegid(identity.group)
        os.seteuid(identity.user)
        child = fork_into_namespaces(_OWN)
        if child == 0:
            self._become_host(machine, allowed, answering)
        os.seteuid(0)
        os.setegid(0)
        os.close(answering)
        os.close(allowed)
        self._write_maps(child, identity.maps(place))
        os.write(allowing, _ALLOWED)
        os.close(allowing)
        with open(answers, errors="replace") as answer:
            if error := answer.read():
                raise OSError(error)
        return child

    def _write_maps(self, child: int, maps: tuple[str, str]) -> None:
        """Writes the uid_map and the gid_map of a process."""
        for file, content in zip(("uid_map", "gid_map"), maps, strict=True):
            descriptor = os.open(f"{child}/{file}", os.O_WRONLY, dir_fd=self._proc)
            os.write(descriptor, content.encode())
            os.close(descriptor)

    def _become_host(self, machine: str, allowed: int, answering: int) -> NoReturn:
        """Becomes the first process of a host, once its ids are there.

        Args:
            machine: name of its machine.
            allowed: open file that has something to read then.
            answering: open file for an error; it closes when the host is there.
        """
        try:
            os.read(allowed, 1)
            os.setgroups([])
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
            call("sethostname", machine.encode(), len(machine.encode()))
            self._files.mount_own()
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # also of the program that follows
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in range(3):
                os.dup2(nothing, descriptor)
            os.execvpe(_FIRST_PROGRAM[0], _FIRST_PROGRAM, self._description.environment)  # noqa: S606  # no shell
        except BaseException as error:
            os.write(answering, str(error).encode(errors="replace"))
        finally:
            os._exit(1)


def _become(identity: Identity) -> None:
    """Drops all rights of this process but those of a user."""
    os.setgroups([])
    os.setresgid(*[identity.group] * 3)
    os.setresuid(*[identity.user] * 3)


def _may_read(identity: Identity, folder: str) -> bool:
    """Returns whether somebody may read a folder."""
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
    """Returns the text of a keeper's next message, and the number of a process in this one's namespace.

    The text is a host's name, or has an error; it is empty if the keeper has ended.

    Args:
        channel: the other end of its channel, to which the kernel passes credentials.
    """
    message, rights, _, _ = channel.recvmsg(_MOST_MESSAGE_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size))
    processes = [_CREDENTIALS.unpack(data)[0] for _, _, data in rights]
    return message.decode(errors="replace"), processes[0] if processes else 0


def main() -> None:
    """Makes the hosts that standard input describes, and ends at its end."""
    with socket.socket(fileno=os.dup(sys.stdout.fileno())) as channel:
        try:
            Keeper(Description.parse(sys.stdin.readline()), channel).make_all()
            sys.stdin.read()
        except Exception as error:
            reason = f"{FAILED} {' '.join(str(error).split())}"
            channel.send(reason.encode(errors="replace")[:_MOST_MESSAGE_BYTES])


if __name__ == "__main__":
    main()
