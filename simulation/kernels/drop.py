"""Kernel of the emulation's switches: output queues behind token buckets, which drop what does not fit.

A queue needs no memory of its own: packets leave a port at known times, so that the time from which the next
one may leave tells how many wait. A packet moves on with its first bit, as in the emulation, whose links take
no time of their own: its latency ends when the last queue lets it go.

A packet takes as many cycles on a link as it has flits, and a cycle has SPEEDUP ticks.
"""

from __future__ import annotations

from simulation.kernels.compiled import compiled, inlined
from simulation.kernels.measures import count_link, count_lost, measure
from simulation.kernels.routing import output_of
from simulation.kernels.sources import BIRTH_BITS, begin_sources, destination_of, next_gap, plan_source
from simulation.kernels.state import (
    ARRIVALS,
    BEGUN,
    BIRTH,
    BURST,
    DELAY,
    DELIVERED,
    DROPPED,
    FLAGS,
    FLITS,
    FLITS_SENT,
    HOPS,
    HOST,
    HOST_FREE,
    HOST_PORT,
    LAW,
    LINK_FREE,
    MEASURED,
    MINIMAL_LAW,
    NEXT_BIRTH,
    NONE,
    OF_HOST,
    OFFERED,
    OVERFLOWED,
    OWNER,
    PATH_CYCLES,
    PEER,
    QUEUE,
    QUEUE_PLACES,
    ROUTER,
    ROUTER_TICKS,
    SCHEDULED,
    SPEEDUP,
    TAG,
    TICK,
    UNUSED,
    WINDOW_BEGIN,
    WINDOW_END,
    State,
)

# Results of `run`.
RUNNING, DONE = range(2)


