"""Replacements for Mininet's commands that would end the fabric, hang, or swallow lines."""

from __future__ import annotations

import inspect
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import mininet.cli
from mininet.log import output

from emulation.nodes import FabricHost
from emulation.prompt.command_line import NodeCLI
from emulation.prompt.throughput import measure_throughput
from emulation.subprocesses import CommandError, answer, in_one_line
from topology.errors import UsageError
from topology.files.foreign import read_judged
from topology.files.reading import SETTINGS_BYTES
from topology.units import RATE, SECONDS, number_of

_WAIT_S = 30  # time limit for switches to connect
_MAX_NESTED = 10  # limit of nested `source` files
_IPERF_S = "5"
_PING_S = "1"  # longest wait for a reply
_PING_TIMEOUT_S = 10.0  # time limit of `ping` in addition to that wait
_LOST = "1 packets transmitted, 0 received"
_PING_CHARACTERS = 1000  # limit of the output of `ping`


class FabricCLI(NodeCLI):
    """Mininet's command line on a fabric, with all of Mininet's commands."""

    def __init__(self, network: Any, terminal: IO[str] | None = None) -> None:
        """Prepares the command line; the arguments are those of NodeCLI."""
        super().__init__(network, terminal)
        self._nested = 0

    def do_help(self, line: str) -> None:
        """Lists the commands; `help COMMAND` describes one."""
        command = getattr(self, f"do_{line.strip()}", None) if line.strip() else None
        if command is None:
            if line.strip():
                raise UsageError(f"unknown command: {line.strip()}; `help` lists the commands")
            super().do_help(line)
        else:
            output(inspect.cleandoc(command.__doc__ or "") + "\n")

    def do_EOF(self, _line: str) -> None:
        """Rejects the word EOF, to which Mininet maps the end of the input."""
        raise UsageError("unknown command: EOF; `exit` leaves the prompt")

    def do_py(self, line: str) -> None:
        """Evaluates a Python expression: py EXPRESSION, such as `py h1_1.IP()`; `net` is the network."""
        result = eval(line, vars(mininet.cli), self.getLocals())  # noqa: S307  # that is its purpose
        if result:
            output((result if isinstance(result, str) else repr(result)) + "\n")

    def do_px(self, line: str) -> None:
        """Executes a Python statement: px STATEMENT, such as `px print(h1_1.IP())`."""
        exec(line, vars(mininet.cli), self.getLocals())  # noqa: S102  # that is its purpose

    def do_sh(self, line: str) -> None:
        """Runs a command outside the fabric: sh COMMAND."""
        stdin = None if self.terminal else subprocess.DEVNULL
        self.fail_line(subprocess.call(line, shell=True, stdin=stdin))  # noqa: S602  # that is its purpose

    def do_source(self, line: str) -> None:
        """Runs the lines of a file: source FILE. A line that fails does not stop the others."""
        path = Path(line.strip())
        if not line.strip():
            raise UsageError("source needs a file")
        text, foreign = read_judged(path, SETTINGS_BYTES)
        if foreign:
            raise UsageError(f"file must be safe to run as root, but {foreign.reason}; use your own copy")
        if self._nested >= _MAX_NESTED:
            raise UsageError(f"files must be nested at most {_MAX_NESTED} deep, got {path} inside them")
        self._nested += 1
        try:
            for inner in text.removesuffix("\n").split("\n"):
                self.onecmd(inner)
        finally:
            self._nested -= 1

    def do_wait(self, _line: str) -> None:
        """Waits until all switches are connected to the controller, at most 30 s."""
        if not self.mn.waitConnected(timeout=_WAIT_S):
            raise UsageError(f"not all switches connected within {_WAIT_S} s")

    def do_pingall(self, line: str) -> None:
        """Pings between all hosts: pingall [SECONDS] waits at most SECONDS (default 1) for each reply."""
        seconds = _ping_seconds("pingall", line)
        self._ping(self.mn.ping, self.mn.hosts, seconds)

    def do_pingallfull(self, line: str) -> None:
        """Pings between all hosts and prints all times: pingallfull [SECONDS]; see pingall."""
        seconds = _ping_seconds("pingallfull", line)
        self._ping(self.mn.pingFull, self.mn.hosts, seconds)

    def do_pingpair(self, line: str) -> None:
        """Pings between the first two hosts: pingpair [SECONDS]; see pingall."""
        seconds = _ping_seconds("pingpair", line)
        self._ping(self.mn.ping, self.mn.hosts[:2], seconds)

    def do_pingpairfull(self, line: str) -> None:
        """Pings between the first two hosts and prints all times: pingpairfull [SECONDS]; see pingall."""
        seconds = _ping_seconds("pingpairfull", line)
        self._ping(self.mn.pingFull, self.mn.hosts[:2], seconds)

    def _ping(self, pings: Callable[..., Any], hosts: Sequence[FabricHost], seconds: str) -> None:
        """Runs one of Mininet's ping functions without using the hosts' shells."""
        if len(hosts) == len(self.mn.hosts):
            output("*** Ping: testing ping reachability\n")
        if hosts:
            pings([_Pinger(host, float(seconds) + _PING_TIMEOUT_S) for host in hosts], seconds)
        for host in hosts:
            if host.ended:
                self.complain(f"{host.name} has ended; all its pings count as lost")

    def do_x(self, line: str) -> None:
        """Runs a graphical program of a node on this display: x NODE [COMMAND]."""
        if line.partition(" ")[0] not in self.mn:
            raise UsageError(f"x needs the name of a node, got {line.strip() or 'none'}")
        if isinstance(node := self.mn[line.partition(" ")[0]], FabricHost) and node.space:
            raise UsageError("x on a host needs --host-root real, because hosts cannot reach the display")
        super().do_x(line)

    def do_iperf(self, line: str) -> None:
        """Measures TCP throughput with iperf3 and its own server: iperf [HOST HOST [SECONDS]].

        Slow start lowers the result of short transfers; 10 s or more are better than the default of 5.
        """
        words = line.split()
        if not words:
            words = [self.mn.hosts[0].name, self.mn.hosts[-1].name]
        self._iperf(words[:2], words[2:], None)

    def do_iperfudp(self, line: str) -> None:
        """Measures UDP throughput with iperf3: iperfudp [RATE HOST HOST [SECONDS]], RATE such as 10M."""
        words = line.split() or ["1M", self.mn.hosts[0].name, self.mn.hosts[-1].name]
        self._iperf(words[1:3], words[3:], words[0])

    def _iperf(self, names: list[str], seconds: list[str], udp_rate: str | None) -> None:
        hosts = [host for host in self.mn.hosts if host.name in names]
        if len(names) != 2 or len(hosts) != 2 or len(seconds) > 1:
            raise UsageError(f"iperf needs two hosts, got {' '.join(names) or 'none'}")
        time_s = number_of("time", (seconds or [_IPERF_S])[0], SECONDS)
        if time_s is None or time_s % 1 or not 1 <= time_s <= 9999:
            raise UsageError(f"seconds must be whole, 1 to 9999, got {seconds[0]!r}")
        rate_bps = None if udp_rate is None else number_of("rate", udp_rate, RATE)
        if udp_rate is not None and rate_bps is None:
            raise UsageError(f"rate must be in bit/s or have a unit, such as 10M, got {udp_rate!r}")
        source, destination = self.mn[names[0]], self.mn[names[1]]
        result = measure_throughput(source, destination, float(time_s), rate_bps)
        more = f"{result.retransmits} retransmits" if udp_rate is None else f"{result.lost:.2%} lost"
        output(f"{names[0]} to {names[1]}: {result.received_bps / 1e6:.3f} Mbit/s received, {more}\n")


