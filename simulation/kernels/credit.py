"""Kernel of lossless routers: input queues with virtual channels, credits and virtual cut-through.

Each tick has these steps, in this order: credits arrive; packets arrive at routers; heads of queues are
routed; sources inject packets; outputs become free; every input with a ready queue picks a channel and
requests an output; every requested output is granted to one input. A queue whose head is blocked joins the
list of queues that wait for the same output or for the same buffer's room, and is visited again when that
becomes available. Idle and blocked routers therefore cost no time.

A packet of F flits occupies its input and its output of the crossbar for F ticks, and its link for F cycles.

Source: W. J. Dally and B. Towles, Principles and Practices of Interconnection Networks, chapters 16 to 19
(separable input-first allocation, section 19.3).
"""

from __future__ import annotations

from simulation.kernels.compiled import compiled, inlined
from simulation.kernels.credits import end_tick, return_credits, return_room
from simulation.kernels.events import BLOCK, list_events, plan_input, wake
from simulation.kernels.measures import count_link, measure
from simulation.kernels.prefetch import prefetch
from simulation.kernels.random import below
from simulation.kernels.routing import route_heads
from simulation.kernels.sources import inject, start_sources
from simulation.kernels.state import (
    ANY_CHANNEL,
    ARRIVALS,
    BEHIND,
    BUFFER,
    CHANNEL_SHIFT,
    CHANNELS,
    COUNT,
    DELAY,
    DELIVERED,
    DROPPED,
    FIRST,
    FLITS,
    FLITS_SENT,
    FREE_CHANNEL,
    GENERATED,
    INPUT_FREE,
    INPUT_TURN,
    INPUTS,
    LARGE,
    LAW,
    LINK_FREE,
    MINIMAL_LAW,
    NEW_HEADS,
    NEXT_BLOCKED,
    NONE,
    OFFERED,
    OUTPUT,
    OUTPUT_FREE,
    OUTPUT_TURN,
    OUTPUT_WAITERS,
    OUTPUTS,
    OWNER,
    PACKETS,
    PLANNED,
    POLICY,
    QUEUE,
    QUEUE_PLACES,
    RANDOM_ARBITER,
    READY,
    RELEASE_PLANNED,
    REQUEST_TICK,
    REQUESTS,
    ROOM,
    ROOM_WAITERS,
    ROUTER_TICKS,
    SPEEDUP,
    STARTED,
    TARGET,
    TICK,
    UNUSED,
    WINDOW_BEGIN,
    WINDOW_END,
    WINNER,
    State,
)

# Results of `run`.
RUNNING, DONE = range(2)
_MAX_PORTS = 1 << 20  # per router


@compiled
def run(state: State, until: int, drains: bool) -> int:
    """Moves packets until a tick.

    Args:
        state: the simulation.
        until: the tick.
        drains: whether to end when all packets of the window have arrived.

    Returns:
        RUNNING at `until`, or DONE if all packets have arrived.
    """
    counts, settings = state.counts, state.settings
    if counts[STARTED] == 0:
        counts[STARTED] = 1
        start_sources(state)
    speedup, tick = settings[SPEEDUP], counts[TICK]
    cycle = tick // speedup
    phase = tick - cycle * speedup
    result = RUNNING
    while tick < until and result == RUNNING:
        # Links and sources act only at the first tick of a cycle: at this tick, or in the next cycle.
        whole = cycle + 1 if phase else cycle
        return_credits(state, tick, whole)
        _arrive(state, tick)
        route_heads(state, tick)
        if phase == 0:
            inject(state, cycle)
        _release_outputs(state, tick)
        requested = _request_outputs(state, tick)
        _grant(state, tick, whole, requested)
        end_tick(state, tick)
        tick += 1
        phase += 1
        if phase == speedup:
            phase = 0
            cycle += 1
            if drains and counts[BEHIND] == 0 and counts[DELIVERED] + counts[DROPPED] == counts[OFFERED]:
                result = DONE
    counts[TICK] = tick
    return result


