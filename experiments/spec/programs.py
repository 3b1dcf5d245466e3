"""Specification of a user's own programs: their hosts and command lines, and runs without other traffic."""

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
from topology.files.shown import quoted

# Names of the pattern of runs whose traffic is that of programs alone, and of sessions at the prompt.
OWN_PROGRAMS, SESSION = "programs", "session"
# Patterns without generated packets.
NOT_GENERATED = (OWN_PROGRAMS, SESSION)
NEED = "--exec-file needs a file of programs"
_SERVER = "&"


@dataclass(frozen=True)
class Program:
    """Program of a user.

    Attributes:
        host: the host, or the switch, that it runs on.
        command: command line of the shell.
        server: whether it starts before all others, is not waited for, and is ended at the end.
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
    """The programs of a user that run beside or instead of generated traffic.

    Attributes:
        programs: the programs.
        timeout_s: longest time of each in seconds since the start of the traffic.
    """

    programs: tuple[Program, ...] = ()
    timeout_s: float = 300.0

    def settings(self) -> dict[str, Any]:
        """Returns the settings that programs add to those of the traffic; none without programs."""
        if not self.programs:
            return {}
        lines = tuple(program.line for program in self.programs)
        return {"programs": lines, "exec_timeout_s": self.timeout_s}


NO_OPTIONS = ProgramOptions()


@dataclass(frozen=True)
class ProgramTraffic:
    """Traffic of programs alone: nothing is generated.

    Attributes:
        frame_bytes: length of the longest frame, without FCS.
        seed: seed of the random generator; of random faults.
        faults: failures and restorations while the programs run.
        pattern: its name in results, one of NOT_GENERATED.
    """

    frame_bytes: int
    seed: int
    faults: tuple[Fault, ...] = ()
    pattern: str = OWN_PROGRAMS

    def settings(self) -> TrafficSettings:
        """Returns the specification as results name it."""
        return TrafficSettings(
            pattern=self.pattern, seed=self.seed, faults=tuple(fault.line for fault in self.faults)
        )


def user_programs(
    lines: Sequence[str], file: str | None, topology: Topology, concentration: int
) -> tuple[Program, ...]:
    """Returns the programs of some lines, and of a file.

    Args:
        lines: the lines.
        file: path of the file, None for none.
        topology: the graph of routers.
        concentration: hosts attached to each router that has any.

    Raises:
        UsageError: the file cannot be read, a line is not a program, or bash cannot read its command.
    """
    programs = [parse_program(line, topology, concentration) for line in lines]
    if file is not None:
        programs += read_programs(Path(file), topology, concentration)
    for program in programs:
        if error := syntax_error(program.command):
            raise UsageError(f"program must be a command line of bash, got `{program.line}`: {error}")
    return tuple(programs)


def parse_program(line: str, topology: Topology, concentration: int) -> Program:
    """Returns the program that a line `HOST COMMAND...` names; one that ends with `&` is a server.

    Args:
        line: the line.
        topology: the graph of routers.
        concentration: hosts attached to each router that has any.

    Raises:
        ParameterError: the fabric has no such host or switch, or a command is missing.
    """
    words = line.split(maxsplit=1)
    hosts = [host.name for host in hosts_of(topology, concentration)]
    switches = [switch_name(router) for router in range(topology.routers)]
    if not words or words[0] not in {*hosts, *switches}:
        raise ParameterError(
            f"program must begin with a host, {hosts[0]} to {hosts[-1]}, or a switch, {switches[0]} to "
            f"{switches[-1]}, got {quoted(line.strip())}"
        )
    command = words[1].strip() if len(words) > 1 else ""
    # `&&` is not the end of a command line.
    server = command.endswith(_SERVER)
    command = command.removesuffix(_SERVER).rstrip()
    if not command or command.endswith(_SERVER) or "\0" in command:
        raise ParameterError(
            f"program must be a host and a command, as `{words[0]} hostname`, got {quoted(line.strip())}"
        )
    return Program(words[0], command, server)


def read_programs(path: Path, topology: Topology, concentration: int) -> list[Program]:
    """Returns the programs of a file, one a line; lines that are empty or begin with `#` are comments.

    Args:
        path: the file.
        topology: the graph of routers.
        concentration: hosts attached to each router that has any.

    Raises:
        ParameterError: the file cannot be read, a line is not a program, or there is none.
    """
    programs = []
    for number, line in lines_of_programs(read_text(path, NEED)):
        try:
            programs.append(parse_program(line, topology, concentration))
        except ParameterError as error:
            raise ParameterError(f"{path}, line {number}: {error}") from None
    if not programs:
        raise ParameterError(f"{path} must hold a program, as `h1_1 hostname`, got none")
    return programs


def lines_of_programs(text: str) -> list[tuple[int, str]]:
    """Returns the lines of a file of programs that are neither empty nor comments, with their numbers."""
    lines = enumerate(text.split("\n"), 1)
    return [(number, line) for number, line in lines if line.strip() and not line.lstrip().startswith("#")]


def check_programs(programs: Sequence[Program]) -> None:
    """Raises ParameterError if there are servers alone, which never end by themselves."""
    if programs and all(program.server for program in programs):
        raise ParameterError(
            "programs must be more than servers (lines that end with &) where no traffic is generated; "
            "add a client, or give --pattern or --load"
        )


def default_timeout_s(_experiment: object, values: Mapping[str, Any]) -> float | None:
    """Returns the longest time of programs where none is given, in seconds; None without programs.

    Args:
        values: option -> value.
    """
    return 300.0 if values.get("exec") or "exec-file" in values else None
