"""Applications on the simulator: messages with dependencies, sent repeatedly over one network."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simulation.arrays.network import make_network
from simulation.course import DEADLOCKED, PERIOD, Intervention, Progress, SimulationRun, result_of
from simulation.kernels.credit import RUNNING
from simulation.kernels.messages import start_messages
from simulation.kernels.state import (
    BEHIND,
    DUE_CYCLE,
    FIRST_MESSAGE,
    NEXT_MESSAGE,
    NONE,
    OFFERED,
    READY_CYCLE,
    UNARRIVED,
    UNSENT,
    WINDOW_BEGIN,
    Int64,
)
from simulation.messages import Ideal, ideal_times, message_arrays, message_packets
from simulation.result import SimulationResult
from simulation.settings import Decision, RouterSettings
from simulation.tables.model import ForwardingTables
from topology.errors import ParameterError, Terminated
from traffic.workload.messages import MessageGraph

MAX_CYCLES = 10**9  # limit of the time of all iterations together, without contention
_MAX_PERIODS = 1000  # approximate number of periods per simulation


@dataclass(frozen=True)
class Phase:
    """Messages that are sent in several iterations.

    Attributes:
        graph: the messages.
        unloaded: int64 array, (messages,): zero-load latency, in cycles, of one packet of each message on its
            fastest path, computed by `simulation.timing.fastest_cycles`.
        iterations: number of iterations, at least 1. Each starts when all messages of the previous one have
            arrived.
    """

    graph: MessageGraph
    unloaded: Int64
    iterations: int


@dataclass(frozen=True)
class Iteration:
    """An iteration of a phase.

    Attributes:
        phase: index of the phase, from 0.
        begin: cycle in which the iteration started.
        cycles: cycles from the start until all messages had arrived.
        host_cycles: int64 array, (H,): cycles from the start until each host had received all its messages
            and finished its computations; 0 for hosts without either.
    """

    phase: int
    begin: int
    cycles: int
    host_cycles: Int64


@dataclass(frozen=True)
class ApplicationResult:
    """Measurements of an application.

    Attributes:
        packets: measurements of its packets. A packet counts as generated when its message becomes ready; the
            measurement window is the whole simulation.
        ideals: ideal times of each phase.
        iterations: the completed iterations.
        done: int64 array, (messages,): cycles from the start of the last iteration to each message's arrival;
            -1 for messages that did not arrive.
    """

    packets: SimulationResult
    ideals: tuple[Ideal, ...]
    iterations: tuple[Iteration, ...]
    done: Int64


def simulate_application(  # noqa: PLR0913  # all that a result depends on
    tables: ForwardingTables,
    phases: Sequence[Phase],
    routers: RouterSettings,
    decision: Decision,
    flit_bytes: int,
    seed: int,
    progress: Progress | None = None,
    *,
    interventions: Sequence[Intervention] = (),
) -> ApplicationResult:
    """Simulates an application that sends its messages over forwarding tables.

    Args:
        tables: forwarding tables of a plan.
        phases: the messages, phase by phase.
        routers: settings of routers and links, with credit flow control.
        decision: decision law of adaptive routing.
        flit_bytes: bytes per flit, at least 1.
        seed: seed of the run, at least 0; the same seed gives the same result on every machine.
        progress: called with simulated cycles and arrived packets after every period.
        interventions: changes to the network, each at its own cycle.

    Returns:
        The measurements; only those until Ctrl-C or a signal, if one ended the run.

    Raises:
        ParameterError: the messages have a cyclic dependency, the application takes too long, or the flow
            control drops packets.
    """
    packets = [message_packets(phase.graph, routers, flit_bytes) for phase in phases]
    ideals = tuple(
        ideal_times(phase.graph, count, phase.unloaded, routers)
        for phase, count in zip(phases, packets, strict=True)
    )
    total = sum(ideal.cycles * phase.iterations for ideal, phase in zip(ideals, phases, strict=True))
    if total > MAX_CYCLES:
        raise ParameterError(
            f"ideal time of all iterations must be at most {MAX_CYCLES:,} cycles, got {total:,}; "
            "choose smaller messages, fewer iterations or shorter computations"
        )
    network = make_network(tables, None, routers, decision, seed)
    run = SimulationRun(network, routers, progress, interventions)
    run.counts[WINDOW_BEGIN] = 0
    period = PERIOD * max(1, total // (PERIOD * _MAX_PERIODS))
    began = time.perf_counter()
    iterations: list[Iteration] = []
    try:
        for iteration in _iterations(run, phases, packets, period):
            iterations.append(iteration)
    except (KeyboardInterrupt, Terminated):
        run.interrupted = True
    run.shorten_window()
    _count_waiting(run)
    measured = result_of(run, tables, None, time.perf_counter() - began)
    return ApplicationResult(measured, ideals, tuple(iterations), _done(run))


def _iterations(
    run: SimulationRun, phases: Sequence[Phase], packets: Sequence[Int64], period: int
) -> Iterator[Iteration]:
    """Yields each iteration when it is complete, until the last one or a deadlock."""
    for number, (phase, count) in enumerate(zip(phases, packets, strict=True)):
        messages, successors = message_arrays(phase.graph, count)
        run.network = run.network._replace(messages=messages.copy(), successors=successors)
        for _ in range(phase.iterations):
            run.network.messages[:] = messages
            run.begin = begin = run.cycles
            run.counts[BEHIND] = len(messages)
            start_messages(run.network, begin)
            run.status = RUNNING
            while run.status == RUNNING:
                run.batch(period, drains=True)
            if run.status == DEADLOCKED:
                return
            done = run.network.messages[:, DUE_CYCLE] - begin
            host_cycles = np.zeros(len(run.network.hosts), np.int64)
            np.maximum.at(host_cycles, phase.graph.destination, done)
            yield Iteration(number, begin, int(done.max(initial=0)), host_cycles)


def _done(run: SimulationRun) -> Int64:
    """Returns the cycles from the last iteration's start to each message's arrival; -1 for no arrival."""
    messages = run.network.messages
    arrived = (messages[:, READY_CYCLE] != NONE) & (messages[:, UNARRIVED] == 0)
    return np.asarray(np.where(arrived, messages[:, DUE_CYCLE] - run.begin, NONE), np.int64)


def _count_waiting(run: SimulationRun) -> None:
    """Counts the unsent packets of ready messages as offered packets."""
    queues, messages = run.network.message_queues, run.network.messages
    for first in queues[:, FIRST_MESSAGE].tolist():
        message = first
        while message != NONE:
            run.counts[OFFERED] += messages[message, UNSENT]
            message = int(messages[message, NEXT_MESSAGE])
