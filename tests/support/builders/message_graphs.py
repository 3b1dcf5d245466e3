"""Small graphs of messages for tests, and their simulation on an ER_q."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from support.builders.simulated_networks import polarfly_tables

from simulation.applications import ApplicationResult, Phase, simulate_application
from simulation.settings import Decision, RouterSettings
from simulation.timing import fastest_cycles
from traffic.workload.messages import MessageGraph

FLIT_BYTES = 32


def graph(
    messages: Sequence[tuple[int, int, int]],
    dependencies: Sequence[tuple[int, int]] = (),
    *,
    begin: Sequence[int] = (),
    compute: Sequence[int] = (),
) -> MessageGraph:
    """Returns messages of (source, destination, bytes), and which waits for which."""
    rows = np.array(messages, np.int64)
    none = np.zeros(len(rows), np.int64)
    return MessageGraph(
        source=rows[:, 0].copy(),
        destination=rows[:, 1].copy(),
        bytes=rows[:, 2].copy(),
        begin_cycles=np.array(begin, np.int64) if begin else none,
        compute_cycles=np.array(compute, np.int64) if compute else none,
        dependencies=np.array(dependencies, np.int64).reshape(-1, 2),
    )


def sent(
    messages: MessageGraph,
    *,
    q: int = 3,
    hosts: int = 1,
    iterations: int = 1,
    routing: str = "min",
    decision: Decision | None = None,
    seed: int = 1,
    **settings: Any,
) -> ApplicationResult:
    """Returns the result of messages on an ER_q."""
    tables = polarfly_tables(q, hosts, routing)
    routers = tables.host_routers
    chosen = RouterSettings(**settings)
    unloaded = fastest_cycles(tables, chosen, routers[messages.source], routers[messages.destination])
    return simulate_application(
        tables,
        [Phase(messages, unloaded, iterations)],
        chosen,
        decision or Decision(),
        FLIT_BYTES,
        seed,
    )