class _Pinger:
    """Stands in for a host in Mininet's ping functions; starts `ping` without the host's shell.

    An earlier line may have closed the shell's output.
    """

    def __init__(self, host: FabricHost, timeout_s: float) -> None:
        self._host, self._timeout_s = host, timeout_s
        self.name, self.intfs = host.name, host.intfs

    def IP(self) -> str:  # Mininet's name
        """Returns the address of the host."""
        return str(self._host.IP())

    def cmd(self, command: str) -> str:
        """Runs a command in the host's namespaces, and returns its output as one line, safe to print."""
        try:
            output = answer(command.split(), timeout_s=self._timeout_s, begin=self._host.start_program)
        except CommandError as error:
            if self._host.ended:
                return _LOST
            raise CommandError(f"{self.name}: {error}", error.reason) from None
        return in_one_line(output, _PING_CHARACTERS)

    def __str__(self) -> str:
        return self.name


def _ping_seconds(command: str, line: str) -> str:
    """Checks the argument of a ping command, and prints how long it waits for each reply.

    Args:
        command: name of the prompt's command, such as `pingall`.
        line: the argument, a time in seconds or with a unit; empty for the default.

    Returns:
        The longest wait for each reply, in seconds, as text for the option -W of `ping`.
    """
    time_s = number_of("time", line.strip() or _PING_S, SECONDS)
    if time_s is None or time_s * 1000 % 1 or not 0 < time_s < 100:
        raise UsageError(f"seconds must be over 0 and below 100, got {line.strip()!r}")
    output(f"*** waiting at most {time_s:f} s for each reply; `{command} SECONDS` changes that\n")
    return f"{time_s:f}"
