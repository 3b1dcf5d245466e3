"""Shells of Mininet nodes that may end and are restarted in the node's own namespaces.

Mininet runs all commands of a node in one shell, and the node's namespaces last only as long as this shell.
Here open files keep them alive, too, so that the interfaces, addresses and mounts of a node survive its
shell.

The shell's prompt marks the end of a command. A command such as `exec 2>&-` may prevent the prompt from being
printed. In that case, the command counts as ended once the shell waits at the point in the kernel where it
waited for its first line. A shell that is stopped, or does not answer at that point, is killed. Every wait
for a host's shell has a limit, because programs on the host may stop, trace or replace the shell.

A shell ignores the hang-up of its terminal, and the programs that it starts inherit this. Programs in the
background outlive the shell and keep the terminal that it leaves.

Mininet waits for each shell before it starts the next; here the shells of a network start in parallel.
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
from emulation.prompt.shell_rest import ShellState
from emulation.prompt.status_question import StatusQuestion
from emulation.subprocesses import await_end, kill_family, start_in_namespaces
from topology.errors import PolarLabError

_POLL_INTERVAL_MS = 200
_SILENCE_S = 2.0  # a shell that waits for a line this long, instead of answering, is killed
_ANSWER_S = 10.0
_MAX_PENDING = 65_536  # characters; a background program may print forever
_NAMESPACES = ("net", "mnt")
_SENTINEL = chr(127)  # the prompt that Mininet sets in shells
_LOCAL_MODES = 3  # index in a terminal's attributes
_side_by_side: list[list[LastingNode]] = []  # the nodes of each active block of `shells_side_by_side`


@contextlib.contextmanager
def shells_side_by_side() -> Iterator[None]:
    """Starts, in parallel, the shells of all nodes created in the block; at its end all are ready."""
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
        reason: what happened, such as `has ended`.
    """

    def __init__(self, node: LastingNode, reason: str = "has ended") -> None:
        super().__init__(f"the shell of {node.name} {reason}")
        self.node, self.reason = node, reason


