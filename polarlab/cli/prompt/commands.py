"""The prompt: Mininet's commands and the verbs of a session."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any

from polarlab import UsageError
from polarlab.api.command_line.events import Notice
from polarlab.api.command_line.session import (
    FabricCLI,
    FabricSession,
    LastingNode,
    SessionRecorder,
    SessionVerbs,
    commands_of,
    private_input,
    run_lines,
    run_stream,
    type_lines,
)
from polarlab.cli.console import print_table
from polarlab.cli.prompt.announcer import Announcer
from polarlab.web.address import Web

_OTHERS = ("web", "iperf", "switch", "link", "exit")  # common commands that are not session verbs
_SWITCH_ACTIONS = ("start", "stop")
_HELP = """
A line that begins with the name of a node runs there; names of hosts become addresses:
  h1_1 ping -c 3 h5_1
  s5 tcpdump -ni s5-eth3
`help COMMAND` describes a command. Commands of PolarLab, and the common ones of Mininet:
"""


class SessionPrompt(FabricCLI):
    """The prompt of a session."""

    def __init__(
        self,
        session: FabricSession,
        announcer: Announcer,
        terminal: IO[str] | None = None,
        recorder: SessionRecorder | None = None,
        web: Callable[[Web], str] | None = None,
    ) -> None:
        """Prepares the prompt.

        Args:
            session: the session.
            announcer: prints its events.
            terminal: the terminal on which lines are typed; None for lines from elsewhere.
            recorder: records the lines that ran; None for no record.
            web: starts the live page and returns its address; None if there cannot be one.
        """
        super().__init__(session.fabric.network, terminal)
        self._session, self._announcer, self._recorder = session, announcer, recorder
        self._verbs, self._web = SessionVerbs(session), web
        self._commands = commands_of(SessionVerbs)
        self.busy = session.busy

    def read_line(self) -> str:
        """Reads a line from the terminal.

        Raises:
            EOFError: the input has ended.
        """
        with self._announcer.typing():
            return super().read_line()

    def run_line(self, line: str) -> bool:
        """Runs a line as if typed, and sets `status`; returns whether it leaves the prompt."""
        if self._recorder is None or not line.strip():
            return super().run_line(line)
        with self._recorder.line(line.strip(), self._session.active_failures) as statuses:
            left = super().run_line(line)
            statuses.append(self.status)
        return left

    def default(self, line: str) -> None:
        """Runs a command on the node that the first word of a line names.

        Raises:
            ShellEnded: the shell of the node has ended.
            UsageError: the first word is neither a command nor a node, or the line is invalid for the
                command.
        """
        name, *words = line.split()
        switches = {switch.name for switch in self.mn.switches}
        if name in switches and words in (["start"], ["stop"]):
            action = words[0]
            raise UsageError(f"{name} needs a program, got {action}; try `switch {name} {action}`")
        if words[:1] == ["ping"] and words[-1] in switches:
            raise UsageError(
                f"a switch has no address, got {words[-1]}; `path` names the switches on the way"
            )
        super().default(line)

    def program_started(self, node: LastingNode, command: str, pid: int) -> None:
        """Makes the session announce the end of a background program that a user has just started."""
        self._session.watch_program(node.name, command, pid)

    def getLocals(self) -> dict[str, Any]:  # noqa: N802  # Mininet's name
        """Returns the names that `py` and `px` know: nodes, `net` and `session`."""
        names: dict[str, Any] = {**super().getLocals(), "session": self._session}
        return names

    # ---- verbs ----

    def __getattr__(self, name: str) -> Callable[[str], None]:
        """Returns the function for a verb's command; Python's `cmd` asks for it by a name like `do_fail`."""
        command = name.removeprefix("do_")
        if command == name or command not in self._commands:
            raise AttributeError(name)
        return functools.partial(self._do, command)

    def get_names(self) -> list[str]:
        """Returns the names of all commands, for completion."""
        return [*super().get_names(), *(f"do_{name}" for name in self._commands)]

    def _do(self, command: str, line: str) -> None:
        """Runs a verb of the session and prints its result.

        Args:
            command: the command, such as `fail`.
            line: the rest of the line.
        """
        for shown in self._commands[command].run(self._verbs, line):
            if isinstance(shown, str):
                print(shown)
            else:
                print_table(shown, tuple(shown[0]))

    # ---- other commands ----

    def do_switch(self, line: str) -> None:
        """Stops a switch's program, or starts it if it has stopped: switch SWITCH stop|start.

        `fail` lists a stopped switch as hang:SWITCH, and `restore all` starts it.
        """
        name, _, action = line.strip().partition(" ")
        if name not in {switch.name for switch in self.mn.switches} or action.strip() not in _SWITCH_ACTIONS:
            raise UsageError(f"switch needs the name of a switch and stop or start, got {line.strip()!r}")
        if action.strip() == "stop":
            self._session.stop_switch(name)
            print(f"{name} stopped; `switch {name} start` starts it again")
        elif self._session.start_switch(name):
            print(f"{name} started; it has no rules until the controller installs them")
        else:
            print(f"{name} is already running")

    def do_link(self, line: str) -> None:
        """Pulls a link's cable or plugs it in: link NODE NODE down|up.

        It is the same as `fail link:s3-s8` and `restore link:s3-s8`, or link:s3-h3_1 of a host.
        """
        words = line.split()
        if len(words) != 3 or words[2] not in ("up", "down"):
            raise UsageError(f"link needs two nodes and down or up, got {line.strip()!r}")
        *ends, state = words
        unknown = [end for end in ends if end not in self.mn]
        if unknown:
            raise UsageError(f"link needs two nodes, got {unknown[0]!r}; `nodes` lists them")
        switches = {switch.name for switch in self.mn.switches}
        if not {*ends} <= switches and not self.mn.linksBetween(*map(self.mn.get, ends)):
            raise UsageError(f"{' and '.join(ends)} are not linked; `links` lists all links")
        component = f"link:{'-'.join(ends)}"
        self._do("fail" if state == "down" else "restore", component)

    def do_web(self, line: str) -> None:
        """Starts the live page, or restarts its process if that has ended: web [[HOST:]PORT].

        Prints the page's address, by default 127.0.0.1:8642; an existing page keeps its address.
        """
        if self._web is None:
            raise UsageError("only `polarlab up` has a live page")
        print(self._web(line.strip() or True))

    # ---- help ----

    def do_help(self, line: str) -> None:
        """Lists the commands; `help COMMAND` describes one."""
        if command := self._commands.get(line.strip()):
            print(command.help())
            return
        if line.strip():
            super().do_help(line)
            return
        print(_HELP)
        for name in (*self._commands, *_OTHERS):
            first, *others = self._summaries(name)
            print(f"  {name:<11}{first}", *(f"{'':<13}{other}" for other in others), sep="\n")
        own = {*self._commands, *_OTHERS, "EOF"}
        others = sorted({name[3:] for name in dir(self) if name.startswith("do_")} - own)
        print("\nOther commands of Mininet: " + ", ".join(others))

    def _summaries(self, name: str) -> list[str]:
        """Returns lines that summarize a command: one line per verb, or else the first line of its help."""
        if command := self._commands.get(name):
            return command.help().partition("\n\n")[0].splitlines()
        return inspect.cleandoc(getattr(self, f"do_{name}").__doc__ or "").splitlines()[:1]

    def do_exit(self, line: str) -> bool:
        """Leaves the prompt and takes the fabric down."""
        if line.strip():
            raise UsageError(f"exit takes no arguments, got {line.strip()!r}")
        return True


def serve(
    session: FabricSession,
    announcer: Announcer,
    lines: Sequence[str] | None,
    recorder: SessionRecorder | None = None,
    web: Callable[[Web], str] | None = None,
) -> bool:
    """Runs the given lines until one fails; without given lines, runs the lines that users type or pipe.

    Args:
        session: the session.
        announcer: prints events.
        lines: lines to run; None for standard input.
        recorder: records the lines that ran; None for no record.
        web: starts the live page and returns its address; None if there cannot be one.

    Returns:
        Whether a line failed, other than lines typed at a terminal.
    """
    failed = False
    if lines:
        failure = run_lines(SessionPrompt(session, announcer, recorder=recorder, web=web), lines)
        if failure:
            announcer(Notice("command-failed", **failure._asdict()))
            failed = True
    elif sys.stdin.isatty() and sys.stdout.isatty():
        announcer(Notice("prompt-opened"))
        type_lines(SessionPrompt(session, announcer, sys.stdin, recorder, web))
    else:
        prompt = SessionPrompt(session, announcer, recorder=recorder, web=web)

        def begins(line: str) -> None:
            announcer(Notice("line-begins", line=line))

        with private_input() as stream:
            for failure in run_stream(prompt, stream, begins):
                announcer(Notice("command-failed", **failure._asdict()))
                failed = True
    return failed
