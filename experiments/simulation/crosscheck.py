"""Cross-check of measurements: repeats the packets of a run or a sweep on simulated switches.

The simulator uses the same schedule of packets, plan, queues and token buckets; under adaptive routings also
the controller's control law with its period. In the simulator, the law sees all queues at the same time and
its changes take effect at once; a real controller reads switch by switch and sends messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from controller.adaptation_loop import step_s
from emulation.shaping import burst_bytes
from experiments.events.base import OnEvent
from experiments.events.notices import Notice
from experiments.results.model import Summary, mean_hops
from experiments.results.open import open_results
from experiments.results.parts.crosscheck import CROSSCHECK, Compared, Crosscheck, Judged, Replicated
from experiments.results.replications import interval_of
from experiments.results.run_directory import graph_of_results, kept_directory
from experiments.results.tables import reporting_corruption
from experiments.simulation.fabric import max_hops
from experiments.spec.fabric import FabricOptions
from experiments.spec.files.experiment_file import check_kept
from experiments.spec.files.inputs import kept_digests
from experiments.spec.options import RUN, option_of
from experiments.spec.traffic import MAX_PACKETS_PER_S
from routing.plan.model import RoutePlan
from routing.registry import make_plan, routing
from simulation.bucket_loop import BucketLoop
from simulation.result import SimulationResult
from simulation.settings import Arrivals, Decision, RouterSettings, Times, Workload
from simulation.simulator import simulate
from simulation.tables.compiler import compile_tables
from simulation.tables.model import ForwardingTables
from topology.base import Topology
from topology.errors import MachineError, ParameterError
from topology.files.reading import expecting
from topology.files.writing import open_folder
from topology.links import LinkSpec
from traffic.wire.layout import check_frame_bytes
from traffic.workload.patterns import Pattern, make_pattern
from traffic.workload.schedule import PatternSchedule

_NS = 1_000_000_000
_FLITS = 4  # flits per packet, so that a cycle is a quarter of a frame's time on a link
_MAX_DRAIN = 5000
_CREDIT_WINDOW = 20_000  # cycles of the window of the simulation on lossless routers
_FLOWS = 64  # flows per pair of hosts, if results do not state their number


def crosscheck(folder: Path, on_event: OnEvent) -> Crosscheck:
    """Compares the measured points of a run or sweep with simulations and with the fluid model.

    For each point, the packets that the hosts sent are sent again on simulated switches. The comparison is
    written to the folder if that is writable; figures and reports read it there.

    Args:
        folder: output directory of a run or sweep with packets of a pattern and without faults.
        on_event: called with an event after every point.

    Raises:
        ParameterError: the folder has results of another kind, no point that can be simulated, or a point
            that no run can have measured.
    """
    plans: dict[str, tuple[RoutePlan, ForwardingTables]] = {}
    topology: Topology | None = None
    points = []
    results: Any = open_results(folder)
    packets = results.packets()
    experiment = results.manifest.experiment
    check_kept(experiment)
    for summary, flows, options in packets:
        if not _is_repeatable(summary):
            continue
        topology = topology or graph_of_results(folder, summary.name, summary.params, experiment)
        try:
            _check_possible(summary, flows or _FLOWS, topology.endpoints(summary.hosts))
        except ParameterError as error:
            raise ParameterError(f"{folder} is damaged: {error}") from None
        # Whoever owns the results chose the names of files in them, so they are read with that user's rights.
        unchanged = expecting(kept_digests(experiment), f"{folder} was written", "measure again")
        with open_folder(folder).rights(), unchanged:
            pattern = make_pattern(summary.pattern, topology, summary.hosts, summary.seed)
        if summary.routing not in plans:
            plan = make_plan(topology, summary.hosts, summary.routing)
            plans[summary.routing] = plan, compile_tables(plan, candidates=True)
        with reporting_corruption(folder):
            point = _point(summary, flows or _FLOWS, pattern, *plans[summary.routing])
        points.append(replace(point, options=dict(options)) if options else point)
        on_event(
            Notice(
                "point-compared",
                routing=points[-1].routing,
                pattern=points[-1].pattern,
                load=points[-1].load,
                seed=points[-1].seed,
            )
        )
    if not points:
        raise ParameterError(f"results must have packets of a pattern without faults, got {folder}")
    agreement = Crosscheck(str(folder), tuple(points), _replicated(points))
    try:
        with kept_directory(folder, resume=True) as directory:
            directory.write_record(CROSSCHECK, agreement)
    except (MachineError, OSError) as error:  # root may own the folder of a run, or its disk be full
        on_event(Notice("crosscheck-not-kept", reason=str(error)))
    return agreement


def _replicated(points: Sequence[Compared]) -> tuple[Replicated, ...] | None:
    """For each point with several seeds, compares measured and simulated means; None without such points."""
    groups: dict[object, list[Compared]] = {}
    for one in points:
        key = one.routing, one.pattern, one.load, tuple(sorted((one.options or {}).items()))
        groups.setdefault(key, []).append(one)
    found = [
        Replicated(
            routing=group[0].routing,
            pattern=group[0].pattern,
            load=group[0].load,
            seeds=tuple(one.seed for one in group),
            accepted=_judged(group, "accepted"),
            hops_mean=_judged(group, "hops_mean"),
            queueing_frame_times=_judged(group, "queueing_frame_times"),
            options=group[0].options,
        )
        for group in groups.values()
        if len(group) > 1
    ]
    return tuple(found) or None


def _judged(group: Sequence[Compared], name: str) -> Judged | None:
    """Compares the mean of a quantity over measured replications with its mean over their simulations.

    Args:
        group: the replications of a point.
        name: field of Compared, such as `accepted`.

    Returns:
        The comparison; None if fewer than two replications have the quantity.
    """
    measured = interval_of(getattr(one, name) for one in group)
    simulated = interval_of(getattr(one, f"{name}_simulated") for one in group)
    if measured is None or measured.ci95 is None or simulated is None:
        return None
    within = abs(measured.mean - simulated.mean) <= measured.ci95
    return Judged(mean=measured.mean, ci95=measured.ci95, simulated=simulated.mean, within=within)


def _is_repeatable(summary: Summary) -> bool:
    """Returns whether the simulator can repeat the packets of a result.

    It can if they are packets of a pattern, and the run had no faults.
    """
    measured = summary.load is not None and summary.measured_s and summary.queueing_frame_times is not None
    return bool(measured and summary.faults is None and summary.repeat is None)


def _check_possible(summary: Summary, flows: int, hosts: int) -> None:
    """Raises ParameterError for packets that no run can have sent: their simulation might never end."""
    longest_s = option_of("duration", RUN).most or 0
    for name, seconds in (("warmup_s", summary.warmup_s), ("measured_s", summary.measured_s)):
        if not 0 <= seconds <= longest_s:
            raise ParameterError(f"{name} must be 0 to {longest_s:g}, got {seconds:g}")
    option_of("load", RUN).check(summary.load)
    option_of("flows", RUN).check(flows)
    check_frame_bytes(summary.frame_bytes, summary.mtu)
    packets_per_s = hosts * float(summary.load or 0) * summary.link_rate_bps / (summary.frame_bytes * 8)
    if packets_per_s > MAX_PACKETS_PER_S:
        raise ParameterError(
            f"packets of all hosts must be at most {MAX_PACKETS_PER_S:,}/s, got {packets_per_s:,.0f}/s"
        )


def _point(
    summary: Summary, flows: int, pattern: Pattern, plan: RoutePlan, tables: ForwardingTables
) -> Compared:
    result = _simulated(summary, flows, pattern, plan, tables)
    capacity = result.window * tables.hosts / _FLITS
    frame_ms = summary.frame_bytes * 8e3 / summary.link_rate_bps
    return Compared(
        routing=summary.routing,
        pattern=summary.pattern,
        load=float(summary.load or 0),
        valid=summary.fidelity.valid,
        accepted=summary.accepted,
        accepted_simulated=round(result.accepted / capacity, 6),
        accepted_credit=round(_accepted_with_credits(summary, pattern, plan, tables), 6),
        accepted_predicted=summary.predicted.accepted if summary.predicted else None,
        hops_mean=mean_hops(summary.hops, 6) or 0.0,
        hops_mean_simulated=mean_hops(dict(enumerate(result.hops.tolist())), 6) or 0.0,
        queueing_frame_times=summary.queueing_frame_times,
        queueing_frame_times_simulated=round(result.queueing_sum / max(result.delivered, 1) / _FLITS, 6),
        latency_ms_simulated=round(result.latency_sum / max(result.delivered, 1) / _FLITS * frame_ms, 6),
        seed=summary.seed,
    )


def _simulated(
    summary: Summary, flows: int, pattern: Pattern, plan: RoutePlan, tables: ForwardingTables
) -> SimulationResult:
    """Sends the packets of a run on simulated switches, each at the same time as in the run."""
    links = LinkSpec(summary.link_rate_bps, summary.queue_packets, summary.mtu)
    packets_per_s = links.rate_bps / (summary.frame_bytes * 8)
    frame_ns = round(_NS / packets_per_s)
    routers = _routers(summary, links)
    load = float(summary.load or 0)
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
    decision, loops = Decision(), []
    if not routing(summary.routing).oblivious:
        period = max(1, round(step_s(links.rate_bps, links.queue_packets) * packets_per_s * _FLITS))
        decision = Decision(law="buckets", period=period, flows=flows)
        loops.append(BucketLoop(plan, tables, period, routers))
    return simulate(
        tables,
        Workload(pattern=pattern, load=load, schedule=schedule, frame_ns=frame_ns),
        routers,
        decision,
        Times(
            warmup=round(begin_s * packets_per_s * _FLITS),
            window=round(window_s * packets_per_s * _FLITS),
            most_drain=_MAX_DRAIN,
        ),
        summary.seed,
        interventions=loops,
    )


def _accepted_with_credits(
    summary: Summary, pattern: Pattern, plan: RoutePlan, tables: ForwardingTables
) -> float:
    """Returns the accepted load of a run's pattern on lossless simulated routers.

    The load is a fraction of the injection capacity. For each packet, the routing's rule chooses between the
    minimal path and detours. The packets are drawn anew from the pattern, so they differ from the run's.
    """
    fabric = FabricOptions(
        summary.name,
        dict(summary.params),
        plan.topology,
        summary.hosts,
        summary.routing,
        routers=RouterSettings(channels=max(RouterSettings().channels, max_hops(plan))),
    )
    result = simulate(
        tables,
        Workload(pattern=pattern, load=float(summary.load or 0), arrivals=cast(Arrivals, summary.arrivals)),
        fabric.routers,
        fabric.packet_decision(),
        Times(window=_CREDIT_WINDOW, most_drain=0),
        summary.seed,
    )
    return result.accepted * fabric.routers.packet_flits / (result.window * tables.hosts)


def _routers(summary: Summary, links: LinkSpec) -> RouterSettings:
    """Returns settings of simulated routers that have the queues and token buckets of a run's switches."""
    return RouterSettings(
        flow_control="drop",
        packet_flits=_FLITS,
        router_cycles=0,
        link_cycles=0,
        host_link_cycles=0,
        queue_packets=summary.queue_packets,
        burst_packets=burst_bytes(links) / summary.frame_bytes,
    )