class LastingNode(Node):  # type: ignore[misc]
    """A node whose namespaces outlive its shell.

    Attributes:
        background_pid: the process last put into the background; None if there was none.
        new_background_pid: the process that the last command put into the background; None if it put none.
    """

    name: str
    shell: Any
    stdin: Any
    readbuf: str
    _namespaces: Mapping[str, int] = MappingProxyType({})  # kind -> descriptor
    _renewing = False
    _starting = False  # Mininet is starting the shell; nothing waits for its prompt yet
    background_pid: int | None = None
    new_background_pid: int | None = None
    _guarded = False
    _shell_state: ShellState
    _question: StatusQuestion
    _terminal: list[Any] | None = None

    def __init__(self, name: str, **params: Any) -> None:
        """Starts the node's shell; the arguments are those of Mininet's Node."""
        self._left_terminals = LeftTerminals()
        super().__init__(name, **params)

    def startShell(self, mnopts: str | None = None) -> None:
        """Starts the shell, in new namespaces or in the node's existing ones.

        Raises:
            ShellEnded: the shell ends or does not answer.
        """
        # Programs may print any bytes; Mininet's own decoder raises an error if they are not UTF-8.
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._starting = True
        try:
            super().startShell(mnopts)
        finally:
            self._starting = False
        self.pollOut = select.poll()  # Mininet's own is also ready when the shell can be written to
        self.pollOut.register(self.stdout, select.POLLIN)
        os.set_blocking(self.stdin.fileno(), False)
        self._guarded, self.background_pid, self._shell_state = False, None, ShellState(self.shell.pid)
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
        """Waits for the first prompt of a started shell, and sends it its settings."""
        self._await_prompt("has not started")
        self._terminal = termios.tcgetattr(self.slave)
        self._terminal[_LOCAL_MODES] &= ~termios.ECHO
        self._reset_terminal()
        self.sendCmd("unset HISTFILE; set +m; trap '' HUP")

    def finish_setup(self) -> None:
        """Waits until the shell has its settings; from then on its namespaces outlive it."""
        self._await_prompt("has not started")
        if not self._renewing:
            folder = f"/proc/{self.pid}/ns"
            self._namespaces = {kind: os.open(f"{folder}/{kind}", os.O_RDONLY) for kind in _NAMESPACES}

    def read(self, size: int = 1024) -> str:
        """Returns output of the shell or, while Mininet starts the shell, the prompt that Mininet expects.

        Raises:
            ShellEnded: the shell has ended.
        """
        if self._starting:
            return _SENTINEL
        if not self.readbuf:
            while not self.pollOut.poll(_POLL_INTERVAL_MS):
                self.check_idle()
            self.readbuf = self.decoder.decode(os.read(self.stdout.fileno(), size))
        text, self.readbuf = self.readbuf[:size], self.readbuf[size:]
        return text

    def write(self, data: str) -> None:
        """Writes to the shell's terminal; input is lost if it is not read and the buffer is full."""
        with contextlib.suppress(BlockingIOError):
            super().write(data)

    def cmd(self, *words: Any, **options: Any) -> Any:
        """Runs a command to its end, like Mininet's `cmd`; does nothing while Mininet starts the shell."""
        return None if self._starting else super().cmd(*words, **options)

    def guard_shell(self) -> None:
        """Makes the shell's prompt read-only, because it marks the end of each command.

        Raises:
            ShellEnded: the shell has ended.
        """
        self.check_shell()
        if not self._guarded:
            self._shell_state.find_place()
            self.sendCmd("readonly PS0 PS1 PS2 PROMPT_COMMAND")
            self._await_prompt("does not answer")
            self._guarded = True
        self._reset_terminal()

    @property
    def shell_ended(self) -> bool:
        """Whether the shell has ended and was not restarted."""
        if self.shell is None:
            return bool(self._namespaces)
        return self.shell.poll() is not None

    def check_shell(self) -> None:
        """Raises ShellEnded if the shell has ended."""
        if self.shell_ended:
            self.waiting = False
            raise ShellEnded(self)

    def renew_shell(self) -> bool:
        """Restarts the shell in the node's namespaces if it has ended; returns whether it had.

        Raises:
            ShellEnded: the shell cannot be started.
        """
        if not self.shell_ended:
            return False
        if self.shell:
            self._left_terminals.keep(self._close_shell())
        self.restart()
        return True

    def restart(self) -> None:
        """Starts a shell in the node's existing namespaces."""
        self._renewing = True
        try:
            self.startShell()
        finally:
            self._renewing = False

    def end_shell(self) -> None:
        """Kills the shell and the programs that it started, but keeps the node."""
        if self.shell:
            kill_family(self.shell)
            await_end(self.shell)

    def sendCmd(self, *words: Any, **options: Any) -> None:
        """Sends a command to the shell, like Mininet's `sendCmd`."""
        self._shell_state.note_line()
        super().sendCmd(*words, **options)

    def monitor(self, timeoutms: float | None = None, findPid: bool = True) -> str:  # noqa: N803
        """Returns output of the running command; `waiting` stays true until a prompt has been seen."""
        text = str(super().monitor(timeoutms, findPid))
        if not self.waiting:
            self._shell_state.note_prompt()
        return text

    @property
    def command_ended(self) -> bool:
        """Whether the command that was sent has ended: a prompt was seen, and the shell waits for a line.

        The prompt alone does not suffice, because a program may have printed it.
        """
        return not self.waiting and self._shell_state.is_ready()

    def check_idle(self) -> None:
        """Checks the shell after a while without output: a command may have ended without a prompt.

        Raises:
            ShellEnded: the shell has ended, or it was stopped and is now killed.
        """
        self.check_shell()
        if reason := self._shell_state.check_idle():
            self._give_up(reason)
        if self.waiting and self._shell_state.has_waited():
            self.waiting = False
            self._shell_state.note_prompt()

    def ask_status(self) -> None:
        """Asks the shell for the exit status of its last command; `read_status` returns the answer."""
        self._question = StatusQuestion(self.terminal_name, _SENTINEL)
        self._reset_terminal()
        self._shell_state.note_line()
        self.write(self._question.line)

    def read_status(self, *, ready: bool) -> int | None:
        """Returns the requested exit status; None until it is known.

        The answer comes when the command has really ended, even if a program printed the shell's prompt,
        which Mininet takes for the end of a command.

        Args:
            ready: whether there is output to read; otherwise there has been none for a while.

        Raises:
            ShellEnded: the shell has ended, or it does not answer and is now killed.
        """
        text = self.read() if ready else ""
        if not ready:
            self.check_idle()
        answer = self._question.answer(text)
        if not answer or not (answer.prompt_followed or self._shell_state.has_waited()):
            late = self._shell_state.place_known and self._question.is_old
            if late or self._shell_state.has_waited(_SILENCE_S):
                self._give_up("does not answer")
            return None
        pid = answer.background_pid
        self.new_background_pid = pid if pid != self.background_pid else None
        self.background_pid = pid
        return answer.status

    def pending_output(self) -> str:
        """Returns output since the end of the last command, such as the output of background programs."""
        text = self.readbuf
        self.readbuf = ""
        while len(text) < _MAX_PENDING and self.pollOut.poll(0):
            text += self.read()
        return str(text).replace(_SENTINEL, "")

    def waitReadable(self, timeoutms: float | None = None) -> Any:
        """Waits for output of the shell; returns whether there is some.

        Without a time limit, also returns when the running command has ended without a prompt.

        Raises:
            ShellEnded: the shell has ended.
        """
        if self.readbuf:
            return True
        end_s = None if timeoutms is None else time.monotonic() + timeoutms / 1e3
        waiting = self.waiting
        while True:
            pause_ms: float = _POLL_INTERVAL_MS
            if end_s is not None:
                pause_ms = max(0.0, min(pause_ms, (end_s - time.monotonic()) * 1e3))
            ready = self.pollOut.poll(pause_ms)
            if ready or (end_s is not None and time.monotonic() >= end_s):
                return ready
            self.check_idle()
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
        """Starts a program in the node; the shell itself starts in new namespaces, or in existing ones.

        Mininet would start it through `mnexec`, which creates the namespaces, and `env`: two more programs.
        """
        if not self._starting:
            return super()._popen(cmd, **params)
        variable, *shell = cmd[cmd.index("env") + 1 :]
        params |= {"close_fds": True, "start_new_session": True}
        # Newer versions of iproute2 colour what they print on a terminal; it may end in a file or on a page.
        environment = {"NO_COLOR": "1"} | dict([variable.split("=", 1)])
        return self.start_shell_program(shell, environment, params)

    def start_shell_program(
        self, shell: Sequence[str], environment: Mapping[str, str], options: Mapping[str, Any]
    ) -> Any:
        """Starts the shell's program like `subprocess.Popen`, with variables added to its environment."""
        start = partial(super()._popen, shell, env={**os.environ, **environment}, **options)
        if self._renewing:
            return in_namespaces_of_files(self._namespaces.values(), start)
        return in_new_namespaces(start)

    def start_program(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """Starts a program in the node's namespaces, alongside the shell; see `subprocess.Popen`."""
        return start_in_namespaces(self.pid, argv, **options)

    def open_process(self, number: int) -> int:
        """Returns a descriptor of a process, given the id that the shell sees.

        Raises:
            ProcessLookupError: the process has ended.
        """
        return os.pidfd_open(number)

    @property
    def terminal_name(self) -> str:
        """The name of the shell's terminal inside the node."""
        return os.ttyname(self.slave)

    def _await_prompt(self, reason: str) -> None:
        """Waits for a prompt; if none comes soon, kills the shell with a message such as `has not started`.

        Raises:
            ShellEnded: the shell has ended, or the prompt does not come.
        """
        self.waiting, end_s = True, time.monotonic() + _ANSWER_S
        while self.waiting:
            if not self.monitor(_POLL_INTERVAL_MS, findPid=False):
                self.check_idle()
            if time.monotonic() > end_s:
                self._give_up(reason)

    def _reset_terminal(self) -> None:
        """Restores the terminal's settings, which `stty raw` may have changed, and discards unread input."""
        if self._terminal:
            termios.tcsetattr(self.slave, termios.TCSANOW, self._terminal)
            termios.tcflush(self.slave, termios.TCIFLUSH)

    def _give_up(self, reason: str) -> None:
        self.end_shell()
        self.waiting = False
        raise ShellEnded(self, reason)

    def _close_shell(self) -> IO[str]:
        """Cleans up after a shell that has exited; returns the master side of its terminal, still open."""
        await_end(self.shell)
        self.outToNode.pop(self.stdout.fileno(), None)
        self.inToNode.pop(self.stdin.fileno(), None)
        os.close(self.slave)
        self.shell, self.waiting = None, False
        master: IO[str] = self.stdin
        return master