@inlined
def _arrive(state: State, tick: int) -> None:
    places = state.settings[QUEUE_PLACES]
    slot = tick & (len(state.wheel) - 1)
    arrivals = list_events(state, state.wheel[slot, ARRIVALS], state.next_packet)
    state.wheel[slot, ARRIVALS] = NONE
    new = state.counts[NEW_HEADS]
    for index in range(arrivals):
        if state.settings[LARGE] and index & (BLOCK - 1) == 0:
            _prefetch_arrivals(state, index, min(index + BLOCK, arrivals))
        packet = state.events[index]
        queue = state.packets[packet, QUEUE]
        count = state.queues[queue, COUNT]
        place = state.queues[queue, FIRST] + count
        if place >= places:
            place -= places
        state.queues[queue, PACKETS + place] = packet
        state.queues[queue, COUNT] = count + 1
        if count == 0:
            state.new_heads[new] = queue
            new += 1
    state.counts[NEW_HEADS] = new


@inlined
def _prefetch_arrivals(state: State, begin: int, end: int) -> None:
    """Prefetches the rows of the next packets and of the queues that they enter."""
    for index in range(begin, end):
        prefetch(state.packets, state.events[index])
    for index in range(begin, end):
        prefetch(state.queues, state.packets[state.events[index], QUEUE])


@inlined
def _release_outputs(state: State, tick: int) -> None:
    """Wakes the queues that wait for outputs which become free in this tick."""
    shift = state.settings[CHANNEL_SHIFT]
    slot = tick & (len(state.wheel) - 1)
    outputs = list_events(state, state.wheel[slot, OUTPUTS], state.next_output)
    state.wheel[slot, OUTPUTS] = NONE
    for index in range(outputs):
        if state.settings[LARGE] and index & (BLOCK - 1) == 0:
            _prefetch_waiting(state, index, min(index + BLOCK, outputs))
        output = state.events[index]
        state.outputs[output, RELEASE_PLANNED] = 0
        queue = state.outputs[output, OUTPUT_WAITERS]
        state.outputs[output, OUTPUT_WAITERS] = NONE
        wake(state, queue, tick, shift)


@inlined
def _prefetch_waiting(state: State, begin: int, end: int) -> None:
    """Prefetches the rows of the next outputs and of the first queue that waits for each."""
    shift = state.settings[CHANNEL_SHIFT]
    for index in range(begin, end):
        prefetch(state.outputs, state.events[index])
    for index in range(begin, end):
        queue = state.outputs[state.events[index], OUTPUT_WAITERS]
        prefetch(state.queues, queue)
        prefetch(state.inputs, queue >> shift)


@inlined
def _wait_for_output(state: State, queue: int, output: int) -> None:
    state.queues[queue, NEXT_BLOCKED] = state.outputs[output, OUTPUT_WAITERS]
    state.outputs[output, OUTPUT_WAITERS] = queue
    if state.outputs[output, RELEASE_PLANNED] == 0:
        state.outputs[output, RELEASE_PLANNED] = 1
        slot = state.outputs[output, OUTPUT_FREE] & (len(state.wheel) - 1)
        state.next_output[output] = state.wheel[slot, OUTPUTS]
        state.wheel[slot, OUTPUTS] = output


@inlined
def _has_room(state: State, target: int) -> bool:
    """Returns whether a queue (if any channel will do: any queue of its port) has room for a packet."""
    flits = state.settings[FLITS]
    has_room = target == NONE or state.queues[target, ROOM] >= flits
    if not has_room and state.settings[POLICY] >= ANY_CHANNEL:
        for channel in range(1, state.settings[CHANNELS]):
            has_room = has_room or state.queues[target + channel, ROOM] >= flits
    return has_room


