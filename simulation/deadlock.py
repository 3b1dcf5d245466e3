"""Deadlocks: queues that wait in a cycle for room in one another, even while other packets still move."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simulation.arrays.ports import link_ports
from simulation.kernels.state import (
    ANY_CHANNEL,
    ARRIVED,
    CHANNEL_SHIFT,
    CHANNELS,
    COUNT,
    NEW_HEADS,
    NONE,
    PEER,
    POLICY,
    QUEUE_PLACES,
    TARGET,
    State,
)
from simulation.result import Deadlock
from simulation.tables.model import ForwardingTables


def stuck_queues(network: State) -> npt.NDArray[np.int64]:
    """Returns the queues whose packets can never move again.

    The head of a stuck queue waits for room in a full queue that is stuck itself (with the channel policies
    `any` and `free`: all channels of the next port are stuck). The result is the largest set of queues with
    this property. It is found by starting from all waiting queues and repeatedly removing those whose head
    can still move. A queue is not full while packets or credits are still on their way to it.

    Args:
        network: the network, between two ticks, with credit flow control.

    Returns:
        int64 array: indices of the queues, ascending; empty without a deadlock.
    """
    queues, settings = network.queues, network.settings
    full = queues[:, COUNT] >= settings[QUEUE_PLACES]
    waiting = (queues[:, COUNT] > 0) & (queues[:, TARGET] != NONE)
    # New heads are not routed yet: their TARGET still belongs to the packet before.
    waiting[network.new_heads[: network.counts[NEW_HEADS]]] = False
    stuck = np.flatnonzero(waiting)
    while True:
        closed = np.zeros(len(queues), bool)
        closed[stuck] = full[stuck]
        ahead = _all_channels(closed, network) if settings[POLICY] >= ANY_CHANNEL else closed
        remaining = stuck[ahead[queues[stuck, TARGET]]]
        if len(remaining) == len(stuck):
            return stuck
        stuck = remaining


def _all_channels(closed: npt.NDArray[np.bool_], network: State) -> npt.NDArray[np.bool_]:
    """Returns, for every queue, whether all queues of the same port are closed (full and stuck)."""
    ports = closed.reshape(-1, 1 << int(network.settings[CHANNEL_SHIFT]))
    port_closed = ports[:, : int(network.settings[CHANNELS])].all(axis=1)
    return np.repeat(port_closed, ports.shape[1])


def find_deadlock(network: State, tables: ForwardingTables, cycle: int) -> Deadlock:
    """Describes the deadlock of a network with stuck queues, including one of its dependency cycles.

    Args:
        network: the network.
        tables: forwarding tables.
        cycle: the current cycle.
    """
    queues, shift = network.queues, int(network.settings[CHANNEL_SHIFT])
    walk: list[int] = []
    stuck = stuck_queues(network)
    queue = int(stuck[0])
    while queue not in walk:
        walk.append(queue)
        # With the channel policy `any`, TARGET is the first channel of the port and stands for all of them.
        queue = int(queues[queue, TARGET])
    queue_cycle = walk[walk.index(queue) :]
    inputs = network.outputs[link_ports(tables), PEER]
    link_of = {int(port): link for link, port in enumerate(inputs.tolist())}
    named = tuple((link_of[queue >> shift], queue & ((1 << shift) - 1)) for queue in queue_cycle)
    waiting, arrived = int(queues[stuck, COUNT].sum()), int(network.counts[ARRIVED])
    return Deadlock(cycle=cycle, waiting=waiting, arrived=arrived, cyclic_dependency=named)
