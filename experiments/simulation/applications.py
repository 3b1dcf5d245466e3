"""Simulated applications: collectives, motifs and traces as messages on a fabric of simulated routers."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.events.base import Event, OnEvent
from experiments.events.marks import Interrupted
from experiments.events.notices import Notice
from experiments.planned_fabric import PlannedFabric
from experiments.results.simulation.record import ApplicationRecord, SimulationRecord
from experiments.simulation.pace import Pace
from experiments.simulation.task import bucket_loop
from experiments.spec.simulation.applications import SimulatedApplication, SimulatedTrace
from simulation.applications import ApplicationResult, Phase, simulate_application
from simulation.timing import fastest_cycles
from traffic.workload.collectives.dependencies import program_messages
from traffic.workload.messages import MessageGraph, read_trace
from traffic.workload.placement import place_ranks


def simulate_messages(
    fabric: PlannedFabric, traffic: SimulatedApplication | SimulatedTrace, on_event: OnEvent
) -> SimulationRecord:
    """Simulates an application on a fabric and returns the record of the simulation.

    If Ctrl-C interrupts the simulation, the record covers the cycles until then.

    Args:
        fabric: the fabric.
        traffic: specification of the application.
        on_event: called with each event.

    Raises:
        ParameterError: the application takes too long.
    """
    options = fabric.options
    decision = options.packet_decision()
    loop = bucket_loop(fabric, decision, options.routers)
    hosts: tuple[int, ...] = ()
    if isinstance(traffic, SimulatedApplication):
        hosts = place_ranks(traffic.placement, traffic.ranks, options.topology, options.hosts, traffic.seed)
        phases = [_phase(fabric, graph, traffic.iterations) for graph in _graphs(traffic, hosts)]
    else:
        with options.reading_inputs():
            messages = read_trace(traffic.trace, options.topology, options.hosts)
        phases = [_phase(fabric, messages, 1)]
    for size, phase in zip(_sizes(traffic), phases, strict=True):
        on_event(
            Notice(
                "application-started",
                pattern=traffic.pattern,
                messages=int(phase.graph.sent.sum()),
                size=size,
            )
        )
    result = simulate_application(
        fabric.tables,
        phases,
        options.routers,
        decision,
        traffic.flit_bytes,
        traffic.seed,
        Pace(on_event),
        interventions=[] if loop is None else [loop],
    )
    if result.packets.interrupted:
        on_event(Interrupted())
    for event in _completed(traffic, result):
        on_event(event)
    application = ApplicationRecord(hosts, phases[-1].graph, result.ideals, result.iterations, result.done)
    return SimulationRecord(fabric, traffic, None, result.packets, application=application)


def _graphs(traffic: SimulatedApplication, hosts: tuple[int, ...]) -> Iterator[MessageGraph]:
    """Yields, for each message size, the messages that the application's ranks send in an iteration."""
    for size in traffic.message_bytes:
        programs = traffic.application.programs(size, traffic.slices)
        yield program_messages(programs, hosts, traffic.compute_cycles)


def _phase(fabric: PlannedFabric, graph: MessageGraph, iterations: int) -> Phase:
    """Returns a phase: a number of iterations that all send the same messages.

    The phase includes, for each message, the zero-load time of its packets on a fastest path. Slowdowns are
    relative to this time.
    """
    routers = fabric.tables.host_routers
    ends = routers[graph.source], routers[graph.destination]
    return Phase(graph, fastest_cycles(fabric.tables, fabric.options.routers, *ends), iterations)


def _sizes(traffic: SimulatedApplication | SimulatedTrace) -> list[str]:
    """Returns, for each phase, the words ` with N bytes` for its progress events; empty for a trace."""
    if isinstance(traffic, SimulatedTrace):
        return [""]
    return [f" with {size:,} bytes" for size in traffic.message_bytes]


def _completed(traffic: SimulatedApplication | SimulatedTrace, result: ApplicationResult) -> Iterator[Event]:
    """Yields an event for each phase with completed iterations."""
    for number, (size, ideal) in enumerate(zip(_sizes(traffic), result.ideals, strict=True)):
        cycles = [one.cycles for one in result.iterations if one.phase == number]
        if cycles:
            yield Notice(
                "application-completed",
                pattern=traffic.pattern,
                size=size,
                cycles=sum(cycles) / len(cycles),
                ideal_cycles=ideal.cycles,
            )
