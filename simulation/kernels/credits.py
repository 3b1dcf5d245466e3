"""Credits, which inform the sender, after a delay, that a queue has room for another packet."""

from __future__ import annotations

from simulation.kernels.compiled import inlined
from simulation.kernels.events import BLOCK, wake
from simulation.kernels.prefetch import prefetch
from simulation.kernels.sources import plan_source
from simulation.kernels.state import (
    ANY_CHANNEL,
    CHANNEL_SHIFT,
    CREDIT_CLASS,
    FLITS,
    LARGE,
    LAW,
    MINIMAL_LAW,
    NONE,
    POLICY,
    RING_BEGIN,
    RING_DELAY,
    RING_END,
    RING_ENDS,
    ROOM,
    ROOM_WAITERS,
    SENDER,
    WAITING,
    State,
)


@inlined
def return_credits(state: State, tick: int, cycle: int) -> None:
    """Applies the credits that arrive, and wakes the sources and queues that wait for the room.

    Args:
        state: the simulation.
        tick: the current tick.
        cycle: the cycle that starts at this tick; if none does, the next one to start.
    """
    flits, shift = state.settings[FLITS], state.settings[CHANNEL_SHIFT]
    by_port = state.settings[POLICY] >= ANY_CHANNEL
    size = state.credits.shape[1]
    for one in range(len(state.credit_rings)):
        # This entry still has the ring's end of `delay` ticks ago; `end_tick` then writes the current one.
        end = state.credit_rings[one, RING_ENDS + tick % state.credit_rings[one, RING_DELAY]]
        place = state.credit_rings[one, RING_BEGIN]
        ahead = place
        while place != end:
            if state.settings[LARGE] and place == ahead:
                ahead = _prefetch_credits(state, one, place, end)
            queue = state.credits[one, place]
            place += 1
            if place == size:
                place = 0
            state.queues[queue, ROOM] += flits
            sender = state.queues[queue, SENDER]
            if sender < 0:
                host = -1 - sender
                if state.hosts[host, WAITING]:
                    state.hosts[host, WAITING] = 0
                    plan_source(state, host, cycle, cycle)
            else:
                if state.settings[LAW] != MINIMAL_LAW:
                    state.used[sender] -= flits
                key = (queue >> shift) << shift if by_port else queue
                first = state.queues[key, ROOM_WAITERS]
                if first != NONE:
                    state.queues[key, ROOM_WAITERS] = NONE
                    wake(state, first, tick, shift)
        state.credit_rings[one, RING_BEGIN] = place


@inlined
def _prefetch_credits(state: State, one: int, place: int, end: int) -> int:
    """Prefetches the queues and senders of the next credits; returns the ring index that follows them."""
    size = state.credits.shape[1]
    last = min(place + BLOCK, size if end < place else end)
    for index in range(place, last):
        prefetch(state.queues, state.credits[one, index])
    for index in range(place, last):
        sender = state.queues[state.credits[one, index], SENDER]
        if sender < 0:
            prefetch(state.hosts, -1 - sender)
    return 0 if last == size else last


@inlined
def return_room(state: State, queue: int, port: int) -> None:
    """Sends a credit for one packet's room in a queue.

    Args:
        state: the simulation.
        queue: the queue.
        port: the input that the queue belongs to.
    """
    one = state.inputs[port, CREDIT_CLASS]
    place = state.credit_rings[one, RING_END]
    state.credits[one, place] = queue
    place += 1
    if place == state.credits.shape[1]:
        place = 0
    state.credit_rings[one, RING_END] = place


@inlined
def end_tick(state: State, tick: int) -> None:
    """Stores the ends of all credit rings, which mark the credits sent up to this tick.

    Args:
        state: the simulation.
        tick: the current tick.
    """
    for one in range(len(state.credit_rings)):
        place = RING_ENDS + tick % state.credit_rings[one, RING_DELAY]
        state.credit_rings[one, place] = state.credit_rings[one, RING_END]
