"""Sources: generate the packets of every host, draw their destinations, and inject them into the network.

A source queue takes no memory, although it may grow without limit: a source knows only its next packet. The
destination and the time of generation of a packet are drawn when the previous packet has been injected; the
time may lie in the past.
A source that generates no packets by itself sends messages (`simulation.kernels.messages`).
"""

from __future__ import annotations

from simulation.kernels.compiled import compiled, inlined
from simulation.kernels.events import BLOCK, list_events
from simulation.kernels.messages import release, send_packet, waiting_since
from simulation.kernels.prefetch import prefetch
from simulation.kernels.random import below, draw
from simulation.kernels.state import (
    ARRIVALS,
    BEHIND,
    CHANNEL_SHIFT,
    CHANNELS,
    CONSTANT_GAP,
    FIRST_GAP,
    FIRST_SHARE,
    FLAGS,
    FLITS,
    FRACTION,
    GENERATED,
    HOPS,
    HOST,
    HOST_DELAY,
    HOST_FREE,
    HOST_PORT,
    HOT,
    HOT_SHARE,
    IDLE,
    KIND,
    LARGE,
    LAST_CHANNEL,
    LAST_SHARE,
    MEASURED,
    MIN_GAP,
    NEXT_GENERATED,
    NONE,
    OFFERED,
    PARTNER,
    PARTNER_HOST,
    PATH_CYCLES,
    QUEUE,
    ROOM,
    ROUTER,
    ROUTER_TICKS,
    SHARES,
    SOURCE_CYCLES,
    SPEEDUP,
    TAG,
    UNUSED,
    WAITING,
    WINDOW_BEGIN,
    WINDOW_END,
    State,
)

# Times of generation have a resolution of 1/65,536 cycles.
TIME_BITS = 16
_LOW_BITS = (1 << 24) - 1


@inlined
def plan_source(state: State, host: int, cycle: int, now: int) -> None:
    """Plans a visit to a source in a cycle, or earlier if that is beyond the wheel's range.

    Args:
        state: the simulation.
        host: the source host.
        cycle: the cycle.
        now: the current cycle.
    """
    last = len(state.source_wheel) - 1
    slot = min(cycle, now + last) & last
    state.next_host[host] = state.source_wheel[slot]
    state.source_wheel[slot] = host


@inlined
def next_gap(state: State, host: int) -> int:
    """Draws the time between the generation of two successive packets, in 1/65,536 cycles.

    Args:
        state: the simulation.
        host: the source host.
    """
    gap: int = state.settings[CONSTANT_GAP]
    if gap == 0:
        least, gaps = state.settings[MIN_GAP], state.gaps
        again = True
        while again:
            number = draw(state.host_random, host)
            place = state.guide[number >> 24, FIRST_GAP]
            while place < len(gaps) and number >= gaps[place]:
                place += 1
            least += place
            again = place == len(gaps)
        gap = least << TIME_BITS
        if state.settings[MIN_GAP] == 0:  # Poisson: packets are generated at any time within a cycle
            number = draw(state.host_random, host)
            low, high = state.guide[number >> 24, FRACTION], state.guide[(number >> 24) + 1, FRACTION]
            gap += low + ((high - low) * (number & _LOW_BITS) >> 24)
    return gap


@inlined
def start_sources(state: State) -> None:
    """Draws the time of the first packet of every host that generates packets.

    It also enters each of these hosts in the wheel of sources.

    Args:
        state: the simulation.
    """
    for host in range(len(state.hosts)):
        if state.hosts[host, KIND] != IDLE:
            if state.settings[CONSTANT_GAP]:  # a random phase
                number = draw(state.host_random, host) >> 12
                state.hosts[host, NEXT_GENERATED] = (state.settings[CONSTANT_GAP] * number) >> 20
            else:
                state.hosts[host, NEXT_GENERATED] = next_gap(state, host)
            plan_source(state, host, state.hosts[host, NEXT_GENERATED] >> TIME_BITS, 0)


@compiled
def draw_window(state: State) -> int:
    """Generates the remaining packets up to the end of the window, without injecting them.

    Args:
        state: the simulation.

    Returns:
        The number of packets generated in the window that are still in their source queues.
    """
    waiting = 0
    for host in range(len(state.hosts)):
        if state.hosts[host, KIND] != IDLE:
            while state.hosts[host, NEXT_GENERATED] >> TIME_BITS < state.counts[WINDOW_END]:
                if state.hosts[host, NEXT_GENERATED] >> TIME_BITS >= state.counts[WINDOW_BEGIN]:
                    waiting += 1
                state.hosts[host, NEXT_GENERATED] += next_gap(state, host)
    return waiting


@inlined
def destination_of(state: State, host: int) -> int:
    """Draws the destination of a source's next packet.

    Args:
        state: the simulation.
        host: the source host.
    """
    kind = state.hosts[host, KIND]
    chosen = NONE
    if kind == PARTNER:
        chosen = state.hosts[host, PARTNER_HOST]
    elif kind == SHARES:
        number = draw(state.host_random, host)
        low, high = state.hosts[host, FIRST_SHARE], state.hosts[host, LAST_SHARE]
        while low < high:
            middle = (low + high) >> 1
            if number < state.shares[middle, 0]:
                high = middle
            else:
                low = middle + 1
        chosen = state.shares[low, 1]
    elif kind == HOT:
        hot = len(state.hot_hosts)
        alone = hot == 1 and state.hot_hosts[0] == host
        if draw(state.host_random, host) < state.settings[HOT_SHARE] and not alone:
            chosen = host
            while chosen == host:
                chosen = state.hot_hosts[below(state.host_random, host, hot)]
    if chosen == NONE:
        hosts = len(state.hosts)
        chosen = host + 1 + below(state.host_random, host, hosts - 1)
        if chosen >= hosts:
            chosen -= hosts
    return chosen


