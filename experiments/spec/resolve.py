"""Conversion of an experiment's values to typed specifications."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulation.capture import CapturePoint
from experiments.spec.captures import parse_captures
from experiments.spec.collective import CollectiveOptions, check_collective, parse_sizes
from experiments.spec.experiment import Experiment
from experiments.spec.fabric import FabricOptions, fabric_options
from experiments.spec.failover import FailoverOptions, FailoverSeriesOptions, with_time_for_repair
from experiments.spec.flows import REPLAY as REPLAYED
from experiments.spec.flows import FlowOptions, check_flows, flow_frame_bytes
from experiments.spec.options import (
    AUTO_RATE,
    COLLECTIVE,
    FAILOVER,
    FLOWS,
    PROGRAMS,
    REPLAY,
    RULE_RATE,
    RUN,
    SIMULATED,
    SIMULATED_SWEEP,
    STEADY,
    SWEEP,
)
from experiments.spec.programs import (
    NO_OPTIONS,
    ProgramOptions,
    ProgramTraffic,
    check_programs,
    user_programs,
)
from experiments.spec.simulation.model import SimulatedTraffic
from experiments.spec.simulation.resolve import SimulatedSweep, Simulation, simulated_sweep_of, simulation_of
from experiments.spec.sweep import PointOptions, SweepOptions, sweep_options, values_at
from experiments.spec.traffic import (
    TrafficOptions,
    asked_faults,
    check_traffic,
    read_faults,
)
from experiments.spec.values import DEFAULT_RESULTS, check_seeds, dated_folder, from_options, plain_name
from experiments.spec.warmup import max_warmup_s
from topology.errors import UsageError
from topology.faults import CONTROLLER, parse_components
from topology.networkx_graphs import NetworkxTopology
from traffic.workload.flows.flow_list import read_flows

Values = Mapping[str, Any]  # option -> value, complete with all defaults
RunTraffic = TrafficOptions | CollectiveOptions | FlowOptions | ProgramTraffic


@dataclass(frozen=True)
class Session:
    """A fabric with a prompt, and its capture points."""

    fabric: FabricOptions
    captures: tuple[CapturePoint, ...]


@dataclass(frozen=True)
class Run:
    """One experiment: fabric, traffic, user programs, number of replications and capture points."""

    fabric: FabricOptions
    traffic: RunTraffic
    programs: ProgramOptions = NO_OPTIONS
    repeat: int = 1
    captures: tuple[CapturePoint, ...] = ()

    @property
    def seconds(self) -> float | None:
        """The approximate duration of the run's traffic in s; None if it is not known in advance."""
        if not isinstance(self.traffic, TrafficOptions | FlowOptions):
            return None
        return self.repeat * (self.traffic.warmup_s + self.traffic.duration_s)


@dataclass(frozen=True)
class Sweep:
    """Experiments on one fabric: the swept values, and the fabric and traffic of each point."""

    sweep: SweepOptions
    points: tuple[PointOptions, ...]

    @property
    def fabric(self) -> FabricOptions:
        """The fabric of the first point."""
        return self.points[0].fabric


@dataclass(frozen=True)
class Failovers:
    """Failovers on one fabric."""

    fabric: FabricOptions
    failovers: FailoverSeriesOptions


Specification = Session | Run | Sweep | Failovers | Simulation | SimulatedSweep


def specification(experiment: Experiment) -> Specification:
    """Returns the typed specifications of an experiment.

    Args:
        experiment: the experiment. A `saturation` resolves to a simulation at full load, a kind other than
            `run`, `sweep`, `failover` and `simulate` to a session.

    Raises:
        UsageError: the options do not fit this fabric, or an input file is invalid.
        MachineError: the kernel lacks the congestion control of flows.
    """
    values = experiment.complete_values
    if experiment.kind in SIMULATED:
        return simulation_of(experiment, values)
    if experiment.declared_kind == SIMULATED_SWEEP:
        return simulated_sweep_of(experiment, values)
    if experiment.kind == SWEEP:
        return _sweep(experiment, values)
    fabric = fabric_options(experiment, values)
    if experiment.kind == RUN:
        return _run(experiment, values, fabric)
    if experiment.kind == FAILOVER:
        return Failovers(fabric, _failovers(values, fabric))
    return Session(fabric, parse_captures(values.get("pcap", ()), fabric.topology, fabric.hosts))


def default_folder(chosen: Specification) -> Path:
    """Returns the default output directory: with a date, except for sweeps, which can resume there."""
    fabric = chosen.fabric
    family: tuple[object, ...] = (fabric.name, *fabric.params.values())
    if isinstance(fabric.topology, NetworkxTopology):
        family = (Path(fabric.topology.file_name).stem,)
    if isinstance(chosen, SimulatedSweep):
        keys = [variation.key for variation in chosen.sweep.vary]
        return DEFAULT_RESULTS / plain_name("simulated-sweep", *family, fabric.hosts, *keys)
    if isinstance(chosen, Sweep):
        links = chosen.fabric.links
        origin = chosen.fabric.link_rate_from
        # A default rate depends on loads and cores: with it in the name, a sweep could not find its folder.
        rate = {AUTO_RATE: [AUTO_RATE], RULE_RATE: []}.get(origin, [f"{links.rate_bps / 1000:g}kbit"])
        keys = [variation.key for variation in chosen.sweep.vary]
        return DEFAULT_RESULTS / plain_name("sweep", *family, fabric.hosts, *rate, *keys)
    words = ("failover", *family, fabric.routing)
    if isinstance(chosen, Simulation):
        traffic = chosen.traffic
        volume = [f"{traffic.load:g}"] if isinstance(traffic, SimulatedTraffic) else []
        words = ("simulation", *family, fabric.routing, traffic.pattern, *volume)
    if isinstance(chosen, Run):
        words = (*family, fabric.routing, chosen.traffic.pattern, _volume(chosen))
    return dated_folder(*words)


