"""Options of traffic: pattern, load, packets, duration, repetition and faults."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeVar

from experiments.spec.fabric import FabricOptions
from experiments.spec.flows import FlowOptions
from experiments.spec.programs import ProgramTraffic
from experiments.spec.sweep import MAX_REPEAT
from experiments.spec.traffic import (
    DEFAULT_ARRIVALS,
    DEFAULT_DURATION_S,
    DEFAULT_FLOWS,
    DEFAULT_FRAME_BYTES,
    DEFAULT_LOAD,
    DEFAULT_PATTERN,
    DEFAULT_WARMUP,
    MOST_WARMUP_S,
    TrafficOptions,
    check_repeatable,
    check_traffic,
    default_frame_bytes,
    draw_schedule,
    parse_warmup,
    read_schedule,
)
from experiments.spec.values import check_range
from topology.base import Topology
from topology.drawn_faults import FORM, PREFIX
from topology.errors import UsageError
from topology.faults import Fault
from traffic.workload.arrivals import ARRIVALS

T = TypeVar("T")

# Options without a default have one that depends on whether the pattern is a collective.


def add_pattern_options(parser: argparse.ArgumentParser) -> None:
    """Adds the pattern, the load and the seed."""
    parser.add_argument(
        "--pattern",
        help=f"traffic pattern, one of `polarlab patterns` (default {DEFAULT_PATTERN})",
    )
    parser.add_argument(
        "--load",
        type=float,
        metavar="FRACTION",
        help=f"offered load, over 0 and at most 1 of the hosts' capacity (default {DEFAULT_LOAD})",
    )
    add_seed_option(parser)


def add_seed_option(parser: argparse.ArgumentParser) -> None:
    """Adds --seed."""
    parser.add_argument("--seed", type=int, default=1, help="seed of the random generator (default 1)")


def add_packet_options(parser: argparse.ArgumentParser) -> None:
    """Adds the length and arrivals of packets, the duration, and the repetition."""
    parser.add_argument(
        "--frame-bytes",
        type=int,
        metavar="BYTES",
        help=f"length of every frame, in bytes (default {DEFAULT_FRAME_BYTES}; of collectives, the MTU's)",
    )
    parser.add_argument(
        "--repeat",
        type=int,
        metavar="N",
        help="number of replications, a seed each; results are means with 95 %% intervals (default 1)",
    )
    parser.add_argument(
        "--flows",
        type=int,
        metavar="N",
        help=f"source ports per host pair (default {DEFAULT_FLOWS})",
    )
    parser.add_argument(
        "--duration",
        type=float,
        metavar="S",
        help=f"measured time, in s (default {DEFAULT_DURATION_S:g})",
    )
    parser.add_argument(
        "--warmup",
        metavar="S",
        help="time before the measurement, in s, or `steady`: until the throughput has settled, "
        f"{MOST_WARMUP_S:g} s at the latest (default {DEFAULT_WARMUP})",
    )
    parser.add_argument(
        "--arrivals",
        help=f"distribution of a host's packets over time: {', '.join(ARRIVALS)} "
        f"(default {DEFAULT_ARRIVALS})",
    )


def add_faults_option(parser: argparse.ArgumentParser) -> None:
    """Adds --faults."""
    parser.add_argument(
        "--faults",
        metavar="FILE",
        help="schedule of failures and restorations: lines like `2.5 fail link:s1-s7`, `4 restore "
        f"link:s1-s7`; or random ones by their mean times, drawn from --seed, as {FORM} (default none)",
    )


def read_traffic(
    arguments: argparse.Namespace, fabric: FabricOptions, pattern: str | None, load: float | None
) -> TrafficOptions:
    """Returns the specification of a pattern's traffic on a fabric.

    Raises:
        UsageError: an option is outside its domain, or the fabric cannot carry the traffic.
    """
    warmup_s, steady = parse_warmup(arguments.warmup or DEFAULT_WARMUP)
    if steady and arguments.faults:
        raise UsageError("--faults needs a known end of the traffic; give --warmup in seconds")
    duration_s = value_or(arguments.duration, DEFAULT_DURATION_S)
    traffic = TrafficOptions(
        value_or(pattern, DEFAULT_PATTERN),
        value_or(load, DEFAULT_LOAD),
        value_or(arguments.frame_bytes, default_frame_bytes(fabric.links.mtu)),
        value_or(arguments.flows, DEFAULT_FLOWS),
        warmup_s,
        duration_s,
        arguments.seed,
        read_faults(arguments, fabric.topology, warmup_s + duration_s),
        value_or(arguments.arrivals, DEFAULT_ARRIVALS),
        steady,
        faults_asked(arguments),
    )
    check_traffic(traffic, fabric)
    return traffic


def read_faults(arguments: argparse.Namespace, topology: Topology, end_s: float) -> tuple[Fault, ...]:
    """Returns the faults of --faults, all before the traffic's end; raises ParameterError."""
    if arguments.faults is None:
        return ()
    if _drawn(arguments.faults):
        return draw_schedule(arguments.faults, topology, arguments.seed, end_s)
    return read_schedule(Path(arguments.faults), topology, arguments.seed, end_s)


def faults_asked(arguments: argparse.Namespace) -> str | None:
    """Returns --faults where it has random failures, None where it has a file or nothing."""
    return arguments.faults if _drawn(arguments.faults) else None


def _drawn(faults: str | None) -> bool:
    """Returns whether --faults has random failures, and not the name of a file."""
    return faults is not None and faults.startswith(PREFIX)


def read_repeat(arguments: argparse.Namespace, traffic: TrafficOptions | FlowOptions | ProgramTraffic) -> int:
    """Returns the number of replications of traffic; raises UsageError."""
    repeat: int = value_or(arguments.repeat, 1)
    check_range("repeat", repeat, 1, MAX_REPEAT)
    check_repeatable(repeat, traffic.faults)
    return repeat


def value_or(value: T | None, default: T) -> T:
    """Returns the value of an option that was given, else its default."""
    return default if value is None else value
