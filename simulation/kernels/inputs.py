"""Inputs of routers: times at which they are looked at."""

from __future__ import annotations

from simulation.kernels.compiled import inlined
from simulation.kernels.state import (
    FOLLOWING,
    FREE,
    INPUT_FREE,
    INPUTS,
    LIVE,
    NEXT_BLOCKED,
    NONE,
    PLANNED,
    State,
)


@inlined
def look_at(state: State, port: int, tick: int) -> None:
    """Plans to look at an input in a tick, or when it is free.

    Args:
        state: the simulation.
        port: the input.
        tick: the tick.
    """
    if state.ports[port, PLANNED] == 0:
        state.ports[port, PLANNED] = 1
        slot = max(tick, state.ports[port, INPUT_FREE]) & (len(state.wheel) - 1)
        state.ports[port, FOLLOWING] = state.wheel[slot, INPUTS]
        state.wheel[slot, INPUTS] = port


@inlined
def wake(state: State, queue: int, tick: int, shift: int) -> None:
    """Has all queues of a list go on.

    Args:
        state: the simulation.
        queue: first queue of the list.
        tick: the tick.
        shift: `CHANNEL_SHIFT`.
    """
    while queue != NONE:
        port = queue >> shift
        state.ports[port, LIVE] += 1
        look_at(state, port, tick)
        following = state.queues[queue, NEXT_BLOCKED]
        state.queues[queue, NEXT_BLOCKED] = FREE
        queue = following
