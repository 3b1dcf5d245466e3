"""Specification of user programs, and of runs without generated traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulation.programs import syntax_error
from experiments.spec.settings import TrafficSettings
from experiments.spec.values import read_text
from topology.addressing import hosts_of, switch_name
from topology.base import Topology
from topology.errors import ParameterError, UsageError
from topology.faults import Fault
from topology.files.escaping import quoted

# Pattern names of runs with programs only, and of sessions at the prompt.
OWN_PROGRAMS, SESSION = "programs", "session"
# Patterns without generated packets.
NOT_GENERATED = (OWN_PROGRAMS, SESSION)
NEED = "--exec-file needs a file of programs"
_SERVER = "&"


@dataclass(frozen=True)
class Program:
    """Program of a user.

    Attributes:
        host: name of the host or switch that runs it.
        command: shell command line.
        server: whether it starts before all clients and is terminated when the traffic ends.
    """

    host: str
    command: str
    server: bool = False

    @property
    def line(self) -> str:
        """The program as on the command line."""
        return f"{self.host} {self.command}" + (f" {_SERVER}" if self.server else "")


@dataclass(frozen=True)
class ProgramOptions:
    """The user programs that run alongside or instead of generated traffic.

    Attributes:
        programs: the programs.
        timeout_s: timeout in s since the start of traffic.
    """

    programs: tuple[Program, ...] = ()
    timeout_s: float = 300.0

    def settings(self) -> dict[str, Any]:
        """Returns the settings that programs add to the traffic's settings; empty without programs."""
        if not self.programs:
            return {}
        lines = tuple(program.line for program in self.programs)
        return {"programs": lines, "exec_timeout_s": self.timeout_s}


NO_OPTIONS = ProgramOptions()


@dataclass(frozen=True)
class ProgramTraffic:
    """Traffic of programs only; no packets are generated.

    Attributes:
        frame_bytes: length of the longest frame in bytes, without FCS.
        seed: seed of random faults.
        faults: failures and restorations while the programs run.
        pattern: its name in results, one of NOT_GENERATED.
    """

    frame_bytes: int
    seed: int
    faults: tuple[Fault, ...] = ()
    pattern: str = OWN_PROGRAMS

    def settings(self) -> TrafficSettings:
        """Returns the traffic's settings in the form that results record."""
        return TrafficSettings(
            pattern=self.pattern, seed=self.seed, faults=tuple(fault.line for fault in self.faults)
        )


def user_programs(
    lines: Sequence[str], file: str | None, topology: Topology, hosts_per_router: int
) -> tuple[Program, ...]:
    """Returns the programs of command-line entries and of a file.

    Args:
        lines: lines `HOST COMMAND...`.
        file: path of a file with such lines; None if there is none.
        topology: the graph of routers.
        hosts_per_router: number of hosts attached to each router that has any.

    Raises:
        UsageError: the file cannot be read, a line is not a program, or bash cannot read its command.
    """
    programs = [parse_program(line, topology, hosts_per_router) for line in lines]
    if file is not None:
        programs += read_programs(Path(file), topology, hosts_per_router)
    for program in programs:
        if error := syntax_error(program.command):
            raise UsageError(f"program must be a command line of bash, got `{program.line}`: {error}")
    return tuple(programs)


def parse_program(line: str, topology: Topology, hosts_per_router: int) -> Program:
    """Returns the program of a line `HOST COMMAND...`; a line that ends with `&` is a server.

    Args:
        line: the line.
        topology: the graph of routers.
        hosts_per_router: number of hosts attached to each router that has any.

    Raises:
        ParameterError: the fabric has no such host or switch, or the command is missing.
    """
    words = line.split(maxsplit=1)
    hosts = [host.name for host in hosts_of(topology, hosts_per_router)]
    switches = [switch_name(router) for router in range(topology.routers)]
    if not words or words[0] not in {*hosts, *switches}:
        raise ParameterError(
            f"program must be on a host, {hosts[0]} to {hosts[-1]}, or a switch, {switches[0]} to "
            f"{switches[-1]}, got {quoted(line.strip())}"
        )
    command = words[1].strip() if len(words) > 1 else ""
    server = command.endswith(_SERVER)
    command = command.removesuffix(_SERVER).rstrip()
    # A line that ends with `&&` lacks its last command.
    if not command or command.endswith(_SERVER) or "\0" in command:
        raise ParameterError(
            f"program must be a host and a command, such as `{words[0]} hostname`, got {quoted(line.strip())}"
        )
    return Program(words[0], command, server)


def read_programs(path: Path, topology: Topology, hosts_per_router: int) -> list[Program]:
    """Returns the programs of a file, one per line; empty lines and lines that start with `#` are skipped.

    Args:
        path: the file.
        topology: the graph of routers.
        hosts_per_router: number of hosts attached to each router that has any.

    Raises:
        ParameterError: the file cannot be read, a line is invalid, or there is no program.
    """
    programs = []
    for number, line in lines_of_programs(read_text(path, NEED), path):
        try:
            programs.append(parse_program(line, topology, hosts_per_router))
        except ParameterError as error:
            raise ParameterError(f"{path}, line {number}: {error}") from None
    return programs


def lines_of_programs(text: str, path: Path) -> list[tuple[int, str]]:
    """Returns (line number, line) for all lines of a file of programs except empty lines and comments.

    Args:
        text: the text of the file.
        path: the file, for the error.

    Raises:
        ParameterError: there is no program.
    """
    numbered = enumerate(text.split("\n"), 1)
    lines = [
        (number, line) for number, line in numbered if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise ParameterError(f"{path} must contain a program, such as `h1_1 hostname`, got none")
    return lines


def check_programs(programs: Sequence[Program]) -> None:
    """Raises ParameterError if all programs are servers, as these never end by themselves."""
    if programs and all(program.server for program in programs):
        raise ParameterError(
            "programs without generated traffic must include one that ends by itself, got only servers "
            "(lines that end with &); add a client, or give --pattern or --load"
        )


def default_timeout_s(_experiment: object, values: Mapping[str, Any]) -> float | None:
    """Returns the default timeout of programs in s; None without programs.

    Args:
        values: option -> value.
    """
    return 300.0 if values.get("exec") or "exec-file" in values else None