@inlined
def _request_outputs(state: State, tick: int) -> int:
    """Lets one channel of every ready input request its output; returns the number of requested outputs."""
    shift, channels = state.settings[CHANNEL_SHIFT], state.settings[CHANNELS]
    slot = tick & (len(state.wheel) - 1)
    inputs = list_events(state, state.wheel[slot, INPUTS], state.next_input)
    state.wheel[slot, INPUTS] = NONE
    requested = 0
    for index in range(inputs):
        if state.settings[LARGE] and index & (BLOCK - 1) == 0:
            _prefetch_inputs(state, index, min(index + BLOCK, inputs))
        port = state.events[index]
        state.inputs[port, PLANNED] = 0
        channel = state.inputs[port, INPUT_TURN]
        if state.settings[RANDOM_ARBITER]:
            channel = below(state.random, state.inputs[port, OWNER], channels)
        for _ in range(channels):
            channel += 1
            if channel >= channels:
                channel = 0
            if state.inputs[port, READY] >> channel & 1 == 0:
                continue
            queue = (port << shift) + channel
            output = state.queues[queue, OUTPUT]
            target = state.queues[queue, TARGET]
            if state.outputs[output, OUTPUT_FREE] > tick:
                state.inputs[port, READY] &= ~(1 << channel)
                _wait_for_output(state, queue, output)
            elif not _has_room(state, target):
                state.inputs[port, READY] &= ~(1 << channel)
                state.queues[queue, NEXT_BLOCKED] = state.queues[target, ROOM_WAITERS]
                state.queues[target, ROOM_WAITERS] = queue
            else:
                if state.outputs[output, REQUEST_TICK] != tick:
                    state.outputs[output, REQUEST_TICK] = tick
                    state.outputs[output, REQUESTS] = 1
                    state.outputs[output, WINNER] = queue
                    state.requested[requested] = output
                    requested += 1
                else:
                    _arbitrate(state, queue, output, tick, shift)
                break
    return requested


@inlined
def _prefetch_inputs(state: State, begin: int, end: int) -> None:
    """Prefetches the rows of the next inputs and of their queues, outputs and target queues."""
    shift, channels = state.settings[CHANNEL_SHIFT], state.settings[CHANNELS]
    for index in range(begin, end):
        prefetch(state.inputs, state.events[index])
    for index in range(begin, end):
        port = state.events[index]
        for channel in range(channels):
            if state.inputs[port, READY] >> channel & 1:
                prefetch(state.queues, (port << shift) + channel)
    for index in range(begin, end):
        port = state.events[index]
        for channel in range(channels):
            if state.inputs[port, READY] >> channel & 1:
                queue = (port << shift) + channel
                prefetch(state.outputs, state.queues[queue, OUTPUT])
                target = state.queues[queue, TARGET]
                if target != NONE:
                    prefetch(state.queues, target)


@inlined
def _arbitrate(state: State, queue: int, output: int, tick: int, shift: int) -> None:
    """Arbitrates between two queues that request the same output; the loser retries in the next tick."""
    other = state.outputs[output, WINNER]
    state.outputs[output, REQUESTS] += 1
    if state.settings[RANDOM_ARBITER]:
        wins = below(state.random, state.inputs[output, OWNER], state.outputs[output, REQUESTS]) == 0
    else:
        turn = state.outputs[output, OUTPUT_TURN]
        mine, theirs = (queue >> shift) - turn, (other >> shift) - turn
        if mine <= 0:
            mine += _MAX_PORTS
        if theirs <= 0:
            theirs += _MAX_PORTS
        wins = mine < theirs
    loser = queue
    if wins:
        state.outputs[output, WINNER] = queue
        loser = other
    # The output will be busy in the next tick, but another channel of the loser's input may be able to send.
    plan_input(state, loser >> shift, tick + 1)


