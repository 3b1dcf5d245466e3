"""Kernel of the emulation's switches: tail-drop output queues, served at the rate of a token bucket.

A queue needs no memory: packets leave a port at known times, so the earliest departure time of the next
packet implies the queue's length. As in the emulation, links have no propagation delay, and a packet reaches
the next router with its first bit: its latency ends when it leaves the last queue.

A link transmits one flit per cycle, and a cycle has SPEEDUP ticks.
"""

from __future__ import annotations

from simulation.kernels.compiled import compiled, inlined
from simulation.kernels.measures import count_link, count_lost, measure
from simulation.kernels.routing import output_of
from simulation.kernels.sources import TIME_BITS, destination_of, next_gap, plan_source, start_sources
from simulation.kernels.state import (
    ARRIVALS,
    BURST,
    DELAY,
    DELIVERED,
    DROPPED,
    FLAGS,
    FLITS,
    FLITS_SENT,
    GENERATED,
    HOPS,
    HOST,
    HOST_FREE,
    HOST_INPUT,
    HOST_PORT,
    LAW,
    LINK_FREE,
    MEASURED,
    MINIMAL_LAW,
    NEXT_GENERATED,
    NONE,
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
    STARTED,
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
        drains: whether to end when all packets of the window have arrived or have been dropped.

    Returns:
        RUNNING at `until`, or DONE if all packets have arrived.
    """
    counts, speedup = state.counts, state.settings[SPEEDUP]
    tick = counts[TICK]
    result = RUNNING
    if counts[STARTED] == 0:
        counts[STARTED] = 1
        start_sources(state)
    while tick < until and result == RUNNING:
        _start_cycle(state, tick // speedup)
        for _ in range(speedup):
            _arrive(state, tick)
            tick += 1
        # Packets enter their queues in the cycle in which they are generated: none is left after the window.
        if drains and counts[DELIVERED] + counts[DROPPED] == counts[OFFERED]:
            result = DONE
    counts[TICK] = tick
    return result


@inlined
def _start_cycle(state: State, cycle: int) -> None:
    """Generates the packets of a cycle and puts them into the queues of their hosts."""
    slot = cycle & (len(state.source_wheel) - 1)
    host = state.source_wheel[slot]
    state.source_wheel[slot] = NONE
    while host != NONE:
        following = state.next_host[host]
        while state.hosts[host, NEXT_GENERATED] >> TIME_BITS <= cycle:
            tick = (state.hosts[host, NEXT_GENERATED] * state.settings[SPEEDUP]) >> TIME_BITS
            _generate(state, host, destination_of(state, host), tick)
            state.hosts[host, NEXT_GENERATED] += next_gap(state, host)
        plan_source(state, host, state.hosts[host, NEXT_GENERATED] >> TIME_BITS, cycle)
        host = following
    event, end = state.counts[SCHEDULED], (cycle + 1) * state.settings[SPEEDUP]
    while event < len(state.schedule) and state.schedule[event, 0] < end:
        _generate(state, state.schedule[event, 1], state.schedule[event, 2], state.schedule[event, 0])
        event += 1
    state.counts[SCHEDULED] = event


@inlined
def _generate(state: State, host: int, destination: int, tick: int) -> None:
    """Generates a packet in a tick and puts it into the queue of its host, or drops it if that is full."""
    counts, speedup = state.counts, state.settings[SPEEDUP]
    measured = counts[WINDOW_BEGIN] <= tick // speedup < counts[WINDOW_END]
    if measured:
        counts[OFFERED] += 1
    departure = _departure_tick(state, state.hosts[host, HOST_FREE], tick)
    if departure == NONE:
        counts[OVERFLOWED] += 1
        if measured:
            counts[DROPPED] += 1
    else:
        state.hosts[host, HOST_FREE] = _next_free_tick(state, departure, state.hosts[host, HOST_FREE])
        counts[UNUSED] -= 1
        packet = state.unused[counts[UNUSED]]
        state.packets[packet, HOST] = destination
        state.packets[packet, ROUTER] = state.host_routers[destination]
        state.packets[packet, TAG] = NONE
        state.packets[packet, HOPS] = state.packets[packet, PATH_CYCLES] = 0
        state.packets[packet, GENERATED], state.packets[packet, FLAGS] = tick, MEASURED if measured else 0
        port = state.hosts[host, HOST_PORT]
        _send(state, packet, port, departure + state.outputs[port, DELAY] * speedup)


@inlined
def _departure_tick(state: State, free: int, tick: int) -> int:
    """Returns the tick in which a packet that arrives now leaves the queue, or NONE if the queue is full.

    Args:
        state: the simulation.
        free: tick in which the link would become free with a token bucket of one packet.
        tick: the current tick.
    """
    duration = state.settings[FLITS] * state.settings[SPEEDUP]
    allowed: int = free - state.settings[BURST]
    departure = max(tick, allowed)
    if allowed - tick > state.settings[QUEUE_PLACES] * duration:
        departure = NONE
    return departure


@inlined
def _next_free_tick(state: State, departure: int, free: int) -> int:
    """Returns the next value of `free` (see `_departure_tick`) after a packet's departure."""
    duration: int = state.settings[FLITS] * state.settings[SPEEDUP]
    return max(departure, free) + duration


@inlined
def _send(state: State, packet: int, port: int, tick: int) -> None:
    """Plans the arrival of a packet at an input in a tick."""
    slot = (tick + state.settings[ROUTER_TICKS]) & (len(state.wheel) - 1)
    state.packets[packet, QUEUE], state.next_packet[packet] = port, state.wheel[slot, ARRIVALS]
    state.wheel[slot, ARRIVALS] = packet


@inlined
def _arrive(state: State, tick: int) -> None:
    """Routes the packets that arrive at routers in a tick."""
    slot = tick & (len(state.wheel) - 1)
    counts = state.counts
    # A packet that does not wait may reach its next router in the same tick: the list grows meanwhile.
    while state.wheel[slot, ARRIVALS] != NONE:
        packet = state.wheel[slot, ARRIVALS]
        state.wheel[slot, ARRIVALS] = state.next_packet[packet]
        if not _route_packet(state, packet, tick):
            state.unused[counts[UNUSED]] = packet
            counts[UNUSED] += 1


@inlined
def _route_packet(state: State, packet: int, tick: int) -> bool:
    """Puts a packet into the queue of its output; returns whether it will arrive at another router."""
    port = state.packets[packet, QUEUE]
    if state.inputs[port, HOST_INPUT] and state.settings[LAW] != MINIMAL_LAW:
        _update_occupancies(state, port, tick)
    output = output_of(state, port, packet)
    departure = NONE
    if output != NONE:
        departure = _departure_tick(state, state.outputs[output, LINK_FREE], tick)
    forwarded = False
    if output == NONE:
        count_lost(state, packet, tick)
    elif departure == NONE:
        _count_overflow(state, packet, output, tick)
    else:
        state.outputs[output, LINK_FREE] = _next_free_tick(state, departure, state.outputs[output, LINK_FREE])
        forwarded = _depart(state, packet, output, departure)
    return forwarded


@inlined
def _count_overflow(state: State, packet: int, output: int, tick: int) -> None:
    """Counts a packet that is dropped because the queue of its output is full."""
    counts = state.counts
    counts[DROPPED] += state.packets[packet, FLAGS] & MEASURED
    counts[OVERFLOWED] += 1
    if counts[WINDOW_BEGIN] <= tick // state.settings[SPEEDUP] < counts[WINDOW_END]:
        state.port_drops[output] += 1


@inlined
def _update_occupancies(state: State, port: int, tick: int) -> None:
    """Updates `State.used` (the flits that wait at an output) for all outputs of a port's router."""
    router = state.inputs[port, OWNER]
    for output in range(state.first_ports[router], state.first_ports[router + 1]):
        allowed = state.outputs[output, LINK_FREE] - state.settings[BURST]
        state.used[output] = max(0, allowed - tick) // state.settings[SPEEDUP]


@inlined
def _depart(state: State, packet: int, output: int, departure: int) -> bool:
    """Sends a packet out of a port in tick `departure`; returns whether it will arrive at another router."""
    counts, speedup = state.counts, state.settings[SPEEDUP]
    cycle = departure // speedup
    if counts[WINDOW_BEGIN] <= cycle < counts[WINDOW_END]:
        state.outputs[output, FLITS_SENT] += state.settings[FLITS]
    arrival = departure + state.outputs[output, DELAY] * speedup
    peer = state.outputs[output, PEER]
    if peer >= 0:
        count_link(state, packet, output)
        _send(state, packet, peer, arrival)
    else:
        latency = arrival - state.packets[packet, GENERATED]
        measure(state, packet, arrival // speedup, latency, latency // speedup)
    return bool(peer >= 0)