@compiled
def run_dropping(state: State, until: int, drains: bool) -> int:
    """Moves packets until a tick.

    Args:
        state: the simulation; latencies are summed in ticks.
        until: the tick, the first of a cycle.
        drains: whether to end when all packets of the window have arrived or were dropped.

    Returns:
        RUNNING at `until`, or DONE if all packets have arrived.
    """
    counts, speedup = state.counts, state.settings[SPEEDUP]
    tick = counts[TICK]
    result = RUNNING
    if counts[BEGUN] == 0:
        counts[BEGUN] = 1
        begin_sources(state)
    while tick < until and result == RUNNING:
        _begin_cycle(state, tick // speedup)
        for _ in range(speedup):
            _arrive(state, tick)
            tick += 1
        # Births wait for nothing: those of the window are over when it is.
        if drains and counts[DELIVERED] + counts[DROPPED] == counts[OFFERED]:
            result = DONE
    counts[TICK] = tick
    return result


@inlined
def _begin_cycle(state: State, cycle: int) -> None:
    """Puts the packets that are born in a cycle into the queues of their hosts."""
    slot = cycle & (len(state.source_wheel) - 1)
    host = state.source_wheel[slot]
    state.source_wheel[slot] = NONE
    while host != NONE:
        following = state.next_host[host]
        while state.hosts[host, NEXT_BIRTH] >> BIRTH_BITS <= cycle:
            birth = (state.hosts[host, NEXT_BIRTH] * state.settings[SPEEDUP]) >> BIRTH_BITS
            _give_birth(state, host, destination_of(state, host), birth)
            state.hosts[host, NEXT_BIRTH] += next_gap(state, host)
        plan_source(state, host, state.hosts[host, NEXT_BIRTH] >> BIRTH_BITS, cycle)
        host = following
    event, end = state.counts[SCHEDULED], (cycle + 1) * state.settings[SPEEDUP]
    while event < len(state.schedule) and state.schedule[event, 0] < end:
        _give_birth(state, state.schedule[event, 1], state.schedule[event, 2], state.schedule[event, 0])
        event += 1
    state.counts[SCHEDULED] = event


@inlined
def _give_birth(state: State, host: int, destination: int, birth: int) -> None:
    """Puts a packet that is born in a tick into the queue of its host, or drops it."""
    counts, speedup = state.counts, state.settings[SPEEDUP]
    measured = counts[WINDOW_BEGIN] <= birth // speedup < counts[WINDOW_END]
    if measured:
        counts[OFFERED] += 1
    leaves = _leaving_time(state, state.hosts[host, HOST_FREE], birth)
    if leaves == NONE:
        counts[OVERFLOWED] += 1
        if measured:
            counts[DROPPED] += 1
    else:
        state.hosts[host, HOST_FREE] = _next_leaving_time(state, leaves, state.hosts[host, HOST_FREE])
        counts[UNUSED] -= 1
        packet = state.unused[counts[UNUSED]]
        state.packets[packet, HOST] = destination
        state.packets[packet, ROUTER] = state.host_routers[destination]
        state.packets[packet, TAG] = NONE
        state.packets[packet, HOPS] = state.packets[packet, PATH_CYCLES] = 0
        state.packets[packet, BIRTH], state.packets[packet, FLAGS] = birth, MEASURED if measured else 0
        port = state.hosts[host, HOST_PORT]
        _send(state, packet, port, leaves + state.outputs[port, DELAY] * speedup)


@inlined
def _leaving_time(state: State, free: int, tick: int) -> int:
    """Returns the tick in which a packet leaves a queue that it enters now, or NONE if the queue is full.

    Args:
        state: the simulation.
        free: tick from which the link would be free without the depth of its token bucket.
        tick: the present tick.
    """
    duration = state.settings[FLITS] * state.settings[SPEEDUP]
    allowed: int = free - state.settings[BURST]
    leaves = max(tick, allowed)
    if allowed - tick > state.settings[QUEUE_PLACES] * duration:
        leaves = NONE
    return leaves


@inlined
def _next_leaving_time(state: State, leaves: int, free: int) -> int:
    """Returns the tick from which a link is free, without its token bucket, after a packet leaves."""
    duration: int = state.settings[FLITS] * state.settings[SPEEDUP]
    return max(leaves, free) + duration


@inlined
def _send(state: State, packet: int, port: int, tick: int) -> None:
    """Has a packet arrive at an input in a tick."""
    slot = (tick + state.settings[ROUTER_TICKS]) & (len(state.wheel) - 1)
    state.packets[packet, QUEUE], state.next_packet[packet] = port, state.wheel[slot, ARRIVALS]
    state.wheel[slot, ARRIVALS] = packet


@inlined
def _arrive(state: State, tick: int) -> None:
    """Puts the packets that arrive at routers into the queues of their outputs."""
    slot = tick & (len(state.wheel) - 1)
    counts = state.counts
    # A packet that waits for nothing arrives further on in this tick.
    while state.wheel[slot, ARRIVALS] != NONE:
        packet = state.wheel[slot, ARRIVALS]
        state.wheel[slot, ARRIVALS] = state.next_packet[packet]
        if not _pass_router(state, packet, tick):
            state.unused[counts[UNUSED]] = packet
            counts[UNUSED] += 1


@inlined
def _pass_router(state: State, packet: int, tick: int) -> bool:
    """Has a router treat a packet; returns whether it is on its way to another router."""
    port = state.packets[packet, QUEUE]
    if state.inputs[port, OF_HOST] and state.settings[LAW] != MINIMAL_LAW:
        _see_queues(state, port, tick)
    output = output_of(state, port, packet)
    leaves = NONE
    if output != NONE:
        leaves = _leaving_time(state, state.outputs[output, LINK_FREE], tick)
    goes_on = False
    if output == NONE:
        count_lost(state, packet, tick)
    elif leaves == NONE:
        _count_overflow(state, packet, output, tick)
    else:
        state.outputs[output, LINK_FREE] = _next_leaving_time(state, leaves, state.outputs[output, LINK_FREE])
        goes_on = _leave(state, packet, output, leaves)
    return goes_on


@inlined
def _count_overflow(state: State, packet: int, output: int, tick: int) -> None:
    """Counts a packet that the full queue of an output drops."""
    counts = state.counts
    counts[DROPPED] += state.packets[packet, FLAGS] & MEASURED
    counts[OVERFLOWED] += 1
    if counts[WINDOW_BEGIN] <= tick // state.settings[SPEEDUP] < counts[WINDOW_END]:
        state.port_drops[output] += 1


@inlined
def _see_queues(state: State, port: int, tick: int) -> None:
    """Writes the flits that wait at the outputs of a router, by one of its ports."""
    router = state.inputs[port, OWNER]
    for output in range(state.first_ports[router], state.first_ports[router + 1]):
        allowed = state.outputs[output, LINK_FREE] - state.settings[BURST]
        state.used[output] = max(0, allowed - tick) // state.settings[SPEEDUP]


@inlined
def _leave(state: State, packet: int, output: int, leaves: int) -> bool:
    """Sends a packet out of a port in a tick; returns whether it is on its way to another router."""
    counts, speedup = state.counts, state.settings[SPEEDUP]
    cycle = leaves // speedup
    if counts[WINDOW_BEGIN] <= cycle < counts[WINDOW_END]:
        state.outputs[output, FLITS_SENT] += state.settings[FLITS]
    arrival = leaves + state.outputs[output, DELAY] * speedup
    peer = state.outputs[output, PEER]
    if peer >= 0:
        count_link(state, packet, output)
        _send(state, packet, peer, arrival)
    else:
        latency = arrival - state.packets[packet, BIRTH]
        measure(state, packet, arrival // speedup, latency, latency // speedup)
    return bool(peer >= 0)
