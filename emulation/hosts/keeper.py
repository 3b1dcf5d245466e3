"""Keeper of hosts: a program of one thread that makes their namespaces and keeps their first processes.

Only a process of one thread can enter a user namespace. Standard input holds a line with the description, and
its end, also when the process that wrote it is killed, is the end of all hosts and their programs. On
standard output follows a line for each host: its name and the number of its first process.

A host's user namespace owns all its other namespaces. Its first process sleeps; the kernel buries all
processes without parents for it, as it ignores their ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from emulation.hosts.file_system import HostFiles
from emulation.hosts.identity import Identity
from emulation.kernel.system_calls import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    CLONE_NEWUTS,
    adopt_orphans,
    call,
    leave_keys,
    refuse_new_rights,
)

FAILED = "failed"  # the first word of a line on standard output that has an error
_FIRST_PROGRAM = ("sleep", "infinity")
_READY, _DONE = b"\n", b"done"
_END_TIMEOUT_S = 2.0
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
    """The hosts of a fabric: made one after another, ended together."""

    def __init__(self, description: Description) -> None:
        self._description = description
        adopt_orphans()
        refuse_new_rights()
        leave_keys()
        os.umask(_UMASK)
        self._proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
        caller = description.caller if _may_read(description.identity, description.caller) else ""
        owners = self._owners()
        self._files = HostFiles(description.folder, description.files, caller, owners)
        os.close(owners)
        self._first: list[int] = []

    def make_all(self) -> None:
        """Makes all hosts, and prints the number of each one's first process.

        Raises:
            OSError: the kernel refuses.
        """
        for place, (name, machine) in enumerate(self._description.names.items()):
            self._first.append(self._make(place, machine))
            print(name, self._first[-1], flush=True)

    def end_all(self) -> None:
        """Kills all hosts' processes, and returns when they have ended, or after a while.

        Some are others' children, who may never take notice of their ends.
        """
        for pid in self._first:
            os.kill(pid, signal.SIGKILL)
        deadline_s, waiting = time.monotonic() + _END_TIMEOUT_S, self._first
        while waiting and time.monotonic() < deadline_s:
            waiting = [pid for pid in waiting if os.waitpid(pid, os.WNOHANG) == (0, 0)]
            time.sleep(0.002 if waiting else 0)

    def _owners(self) -> int:
        """Returns a user namespace, as an open file, in which who is root on hosts has the same number."""
        user, group = (f"{own} {own} 1\n" for own in self._description.identity)
        child, answers = self._fork((user, group), lambda _answering: signal.pause())
        os.close(answers)
        try:
            return os.open(f"{child}/ns/user", os.O_RDONLY, dir_fd=self._proc)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def _make(self, place: int, machine: str) -> int:
        """Returns the first process of a new host."""
        maps = self._description.identity.maps(place)
        child, answers = self._fork(maps, lambda answering: self._become_host(machine, answering))
        with open(answers, "rb") as answer:
            words = answer.read().replace(_DONE, b" done ").split()
        os.waitpid(child, 0)
        if _DONE not in words or len(words) != 2:
            raise OSError(b" ".join(words).decode(errors="replace"))
        words.remove(_DONE)  # it may come before the number
        return int(words[0])

    def _fork(self, maps: tuple[str, str], action: Callable[[int], object]) -> tuple[int, int]:
        """Starts an action in a process with a user namespace of its own.

        Args:
            maps: contents of its uid_map and gid_map.
            action: gets an open file to answer to, as errors are.

        Returns:
            The process, and its answers.
        """
        answers, answering = os.pipe()
        allowed, allowing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                # What a host uses up counts for the owner of its user namespace, who must not be root.
                _become(self._description.identity)
                call("unshare", CLONE_NEWUSER)
                os.write(answering, _READY)
                os.read(allowed, 1)
                action(answering)
            except BaseException as error:
                os.write(answering, f" {error}".encode())
            finally:
                os._exit(0)
        os.close(answering)
        os.close(allowed)
        if os.read(answers, 1) == _READY:
            for file, content in zip(("uid_map", "gid_map"), maps, strict=True):
                descriptor = os.open(f"{child}/{file}", os.O_WRONLY, dir_fd=self._proc)
                os.write(descriptor, content.encode())
                os.close(descriptor)
            os.write(allowing, _READY)
        os.close(allowing)
        return child, answers

    def _become_host(self, machine: str, answering: int) -> None:
        """Makes the other namespaces of a host in this process, and starts its first one."""
        os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        call("unshare", CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID)
        call("sethostname", machine.encode(), len(machine.encode()))
        self._files.mount_own()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # also of the program that follows
        first = os.fork()
        if first:
            os.write(answering, b"%d " % first)
        else:
            self._begin(answering)

    def _begin(self, answering: int) -> None:
        """Becomes the first process of the host."""
        self._files.mount_processes()
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nothing, descriptor)
        os.write(answering, _DONE)
        os.execvpe(_FIRST_PROGRAM[0], _FIRST_PROGRAM, self._description.environment)  # noqa: S606  # no shell


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


def main() -> None:
    """Makes the hosts that standard input describes, and ends them at its end."""
    try:
        keeper = Keeper(Description.parse(sys.stdin.readline()))
        try:
            keeper.make_all()
            sys.stdin.read()
        finally:
            keeper.end_all()
    except Exception as error:
        print(FAILED, " ".join(str(error).split()), flush=True)


if __name__ == "__main__":
    main()
