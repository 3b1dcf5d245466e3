"""The prompt's commands: those of Mininet, and the verbs of a session."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any

from polarlab import UsageError
from polarlab.api.command_line.declarations import DEFAULT_LOAD, DEFAULT_PATTERN
from polarlab.api.command_line.session import (
    FORCE,
    Element,
    FabricCLI,
    FabricSession,
    LastingNode,
    SessionRecorder,
    parse_assignments,
)
from polarlab.cli.console import print_table
from polarlab.cli.prompt import text
from polarlab.cli.prompt.announcer import Announcer
from polarlab.web.address import Web

_OWN = (
    "fail",
    "restore",
    "hang",
    "drain",
    "undrain",
    "controller",
    "drops",
    "loads",
    "path",
    "routing",
    "traffic",
    "web",
    "iperf",
    "switch",
    "link",
    "exit",
)
_SWITCH_ACTIONS = ("start", "stop")
_HELP = """
A line that begins with the name of a node runs there, with addresses for the names of hosts:
  h1_1 ping -c 3 h5_1
  s5 tcpdump -ni s5-eth3
`help COMMAND` describes a command. Commands of PolarLab, and most used ones of Mininet:
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
            announcer: what prints its events.
            terminal: the terminal on which lines are typed; None if they come from elsewhere.
            recorder: what keeps the lines that ran; None if nothing does.
            web: starts the live page at an address, and returns that; None if there cannot be one.
        """
        super().__init__(session.fabric.network, terminal)
        self._session, self._announcer, self._recorder = session, announcer, recorder
        self._web = web
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
        with self._recorder.line(line.strip(), self._session.standing_failures) as statuses:
            left = super().run_line(line)
            statuses.append(self.status)
        return left

    def default(self, line: str) -> None:
        """Runs a command on the node that the first word of a line names.

        Raises:
            ShellEnded: the shell of the node has ended.
            UsageError: the first word is neither a command nor a node, or the command needs another line.
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
        """Has the end of a program in the background told."""
        self._session.watch_program(node.name, command, pid)

    def getLocals(self) -> dict[str, Any]:  # noqa: N802  # Mininet's name
        """Returns the names that `py` and `px` know: nodes, `net` and `session`."""
        names: dict[str, Any] = {**super().getLocals(), "session": self._session}
        return names

    # ---- failures ----

    def do_fail(self, line: str) -> None:
        """Makes elements fail: fail ELEMENT[,ELEMENT...].

        Elements are named as in fault schedules: link:s3-s8 (a cable is pulled), switch:s4 (a switch loses
        power), hang:s4 (its program dies, its links stay up), random:2 (two links), controller; the link of
        a host is link:s3-h3_1.
        `fail` alone lists what has failed or is drained, and interfaces that a command of a node has set
        down.
        """
        if not line.strip():
            standing, down = self._session.standing_failures(), self._session.interfaces_down()
            drained = self._session.drained()
            if standing or not (down or drained):
                print(text.element_line("failed", standing, "nothing has failed"))
            if drained:
                print(text.element_line("drained", drained, ""))
            for interface in down:
                node = interface.partition("-")[0]
                print(f"{interface} is down; `{node} ip link set {interface} up` sets it up")
        else:
            before = self._session.standing_failures()
            self._tell_changes("failed", self._session.fail(_joined(line)), before)

    def do_restore(self, line: str) -> None:
        """Restores elements that have failed: restore ELEMENT[,ELEMENT...] | all.

        `restore all` also starts the controller and switches that were stopped or ended by themselves.
        """
        if not line.strip():
            raise UsageError("restore needs an element, as link:s3-s8, or all")
        before = self._session.standing_failures()
        restored = self._session.restore(_joined(line))
        if line.strip() == "all":
            print(text.element_line("restored", restored, "nothing to restore"))
        else:
            self._tell_changes("restored", restored, before)

    def do_hang(self, line: str) -> None:
        """Kills a switch's program while its links stay up: hang SWITCH; `restore hang:SWITCH` ends it."""
        before = self._session.standing_failures()
        self._tell_changes("failed", [self._session.hang(line.strip())], before)

    def do_drain(self, line: str) -> None:
        """Leads traffic around switches or links, without loss: drain ELEMENT[,ELEMENT...] [--force].

        Elements are s3 or link:s3-s8. A drained switch carries traffic of its own hosts only, and can be
        switched off and on again; `undrain` has all traffic use it again. A drain that would cut others off
        needs --force. `drain` alone lists what is drained.
        """
        words = line.replace(",", " ").split()
        names = [word for word in words if word != FORCE]
        if not names:
            print(text.element_line("drained", self._session.drained(), "nothing is drained"))
            return
        outcome = self._session.drain(",".join(names), force=FORCE in words)
        for part in outcome.cut_off:
            print(f"nothing but drained elements connects {', '.join(part)}")
        print(outcome)

    def do_undrain(self, line: str) -> None:
        """Has traffic use drained switches or links again: undrain ELEMENT[,ELEMENT...] | all."""
        if not line.strip():
            raise UsageError("undrain needs an element, as s3, or all")
        print(self._session.undrain(_joined(line)))

    def _tell_changes(self, verb: str, elements: Iterable[Element], before: Sequence[Element]) -> None:
        """Prints the elements that a verb was given: those it has changed, and those that were so before."""
        after = self._session.standing_failures()
        changed: list[Element] = []
        unchanged: list[Element] = []
        for element in elements:
            changes = text.parts_of(element, before) != text.parts_of(element, after)
            (changed if changes else unchanged).append(element)
        if changed:
            print(text.element_line(verb, changed, ""))
        for element in unchanged:
            print(f"{element.name} {'has failed already' if verb == 'failed' else 'has not failed'}")

    def do_switch(self, line: str) -> None:
        """Stops a switch's program, or starts one that does not run: switch SWITCH stop|start.

        A switch that was stopped is listed by `fail` as hang:SWITCH, and `restore all` starts it.
        """
        name, _, action = line.strip().partition(" ")
        if name not in {switch.name for switch in self.mn.switches} or action.strip() not in _SWITCH_ACTIONS:
            raise UsageError(f"switch needs the name of a switch and stop or start, got {line.strip()!r}")
        if action.strip() == "stop":
            self._session.stop_switch(name)
            print(f"{name} is stopped; `switch {name} start` starts it")
        elif self._session.start_switch(name):
            print(f"{name} runs, without rules until the controller has installed them")
        else:
            print(f"{name} runs already")

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
            raise UsageError(f"no link is between {' and '.join(ends)}; `links` lists them")
        element = f"link:{'-'.join(ends)}"
        self.do_fail(element) if state == "down" else self.do_restore(element)

    def do_controller(self, line: str) -> None:
        """Kills, starts or describes the controller: controller kill | start | restart | status."""
        action = line.strip() or "status"
        if action not in ("kill", "start", "restart", "status"):
            raise UsageError(f"controller needs kill, start, restart or status, got {action!r}")
        if action in ("kill", "restart"):
            self._session.kill_controller()
        if action in ("start", "restart"):
            print(f"the controller was in charge after {self._session.start_controller():.1f} s")
        print(text.controller_line(self._session.controller_status()))

    # ---- measurements ----

    def do_drops(self, _line: str) -> None:
        """Prints the packets that were dropped since the fabric came up, by port and by host.

        `queue` are packets that found a port's queue full, `lost` those that --link-loss took. Packets that
        hosts may not send (with an address of another host, for example) are dropped at their switch's port.
        """
        drops = self._session.drops()
        rows: list[dict[str, object]] = [
            {"link": port.link, "port": port.port, "queue": port.queue_packets, "lost": port.lost_packets}
            for port in drops.ports
        ]
        if rows:
            print_table(rows, ("link", "port", "queue", "lost"))
        for host, packets in drops.ingress.items():
            print(f"{packets} packets of {host} that it may not send were dropped at its switch's port")
        if not rows and not drops.ingress:
            print("nothing was dropped")
        self._tell_missing_ports()

    def do_loads(self, line: str) -> None:
        """Measures the loads of links, each direction by itself: loads [SECONDS].

        Prints the 16 highest loads of the next second (or SECONDS), as fractions of the links' rate.
        """
        rows = text.load_rows(self._session.loads(_number("seconds", line.strip() or "1")))
        if rows:
            print_table(rows, tuple(rows[0]))
        else:
            print("no link carried anything")
        self._tell_missing_ports()

    def _tell_missing_ports(self) -> None:
        for link in self._session.missing_ports():
            print(f"{link} is not measured: the interface of its port does not exist")

    def do_path(self, line: str) -> None:
        """Prints the paths between two places: path PLACE PLACE, as `path s3 s17` or `path h3_1 h17_1`.

        A switch stands for its first host. The paths are those of the plan's rules under the failures of
        `fail`; 16 probes of different flows, sent now, tell how many hops real packets take.
        """
        words = line.split()
        if len(words) != 2:
            raise UsageError(f"path needs two switches or hosts, got {line.strip() or 'none'}")
        print(self._session.path(*words))

    def do_traffic(self, line: str) -> None:
        """Starts or stops background traffic: traffic start [PATTERN] [LOAD] | stop | status.

        All hosts send by a pattern (`polarlab patterns`; default uniform) at a load, as a fraction of their
        links' rate (default 0.3), until `traffic stop`, which prints what it came to. `traffic stop` also
        stops a measurement of the page, whose folder keeps what was measured until then.
        """
        action, *words = line.split() or ["status"]
        if action == "start" and len(words) <= 2:
            loads = [word for word in words if _is_number(word)]
            patterns = [word for word in words if not _is_number(word)]
            if len(loads) > 1 or len(patterns) > 1:
                raise UsageError(f"traffic start takes a pattern and a load, got {' '.join(words)!r}")
            load = float(loads[0]) if loads else DEFAULT_LOAD
            pattern = patterns[0] if patterns else DEFAULT_PATTERN
            self._session.start_traffic(pattern, load)
            print(f"{pattern} traffic flows at {load:g} of the hosts' capacity, until `traffic stop`")
            return
        if action == "stop" and not words:
            if self._session.turns.measuring:
                self._session.turns.stop()
                print("the measurement stops; its folder keeps what was measured")
                return
            print(text.outcome_line(self._session.stop_traffic()))
            return
        if action != "status" or words:
            raise UsageError(f"traffic needs start [PATTERN] [LOAD], stop or status, got {line.strip()!r}")
        print(self._session.turns.measuring or text.traffic_line(self._session.traffic_status()))

    def do_routing(self, line: str) -> None:
        """Changes parameters of an adaptive routing while it runs: routing PARAMETER=VALUE ...

        They are those of its law and of its control, as `routing threshold=0.5 rest-returned=40`; no rule
        changes. `routing` alone prints those that hold now.
        """
        if not line.strip():
            print(self._session.routing_status())
            return
        print(self._session.set_routing(parse_assignments(line)))

    def do_web(self, line: str) -> None:
        """Starts the live page, or its process again if that has ended: web [[HOST:]PORT].

        Prints the page's address, by default 127.0.0.1:8642; a page that there is keeps its own.
        """
        if self._web is None:
            raise UsageError("a live page is for `polarlab up`; none can be started here")
        print(self._web(line.strip() or True))

    # ---- help, completion ----

    def do_help(self, line: str) -> None:
        """Lists the commands; `help COMMAND` describes one."""
        if line.strip():
            super().do_help(line)
            return
        print(_HELP)
        for name in _OWN:
            summary = inspect.cleandoc(getattr(self, f"do_{name}").__doc__ or "").split("\n")[0]
            print(f"  {name:<11}{summary}")
        others = sorted({name[3:] for name in dir(self) if name.startswith("do_")} - {*_OWN, "EOF"})
        print("\nOther commands of Mininet: " + ", ".join(others))

    def do_exit(self, line: str) -> bool:
        """Leaves the prompt and takes the fabric down."""
        if line.strip():
            raise UsageError(f"exit takes no words, got {line.strip()!r}")
        return True


def _joined(line: str) -> str:
    """Returns elements with blanks or commas between them as one list."""
    return ",".join(line.replace(",", " ").split())


def _number(name: str, word: str) -> float:
    if not _is_number(word):
        raise UsageError(f"{name} must be a number, got {word!r}")
    return float(word)


def _is_number(word: str) -> bool:
    with contextlib.suppress(ValueError):
        float(word)
        return True
    return False
