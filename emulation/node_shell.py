"""Shells of Mininet nodes: a shell may end, and is started again in the node's own namespaces.

Mininet runs all commands of a node in one shell, whose process alone keeps the node's namespaces alive. Here
open files keep them as well, so that the interfaces, addresses and mounts of a node survive its shell.
"""

from __future__ import annotations

import codecs
import itertools
import os
import re
import select
import time
from collections.abc import Sequence
from typing import Any

import psutil
from mininet.node import Node

from topology.errors import PolarLabError

_LOOK_EVERY_MS = 200
_NAMESPACES = ("net", "mnt")
_SENTINEL = chr(127)  # the prompt that Mininet gives shells
_MOST_ANSWER = 4096  # characters that are kept while an answer is awaited
_questions = itertools.count(1)


class ShellEnded(PolarLabError):
    """The shell that runs a node's commands has ended.

    Attributes:
        node: the node.
    """

    def __init__(self, node: LastingNode) -> None:
        super().__init__(f"the shell of {node.name} has ended")
        self.node = node


class LastingNode(Node):  # type: ignore[misc]
    """A node whose namespaces outlive its shell.

    Attributes:
        background_pid: the process that was last put into the background; None if none was.
        new_background_pid: the same, if the last command whose status was asked for put it there.
    """

    name: str
    shell: Any
    readbuf: str
    inNamespace: bool  # noqa: N815  # Mininet's
    _namespaces: dict[str, int]  # kind -> open file
    _renewing = False
    background_pid: int | None = None
    new_background_pid: int | None = None
    _guarded = False

    def startShell(self, mnopts: str | None = None) -> None:
        """Starts the shell, in new namespaces or in those that the node has."""
        # Programs may print anything; Mininet's own decoder raises an error at what is not text.
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        super().startShell(mnopts)
        self.pollOut = select.poll()  # Mininet's own is ready as soon as the shell can be written to
        self.pollOut.register(self.stdout, select.POLLIN)
        self._guarded, self.background_pid = False, None
        if not self._renewing:
            folder = f"/proc/{self.pid}/ns"
            self._namespaces = {kind: os.open(f"{folder}/{kind}", os.O_RDONLY) for kind in _NAMESPACES}

    def guard_shell(self) -> None:
        """Keeps commands from changing the shell's prompt, by which the end of a command is recognised.

        Raises:
            ShellEnded: the shell has ended.
        """
        self.check_shell()
        if not self._guarded:
            self.cmd("readonly PS1 PS2")
            self._guarded = True

    @property
    def shell_ended(self) -> bool:
        """Whether the shell has ended and was not started again."""
        return self.shell is not None and self.shell.poll() is not None

    def check_shell(self) -> None:
        """Raises ShellEnded if the shell has ended."""
        if self.shell_ended:
            self.waiting = False
            raise ShellEnded(self)

    def renew_shell(self) -> None:
        """Starts the shell again if it has ended, in the node's namespaces."""
        if not self.shell_ended:
            return
        self._close_shell()
        self._renewing, own = True, self.inNamespace
        self.inNamespace = False  # the namespaces are entered, not made
        try:
            self.startShell()
        finally:
            self._renewing, self.inNamespace = False, own

    def end_shell(self) -> None:
        """Kills the shell and the programs that it started; its node stays."""
        try:
            shell = psutil.Process(self.pid)
            family = [*shell.children(recursive=True), shell]
        except psutil.NoSuchProcess:
            return
        for process in family:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        self.shell.wait()

    def ask_status(self) -> None:
        """Asks the shell for the exit status of its last command; `read_status` has the answer.

        It comes where the shell's prompts come, which is open even if the command has closed standard output.
        """
        self._question, self._answer = next(_questions), ""
        self.write(f'printf \'\\n@%s %s %s\\n\' {self._question} "$?" "$!" >&2\n')

    def read_status(self) -> int | None:
        """Returns the exit status that was asked for, once output that waits has all of the answer.

        A program may have printed the shell's prompt, by which Mininet recognises the end of a command: the
        answer comes when the command has really ended.
        """
        self._answer = (self._answer + self.read())[-_MOST_ANSWER:]
        answer = re.search(rf"@{self._question} (\d+) (\d*)\r?\n[^@]*{_SENTINEL}", self._answer)
        if not answer:
            return None
        pid = int(answer[2]) if answer[2] else None
        self.new_background_pid = pid if pid != self.background_pid else None
        self.background_pid = pid
        return int(answer[1])

    def pending_output(self) -> str:
        """Returns output that came since the last command ended, as of programs in the background."""
        text = self.readbuf
        self.readbuf = ""
        while self.pollOut.poll(0):
            text += self.read()
        return str(text).replace(_SENTINEL, "")

    def waitReadable(self, timeoutms: float | None = None) -> Any:
        """Waits for output of the shell; returns whether there is some.

        Raises:
            ShellEnded: the shell has ended.
        """
        if self.readbuf:
            return True
        end_s = None if timeoutms is None else time.monotonic() + timeoutms / 1e3
        while True:
            pause_ms: float = _LOOK_EVERY_MS
            if end_s is not None:
                pause_ms = max(0.0, min(pause_ms, (end_s - time.monotonic()) * 1e3))
            ready = self.pollOut.poll(pause_ms)
            if ready or (end_s is not None and time.monotonic() >= end_s):
                return ready
            self.check_shell()

    def cleanup(self) -> None:
        """Closes the shell's terminal and the namespaces."""
        super().cleanup()
        for descriptor in self._namespaces.values():
            os.close(descriptor)
        self._namespaces = {}

    def _popen(self, cmd: Sequence[str], **params: Any) -> Any:
        """Starts a process of the node; a shell that is started again enters the node's namespaces."""
        if self._renewing:
            files = {kind: f"/proc/{os.getpid()}/fd/{self._namespaces[kind]}" for kind in _NAMESPACES}
            entering = ["nsenter", f"--net={files['net']}", f"--mount={files['mnt']}"]
            place = cmd.index("env") + 1
            cmd = [*entering, *cmd[:place], "-C", os.getcwd(), *cmd[place:]]
        return super()._popen(cmd, **params)

    def _close_shell(self) -> None:
        self.shell.wait()
        self.outToNode.pop(self.stdout.fileno(), None)
        self.inToNode.pop(self.stdin.fileno(), None)
        self.stdin.close()
        os.close(self.slave)
        self.shell = None
        self.waiting = False
