"""Summary of a simulation, computed from its record."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from experiments.results.link_loads import directed_links, load_values
from experiments.results.manifest import origin, simulation_versions
from experiments.results.model import Predicted, share
from experiments.results.simulation.applications import application_parts
from experiments.results.simulation.batch_means import batch_means
from experiments.results.simulation.faults import SimulatedFault, SimulatedFaultRecord, SimulatedReplan
from experiments.results.simulation.model import (
    DeadlockRecord,
    SimulatedLatencies,
    SimulatedLinks,
    SimulatedPackets,
    SimulatedTrafficSettings,
    SimulationManifest,
    SimulationSummary,
)
from experiments.results.simulation.record import AnyTraffic, SimulationRecord
from experiments.spec.fabric import FabricOptions
from experiments.spec.simulation.model import SimulatedTraffic, fault_settings, router_record
from experiments.theory.fluid_model import predict_pattern
from routing.registry import routing
from simulation.kernels.latency import quantile
from simulation.result import Deadlock, FaultCourse, PlanOutcome, SimulationResult
from topology.addressing import interface_name
from topology.base import Topology

# A load is stable if this share of it is accepted and the mean latency is below this limit.
MIN_ACCEPTED, MAX_LATENCY_CYCLES = 0.99, 500.0
# Random differences of counts stay within this many standard deviations.
_DEVIATIONS = 3.0
# The fluid model needs a matrix of hosts by hosts.
_MAX_PREDICTED_HOSTS = 1024


def summarise(record: SimulationRecord) -> SimulationSummary:
    """Returns the result of a simulation."""
    result, traffic, fabric = record.result, record.traffic, record.fabric
    offered, accepted = offered_and_accepted(record)
    return SimulationSummary(
        **settings(fabric.options),
        pattern=traffic.pattern,
        endpoints=fabric.tables.hosts,
        load=traffic.load,
        arrivals=traffic.arrivals,
        warmup_cycles=result.warmup,
        measured_cycles=result.window,
        cycles=result.cycles,
        offered=offered,
        accepted=accepted,
        loss=share(result.dropped, result.offered),
        packets=_packets(result),
        stable=None if record.application else is_stable(result),
        steady=result.steady,
        **_latencies(record),
        hops={int(n): int(result.hops[n]) for n in np.flatnonzero(result.hops)},
        detoured=share(result.detoured, result.delivered),
        links=_links(record),
        rules=fabric.rules,
        deadlock=deadlock_record(result.deadlock, fabric.options.topology),
        faults=_faults(record.faults),
        bringup_s={name: round(seconds, 3) for name, seconds in fabric.bringup_s.items()},
        packet_hops=result.packet_hops,
        seconds=round(result.seconds, 6),
        seed=traffic.seed,
        versions=simulation_versions(),
        predicted=_predicted(record),
        **application_parts(record),
        batches=batch_means(record),
        interrupted=True if result.interrupted else None,
    )


def _faults(course: FaultCourse | None) -> SimulatedFaultRecord | None:
    if course is None:
        return None
    return SimulatedFaultRecord(
        done=tuple(SimulatedFault(**vars(one)) for one in course.done),
        replanned=tuple(replan_record(one) for one in course.plans),
    )


def replan_record(outcome: PlanOutcome) -> SimulatedReplan:
    """Converts a plan of the simulated controller to the form that results record."""
    return SimulatedReplan(**vars(outcome))


def _packets(result: SimulationResult) -> SimulatedPackets:
    return SimulatedPackets(
        sent=result.offered,
        received=result.delivered,
        dropped=result.dropped,
        under_way=result.offered - result.delivered - result.dropped,
        arrived=result.accepted,
    )


def _latencies(record: SimulationRecord) -> dict[str, Any]:
    """Returns field -> value for the summary's fields about latency and queueing."""
    result, flits = record.result, record.fabric.options.routers.packet_flits
    latencies = latency_quantiles(result)
    return {
        "latency_cycles": latencies,
        "latency_frame_times": _scaled(latencies, flits),
        "queueing_frame_times": share(result.queueing_sum, result.delivered * flits),
    }


def offered_and_accepted(record: SimulationRecord) -> tuple[float, float]:
    """Returns offered and accepted load in the window as fractions of the injection capacity."""
    result, fabric = record.result, record.fabric
    capacity_packets = fabric.tables.hosts * result.window / fabric.options.routers.packet_flits
    offered, accepted = (share(count, capacity_packets) for count in (result.offered, result.accepted))
    return offered or 0.0, accepted or 0.0


