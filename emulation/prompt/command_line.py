"""Mininet's command line on a fabric: no command can end the fabric, and each error is one line."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import select
import shlex
import sys
import termios
import threading
import time
from cmd import Cmd
from collections.abc import Callable, Iterator
from typing import IO, Any, Self

from mininet.cli import CLI
from mininet.log import lg, output

from emulation.node_shell import LastingNode, ShellEnded
from emulation.nodes import FabricHost
from topology.errors import PolarLabError, Status, Terminated, UsageError
from topology.parameters import hint
from topology.plugins import plugin_failure

_POLL_INTERVAL_MS = 200
_SHORT_POLL_INTERVAL_MS = 5  # between the prompt and the moment when the shell waits for a line
_SETTLE_S = 2.0  # time limit for an interrupted command to end
_MAX_BYTES = 4000  # limit of a line: a terminal passes on no more at once
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_COMMENT = re.compile(r"(^|\s)#.*")
_NODE = re.compile(r"h\d+_\d+|s\d+")
_TOLERATED = re.compile(r"\|\|\s*true\s*$")


class NodeCLI(CLI):  # type: ignore[misc]
    """Mininet's command line: lines, commands on nodes, and the terminal.

    Attributes:
        status: exit status of the last line; 0 if it did not fail.
        reason: error of that line, if it was not printed.
        terminal: the terminal from which running commands get their input; None if there is none.
        busy: lock that is held while a line runs.
        interruptible: whether Ctrl-C may currently interrupt the program.
    """

    prompt = "polarlab> "

    def __init__(self, network: Any, terminal: IO[str] | None = None) -> None:
        """Prepares the command line; `run_line` runs lines.

        Args:
            network: the fabric's running network.
            terminal: the terminal on which lines are typed; None if they come from elsewhere.
        """
        Cmd.__init__(self, stdin=terminal)  # Mininet's own opens the prompt
        self.mn, self.terminal = network, terminal
        self.locals, self.inputFile = {"net": network}, None
        self.status, self.reason = 0, ""
        self.busy: contextlib.AbstractContextManager[Any] = threading.RLock()
        self.interruptible = False
        self._errors = _ErrorCounter()

    def __enter__(self) -> Self:
        """Sends Mininet's messages to standard output, where a user expects results."""
        # A reader that closes the pipe early (`| head`) is not an error to report.
        logging.raiseExceptions = False
        for handler in lg.handlers:
            handler.setStream(sys.stdout)
        lg.addHandler(self._errors)
        return self

    def __exit__(self, *_error: object) -> None:
        lg.removeHandler(self._errors)

    # ---- lines ----

    def read_line(self) -> str:
        """Reads a line from the terminal.

        Raises:
            EOFError: the input has ended.
        """
        return input(self.prompt)

    def run_line(self, line: str) -> bool:
        """Runs a line as if it were typed, and sets `status`; returns whether it leaves the prompt."""
        self.status, self.reason, errors = 0, "", self._errors.count
        line, tolerated = self._without_tolerance(line)
        left = False
        with self.busy, self._terminal_restored():
            try:
                with self.interrupts():
                    left = self.onecmd(line)
            except KeyboardInterrupt:
                output("\n")
                self.fail_line(Status.INTERRUPTED)
                self._settle()
        if self._errors.count > errors:
            self.fail_line(1)
        if tolerated:
            self.status = 0
            if self.reason:
                _print_error(self.reason)
        return left

    def onecmd(self, line: str) -> bool:
        """Runs a line, or the command after a word such as `time`; returns whether it leaves the prompt."""
        try:
            if not self._names_node(line):
                line = _COMMENT.sub("", line)
            _check_line(line)
            return bool(super().onecmd(line))
        except ShellEnded as ended:
            with self.interrupts(allowed=False):
                self._renew_shell(ended)
        except PolarLabError as error:
            self.complain(str(error))
        except (KeyboardInterrupt, Terminated):
            raise
        except SystemExit:
            self.complain("a line cannot end the fabric; use `exit` to leave the prompt")
        except BaseException as error:  # a line may fail anywhere in Mininet; the fabric must survive it
            self.complain(str(plugin_failure(error) or f"{type(error).__name__}: {error}"))
        return False

    def fail_line(self, status: int) -> None:
        """Marks the running line as failed, with an exit status unless it already has one."""
        self.status = self.status or status

    def complain(self, text: str) -> None:
        """Reports an error of the running line, and marks the line as failed.

        On a terminal the error is printed at once. Otherwise the first error is kept as `reason`.
        """
        text = " ".join(text.split())
        if self.terminal or self.reason:
            _print_error(text)
        else:
            self.reason = text
        self.fail_line(1)

    def shell_renewed(self, node: LastingNode, reason: str = "has ended") -> None:
        """Reports that the shell of a node ended during a line and was restarted."""
        self.complain(f"the shell of {node.name} {reason} and was restarted")

    def _renew_shell(self, ended: ShellEnded) -> None:
        """Restarts a shell that has ended, unless it could not be started when it was last used."""
        try:
            if ended.node.renew_shell():
                self.shell_renewed(ended.node, ended.reason)
            else:
                self.complain(str(ended))
        except PolarLabError as error:
            self.complain(str(error))

    def program_started(self, node: LastingNode, command: str, pid: int) -> None:
        """Called when a line starts a program in the background of a node; does nothing here."""

    def completenames(self, text: str, *_ignored: Any) -> list[str]:
        """Returns the completions of a line's first word: commands and nodes."""
        return [*super().completenames(text), *self.completedefault(text)]

    def completedefault(self, text: str, *_ignored: Any) -> list[str]:
        """Returns the completions of a word after the first: names of nodes."""
        return [name for name in self.mn if name.startswith(text)]

    # ---- commands on nodes ----

    def default(self, line: str) -> None:
        """Runs a command on the node that the first word of a line names.

        Raises:
            ShellEnded: the shell of the node has ended.
            UsageError: the first word is neither a command nor a node.
        """
        name, _, command = line.strip().partition(" ")
        if name not in self.mn:
            raise UsageError(self._unknown(name))
        if not command.strip():
            raise UsageError(f"{name} needs a command after its name, such as `{name} ip address`")
        node: LastingNode = self.mn[name]
        if node.waiting:  # Mininet was interrupted in one of its own commands
            self._settle()
        node.guard_shell()
        output(node.pending_output())
        # The command is quoted: if it is incomplete, the shell reports an error instead of waiting for more.
        quoted = shlex.quote(self._with_addresses(command))
        # `\\builtin` bypasses functions and aliases with this name.
        node.sendCmd(f"\\builtin eval {quoted}" + ("" if self.terminal else " </dev/null"))
        self.waitForNode(node)
        node.ask_status()
        status = self._pump(node, lambda ready: node.read_status(ready=ready), None)
        self.fail_line(status)
        if node.new_background_pid is not None:
            self.program_started(node, command.strip(), node.new_background_pid)

    def waitForNode(self, node: LastingNode) -> None:
        """Prints the output of a node's command until its end.

        Raises:
            ShellEnded: the command ended the node's shell, stopped it or prevents it from answering.
        """

        def show(ready: bool) -> int | None:
            if ready:
                output(node.monitor(findPid=False))
            else:
                node.check_idle()
            return 0 if node.command_ended else None

        if node.waiting:
            self._pump(node, show, self.terminal)

    def _pump(self, node: LastingNode, step: Callable[[bool], int | None], typed: IO[str] | None) -> int:
        """Passes typed input on to a node until `step` returns a number, and returns that number.

        The first Ctrl-C interrupts the node's command, the second one kills its shell.

        Args:
            node: the node.
            step: called with True when the node has output, and with False after a while without output.
            typed: the terminal; None to pass no input on.
        """
        poller = select.poll()
        poller.register(node.stdout, select.POLLIN)
        keys = typed.fileno() if typed else None
        if keys is not None:
            poller.register(keys, select.POLLIN)
        interrupted = False
        with self._key_by_key():
            while True:
                try:
                    pause_ms = _POLL_INTERVAL_MS if node.waiting else _SHORT_POLL_INTERVAL_MS
                    ready = {descriptor for descriptor, _ in poller.poll(pause_ms)}
                    if keys is not None and keys in ready:
                        node.write(os.read(keys, 1024).decode(errors="replace"))
                    if not ready or node.stdout.fileno() in ready:
                        number = step(bool(ready))
                        if number is not None:
                            return number
                except KeyboardInterrupt:
                    with self.interrupts(allowed=False):
                        if interrupted:
                            node.end_shell()
                        else:
                            node.sendInt()
                        interrupted = True

    def _unknown(self, name: str) -> str:
        """Returns the error of a line whose first word is neither a command nor a node."""
        nodes = [*map(str, self.mn.hosts), *map(str, self.mn.switches)]
        if _NODE.fullmatch(name) and nodes:
            kinds = [kind for kind in (self.mn.hosts, self.mn.switches) if kind]
            ranges = " or ".join(f"{kind[0]} to {kind[-1]}" for kind in kinds)
            return f"node must be {ranges}, got {name!r}"
        commands = [name[3:] for name in self.get_names() if name.startswith("do_")]
        nearest = hint(name, [*commands, *nodes])
        return f"unknown command: {name}{nearest}; `help` lists the commands, `nodes` the nodes"

    def _settle(self) -> None:
        """Interrupts the commands that nodes still run; restarts shells that do not answer."""
        for node in self.mn.values():
            if node.waiting:
                node.sendInt()
                end_s = time.monotonic() + _SETTLE_S
                with contextlib.suppress(ShellEnded):
                    while node.waiting and time.monotonic() < end_s:
                        node.monitor(_POLL_INTERVAL_MS, findPid=False)
                    if node.waiting:
                        node.end_shell()
                if node.shell_ended:
                    self._renew_shell(ShellEnded(node))

    def _with_addresses(self, command: str) -> str:
        """Returns a command with the names of hosts replaced by their addresses; switches have none."""
        return re.sub(r"(?<!\S)h\d+_\d+(?!\S)", self._address, command)

    def _address(self, name: re.Match[str]) -> str:
        known = name[0] in self.mn and isinstance(self.mn[name[0]], FabricHost)
        return str(self.mn[name[0]].IP()) if known else name[0]

    def _names_node(self, line: str) -> bool:
        return line.strip().partition(" ")[0] in self.mn

    def _without_tolerance(self, line: str) -> tuple[str, bool]:
        """Removes a final `|| true`, which makes the prompt ignore errors; returns (line, whether removed).

        A command on a node is returned unchanged, because its shell interprets the `|| true`.
        """
        if self._names_node(line):
            return line, False
        stripped, count = _TOLERATED.subn("", line)
        return stripped, bool(count)

    # ---- the terminal ----

    @contextlib.contextmanager
    def interrupts(self, *, allowed: bool = True) -> Iterator[None]:
        """Sets whether Ctrl-C may interrupt the block."""
        before, self.interruptible = self.interruptible, allowed
        try:
            yield
        finally:
            self.interruptible = before

    def isatty(self) -> bool:
        """Returns whether lines are typed on a terminal."""
        return self.terminal is not None

    @contextlib.contextmanager
    def _terminal_restored(self) -> Iterator[None]:
        """Restores the terminal and standard input after a line."""
        before = termios.tcgetattr(self.terminal) if self.terminal else None
        try:
            yield
        finally:
            if sys.stdin is None or sys.stdin.closed:  # Python's exit() closes it
                sys.stdin = open(0, closefd=False)  # noqa: SIM115  # stays open as long as the program runs
            if before and self.terminal:
                if self.terminal.closed:
                    self.terminal = self.stdin = sys.stdin
                termios.tcsetattr(self.terminal, termios.TCSADRAIN, before)

    @contextlib.contextmanager
    def _key_by_key(self) -> Iterator[None]:
        """Makes the terminal pass on single keys instead of whole lines; Ctrl-C remains a signal."""
        if self.terminal is None:
            yield
            return
        before = termios.tcgetattr(self.terminal)
        attributes = termios.tcgetattr(self.terminal)
        attributes[3] &= ~termios.ICANON
        termios.tcsetattr(self.terminal, termios.TCSADRAIN, attributes)
        try:
            yield
        finally:
            termios.tcsetattr(self.terminal, termios.TCSADRAIN, before)


class _ErrorCounter(logging.Handler):
    """Counts the errors that Mininet logs."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.count = 0

    def emit(self, _record: logging.LogRecord) -> None:
        self.count += 1


def _print_error(text: str) -> None:
    sys.stdout.flush()
    print(f"*** {text}", file=sys.stderr, flush=True)


def _check_line(line: str) -> None:
    """Raises UsageError unless a shell's terminal passes the line on unchanged."""
    control = _CONTROL_CHARACTERS.search(line)
    if control:
        raise UsageError(f"a line must not contain control characters, got {control[0]!r}")
    if len(line.encode(errors="replace")) > _MAX_BYTES:
        raise UsageError(f"a line must be at most {_MAX_BYTES} bytes, got {len(line.encode())}")
