"""Events: packets, inputs, outputs or hosts, in linked lists that start in the slots of a timing wheel."""

from __future__ import annotations

from simulation.kernels.compiled import inlined
from simulation.kernels.state import (
    INPUT_FREE,
    INPUTS,
    NEXT_BLOCKED,
    NONE,
    NOT_BLOCKED,
    PLANNED,
    READY,
    Int32,
    State,
)

BLOCK = 64  # events whose rows are prefetched together


@inlined
def list_events(state: State, first: int, following: Int32) -> int:
    """Copies the events of a linked list to `State.events`, so that their rows can be prefetched.

    Args:
        state: the simulation.
        first: first event of the list, or NONE.
        following: successor of each event in its list.

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
def plan_input(state: State, port: int, tick: int) -> None:
    """Plans a visit to an input in a tick, or as soon as the input is free after it.

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
    """Marks all queues of a list as ready and plans visits to their inputs.

    Args:
        state: the simulation.
        queue: first queue of the list, or NONE.
        tick: the tick of the visits.
        shift: the setting CHANNEL_SHIFT.
    """
    while queue != NONE:
        port = queue >> shift
        state.inputs[port, READY] |= 1 << (queue - (port << shift))
        plan_input(state, port, tick)
        following = state.queues[queue, NEXT_BLOCKED]
        state.queues[queue, NEXT_BLOCKED] = NOT_BLOCKED
        queue = following
