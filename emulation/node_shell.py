"""Shells of Mininet nodes: a shell may end, and is started again in the node's own namespaces.

Mininet runs all commands of a node in one shell, whose process alone keeps the node's namespaces alive. Here
open files keep them as well, so that the interfaces, addresses and mounts of a node survive its shell.

The end of a command is recognised by the shell's prompt. A command may keep the prompt from being printed, as
`exec 2>&-` does; then it has ended when the shell waits in the kernel at the very place where it waited for
the first line. A shell that is stopped, or that does not answer there, is ended.

Mininet waits for each shell before it starts the next; the shells of a network start side by side here.
"""

from __future__ import annotations

import codecs
import contextlib
import itertools
import os
import re
import select
import shlex
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import psutil

from emulation.kernel.namespaces import in_namespaces_of_files, in_new_namespaces
from emulation.mininet_library import Node
from emulation.prompt.process_state import Waiting, children, is_stopped, switch_count, waiting_place
from emulation.subprocesses import start_in_namespaces
from topology.errors import PolarLabError

_LOOK_EVERY_MS = 200
_SETTLED_S = 0.3  # after which a state is taken to last
_SILENCE_S = 2.0  # of a shell that waits for a line instead of answering
_PROMPT_S = 2.0  # from the prompt until a shell that waits elsewhere is taken to be ready
_ANSWER_S = 10.0
_CALIBRATION_S = 1.0
_CALIBRATION_STEP_S = 0.002
_MOST_PENDING = 65_536  # characters; a program in the background may print without end
_NAMESPACES = ("net", "mnt")
_SENTINEL = chr(127)  # the prompt that Mininet gives shells
_MOST_ANSWER = 4096  # characters that are kept while an answer is awaited
_LOCAL_MODES = 3  # place among the attributes of a terminal
_questions = itertools.count(1)
_side_by_side: list[list[LastingNode]] = []  # of each block of `shells_side_by_side`, its nodes


@contextlib.contextmanager
def shells_side_by_side() -> Iterator[None]:
    """Starts the shells of all nodes that are made in a block side by side; at its end all are ready."""
    nodes: list[LastingNode] = []
    _side_by_side.append(nodes)
    try:
        yield
    finally:
        _side_by_side.pop()
    for node in nodes:
        node.begin_setup()
    for node in nodes:
        node.finish_setup()


class ShellEnded(PolarLabError):
    """The shell that runs a node's commands has ended.

    Attributes:
        node: the node.
        reason: what happened, as `has ended`.
    """

    def __init__(self, node: LastingNode, reason: str = "has ended") -> None:
        super().__init__(f"the shell of {node.name} {reason}")
        self.node, self.reason = node, reason