@inlined
def _grant(state: State, tick: int, cycle: int, requested: int) -> None:
    flits, shift = state.settings[FLITS], state.settings[CHANNEL_SHIFT]
    places, counts = state.settings[QUEUE_PLACES], state.counts
    new = counts[NEW_HEADS]
    in_window = counts[WINDOW_BEGIN] <= cycle < counts[WINDOW_END]
    for index in range(requested):
        if state.settings[LARGE] and index & (BLOCK - 1) == 0:
            _prefetch_grants(state, index, min(index + BLOCK, requested))
        output = state.requested[index]
        queue = state.outputs[output, WINNER]
        port = queue >> shift
        first = state.queues[queue, FIRST]
        packet = state.queues[queue, PACKETS + first]
        state.queues[queue, FIRST] = first + 1 if first + 1 < places else 0
        state.queues[queue, COUNT] -= 1
        if state.queues[queue, COUNT]:
            state.new_heads[new] = queue
            new += 1
        state.inputs[port, READY] &= ~(1 << (queue - (port << shift)))
        state.inputs[port, INPUT_FREE] = tick + flits
        state.inputs[port, INPUT_TURN] = queue - (port << shift)
        state.outputs[output, OUTPUT_TURN] = port
        state.outputs[output, OUTPUT_FREE] = tick + flits
        depart = max(cycle + 1, state.outputs[output, LINK_FREE])
        state.outputs[output, LINK_FREE] = depart + flits
        if in_window:
            state.outputs[output, FLITS_SENT] += flits
        return_room(state, queue, port)
        if state.queues[queue, TARGET] == NONE:
            _deliver(state, packet, output, depart)
        else:
            _forward(state, packet, queue, output, depart)
        if state.inputs[port, READY]:
            plan_input(state, port, tick + flits)
    counts[NEW_HEADS] = new


@inlined
def _prefetch_grants(state: State, begin: int, end: int) -> None:
    """Prefetches the rows of the next outputs, queues and packets, as caches may have evicted them."""
    shift = state.settings[CHANNEL_SHIFT]
    for index in range(begin, end):
        prefetch(state.outputs, state.requested[index])
    for index in range(begin, end):
        queue = state.outputs[state.requested[index], WINNER]
        prefetch(state.queues, queue)
        prefetch(state.inputs, queue >> shift)
    for index in range(begin, end):
        queue = state.outputs[state.requested[index], WINNER]
        prefetch(state.packets, state.queues[queue, PACKETS + state.queues[queue, FIRST]])
        if state.queues[queue, TARGET] != NONE:
            prefetch(state.queues, state.queues[queue, TARGET])


@inlined
def _forward(state: State, packet: int, queue: int, output: int, depart: int) -> None:
    """Sends a packet to the next router; its head enters the link in cycle `depart`."""
    flits, target = state.settings[FLITS], state.queues[queue, TARGET]
    if state.settings[POLICY] == ANY_CHANNEL:
        for channel in range(1, state.settings[CHANNELS]):
            other = state.queues[queue, TARGET] + channel
            if state.queues[other, ROOM] > state.queues[target, ROOM]:
                target = other
    elif state.settings[POLICY] == FREE_CHANNEL:
        first, found = target, 0
        for channel in range(state.settings[CHANNELS]):
            if state.queues[first + channel, ROOM] >= flits:
                found += 1
                if below(state.random, state.inputs[output, OWNER], found) == 0:
                    target = first + channel
    state.queues[target, ROOM] -= flits
    if state.settings[LAW] != MINIMAL_LAW:
        state.used[output] += flits
    count_link(state, packet, output)
    state.packets[packet, QUEUE] = target
    arrival = (depart + state.outputs[output, DELAY]) * state.settings[SPEEDUP]
    slot = (arrival + state.settings[ROUTER_TICKS]) & (len(state.wheel) - 1)
    state.next_packet[packet] = state.wheel[slot, ARRIVALS]
    state.wheel[slot, ARRIVALS] = packet


@inlined
def _deliver(state: State, packet: int, output: int, depart: int) -> None:
    """Sends a packet to its host and measures it; its head enters the link in cycle `depart`."""
    flits, counts = state.settings[FLITS], state.counts
    # A host has no input buffer that could fill up: limit the flits that wait for its link to BUFFER.
    free = (depart + flits - state.settings[BUFFER]) * state.settings[SPEEDUP]
    state.outputs[output, OUTPUT_FREE] = max(state.outputs[output, OUTPUT_FREE], free)
    tail = depart + state.outputs[output, DELAY] + flits - 1
    latency = tail - state.packets[packet, GENERATED]
    measure(state, packet, tail, latency, latency)
    state.unused[counts[UNUSED]] = packet
    counts[UNUSED] += 1
