"""Cross-check of measurements: packets of a run or a sweep, sent again over simulated switches.

The simulator gets the very schedule of the packets, the plan of the switches, their queues and their token
buckets. A source decides for every packet, as the papers' routers do, where switches have a controller that
re-points shares of flows; under adaptive routings the difference shows the effect of the controller's loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from emulation.shaping import burst_bytes
from experiments.events.base import Notify
from experiments.events.simulation import PointCompared
from experiments.results.model import Summary
from experiments.results.open import Run, Sweep, open_results
from experiments.simulation.model import Agreement, Compared
from experiments.spec.simulation.model import SimulatedFabric
from routing.registry import make_plan
from simulation.result import SimulationResult
from simulation.settings import RouterSettings, Times
from simulation.simulator import simulate
from simulation.tables.compiler import compile_tables
from simulation.tables.model import ForwardingTables
from simulation.workload import Workload
from topology.base import Topology
from topology.errors import ParameterError
from topology.links import LinkSpec
from topology.registry import make_topology
from traffic.workload.patterns import make_pattern
from traffic.workload.schedule import PatternSchedule

_NS = 1_000_000_000
_FLITS = 4  # of a packet; a cycle is a quarter of a frame's time
_MOST_DRAIN = 5000
_FLOWS = 64  # of a pair of hosts, where results do not tell


def crosscheck(folder: Path, notify: Notify) -> Agreement:
    """Returns measured points beside the same packets on simulated switches, and beside theory.

    Args:
        folder: output directory of a run, or of a sweep, of packets of a pattern without faults.
        notify: takes an event after every point.

    Raises:
        ParameterError: the folder holds other results, or none that can be simulated.
    """
    tables: dict[str, ForwardingTables] = {}
    topology: Topology | None = None
    points = []
    for summary, flows in _summaries(folder):
        topology = topology or _topology(folder, summary)
        if summary.routing not in tables:
            tables[summary.routing] = compile_tables(make_plan(topology, summary.hosts, summary.routing))
        points.append(_point(summary, flows, topology, tables[summary.routing]))
        notify(PointCompared(points[-1].routing, points[-1].pattern, points[-1].load))
    if not points:
        raise ParameterError(
            f"results must have packets of a pattern without faults to compare, got {folder}"
        )
    return Agreement(str(folder), tuple(points))


def _summaries(folder: Path) -> Iterator[tuple[Summary, int]]:
    """Yields the results that can be simulated, with their flows: packets of a pattern, without faults."""
    results = open_results(folder)
    match results:
        case Run():
            found = [one.summary for one in results.replications]
            flows = results.manifest.traffic.flows
        case Sweep():
            found = [one for one in map(results.summary, results.points) if one is not None]
            flows = results.manifest.sweep.flows
        case _:
            raise ParameterError(f"results to compare must be those of a run or a sweep, got {folder}")
    for summary in found:
        measured = (
            summary.load is not None and summary.measured_s and summary.queueing_frame_times is not None
        )
        if measured and summary.faults is None and summary.repeat is None:
            yield summary, flows or _FLOWS


def _topology(folder: Path, summary: Summary) -> Topology:
    if summary.name == "graph":
        return make_topology("graph", {**summary.params, "from": str(folder / str(summary.params["from"]))})
    return make_topology(summary.name, dict(summary.params))


def _point(summary: Summary, flows: int, topology: Topology, tables: ForwardingTables) -> Compared:
    result = _simulated(summary, flows, topology, tables)
    capacity = result.window * tables.hosts / _FLITS
    arrived = sum(result.hops.tolist())
    hops = sum(count * packets for count, packets in enumerate(result.hops.tolist()))
    measured = sum(summary.hops.values())
    return Compared(
        routing=summary.routing,
        pattern=summary.pattern,
        load=float(summary.load or 0),
        valid=summary.fidelity.valid,
        accepted=summary.accepted,
        accepted_simulated=round(result.accepted / capacity, 6),
        accepted_predicted=summary.predicted.accepted if summary.predicted else None,
        hops_mean=round(sum(int(n) * packets for n, packets in summary.hops.items()) / max(measured, 1), 6),
        hops_mean_simulated=round(hops / max(arrived, 1), 6),
        queueing_frame_times=summary.queueing_frame_times,
        queueing_frame_times_simulated=round(result.queueing_sum / max(result.delivered, 1) / _FLITS, 6),
    )


def _simulated(
    summary: Summary, flows: int, topology: Topology, tables: ForwardingTables
) -> SimulationResult:
    """Returns the result of a run's packets on simulated switches."""
    links = LinkSpec(summary.link_rate_bps, summary.queue_packets, summary.mtu)
    packets_per_s = links.rate_bps / (summary.frame_bytes * 8)
    frame_ns = round(_NS / packets_per_s)
    routers = RouterSettings(
        flow_control="drop",
        packet_flits=_FLITS,
        router_cycles=0,
        link_cycles=0,
        host_link_cycles=0,
        queue_packets=summary.queue_packets,
        burst_packets=burst_bytes(links) / summary.frame_bytes,
    )
    load = float(summary.load or 0)
    pattern = make_pattern(summary.pattern, topology, summary.hosts, summary.seed)
    begin_s, window_s = summary.warmup_s, summary.measured_s or 0.0
    schedule = PatternSchedule(
        pattern,
        load * packets_per_s,
        round((begin_s + window_s + 1) * _NS),
        flows,
        summary.seed,
        str(summary.arrivals),
        packets_per_s,
    )
    fabric = SimulatedFabric(
        summary.name, dict(summary.params), topology, summary.hosts, summary.routing, routers
    )
    return simulate(
        tables,
        Workload(pattern=pattern, load=load, schedule=schedule, frame_ns=frame_ns),
        routers,
        fabric.packet_decision(),
        Times(
            warmup=round(begin_s * packets_per_s * _FLITS),
            window=round(window_s * packets_per_s * _FLITS),
            most_drain=_MOST_DRAIN,
        ),
        summary.seed,
    )
