"""Applications on the simulator: messages with dependencies, sent again and again over one network."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simulation.arrays.network import make_network
from simulation.course import DEADLOCKED, PERIOD, Course, Intervention, Progress, result_of
from simulation.kernels.credit import RUNNING
from simulation.kernels.messages import begin_messages
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

MOST_CYCLES = 10**9  # of all iterations in the ideal case
_MOST_PERIODS = 1000  # about, of a simulation


@dataclass(frozen=True)
class Phase:
    """Messages that are sent several times.

    Attributes:
        graph: the messages.
        unloaded: cycles of a packet of each that waits for nothing, on the fastest path, int64 array,
            (messages,); `simulation.timing.fastest_cycles` has them.
        iterations: times that they are sent, at least 1; each begins when all of the one before has arrived.
    """

    graph: MessageGraph
    unloaded: Int64
    iterations: int


@dataclass(frozen=True)
class Iteration:
    """An iteration of a phase.

    Attributes:
        phase: the phase, counted from 0.
        begin: cycle of its begin.
        cycles: cycles from its begin until all messages had arrived.
        host_cycles: cycles from its begin until each host had received all of its messages and ended its
            computations, int64 array, (H,); 0 of hosts without any.
    """

    phase: int
    begin: int
    cycles: int
    host_cycles: Int64


@dataclass(frozen=True)
class ApplicationResult:
    """Measures of an application.

    Attributes:
        packets: measures of its packets, which are born when their message is ready; the window is the whole
            simulation.
        ideals: ideal times of each phase.
        iterations: the iterations that were completed.
        done: cycles from the begin of the last iteration to each message's arrival, int64 array, (messages,);
            -1 of those that did not arrive.
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
    """Sends the messages of an application over forwarding tables.

    Args:
        tables: forwarding tables of a plan.
        phases: the messages, phase by phase.
        routers: settings of routers and links, with flow control by credits.
        decision: law of adaptive choices.
        flit_bytes: bytes of a flit, at least 1.
        seed: seed of the run, at least 0; the same seed gives the same result on every machine.
        progress: is told simulated cycles and arrived packets after every period.
        interventions: change the network at their cycles.

    Returns:
        The measures. Where Ctrl-C or a signal interrupts it, those so far.

    Raises:
        ParameterError: messages wait for one another in a circle, the application takes too long, or the flow
            control drops packets.
    """
    packets = [message_packets(phase.graph, routers, flit_bytes) for phase in phases]
    ideals = tuple(
        ideal_times(phase.graph, count, phase.unloaded, routers)
        for phase, count in zip(phases, packets, strict=True)
    )
    total = sum(ideal.cycles * phase.iterations for ideal, phase in zip(ideals, phases, strict=True))
    if total > MOST_CYCLES:
        raise ParameterError(
            f"all iterations must take at most {MOST_CYCLES:,} cycles in the ideal case, got {total:,}; "
            "choose smaller messages, fewer iterations or shorter computations"
        )
    network = make_network(tables, None, routers, decision, seed)
    course = Course(network, routers, progress, interventions)
    course.counts[WINDOW_BEGIN] = 0
    period = PERIOD * max(1, total // (PERIOD * _MOST_PERIODS))
    began = time.perf_counter()
    iterations: list[Iteration] = []
    try:
        for iteration in _iterations(course, phases, packets, period):
            iterations.append(iteration)
    except (KeyboardInterrupt, Terminated):
        course.interrupted = True
    course.shorten_window()
    _count_waiting(course)
    measured = result_of(course, tables, None, time.perf_counter() - began)
    return ApplicationResult(measured, ideals, tuple(iterations), _done(course))


def _iterations(
    course: Course, phases: Sequence[Phase], packets: Sequence[Int64], period: int
) -> Iterator[Iteration]:
    """Yields iterations as they end; none after a deadlock."""
    for number, (phase, count) in enumerate(zip(phases, packets, strict=True)):
        messages, successors = message_arrays(phase.graph, count)
        course.network = course.network._replace(messages=messages.copy(), successors=successors)
        for _ in range(phase.iterations):
            course.network.messages[:] = messages
            course.begin = begin = course.cycles
            course.counts[BEHIND] = len(messages)
            begin_messages(course.network, begin)
            course.status = RUNNING
            while course.status == RUNNING:
                course.batch(period, drains=True)
            if course.status == DEADLOCKED:
                return
            done = course.network.messages[:, DUE_CYCLE] - begin
            host_cycles = np.zeros(len(course.network.hosts), np.int64)
            np.maximum.at(host_cycles, phase.graph.destination, done)
            yield Iteration(number, begin, int(done.max(initial=0)), host_cycles)


def _done(course: Course) -> Int64:
    """Returns the cycles from the last iteration's begin to each message's arrival; -1 without one."""
    messages = course.network.messages
    arrived = (messages[:, READY_CYCLE] != NONE) & (messages[:, UNARRIVED] == 0)
    return np.asarray(np.where(arrived, messages[:, DUE_CYCLE] - course.begin, NONE), np.int64)


def _count_waiting(course: Course) -> None:
    """Counts the packets of messages that may be sent but have not left their hosts, as born."""
    queues, messages = course.network.message_queues, course.network.messages
    for first in queues[:, FIRST_MESSAGE].tolist():
        message = first
        while message != NONE:
            course.counts[OFFERED] += messages[message, UNSENT]
            message = int(messages[message, NEXT_MESSAGE])