class LastingNode(Node):  # type: ignore[misc]
    """A node whose namespaces outlive its shell.

    Attributes:
        background_pid: the process that was last put into the background; None if none was.
        new_background_pid: the same, if the last command whose status was asked for put it there.
    """

    name: str
    shell: Any
    readbuf: str
    _namespaces: Mapping[str, int] = MappingProxyType({})  # kind -> open file
    _renewing = False
    _unanswered = False  # the shell is being started, and its prompt not waited for
    background_pid: int | None = None
    new_background_pid: int | None = None
    _guarded = False
    _place: Waiting | None = None  # where the shell waits for a line; None if that cannot be known
    _written_switches = 0  # of the shell's process, when it was last written to
    _resting_s: float | None = None  # since when it waits for a line
    _stopped_s: float | None = None
    _earlier_children: frozenset[int] = frozenset()  # than the line that was sent last
    _prompt_s: float | None = None
    _terminal: list[Any] | None = None

    def startShell(self, mnopts: str | None = None) -> None:
        """Starts the shell, in new namespaces or in those that the node has."""
        # Programs may print anything; Mininet's own decoder raises an error at what is not text.
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._unanswered = True
        try:
            super().startShell(mnopts)
        finally:
            self._unanswered = False
        self.pollOut = select.poll()  # Mininet's own is ready as soon as the shell can be written to
        self.pollOut.register(self.stdout, select.POLLIN)
        self._guarded, self.background_pid, self._place = False, None, None
        if _side_by_side and not self._renewing:
            _side_by_side[-1].append(self)
            return
        self.begin_setup()
        self.finish_setup()

    def begin_setup(self) -> None:
        """Waits for the first prompt of a shell that was started, and sends it its settings."""
        while not self.read().endswith(_SENTINEL):
            self.check_shell()
        self._terminal = termios.tcgetattr(self.slave)
        self._terminal[_LOCAL_MODES] &= ~termios.ECHO
        self._reset_terminal()
        self.sendCmd("unset HISTFILE; set +m")

    def finish_setup(self) -> None:
        """Waits until the shell has its settings; its namespaces are there, and last from now on."""
        self.waitOutput()
        if not self._renewing:
            folder = f"/proc/{self.pid}/ns"
            self._namespaces = {kind: os.open(f"{folder}/{kind}", os.O_RDONLY) for kind in _NAMESPACES}

    def read(self, size: int = 1024) -> str:
        """Returns output of the shell; while Mininet starts one, the prompt for which it would wait."""
        return _SENTINEL if self._unanswered else str(super().read(size))

    def cmd(self, *words: Any, **options: Any) -> Any:
        """Runs a command to its end, as Mininet's; while Mininet starts the shell, nothing."""
        return None if self._unanswered else super().cmd(*words, **options)

    def guard_shell(self) -> None:
        """Keeps commands from changing the shell's prompt, by which the end of a command is recognised.

        Raises:
            ShellEnded: the shell has ended.
        """
        self.check_shell()
        if not self._guarded:
            self._place = self._find_place()
            self.cmd("readonly PS0 PS1 PS2 PROMPT_COMMAND")
            self._guarded = True
        self._reset_terminal()

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
        self._renewing = True  # the namespaces are entered, not made
        try:
            self.startShell()
        finally:
            self._renewing = False

    def end_shell(self) -> None:
        """Kills the shell and the programs that it started; its node stays."""
        try:
            shell = psutil.Process(self.shell.pid)
            family = [*shell.children(recursive=True), shell]
        except psutil.NoSuchProcess:
            return
        for process in family:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        self.shell.wait()

    def sendCmd(self, *words: Any, **options: Any) -> None:
        """Sends a command to the shell, as Mininet's."""
        self._prompt_s = None
        self._note_line()
        super().sendCmd(*words, **options)

    def monitor(self, timeoutms: float | None = None, findPid: bool = True) -> str:  # noqa: N803  # Mininet's
        """Returns output of the command that runs; `waiting` is then whether no prompt was seen."""
        text = str(super().monitor(timeoutms, findPid))
        if not self.waiting and self._prompt_s is None:
            self._prompt_s = time.monotonic()
        return text

    @property
    def command_ended(self) -> bool:
        """Whether the command that was sent has ended: a prompt was seen, and the shell waits for a line.

        A program may have printed the prompt.
        """
        if self.waiting:
            return False
        if self._place is None or self._rests():
            return True
        place = waiting_place(self.shell.pid)
        if place and place.reads_terminal and time.monotonic() > (self._prompt_s or 0.0) + _PROMPT_S:
            self._place = place  # that of readline, after `set -o emacs`
            return True
        return False

    def look(self) -> None:
        """Takes note that no output has come for a while; a command may have ended without a prompt.

        Raises:
            ShellEnded: the shell has ended, or it was stopped and is ended.
        """
        self.check_shell()
        now_s = time.monotonic()
        started = children(self.shell.pid) - self._earlier_children
        waits = bool(started) and all(map(is_stopped, started))  # nothing typed can reach them
        self._stopped_s = (self._stopped_s or now_s) if waits or is_stopped(self.shell.pid) else None
        if self._stopped_s is not None and now_s > self._stopped_s + _SETTLED_S:
            self._give_up("waited for a program that was stopped" if waits else "was stopped")
        self._resting_s = (self._resting_s or now_s) if self._rests() else None
        if self.waiting and self._rested(_SETTLED_S):
            self.waiting, self._prompt_s = False, now_s

    def ask_status(self) -> None:
        """Asks the shell for the exit status of its last command; `read_status` has the answer.

        It comes by the name of the terminal, even if the command has closed standard output and errors, and
        by `eval`, without which no further command can be run.
        """
        self._question, self._answer, self._asked_s = next(_questions), "", time.monotonic()
        self._reset_terminal()
        self._note_line()
        values = f'{self._question} "$?" "${{!-}}"'
        question = f"\\builtin printf '\\n@%s %s %s\\n' {values} >|{self.terminal_name}"
        self.write(f"\\builtin eval {shlex.quote(question)}\n")

    def read_status(self, *, ready: bool) -> int | None:
        """Returns the exit status that was asked for; None while it is not known.

        A program may have printed the shell's prompt, by which Mininet recognises the end of a command: the
        answer comes when the command has really ended.

        Args:
            ready: whether output waits; otherwise none has come for a while.

        Raises:
            ShellEnded: the shell has ended, or it does not answer and is ended.
        """
        if ready:
            self._answer = (self._answer + self.read())[-_MOST_ANSWER:]
        else:
            self.look()
        answer = re.search(rf"@{self._question} (\d+) (\d*)\r?\n([^@]*{_SENTINEL})?", self._answer)
        if not answer or not (answer[3] or self._rested(_SETTLED_S)):
            late = self._place and time.monotonic() > self._asked_s + _ANSWER_S
            if late or self._rested(_SILENCE_S):
                self._give_up("does not answer")
            return None
        pid = int(answer[2]) if answer[2] else None
        self.new_background_pid = pid if pid != self.background_pid else None
        self.background_pid = pid
        return int(answer[1])

    def pending_output(self) -> str:
        """Returns output that came since the last command ended, as of programs in the background."""
        text = self.readbuf
        self.readbuf = ""
        while len(text) < _MOST_PENDING and self.pollOut.poll(0):
            text += self.read()
        return str(text).replace(_SENTINEL, "")

    def waitReadable(self, timeoutms: float | None = None) -> Any:
        """Waits for output of the shell; returns whether there is some.

        Without a time limit, it also returns when the command that runs has ended without a prompt.

        Raises:
            ShellEnded: the shell has ended.
        """
        if self.readbuf:
            return True
        end_s = None if timeoutms is None else time.monotonic() + timeoutms / 1e3
        waiting = self.waiting
        while True:
            pause_ms: float = _LOOK_EVERY_MS
            if end_s is not None:
                pause_ms = max(0.0, min(pause_ms, (end_s - time.monotonic()) * 1e3))
            ready = self.pollOut.poll(pause_ms)
            if ready or (end_s is not None and time.monotonic() >= end_s):
                return ready
            self.look()
            if waiting and not self.waiting:
                return False

    def cleanup(self) -> None:
        """Closes the shell's terminal and the namespaces."""
        super().cleanup()
        for descriptor in self._namespaces.values():
            os.close(descriptor)
        self._namespaces = {}

    def _popen(self, cmd: Sequence[str], **params: Any) -> Any:
        """Starts a process of the node; its shell begins in new namespaces, or in those that the node has.

        Mininet would start it through `mnexec`, which makes the namespaces, and `env`: two programs more.
        """
        if not self._unanswered:
            return super()._popen(cmd, **params)
        variable, *shell = cmd[cmd.index("env") + 1 :]
        params |= {"close_fds": True, "start_new_session": True}
        return self.start_shell_program(shell, dict([variable.split("=", 1)]), params)

    def start_shell_program(
        self, shell: Sequence[str], environment: Mapping[str, str], options: Mapping[str, Any]
    ) -> Any:
        """Starts the program of the shell as `subprocess.Popen`, with variables added to its environment."""
        start = partial(super()._popen, shell, env={**os.environ, **environment}, **options)
        if self._renewing:
            return in_namespaces_of_files(self._namespaces.values(), start)
        return in_new_namespaces(start)

    def start_program(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Starts a program in the node's namespaces, beside the shell; see `subprocess.Popen`."""
        return start_in_namespaces(self.pid, argv, **options)

    def open_process(self, number: int) -> int:
        """Opens a process that the shell started, by its number there; ProcessLookupError if it has ended."""
        return os.pidfd_open(number)

    @property
    def terminal_name(self) -> str:
        """The name of the shell's terminal in the node."""
        return os.ttyname(self.slave)

    def _rests(self) -> bool:
        """Returns whether the shell waits for a line, and has run since it was last written to."""
        if self._place is None or waiting_place(self.shell.pid) != self._place:
            return False
        return switch_count(self.shell.pid) > self._written_switches

    def _rested(self, seconds: float) -> bool:
        """Returns whether the last looks, over so long a time, have found the shell waiting for a line."""
        return self._resting_s is not None and time.monotonic() > self._resting_s + seconds

    def _note_line(self) -> None:
        """Notes that a line is about to be sent: the shell must run before it waits for another one."""
        self._written_switches = switch_count(self.shell.pid)
        self._earlier_children = children(self.shell.pid)
        self._resting_s = self._stopped_s = None

    def _find_place(self) -> Waiting | None:
        """Returns the place where the shell waits for a line, which it does at once."""
        end_s = time.monotonic() + _CALIBRATION_S
        while time.monotonic() < end_s:
            place = waiting_place(self.shell.pid)
            if place and place.reads_terminal:
                return place
            time.sleep(_CALIBRATION_STEP_S)
        return None

    def _reset_terminal(self) -> None:
        """Restores the terminal's settings, which `stty raw` may have changed, and discards unread keys."""
        if self._terminal:
            termios.tcsetattr(self.slave, termios.TCSANOW, self._terminal)
            termios.tcflush(self.slave, termios.TCIFLUSH)

    def _give_up(self, reason: str) -> None:
        self.end_shell()
        self.waiting = False
        raise ShellEnded(self, reason)

    def _close_shell(self) -> None:
        self.shell.wait()
        self.outToNode.pop(self.stdout.fileno(), None)
        self.inToNode.pop(self.stdin.fileno(), None)
        self.stdin.close()
        os.close(self.slave)
        self.shell = None
        self.waiting = False
