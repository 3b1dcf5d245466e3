"""Options of a user's own programs, and of runs whose traffic is theirs alone."""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.spec.fabric import FabricOptions
from experiments.spec.programs import (
    DEFAULT_TIMEOUT_S,
    ProgramOptions,
    ProgramTraffic,
    check_programs,
    parse_program,
    read_programs,
)
from polarlab.cli.options.traffic import read_faults, value_or
from topology.errors import UsageError
from traffic.wire.layout import ETHERNET_BYTES

# By their attributes in the parsed arguments; all are None where they were not given.
_GENERATED_ONLY = ("duration", "warmup", "arrivals", "frame_bytes")


def add_program_options(parser: argparse.ArgumentParser) -> None:
    """Adds --exec, --exec-file and --exec-timeout."""
    group = parser.add_argument_group(
        "own programs",
        "With --pattern or --load they run beside generated traffic. Without both, nothing is generated, and "
        "the measurement ends when they have ended.",
    )
    group.add_argument(
        "--exec",
        action="append",
        default=[],
        metavar="LINE",
        dest="programs",
        help='program, as "h1_1 iperf3 -c h5_1"; several start together. One that ends with & is a server: '
        "it starts first, is not waited for, and is ended at the end (default none)",
    )
    group.add_argument(
        "--exec-file",
        type=Path,
        metavar="FILE",
        help="file of programs, a line each; lines that begin with # are comments (default none)",
    )
    group.add_argument(
        "--exec-timeout",
        type=float,
        metavar="S",
        help="longest time of a program, in s since the traffic began; then it is ended, and the rest kept "
        f"(default {DEFAULT_TIMEOUT_S:g})",
    )


def read_program_options(arguments: argparse.Namespace, fabric: FabricOptions) -> ProgramOptions:
    """Returns the programs of the user.

    Raises:
        UsageError: a line is not a program, bash cannot read it, a host does not exist, or --exec-timeout
            stands alone.
    """
    from emulation.programs import syntax_error

    programs = [parse_program(line, fabric.topology, fabric.hosts) for line in arguments.programs]
    if arguments.exec_file is not None:
        programs += read_programs(arguments.exec_file, fabric.topology, fabric.hosts)
    if arguments.exec_timeout is not None and not programs:
        raise UsageError("--exec-timeout is for programs; give --exec or --exec-file, or leave it out")
    for program in programs:
        if error := syntax_error(program.command):
            raise UsageError(f"program must be a command line of bash, got `{program.line}`: {error}")
    return ProgramOptions(tuple(programs), value_or(arguments.exec_timeout, DEFAULT_TIMEOUT_S))


def is_program_traffic(arguments: argparse.Namespace, programs: ProgramOptions) -> bool:
    """Returns whether the traffic of a run is that of programs alone."""
    return bool(programs.programs) and arguments.pattern is None and arguments.load is None


def read_program_traffic(
    arguments: argparse.Namespace, fabric: FabricOptions, programs: ProgramOptions
) -> ProgramTraffic:
    """Returns the specification of a run without generated traffic.

    Raises:
        UsageError: an option is for generated traffic, or no program ends by itself.
    """
    for option in _GENERATED_ONLY:
        if getattr(arguments, option) is not None:
            name = option.replace("_", "-")
            raise UsageError(f"--{name} is for generated traffic; give --pattern or --load as well")
    if fabric.calibrate:
        raise UsageError("--link-rate auto needs generated traffic; give a rate, or --pattern or --load")
    check_programs(programs.programs)
    longest = fabric.links.mtu + ETHERNET_BYTES
    faults = read_faults(arguments, fabric.topology, programs.timeout_s)
    return ProgramTraffic(longest, arguments.seed, faults)
