"""Deadlocks: queues that wait for room in one another in a circle, while the rest of a network may go on."""

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
    """Returns the queues of which no packet can ever move, however long the simulation goes on.

    The head of such a queue waits for room in a queue that is full of packets, and of which no packet can
    ever move either; where any channel may be taken, all channels of the port are such queues. Of all sets of
    queues of which that holds, it is the largest: what remains when queues that can go on are taken out
    until there are none. A queue into which packets, or to which credits, are still on their way is not full.

    Args:
        network: the network, between two ticks, with flow control by credits.

    Returns:
        int64 array: indices of the queues, ascending; empty without a deadlock.
    """
    queues, settings = network.queues, network.settings
    full = queues[:, COUNT] >= settings[QUEUE_PLACES]
    waiting = (queues[:, COUNT] > 0) & (queues[:, TARGET] != NONE)
    waiting[network.new_heads[: network.counts[NEW_HEADS]]] = (
        False  # their targets are those of packets before
    )
    stuck = np.flatnonzero(waiting)
    while True:
        closed = np.zeros(len(queues), bool)
        closed[stuck] = full[stuck]
        ahead = _all_channels(closed, network) if settings[POLICY] == ANY_CHANNEL else closed
        remaining = stuck[ahead[queues[stuck, TARGET]]]
        if len(remaining) == len(stuck):
            return stuck
        stuck = remaining


def _all_channels(closed: npt.NDArray[np.bool_], network: State) -> npt.NDArray[np.bool_]:
    """Returns, for every queue, whether all channels of its port are closed."""
    ports = closed.reshape(-1, 1 << int(network.settings[CHANNEL_SHIFT]))
    whole = ports[:, : int(network.settings[CHANNELS])].all(axis=1)
    return np.repeat(whole, ports.shape[1])


def find_deadlock(network: State, tables: ForwardingTables, cycle: int) -> Deadlock:
    """Returns the deadlock of a network that has stuck queues.

    Args:
        network: the network.
        tables: forwarding tables.
        cycle: the present cycle.
    """
    queues, shift = network.queues, int(network.settings[CHANNEL_SHIFT])
    walk: list[int] = []
    stuck = stuck_queues(network)
    queue = int(stuck[0])
    while queue not in walk:
        walk.append(queue)
        # Of the channels of a port any of which would do, the first one stands for all.
        queue = int(queues[queue, TARGET])
    circle = walk[walk.index(queue) :]
    inputs = network.outputs[link_ports(tables), PEER]
    link_of = {int(port): link for link, port in enumerate(inputs.tolist())}
    named = tuple((link_of[queue >> shift], queue & ((1 << shift) - 1)) for queue in circle)
    waiting, arrived = int(queues[stuck, COUNT].sum()), int(network.counts[ARRIVED])
    return Deadlock(cycle=cycle, waiting=waiting, arrived=arrived, circle=named)
