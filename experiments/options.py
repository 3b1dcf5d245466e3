"""The options that commands share, checked once and kept as plain data."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.occupancy import NETLINK, SOURCES
from controller.routings import routing
from emulation.impairment import NO_IMPAIRMENT, Impairment
from emulation.machine import check_datapath
from emulation.shaping import DEFAULT_MTU, PortShape, parse_rate_bps
from topology.addressing import check_hosts
from topology.errors import ParameterError, UsageError
from topology.faults import Fault, parse_schedule
from topology.graph import Topology
from topology.registry import FAMILIES, make_topology
from traffic.codec import ETHERNET_BYTES, MAX_FLOWS
from traffic.patterns import check_load, make_pattern, split_name
from traffic.schedule import ARRIVALS

DEFAULT_RESULTS = Path("results")
AUTO_RATE = "auto"
FIRST_TRIAL_BPS = 300_000
LEAST_LOAD_STEP = 0.001
DEFAULT_LOAD, DEFAULT_DURATION_S, DEFAULT_WARMUP, DEFAULT_FRAME_BYTES = 0.3, 10.0, "2", 1000
STEADY, MOST_WARMUP_S = "steady", 60.0
# What one core sends, measured; Open vSwitch passes far fewer.
MAX_PACKETS_PER_S = 200_000


@dataclass(frozen=True)
class FabricOptions:
    """Which fabric to launch.

    Attributes:
        name, params: the topology, as on the command line.
        topology: the same as a graph.
        hosts: endpoints per router.
        shape: rate and queue of every port.
        routing: the routing's name.
        datapath: `auto`, `kernel` or `user`, as asked for.
        occupancy: where an adaptive routing learns how full ports are: `netlink` or `port-statistics`.
        calibrate: whether the shape's rate is only where to begin to look for one that the machine carries.
        local_repair: whether the switches know ways around dead links by themselves.
        impairment: how the links between routers delay and lose packets.
    """

    name: str
    params: Mapping[str, int | str]
    topology: Topology
    hosts: int
    shape: PortShape
    routing: str
    datapath: str
    occupancy: str = NETLINK
    calibrate: bool = False
    local_repair: bool = True
    impairment: Impairment = NO_IMPAIRMENT


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


def add_topology_arguments(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Adds NAME, which may be left out where there is a default, and the parameters of all families."""
    text = f"topology: {', '.join(FAMILIES)}"
    if default is None:
        parser.add_argument("name", metavar="NAME", help=text)
    else:
        parser.add_argument("name", metavar="NAME", nargs="?", default=default, help=text)
    for parameter in {p.name: p for f in FAMILIES.values() for p in f.parameters}.values():
        parser.add_argument(
            f"--{parameter.name}",
            type=parameter.type,
            default=argparse.SUPPRESS,
            help=parameter.help,
        )


def add_fabric_arguments(
    parser: argparse.ArgumentParser, default: str | None = None, link_rate: str = "2Mbit"
) -> None:
    """Adds what a fabric is launched with, but for the routing.

    Args:
        parser: what to add it to.
        default: as `add_topology_arguments`.
        link_rate: the rate where none is given.
    """
    add_topology_arguments(parser, default)
    add_hosts_argument(parser)
    parser.add_argument(
        "--link-rate",
        default=link_rate,
        help=f"of every port, as 500kbit; auto: the highest that the machine carries (default {link_rate})",
    )
    parser.add_argument("--queue", type=int, default=32, help="packets per port (default 32)")
    parser.add_argument(
        "--mtu", type=int, default=DEFAULT_MTU, help=f"of every port, in bytes (default {DEFAULT_MTU})"
    )
    parser.add_argument(
        "--link-delay",
        type=float,
        default=0.0,
        metavar="MS",
        help="of every link between routers (default 0)",
    )
    parser.add_argument(
        "--link-loss",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="chance of a packet to be lost on every link between routers, as 0.01 (default 0)",
    )
    parser.add_argument("--datapath", default="auto", help="auto, kernel or user (default auto)")
    parser.add_argument(
        "--occupancy",
        default=NETLINK,
        help=f"what adaptive routings go by: {' or '.join(SOURCES)} (default {NETLINK})",
    )
    add_local_repair_argument(parser)


def add_local_repair_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --no-local-repair."""
    parser.add_argument(
        "--no-local-repair",
        action="store_false",
        dest="local_repair",
        help="switches know no ways around dead links; only the controller repairs",
    )


def add_faults_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --faults."""
    parser.add_argument(
        "--faults",
        type=Path,
        metavar="FILE",
        help="what breaks and comes back meanwhile: lines like `2.5 fail link:s1-s7`, `4 restore link:s1-s7`",
    )


def add_hosts_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --hosts."""
    parser.add_argument("--hosts", type=int, default=1, metavar="P", help="per router (default 1)")


def add_routing_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --routing."""
    parser.add_argument("--routing", default="min", help="the routing (default min)")


def add_pattern_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds who sends to whom, how much, and the seed."""
    parser.add_argument(
        "--pattern", default="uniform", help="`polarlab patterns` lists them (default uniform)"
    )
    parser.add_argument("--load", type=float, help=f"offered, 0..1 (default {DEFAULT_LOAD})")
    _add_seed_argument(parser)


def _add_seed_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=1, help="of all random choices (default 1)")


def add_traffic_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what traffic is run with."""
    add_pattern_arguments(parser)
    _add_frame_arguments(parser)


