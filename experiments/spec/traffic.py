"""Which traffic to run over a fabric: its options, checked once and kept as plain data."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.spec.fabric import FabricOptions
from experiments.spec.values import check_range, check_seed
from topology.base import Topology
from topology.errors import ParameterError, UsageError
from topology.faults import Fault, parse_schedule
from traffic.wire.layout import ETHERNET_BYTES, MAX_FLOWS, check_frame_bytes
from traffic.workload.arrivals import ARRIVALS
from traffic.workload.patterns import check_load, make_pattern, split_name

DEFAULT_LOAD, DEFAULT_DURATION_S, DEFAULT_WARMUP, DEFAULT_FRAME_BYTES = 0.3, 10.0, "2", 1000
STEADY, MOST_WARMUP_S = "steady", 60.0
# What one core sends, measured; Open vSwitch passes far fewer.
MAX_PACKETS_PER_S = 200_000


@dataclass(frozen=True)
class TrafficOptions:
    """Which traffic to run.

    Attributes:
        pattern: its name.
        load: offered, as a fraction of the hosts' injection capacity.
        frame_bytes: length of every frame, without FCS.
        flows: source ports per host pair.
        warmup_s, duration_s: what is not measured, and what is.
        seed: of all random choices.
        faults: what breaks and comes back meanwhile.
        arrivals: how a host's packets are spread over time, one of ARRIVALS.
        steady: whether the warm-up ends when the throughput has settled, after `warmup_s` at the latest.
    """

    pattern: str
    load: float
    frame_bytes: int
    flows: int
    warmup_s: float
    duration_s: float
    seed: int
    faults: tuple[Fault, ...] = ()
    arrivals: str = "poisson"
    steady: bool = False

    def settings(self) -> dict[str, Any]:
        """Returns the same as plain data."""
        return {**vars(self), "faults": [fault.line for fault in self.faults]}


def add_pattern_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds who sends to whom, how much, and the seed."""
    parser.add_argument(
        "--pattern", default="uniform", help="`polarlab patterns` lists them (default uniform)"
    )
    parser.add_argument("--load", type=float, help=f"offered, 0..1 (default {DEFAULT_LOAD})")
    add_seed_argument(parser)


def add_seed_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --seed."""
    parser.add_argument("--seed", type=int, default=1, help="of all random choices (default 1)")


def add_traffic_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what traffic is run with."""
    add_pattern_arguments(parser)
    add_frame_arguments(parser)


def add_frame_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what packets are like, how long they flow, and how often that is repeated."""
    parser.add_argument(
        "--frame-bytes", type=int, help=f"(default {DEFAULT_FRAME_BYTES}; collectives: as the MTU allows)"
    )
    parser.add_argument(
        "--repeat", type=int, metavar="N", help="with N seeds; results are means with 95 %% intervals"
    )
    parser.add_argument("--flows", type=int, default=64, help="source ports per host pair (default 64)")
    parser.add_argument("--duration", type=float, help=f"measured seconds (default {DEFAULT_DURATION_S:g})")
    parser.add_argument(
        "--warmup",
        metavar="S",
        help="seconds before, or `steady`: until the throughput has settled, after "
        f"{MOST_WARMUP_S:g} s at the latest (default {DEFAULT_WARMUP})",
    )
    parser.add_argument(
        "--arrivals",
        help=f"how a host's packets are spread over time: {', '.join(ARRIVALS)} (default poisson)",
    )


def add_faults_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --faults."""
    parser.add_argument(
        "--faults",
        type=Path,
        metavar="FILE",
        help="what breaks and comes back meanwhile: lines like `2.5 fail link:s1-s7`, `4 restore link:s1-s7`",
    )


def add_strict_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --strict."""
    parser.add_argument("--strict", action="store_true", help="end with status 1 if a result is not valid")


def set_traffic_defaults(arguments: argparse.Namespace) -> None:
    """Sets what was not given on the command line, of patterns."""
    defaults = {
        "load": DEFAULT_LOAD,
        "duration": DEFAULT_DURATION_S,
        "warmup": DEFAULT_WARMUP,
        "arrivals": "poisson",
        "frame_bytes": min(DEFAULT_FRAME_BYTES, arguments.mtu + ETHERNET_BYTES),
        "repeat": 1,
    }
    for name, value in defaults.items():
        if getattr(arguments, name, None) is None:
            setattr(arguments, name, value)


def read_traffic(arguments: argparse.Namespace, topology: Topology) -> TrafficOptions:
    """Returns the checked options of traffic over a topology; errors as `read_fabric`."""
    set_traffic_defaults(arguments)
    split_name(arguments.pattern)
    check_load(arguments.load)
    check_range("--flows", arguments.flows, 1, MAX_FLOWS)
    check_range("--duration", arguments.duration, 0.1, 86_400)
    warmup_s, steady = _read_warmup(arguments.warmup)
    if arguments.arrivals not in ARRIVALS:
        raise UsageError(f"unknown arrivals {arguments.arrivals!r}; there are: {', '.join(ARRIVALS)}")
    if steady and arguments.faults:
        raise UsageError("--faults needs to know when the traffic ends; give --warmup in seconds")
    check_seed(arguments.seed)
    check_range("--repeat", arguments.repeat, 1, 1000)
    if arguments.repeat > 1 and arguments.faults:
        raise UsageError("--repeat is not for runs with --faults")
    make_pattern(arguments.pattern, topology, arguments.hosts, arguments.seed)  # is there one on this fabric?
    check_frame_bytes(arguments.frame_bytes, arguments.mtu)
    return TrafficOptions(
        arguments.pattern,
        arguments.load,
        arguments.frame_bytes,
        arguments.flows,
        warmup_s,
        arguments.duration,
        arguments.seed,
        read_faults(arguments.faults, topology, arguments.seed, warmup_s + arguments.duration),
        arguments.arrivals,
        steady,
    )


def _read_warmup(text: str) -> tuple[float, bool]:
    """Returns the seconds of a warm-up at the most, and whether it may end before."""
    if text == STEADY:
        return MOST_WARMUP_S, True
    try:
        seconds = float(text)
    except ValueError:
        raise ParameterError(f"--warmup must be seconds or `{STEADY}`, got {text!r}") from None
    check_range("--warmup", seconds, 0, 3_600)
    return seconds, False


def read_faults(path: Path | None, topology: Topology, seed: int, end_s: float) -> tuple[Fault, ...]:
    """Returns the faults of a schedule, all before the traffic's end; raises ParameterError."""
    if path is None:
        return ()
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ParameterError(f"{path} cannot be read ({said}); --faults needs a fault schedule") from None
    try:
        faults = parse_schedule(text, topology, seed)
    except ParameterError as error:
        raise ParameterError(f"{path}, {error}") from None
    late = next((fault for fault in faults if fault.time_s >= end_s), None)
    if late:
        raise ParameterError(f"{path}: `{late.line}` comes after the traffic, which ends at {end_s:g} s")
    return faults


def check_packet_rate(fabric: FabricOptions, traffic: TrafficOptions) -> None:
    """Raises ParameterError if the traffic has more packets than can be sent at all."""
    if fabric.calibrate:  # a rate is yet to be found
        return
    endpoints = fabric.topology.routers * fabric.hosts
    packets_per_s = endpoints * traffic.load * fabric.links.rate_bps / (traffic.frame_bytes * 8)
    if packets_per_s > MAX_PACKETS_PER_S:
        raise ParameterError(
            f"{endpoints} hosts at this load and link rate send {packets_per_s:,.0f} packets/s, and at most "
            f"{MAX_PACKETS_PER_S:,} can be sent; choose a lower --link-rate"
        )
