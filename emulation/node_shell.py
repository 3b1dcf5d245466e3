"""Shells of Mininet nodes: a shell may end, and is started again in the node's own namespaces.

Mininet runs all commands of a node in one shell, whose process alone keeps the node's namespaces alive. Here
open files keep them as well, so that the interfaces, addresses and mounts of a node survive its shell.

The end of a command is recognised by the shell's prompt. A command may keep the prompt from being printed, as
`exec 2>&-` does; then it has ended when the shell waits in the kernel at the very place where it waited for
the first line. A shell that is stopped, or that does not answer there, is ended. Nothing waits without limit
for a shell of a host, whose programs may stop, trace or replace it.

A shell ignores the hang-up of its terminal, and so do the programs that it starts: those in the background
outlive it, on the terminal that it leaves.

Mininet waits for each shell before it starts the next; the shells of a network start side by side here.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import IO, Any

from emulation.kernel.namespaces import in_namespaces_of_files, in_new_namespaces
from emulation.mininet_library import Node
from emulation.prompt.left_terminals import LeftTerminals
from emulation.prompt.shell_rest import ShellRest
from emulation.prompt.status_question import StatusQuestion
from emulation.subprocesses import await_end, kill_family, start_in_namespaces
from topology.errors import PolarLabError

_LOOK_EVERY_MS = 200
_SILENCE_S = 2.0  # of a shell that waits for a line instead of answering
_ANSWER_S = 10.0
_MOST_PENDING = 65_536  # characters; a program in the background may print without end
_NAMESPACES = ("net", "mnt")
_SENTINEL = chr(127)  # the prompt that Mininet gives shells
_LOCAL_MODES = 3  # place among the attributes of a terminal
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
    stdin: Any
    readbuf: str
    _namespaces: Mapping[str, int] = MappingProxyType({})  # kind -> open file
    _renewing = False
    _unanswered = False  # the shell is being started, and its prompt not waited for
    background_pid: int | None = None
    new_background_pid: int | None = None
    _guarded = False
    _rest: ShellRest
    _question: StatusQuestion
    _terminal: list[Any] | None = None

    def __init__(self, name: str, **params: Any) -> None:
        """Starts the node's shell; see Mininet's Node."""
        self._left_terminals = LeftTerminals()
        super().__init__(name, **params)

    def startShell(self, mnopts: str | None = None) -> None:
        """Starts the shell, in new namespaces or in those that the node has.

        Raises:
            ShellEnded: it ends, or does not answer.
        """
        # Programs may print anything; Mininet's own decoder raises an error at what is not text.
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._unanswered = True
        try:
            super().startShell(mnopts)
        finally:
            self._unanswered = False
        self.pollOut = select.poll()  # Mininet's own is ready as soon as the shell can be written to
        self.pollOut.register(self.stdout, select.POLLIN)
        os.set_blocking(self.stdin.fileno(), False)
        self._guarded, self.background_pid, self._rest = False, None, ShellRest(self.shell.pid)
        if _side_by_side and not self._renewing:
            _side_by_side[-1].append(self)
            return
        try:
            self.begin_setup()
            self.finish_setup()
        except BaseException:  # Ctrl-C
            self.end_shell()
            self._close_shell().close()
            raise

    def begin_setup(self) -> None:
        """Waits for the first prompt of a shell that was started, and sends it its settings."""
        self._await_prompt("has not started")
        self._terminal = termios.tcgetattr(self.slave)
        self._terminal[_LOCAL_MODES] &= ~termios.ECHO
        self._reset_terminal()
        self.sendCmd("unset HISTFILE; set +m; trap '' HUP")

    def finish_setup(self) -> None:
        """Waits until the shell has its settings; its namespaces are there, and last from now on."""
        self._await_prompt("has not started")
        if not self._renewing:
            folder = f"/proc/{self.pid}/ns"
            self._namespaces = {kind: os.open(f"{folder}/{kind}", os.O_RDONLY) for kind in _NAMESPACES}

    def read(self, size: int = 1024) -> str:
        """Returns output of the shell; while Mininet starts one, the prompt for which it would wait.

        Raises:
            ShellEnded: the shell has ended.
        """
        if self._unanswered:
            return _SENTINEL
        if not self.readbuf:
            while not self.pollOut.poll(_LOOK_EVERY_MS):
                self.look()
            self.readbuf = self.decoder.decode(os.read(self.stdout.fileno(), size))
        text, self.readbuf = self.readbuf[:size], self.readbuf[size:]
        return text

    def write(self, data: str) -> None:
        """Writes to the shell's terminal; what does not fit, as nobody reads there, is lost."""
        with contextlib.suppress(BlockingIOError):
            super().write(data)

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
            self._rest.find_place()
            self.sendCmd("readonly PS0 PS1 PS2 PROMPT_COMMAND")
            self._await_prompt("does not answer")
            self._guarded = True
        self._reset_terminal()

    @property
    def shell_ended(self) -> bool:
        """Whether the shell has ended and was not started again."""
        if self.shell is None:
            return bool(self._namespaces)
        return self.shell.poll() is not None

    def check_shell(self) -> None:
        """Raises ShellEnded if the shell has ended."""
        if self.shell_ended:
            self.waiting = False
            raise ShellEnded(self)

    def renew_shell(self) -> bool:
        """Starts the shell again, in the node's namespaces, if it has ended; returns whether it had.

        Raises:
            ShellEnded: it cannot be started.
        """
        if not self.shell_ended:
            return False
        if self.shell:
            self._left_terminals.keep(self._close_shell())
        self.start_again()
        return True

    def start_again(self) -> None:
        """Starts a shell in the namespaces that the node has."""
        self._renewing = True
        try:
            self.startShell()
        finally:
            self._renewing = False

    def end_shell(self) -> None:
        """Kills the shell and the programs that it started; its node stays."""
        if self.shell:
            kill_family(self.shell)
            await_end(self.shell)

    def sendCmd(self, *words: Any, **options: Any) -> None:
        """Sends a command to the shell, as Mininet's."""
        self._rest.note_line()
        super().sendCmd(*words, **options)

    def monitor(self, timeoutms: float | None = None, findPid: bool = True) -> str:  # noqa: N803  # Mininet's
        """Returns output of the command that runs; `waiting` is then whether no prompt was seen."""
        text = str(super().monitor(timeoutms, findPid))
        if not self.waiting:
            self._rest.note_prompt()
        return text

    @property
    def command_ended(self) -> bool:
        """Whether the command that was sent has ended: a prompt was seen, and the shell waits for a line.

        A program may have printed the prompt.
        """
        return not self.waiting and self._rest.is_ready()

    def look(self) -> None:
        """Takes note that no output has come for a while; a command may have ended without a prompt.

        Raises:
            ShellEnded: the shell has ended, or it was stopped and is ended.
        """
        self.check_shell()
        if reason := self._rest.look():
            self._give_up(reason)
        if self.waiting and self._rest.rested():
            self.waiting = False
            self._rest.note_prompt()

    def ask_status(self) -> None:
        """Asks the shell for the exit status of its last command; `read_status` has the answer."""
        self._question = StatusQuestion(self.terminal_name, _SENTINEL)
        self._reset_terminal()
        self._rest.note_line()
        self.write(self._question.line)

    def read_status(self, *, ready: bool) -> int | None:
        """Returns the exit status that was asked for; None while it is not known.

        A program may have printed the shell's prompt, by which Mininet recognises the end of a command: the
        answer comes when the command has really ended.

        Args:
            ready: whether output waits; otherwise none has come for a while.

        Raises:
            ShellEnded: the shell has ended, or it does not answer and is ended.
        """
        text = self.read() if ready else ""
        if not ready:
            self.look()
        answer = self._question.answer(text)
        if not answer or not (answer.prompt_followed or self._rest.rested()):
            late = self._rest.place_known and self._question.is_old
            if late or self._rest.rested(_SILENCE_S):
                self._give_up("does not answer")
            return None
        pid = answer.background_pid
        self.new_background_pid = pid if pid != self.background_pid else None
        self.background_pid = pid
        return answer.status

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
        """Kills the shell and the programs that it started, and closes the terminals and the namespaces."""
        if self.shell:
            self.end_shell()
            self._close_shell().close()
        self._left_terminals.close()
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

    def _await_prompt(self, reason: str) -> None:
        """Waits for a prompt that comes at once; `reason` is what has happened to the shell if it does not.

        Raises:
            ShellEnded: the shell has ended, or the prompt does not come and it is ended.
        """
        self.waiting, end_s = True, time.monotonic() + _ANSWER_S
        while self.waiting:
            if not self.monitor(_LOOK_EVERY_MS, findPid=False):
                self.look()
            if time.monotonic() > end_s:
                self._give_up(reason)

    def _reset_terminal(self) -> None:
        """Restores the terminal's settings, which `stty raw` may have changed, and discards unread keys."""
        if self._terminal:
            termios.tcsetattr(self.slave, termios.TCSANOW, self._terminal)
            termios.tcflush(self.slave, termios.TCIFLUSH)

    def _give_up(self, reason: str) -> None:
        self.end_shell()
        self.waiting = False
        raise ShellEnded(self, reason)

    def _close_shell(self) -> IO[str]:
        """Lets go of a shell that has ended, and returns the master end of its terminal."""
        await_end(self.shell)
        self.outToNode.pop(self.stdout.fileno(), None)
        self.inToNode.pop(self.stdin.fileno(), None)
        os.close(self.slave)
        self.shell, self.waiting = None, False
        master: IO[str] = self.stdin
        return master