def _add_frame_arguments(parser: argparse.ArgumentParser) -> None:
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


def add_strict_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --strict."""
    parser.add_argument("--strict", action="store_true", help="end with status 1 if a result is not valid")


def add_sweep_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what a sweep goes over, instead of one routing, pattern and load; and its traffic."""
    parser.add_argument("--routings", default="min,ugal-pf", help="one or more (default min,ugal-pf)")
    parser.add_argument("--patterns", default="uniform,tornado", help="one or more (default uniform,tornado)")
    parser.add_argument(
        "--loads", default="0.1:0.9:0.2", help="as 0.1,0.5 or FIRST:LAST:STEP (default 0.1:0.9:0.2)"
    )
    _add_seed_argument(parser)
    _add_frame_arguments(parser)


def read_sweep(arguments: argparse.Namespace) -> tuple[tuple[str, ...], tuple[str, ...], tuple[float, ...]]:
    """Returns the checked routings, patterns and loads of a sweep; errors as `read_fabric`."""
    routings = words_of("--routings", arguments.routings)
    patterns = words_of("--patterns", arguments.patterns)
    for name in routings:
        routing(name)
    for pattern in patterns:
        split_name(pattern)
    return routings, patterns, parse_loads(arguments.loads)


def parse_loads(text: str) -> tuple[float, ...]:
    """Returns the loads that `0.1,0.5` or `0.1:0.9:0.2` names, ascending, to six digits.

    Raises:
        ParameterError: the text has another form, or a load is none.
    """
    try:
        if ":" in text:
            first, last, step = map(float, text.split(":"))
            if not (0 < first <= last <= 1 and step >= LEAST_LOAD_STEP):
                raise ValueError(text)
            count = math.floor((last - first) / step + 1e-9) + 1
            loads = [first + index * step for index in range(count)]
        else:
            loads = [float(word) for word in words_of("--loads", text)]
    except ValueError:
        raise ParameterError(
            f"--loads must be like 0.1,0.5 or 0.1:0.9:0.2, over 0 and at most 1, got {text!r}"
        ) from None
    for load in loads:
        check_load(load)
    return tuple(sorted({float(f"{load:g}") for load in loads}))


def words_of(name: str, text: str) -> tuple[str, ...]:
    """Returns the different words of a list with commas; raises ParameterError if there is none."""
    words = tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not words:
        raise ParameterError(f"{name} needs at least one value")
    return words


def read_topology(arguments: argparse.Namespace) -> tuple[dict[str, int | str], Topology]:
    """Returns the parameters given on the command line and the topology that they name.

    Raises:
        UsageError: there is no such topology.
    """
    known = {p.name for f in FAMILIES.values() for p in f.parameters}
    params = {name: value for name, value in vars(arguments).items() if name in known}
    return params, make_topology(arguments.name, params)


def read_fabric(arguments: argparse.Namespace) -> FabricOptions:
    """Returns the checked options of a fabric.

    Raises:
        UsageError: an option is outside its domain.
    """
    params, topology = read_topology(arguments)
    check_hosts(arguments.hosts)
    routing(arguments.routing)
    check_datapath(arguments.datapath)
    if arguments.occupancy not in SOURCES:
        raise UsageError(f"unknown occupancy {arguments.occupancy!r}; there are: {', '.join(SOURCES)}")
    calibrate = arguments.link_rate == AUTO_RATE
    rate_bps = FIRST_TRIAL_BPS if calibrate else parse_rate_bps(arguments.link_rate)
    shape = PortShape(rate_bps, arguments.queue, arguments.mtu)
    return FabricOptions(
        arguments.name,
        params,
        topology,
        arguments.hosts,
        shape,
        arguments.routing,
        arguments.datapath,
        arguments.occupancy,
        calibrate,
        arguments.local_repair,
        Impairment(arguments.link_delay, arguments.link_loss),
    )


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
    from traffic.frames import check_frame_bytes  # scapy: only where frames are made

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
    packets_per_s = endpoints * traffic.load * fabric.shape.rate_bps / (traffic.frame_bytes * 8)
    if packets_per_s > MAX_PACKETS_PER_S:
        raise ParameterError(
            f"{endpoints} hosts at this load and link rate send {packets_per_s:,.0f} packets/s, and at most "
            f"{MAX_PACKETS_PER_S:,} can be sent; choose a lower --link-rate"
        )


def output_path(text: str) -> Path:
    """Returns the path of an output directory.

    Raises:
        ParameterError: the text is empty.
    """
    if not text:
        raise ParameterError("--out needs the name of a directory")
    return Path(text)


def check_seed(seed: int) -> None:
    """Raises ParameterError unless the random generator takes that seed."""
    check_range("--seed", seed, 0, 2**63 - 1)


def check_range(name: str, value: float, least: float, most: float) -> None:
    """Raises ParameterError unless an option's value lies in its range."""
    if not least <= value <= most:  # false for nan, too
        raise ParameterError(f"{name} must be {least} to {most}, got {value}")