def manifest_of(fabric: FabricOptions, traffic: AnyTraffic) -> SimulationManifest:
    """Returns the manifest of a simulation that starts now on this machine."""
    return SimulationManifest(
        **origin(traffic.seed, simulation_versions(), fabric.experiment),
        **settings(fabric),
        traffic=SimulatedTrafficSettings(
            pattern=traffic.pattern,
            load=traffic.load,
            arrivals=traffic.arrivals,
            seed=traffic.seed,
            **_own_settings(traffic),
        ),
    )


def _own_settings(traffic: AnyTraffic) -> dict[str, Any]:
    """Returns the manifest's field -> value for settings that only the given kind of traffic has."""
    if isinstance(traffic, SimulatedTraffic):
        times = {"warmup_cycles": traffic.times.warmup, "window_cycles": traffic.times.window}
        return {**times, **fault_settings(traffic)}
    own = {name: value for name, value in vars(traffic).items() if name not in ("pattern", "seed")}
    return {"warmup_cycles": None, "window_cycles": None, **own}


def settings(fabric: FabricOptions) -> dict[str, Any]:
    """Returns field of SimulatedSettings -> value for a simulated fabric."""
    return {
        "name": fabric.name,
        "params": dict(fabric.params),
        "hosts": fabric.hosts,
        "routing": fabric.routing,
        "ordered_repair": fabric.ordered_repair,
        "routers": router_record(fabric),
    }


def is_stable(result: SimulationResult) -> bool:
    """Returns whether the load is stable.

    A load is stable if at least 0.99 of the offered packets are accepted, at most 0.01 are dropped, the mean
    latency is below 500 cycles, and there is no deadlock; also if it is so low that no packet was injected.

    Packets in flight at both ends of the window make accepted and offered packets differ by chance, by about
    the square root of the number in flight; in a short window, that may exceed 0.01. This number is estimated
    from the median latency (Little's law), not the mean, which grows with the queues of the few sources that
    saturate first.
    """
    if not result.offered and result.window and not result.deadlock:
        return True
    median = latency_quantiles(result).p50
    if result.deadlock or median is None or not result.window:
        return False
    latency = result.latency_sum / result.delivered
    under_way = result.offered / result.window * min(median, latency)
    chance = _DEVIATIONS * math.sqrt(2 * under_way)
    missing, allowed = result.offered - result.accepted, (1 - MIN_ACCEPTED) * result.offered
    return latency < MAX_LATENCY_CYCLES and result.dropped <= allowed and missing <= max(allowed, chance)


def latency_quantiles(result: SimulationResult) -> SimulatedLatencies:
    """Returns mean and quantiles, in cycles, of a simulation's latencies."""
    if not result.delivered:
        return SimulatedLatencies(None, None, None, None, None)
    # The middle of a histogram bin may exceed the largest latency in it.
    middles = [quantile(result.latency_counts, share) for share in (0.5, 0.99, 0.999)]
    p50, p99, p99_9 = (None if one is None else min(one, result.latency_max) for one in middles)
    mean = round(result.latency_sum / result.delivered, 6)
    return SimulatedLatencies(mean, p50, p99, p99_9, result.latency_max)


def deadlock_record(deadlock: Deadlock | None, topology: Topology) -> DeadlockRecord | None:
    """Returns the record of a deadlock, with names of interfaces; None without a deadlock.

    Args:
        deadlock: the deadlock that the simulator detected, or None.
        topology: the graph of routers.
    """
    if deadlock is None:
        return None
    links = directed_links(topology)
    names = [interface_name(links[link].source, links[link].port) for link, _ in deadlock.cyclic_dependency]
    channels = tuple(channel for _, channel in deadlock.cyclic_dependency)
    return DeadlockRecord(deadlock.cycle, deadlock.waiting, deadlock.arrived, tuple(names), channels)


def _links(record: SimulationRecord) -> SimulatedLinks:
    return SimulatedLinks(**load_values(record.counts.link_loads()), dropped_packets=record.result.dropped)


def _predicted(record: SimulationRecord) -> Predicted | None:
    """Returns the fluid model's prediction for the same plan, pattern and load; None if it does not apply."""
    fabric = record.fabric
    if record.pattern is None or record.traffic.load is None:
        return None
    if not routing(fabric.options.routing).oblivious or fabric.tables.hosts > _MAX_PREDICTED_HOSTS:
        return None
    return Predicted.of(predict_pattern(fabric.plan, record.pattern, record.traffic.load, fabric.prover))


def _scaled(latencies: SimulatedLatencies, flits: int) -> SimulatedLatencies:
    """Returns latencies in units of the time in which a link sends a packet of `flits` flits."""
    values = vars(latencies).items()
    return SimulatedLatencies(
        **{name: None if value is None else round(value / flits, 6) for name, value in values}
    )
