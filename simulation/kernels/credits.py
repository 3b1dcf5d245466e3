"""Credits: room that becomes free in a queue, and is told to its sender after a delay."""

from __future__ import annotations

from simulation.kernels.compiled import inlined
from simulation.kernels.inputs import wake
from simulation.kernels.sources import plan_source
from simulation.kernels.state import (
    ANY_CHANNEL,
    CHANNEL_SHIFT,
    CREDIT_CLASS,
    FLITS,
    LAW,
    MINIMAL_LAW,
    NONE,
    PEER,
    POLICY,
    RING_BEGIN,
    RING_DELAY,
    RING_END,
    RING_ENDS,
    ROOM,
    SHORT,
    USED,
    WAITING,
    State,
)


@inlined
def return_credits(state: State, tick: int, cycle: int) -> None:
    """Takes the credits that arrive, and has sources and queues go on that wait for the room.

    Args:
        state: the simulation.
        tick: the present tick.
        cycle: the next cycle that begins.
    """
    flits, shift = state.settings[FLITS], state.settings[CHANNEL_SHIFT]
    by_port = state.settings[POLICY] == ANY_CHANNEL
    size = state.credits.shape[1]
    for one in range(len(state.credit_rings)):
        # The end of the ring `delay` ticks ago stands where that of this tick will be written.
        end = state.credit_rings[one, RING_ENDS + tick % state.credit_rings[one, RING_DELAY]]
        place = state.credit_rings[one, RING_BEGIN]
        while place != end:
            queue = state.credits[one, place]
            place += 1
            if place == size:
                place = 0
            state.queues[queue, ROOM] += flits
            port = queue >> shift
            peer = state.places[port, PEER]
            if peer < 0:
                host = -1 - peer
                if state.hosts[host, WAITING]:
                    state.hosts[host, WAITING] = 0
                    plan_source(state, host, cycle, cycle)
            else:
                if state.settings[LAW] != MINIMAL_LAW:
                    state.ports[peer, USED] -= flits
                key = (port << shift) if by_port else queue
                first = state.queues[key, SHORT]
                if first != NONE:
                    state.queues[key, SHORT] = NONE
                    wake(state, first, tick, shift)
        state.credit_rings[one, RING_BEGIN] = place


@inlined
def return_room(state: State, queue: int, port: int) -> None:
    """Sends a credit for a place of a queue on its way.

    Args:
        state: the simulation.
        queue: the queue.
        port: its input.
    """
    one = state.places[port, CREDIT_CLASS]
    place = state.credit_rings[one, RING_END]
    state.credits[one, place] = queue
    place += 1
    if place == state.credits.shape[1]:
        place = 0
    state.credit_rings[one, RING_END] = place


@inlined
def end_tick(state: State, tick: int) -> None:
    """Keeps the ends of all rings of a tick.

    Args:
        state: the simulation.
        tick: the present tick.
    """
    for one in range(len(state.credit_rings)):
        place = RING_ENDS + tick % state.credit_rings[one, RING_DELAY]
        state.credit_rings[one, place] = state.credit_rings[one, RING_END]