def _volume(chosen: Run) -> str:
    match chosen.traffic:
        case CollectiveOptions(ranks=ranks):
            return f"{ranks}"
        case ProgramTraffic():
            return f"{len(chosen.programs.programs)}"
        case traffic:
            return f"{traffic.load:g}" if traffic.load else "flows"


def packet_options(values: Values, fabric: FabricOptions) -> TrafficOptions:
    """Returns the checked specification of packets on a fabric.

    Args:
        values: option -> value, complete.
        fabric: the fabric.

    Raises:
        UsageError: the fabric cannot carry the traffic.
    """
    steady, faults = values["warmup"] == STEADY, values.get("faults")
    if steady and faults:
        raise UsageError("--faults needs a warm-up of fixed length; give --warmup in seconds")
    warmup_s = max_warmup_s(fabric.links, values["frame-bytes"]) if steady else values["warmup"]
    end_s = warmup_s + values["duration"]
    traffic = from_options(
        TrafficOptions,
        values,
        warmup_s=warmup_s,
        duration_s=values["duration"],
        steady=steady,
        faults=read_faults(faults, fabric.topology, values["seed"], end_s),
        faults_asked=asked_faults(faults),
    )
    check_traffic(traffic, fabric)
    return traffic


def _run(experiment: Experiment, values: Values, fabric: FabricOptions) -> Run:
    kind, topology, hosts = experiment.traffic_kind, fabric.topology, fabric.hosts
    lines, file = values.get("exec", ()), values.get("exec-file")
    programs = ProgramOptions(user_programs(lines, file, topology, hosts), values.get("exec-timeout", 300.0))
    traffic: RunTraffic
    if kind == PROGRAMS:
        traffic = _program_traffic(values, fabric, programs)
    elif kind in (FLOWS, REPLAY):
        traffic = _flows(values, fabric)
    elif kind == COLLECTIVE:
        traffic = _collective(values, fabric)
    else:
        traffic = packet_options(values, fabric)
    captures = parse_captures(values.get("pcap", ()), topology, hosts)
    return Run(fabric, traffic, programs, values.get("repeat", 1), captures)


def _program_traffic(values: Values, fabric: FabricOptions, programs: ProgramOptions) -> ProgramTraffic:
    check_programs(programs.programs)
    faults = read_faults(values.get("faults"), fabric.topology, values["seed"], programs.timeout_s)
    return ProgramTraffic(flow_frame_bytes(fabric), values["seed"], faults)


def _collective(values: Values, fabric: FabricOptions) -> CollectiveOptions:
    sizes, seed = parse_sizes(values["message-bytes"]), values["seed"]
    faults = read_faults(values.get("faults"), fabric.topology, seed, math.inf)
    collective = from_options(CollectiveOptions, values, message_bytes=sizes, faults=faults)
    check_collective(collective, fabric)
    return collective


def _flows(values: Values, fabric: FabricOptions) -> FlowOptions:
    file = values.get("flow-file")
    if file is None:
        warmup_s, duration_s = values["warmup"], values["duration"]
    else:
        last_ns = int(read_flows(file, fabric.topology, fabric.hosts).time_ns[-1])
        warmup_s, duration_s = 0.0, max(1.0, math.ceil(last_ns / 1e9 + 1e-3))
    end_s = warmup_s + duration_s + values["drain"]
    flows = from_options(
        FlowOptions,
        {"pattern": REPLAYED, **values},
        warmup_s=warmup_s,
        duration_s=duration_s,
        drain_s=values["drain"],
        frame_bytes=flow_frame_bytes(fabric),
        faults=read_faults(values.get("faults"), fabric.topology, values["seed"], end_s),
        faults_asked=asked_faults(values.get("faults")),
    )
    check_flows(flows, fabric)
    return flows


def _sweep(experiment: Experiment, values: Values) -> Sweep:
    """Returns the sweep of an experiment, with the checked fabric and traffic of each of its points."""
    sweep = sweep_options(values, SWEEP)
    points = []
    for point in sweep.points():
        own = values_at(point, values)
        fabric = fabric_options(experiment, own)
        points.append(PointOptions(point, fabric, packet_options(own, fabric)))
    return Sweep(sweep, tuple(points))


def _failovers(values: Values, fabric: FabricOptions) -> FailoverSeriesOptions:
    fail, repeat, first = values.get("fail"), values["repeat"], values["seed"]
    check_seeds("failovers", first, repeat)
    repetitions = []
    for seed in range(first, first + repeat):
        components = () if fail is None else parse_components(fail, fabric.topology, seed)
        if CONTROLLER in components:
            raise UsageError("--fail takes links and switches, got controller; use --kill-controller")
        options = FailoverOptions(components, values["kill-controller"], seed=seed)
        repetitions.append(with_time_for_repair(options, repeated=repeat > 1))
    return FailoverSeriesOptions(fail, tuple(repetitions))