@inlined
def inject(state: State, cycle: int) -> None:
    """Injects the next packet of every source whose packet is due and whose link is free.

    Args:
        state: the simulation.
        cycle: the current cycle.
    """
    if len(state.messages):
        _start_messages(state, cycle)
    slot = cycle & (len(state.source_wheel) - 1)
    hosts = list_events(state, state.source_wheel[slot], state.next_host)
    state.source_wheel[slot] = NONE
    for index in range(hosts):
        if state.settings[LARGE] and index & (BLOCK - 1) == 0:
            _prefetch_hosts(state, index, min(index + BLOCK, hosts))
        host = state.events[index]
        due = max(state.hosts[host, NEXT_GENERATED] >> TIME_BITS, state.hosts[host, HOST_FREE])
        if due > cycle:
            plan_source(state, host, due, cycle)
        else:
            queue = _channel_with_room(state, host)
            if queue == NONE:
                state.hosts[host, WAITING] = 1
            else:
                _send(state, cycle, host, queue)


@inlined
def _prefetch_hosts(state: State, begin: int, end: int) -> None:
    """Prefetches the rows of the next hosts and of the queues that they send to."""
    for index in range(begin, end):
        prefetch(state.hosts, state.events[index])
    for index in range(begin, end):
        host = state.events[index]
        port = state.hosts[host, HOST_PORT]
        channel = state.hosts[host, LAST_CHANNEL] + 1
        if channel >= state.settings[CHANNELS]:
            channel = 0
        prefetch(state.queues, (port << state.settings[CHANNEL_SHIFT]) + channel)


@inlined
def _start_messages(state: State, cycle: int) -> None:
    """Releases ready messages, and plans visits to the sources that had none to send until now."""
    for index in range(release(state, cycle)):
        host = state.message_hosts[index]
        state.hosts[host, NEXT_GENERATED] = waiting_since(state, host) << TIME_BITS
        plan_source(state, host, cycle, cycle)


@inlined
def _channel_with_room(state: State, host: int) -> int:
    """Returns the queue, at the host's input, of the next channel with room for a packet, or NONE."""
    flits, channels = state.settings[FLITS], state.settings[CHANNELS]
    first = state.hosts[host, HOST_PORT] << state.settings[CHANNEL_SHIFT]
    channel = state.hosts[host, LAST_CHANNEL]
    queue = NONE
    for _ in range(channels):
        channel += 1
        if channel >= channels:
            channel = 0
        if state.queues[first + channel, ROOM] >= flits:
            queue = first + channel
            state.hosts[host, LAST_CHANNEL] = channel
            break
    return queue


@inlined
def _send(state: State, cycle: int, host: int, queue: int) -> None:
    """Injects the next packet of a source and determines when the packet after it is due."""
    flits, counts = state.settings[FLITS], state.counts
    state.queues[queue, ROOM] -= flits
    counts[UNUSED] -= 1
    packet = state.unused[counts[UNUSED]]
    generated = state.hosts[host, NEXT_GENERATED] >> TIME_BITS
    of_message = state.hosts[host, KIND] == IDLE
    destination = send_packet(state, host, packet) if of_message else destination_of(state, host)
    measured = counts[WINDOW_BEGIN] <= generated < counts[WINDOW_END]
    state.packets[packet, HOST], state.packets[packet, ROUTER] = (
        destination,
        state.host_routers[destination],
    )
    state.packets[packet, TAG], state.packets[packet, GENERATED] = NONE, generated
    state.packets[packet, HOPS] = state.packets[packet, PATH_CYCLES] = 0
    state.packets[packet, FLAGS] = MEASURED if measured else 0
    arrival = cycle + state.settings[SOURCE_CYCLES] + state.hosts[host, HOST_DELAY]
    slot = (arrival * state.settings[SPEEDUP] + state.settings[ROUTER_TICKS]) & (len(state.wheel) - 1)
    state.packets[packet, QUEUE], state.next_packet[packet] = queue, state.wheel[slot, ARRIVALS]
    state.wheel[slot, ARRIVALS] = packet
    state.hosts[host, HOST_FREE] = cycle + flits
    if measured:
        counts[OFFERED] += 1
    if of_message:
        following = waiting_since(state, host)
        state.hosts[host, NEXT_GENERATED] = following << TIME_BITS
    else:
        state.hosts[host, NEXT_GENERATED] += next_gap(state, host)
        following = state.hosts[host, NEXT_GENERATED] >> TIME_BITS
        if counts[BEHIND] and generated < counts[WINDOW_END] <= following:
            counts[BEHIND] -= 1
    if following != NONE:
        plan_source(state, host, max(following, cycle + flits), cycle)
