"""Nodes isolated from the machine: a node's programs, including its shell, start in the node's namespaces."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from emulation.hosts.spaces import HostSpace
from emulation.node_shell import LastingNode
from emulation.prompt.process_state import children, is_ending
from emulation.subprocesses import CommandError


class SpacedNode(LastingNode):
    """A node that may have its own space (namespaces, see `spaces`); its shell then starts at first use.

    Attributes:
        space: the namespaces; None if the node's root is the machine's.
    """

    space: HostSpace | None = None
    pid: int
    master: int
    slave: int
    _terminal_name = ""

    def startShell(self, mnopts: str | None = None) -> None:
        """Starts the shell; on a node with a space, `use_shell` starts it when it is first used."""
        if self.space is None or self._renewing:
            super().startShell(mnopts)
            self.pid = self.space.pid if self.space else self.pid
            return
        self.pid, self.shell, self.stdin, self.stdout = self.space.pid, None, None, None
        self.readbuf, self.waiting, self.execed = "", False, False
        self.lastCmd, self.lastPid = None, None

    def use_shell(self) -> None:
        """Starts the shell if it has not been used yet."""
        if self.space and self.shell is None:
            self.restart()

    def guard_shell(self) -> None:
        """Makes the shell's prompt read-only, like `LastingNode.guard_shell`."""
        self.use_shell()
        super().guard_shell()

    def check_shell(self) -> None:
        """Raises ShellEnded if the shell has ended, and CommandError if the node has."""
        if self.ended:
            self.waiting = False
            raise CommandError(f"{self.name} has ended because its first process was killed")
        super().check_shell()

    @property
    def ended(self) -> bool:
        """Whether the node's space has ended, with all its programs."""
        return self.space is not None and is_ending(self.space.pid)

    @property
    def shell_ended(self) -> bool:
        """Whether the shell has ended and can be restarted."""
        # A tracer can hide the shell's end from `poll`; its process state shows it.
        ended = super().shell_ended or (self.shell is not None and is_ending(self.shell.pid))
        return ended and not self.ended

    def cmd(self, *words: Any, **options: Any) -> Any:
        """Runs a command to its end, like `LastingNode.cmd`."""
        self.use_shell()
        return super().cmd(*words, **options)

    def sendCmd(self, *words: Any, **options: Any) -> None:
        """Sends a command to the shell, like Mininet's `sendCmd`."""
        self.use_shell()
        super().sendCmd(*words, **options)

    def popen(self, *words: Any, **options: Any) -> Any:
        """Starts a program on the node, like Mininet's `popen`."""
        if self.space:
            options.setdefault("mncmd", [])  # without Mininet's helper program that enters namespaces
        return super().popen(*words, **options)

    def start_program(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Starts a program on the node, alongside the shell; see `subprocess.Popen`."""
        begin = self.space.start if self.space else super().start_program
        return begin(argv, **options)

    def start_shell_program(
        self, shell: Sequence[str], environment: Mapping[str, str], options: Mapping[str, Any]
    ) -> Any:
        """Starts the shell's program on a terminal of the node."""
        if self.space is None:
            return super().start_shell_program(shell, environment, options)
        master, slave, self._terminal_name = self.space.open_terminal()
        for descriptor in (self.master, self.slave):  # of the machine's terminals
            os.close(descriptor)
        self.master, self.slave = master, slave
        ends = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
        return self.space.start(shell, **{**options, **ends, "env": environment})

    @property
    def terminal_name(self) -> str:
        """The name of the shell's terminal inside the node."""
        return self._terminal_name if self.space else super().terminal_name

    def open_process(self, number: int) -> int:
        """Returns a descriptor of a process that the shell started, given the process's id on the node.

        Raises:
            ProcessLookupError: the process has ended.
        """
        if self.space:
            started = {_number_inside(pid): pid for pid in children(self.shell.pid)}
            number = started.get(number, 0)
        if not number:
            raise ProcessLookupError
        return super().open_process(number)

    def _popen(self, cmd: Sequence[str], **params: Any) -> Any:
        if self.space and not self._starting:
            return self.space.start(cmd, **params)
        return super()._popen(cmd, **params)


def _number_inside(pid: int) -> int:
    """Returns the id of a process in its own PID namespace; 0 if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return 0
    return int(re.findall(r"^NSpid:.*?(\d+)$", status, re.MULTILINE)[-1])
