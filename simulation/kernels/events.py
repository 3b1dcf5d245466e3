"""Events of a tick: lists of packets, inputs, outputs or hosts that begin in a wheel; inputs to look at."""

from __future__ import annotations

from simulation.kernels.compiled import inlined
from simulation.kernels.state import (
    FREE,
    INPUT_FREE,
    INPUTS,
    NEXT_BLOCKED,
    NONE,
    PLANNED,
    READY,
    Int32,
    State,
)

BLOCK = 64  # events whose rows are prefetched together


@inlined
def list_events(state: State, first: int, following: Int32) -> int:
    """Writes the events of a list to `State.events`, where their rows can be prefetched.

    Args:
        state: the simulation.
        first: first event of the list, or NONE.
        following: next event of each.

    Returns:
        The number of events.
    """
    count, event = 0, first
    while event != NONE:
        state.events[count] = event
        count += 1
        event = following[event]
    return count


@inlined
def look_at(state: State, port: int, tick: int) -> None:
    """Plans to look at an input in a tick, or when it is free.

    Args:
        state: the simulation.
        port: the input.
        tick: the tick.
    """
    if state.inputs[port, PLANNED] == 0:
        state.inputs[port, PLANNED] = 1
        slot = max(tick, state.inputs[port, INPUT_FREE]) & (len(state.wheel) - 1)
        state.next_input[port] = state.wheel[slot, INPUTS]
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
        state.inputs[port, READY] |= 1 << (queue - (port << shift))
        look_at(state, port, tick)
        following = state.queues[queue, NEXT_BLOCKED]
        state.queues[queue, NEXT_BLOCKED] = FREE
        queue = following
