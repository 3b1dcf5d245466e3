"""Deadlocks: queues that wait for room in one another in a circle."""

from __future__ import annotations

import numpy as np

from simulation.arrays.ports import link_ports
from simulation.kernels.state import (
    ANY_CHANNEL,
    CHANNEL_SHIFT,
    CHANNELS,
    COUNT,
    NONE,
    PEER,
    POLICY,
    TARGET,
    State,
)
from simulation.result import Deadlock
from simulation.tables.model import ForwardingTables


def find_deadlock(network: State, tables: ForwardingTables, cycle: int) -> Deadlock:
    """Returns the deadlock of a network in which nothing moves.

    Args:
        network: the network.
        tables: forwarding tables.
        cycle: the present cycle.
    """
    queues = network.queues
    shift, channels = int(network.settings[CHANNEL_SHIFT]), int(network.settings[CHANNELS])
    followed: dict[int, int] = {}
    circle: list[int] = []
    for start in np.flatnonzero(queues[:, COUNT]).tolist():
        queue, walk = start, []
        while queue not in followed and queues[queue, COUNT] and queues[queue, TARGET] != NONE:
            followed[queue] = start
            walk.append(queue)
            queue = int(queues[queue, TARGET])
            # Of the channels of a port any of which would do, the first one that waits stands for all.
            if network.settings[POLICY] == ANY_CHANNEL:
                queue = next((queue + c for c in range(channels) if queues[queue + c, COUNT]), queue)
        if queue in walk:
            circle = walk[walk.index(queue) :]
            break
    inputs = network.outputs[link_ports(tables), PEER]
    link_of = {int(port): link for link, port in enumerate(inputs.tolist())}
    named = tuple((link_of[queue >> shift], queue & ((1 << shift) - 1)) for queue in circle)
    return Deadlock(cycle=cycle, waiting=int(queues[:, COUNT].sum()), circle=named)
