"""Specification of synthetic traffic: pattern, load, packets, duration, seed and faults."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from experiments.spec.fabric import FabricOptions
from experiments.spec.settings import TrafficSettings
from experiments.spec.values import read_text
from topology.base import Topology
from topology.drains import check_schedule
from topology.drawn_faults import PREFIX, draw_faults, parse_process
from topology.errors import ParameterError
from topology.faults import SECONDS, Fault, TimeUnit, parse_schedule
from topology.files.escaping import quoted
from traffic.wire.layout import check_frame_bytes
from traffic.workload.applications import application_name, is_application
from traffic.workload.collectives.registry import COLLECTIVES
from traffic.workload.motifs import MOTIFS
from traffic.workload.patterns import PATTERNS, pattern_name

# Packets per second that one core was measured to send; Open vSwitch forwards far fewer.
MAX_PACKETS_PER_S = 200_000


@dataclass(frozen=True)
class TrafficOptions:
    """The synthetic traffic to run.

    Attributes:
        pattern: canonical name of a pattern, with its parameters.
        load: offered load as a fraction of the hosts' injection capacity, over 0 and at most 1.
        frame_bytes: length of every frame in bytes, without FCS.
        flows: number of source ports per host pair.
        warmup_s, duration_s: length of warm-up and measurement window in s.
        seed: seed of the random generator.
        faults: failures and restorations during the traffic.
        arrivals: distribution of a host's packets over time, one of ARRIVALS.
        steady: whether the warm-up ends when throughput has settled, after `warmup_s` at the latest.
        faults_asked: requested random failures, from which `faults` was drawn; None if it was not drawn.
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
    faults_asked: str | None = None

    def settings(self) -> TrafficSettings:
        """Returns the traffic's settings in the form that results record."""
        return TrafficSettings(**{**vars(self), "faults": tuple(fault.line for fault in self.faults)})


def pattern_names() -> Iterator[str]:
    """Yields the names of all patterns, of all collectives with their algorithms, and of all motifs."""
    yield from PATTERNS
    for name, entry in COLLECTIVES.items():
        yield from (f"{name}:{algorithm}" for algorithm in entry.algorithms)
    yield from MOTIFS


def canonical_pattern(text: str) -> str:
    """Returns the canonical name of a pattern or application, such as `allreduce:ring` for `allreduce`.

    Raises:
        UsageError: the pattern is unknown.
    """
    return application_name(text) if is_application(text) else pattern_name(text)


def check_traffic(traffic: TrafficOptions, fabric: FabricOptions) -> None:
    """Raises UsageError if the traffic cannot be sent over the fabric."""
    # Not every fabric supports every pattern.
    fabric.pattern(traffic.pattern, traffic.seed)
    check_frame_bytes(traffic.frame_bytes, fabric.links.mtu)
    _check_packet_rate(traffic, fabric)


def _check_packet_rate(traffic: TrafficOptions, fabric: FabricOptions) -> None:
    """Raises ParameterError if the traffic has more packets per second than one process can send."""
    if fabric.calibrate:  # the rate is still unknown
        return
    endpoints = fabric.topology.endpoints(fabric.hosts)
    packets_per_s = endpoints * traffic.load * fabric.links.rate_bps / (traffic.frame_bytes * 8)
    if packets_per_s > MAX_PACKETS_PER_S:
        raise ParameterError(
            f"packets of all {endpoints} hosts must be at most {MAX_PACKETS_PER_S:,}/s, got "
            f"{packets_per_s:,.0f}/s at this load and link rate; choose a lower --link-rate"
        )


def read_faults(
    asked: str | None, topology: Topology, seed: int, end_s: float, unit: TimeUnit = SECONDS
) -> tuple[Fault, ...]:
    """Returns the faults of a schedule, all before the traffic's end.

    Args:
        asked: path of a file, or random failures such as `mtbf:links=30s,mttr=10s`; None for no faults.
        topology: the graph whose links and switches fail.
        seed: seed of random faults.
        end_s: end of the traffic in `unit`; inf if it is not known.
        unit: unit of all times.

    Raises:
        ParameterError: the file or the text is not a schedule, or a fault comes too late.
    """
    if asked is None:
        return ()
    if asked_faults(asked):
        return draw_schedule(asked, topology, seed, end_s, unit)
    return read_schedule(Path(asked), topology, seed, end_s, unit)


def asked_faults(asked: str | None) -> str | None:
    """Returns the value of `--faults` if it requests random failures; None if it names a file or is None."""
    return asked if asked is not None and asked.startswith(PREFIX) else None


def read_schedule(
    path: Path, topology: Topology, seed: int, end_s: float, unit: TimeUnit = SECONDS
) -> tuple[Fault, ...]:
    """Returns the faults of a schedule's file.

    Args:
        path: text file with one fault per line.
        topology: the graph whose links and switches fail.
        seed: seed of random faults.
        end_s: end of the traffic in `unit`; every fault must come before it.
        unit: unit of all times.

    Raises:
        ParameterError: the file cannot be read, a line is not a fault or comes too late, or a drain would cut
            switches off.
    """
    text = read_text(path, "--faults needs a fault schedule")
    try:
        faults = parse_schedule(text, topology, seed, unit)
        check_schedule(faults, topology)
    except ParameterError as error:
        raise ParameterError(f"{path}, {error}") from None
    late = next((fault for fault in faults if fault.time_s >= end_s), None)
    if late:
        raise ParameterError(
            f"{path}: faults must come before the end of traffic at {end_s:g} {unit.name}, got `{late.line}`"
        )
    return faults


def draw_schedule(
    text: str, topology: Topology, seed: int, end_s: float, unit: TimeUnit = SECONDS
) -> tuple[Fault, ...]:
    """Draws a random fault schedule.

    Args:
        text: the random failures, such as `mtbf:links=30s,mttr=10s`.
        topology: the graph whose links and switches fail.
        seed: seed of the random generator.
        end_s: end of the traffic in `unit`; inf if it is not known.
        unit: unit of all times.

    Raises:
        ParameterError: the text is malformed, or the end is not known.
    """
    process = parse_process(text, unit)
    if math.isinf(end_s):
        raise ParameterError(
            f"--faults must be a FILE if the end of traffic is not known in advance, got {quoted(text)}"
        )
    return draw_faults(process, topology, seed, end_s)
