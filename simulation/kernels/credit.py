"""Kernel of lossless routers: input queues with virtual channels, credits and virtual cut-through.

A tick does, in this order: credits arrive; packets arrive at routers; heads of queues are routed; sources
inject; outputs become free; every input with work picks a channel and asks for its output; every output
grants one of the inputs that ask. A queue whose head cannot go waits in a list of what it waits for, an
output or room, and is looked at again when that comes: a router costs time only where something moves.

A packet of F flits holds its input and its output of the crossbar for F ticks and its link for F cycles.

Source: W. J. Dally and B. Towles, Principles and Practices of Interconnection Networks, chapters 16 to 19
(separable input-first allocation, section 19.3).
"""

from __future__ import annotations

from simulation.kernels.compiled import compiled, inlined
from simulation.kernels.credits import end_tick, return_credits, return_room
from simulation.kernels.events import BLOCK, list_events, look_at, wake
from simulation.kernels.measures import count_link, measure
from simulation.kernels.prefetch import prefetch
from simulation.kernels.random import below
from simulation.kernels.routing import route_heads
from simulation.kernels.sources import begin_sources, inject
from simulation.kernels.state import (
    ANY_CHANNEL,
    ARRIVALS,
    ASKED,
    ASKERS,
    ASKING,
    BEGUN,
    BEHIND,
    BIRTH,
    BUFFER,
    BUSY,
    CHANNEL_SHIFT,
    CHANNELS,
    COUNT,
    DELAY,
    DELIVERED,
    DROPPED,
    FIRST,
    FLITS,
    FLITS_SENT,
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
    OUTPUTS,
    OWNER,
    PACKETS,
    PLANNED,
    POLICY,
    QUEUE,
    QUEUE_PLACES,
    RANDOM_ARBITER,
    READY,
    RELEASED,
    ROOM,
    ROUTER_TICKS,
    SHORT,
    SPEEDUP,
    TARGET,
    TICK,
    UNUSED,
    WINDOW_BEGIN,
    WINDOW_END,
    State,
)

# Results of `run`.
RUNNING, DONE = range(2)
_MOST_PORTS = 1 << 20  # of a router


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
    if counts[BEGUN] == 0:
        counts[BEGUN] = 1
        begin_sources(state)
    speedup, tick = settings[SPEEDUP], counts[TICK]
    cycle = tick // speedup
    phase = tick - cycle * speedup
    result = RUNNING
    while tick < until and result == RUNNING:
        whole = cycle + 1 if phase else cycle  # the next cycle that begins
        return_credits(state, tick, whole)
        _arrive(state, tick)
        route_heads(state, tick)
        if phase == 0:
            inject(state, cycle)
        _release(state, tick)
        asked = _ask(state, tick)
        _grant(state, tick, whole, asked)
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
    """Prefetches the rows of the next packets, and those of the queues that they come to."""
    for index in range(begin, end):
        prefetch(state.packets, state.events[index])
    for index in range(begin, end):
        prefetch(state.queues, state.packets[state.events[index], QUEUE])


@inlined
def _release(state: State, tick: int) -> None:
    """Has queues go on that wait for outputs which are free now."""
    shift = state.settings[CHANNEL_SHIFT]
    slot = tick & (len(state.wheel) - 1)
    outputs = list_events(state, state.wheel[slot, OUTPUTS], state.next_output)
    state.wheel[slot, OUTPUTS] = NONE
    for index in range(outputs):
        if state.settings[LARGE] and index & (BLOCK - 1) == 0:
            _prefetch_waiting(state, index, min(index + BLOCK, outputs))
        output = state.events[index]
        state.outputs[output, RELEASED] = 0
        queue = state.outputs[output, BUSY]
        state.outputs[output, BUSY] = NONE
        wake(state, queue, tick, shift)


@inlined
def _prefetch_waiting(state: State, begin: int, end: int) -> None:
    """Prefetches the rows of the next outputs, and those of the first queues that wait for them."""
    shift = state.settings[CHANNEL_SHIFT]
    for index in range(begin, end):
        prefetch(state.outputs, state.events[index])
    for index in range(begin, end):
        queue = state.outputs[state.events[index], BUSY]
        prefetch(state.queues, queue)
        prefetch(state.inputs, queue >> shift)


@inlined
def _wait_for_output(state: State, queue: int, output: int) -> None:
    state.queues[queue, NEXT_BLOCKED] = state.outputs[output, BUSY]
    state.outputs[output, BUSY] = queue
    if state.outputs[output, RELEASED] == 0:
        state.outputs[output, RELEASED] = 1
        slot = state.outputs[output, OUTPUT_FREE] & (len(state.wheel) - 1)
        state.next_output[output] = state.wheel[slot, OUTPUTS]
        state.wheel[slot, OUTPUTS] = output


@inlined
def _has_room(state: State, target: int) -> bool:
    """Returns whether a queue has room for a packet, or any channel of its port where any may be taken."""
    flits = state.settings[FLITS]
    found = target == NONE or state.queues[target, ROOM] >= flits
    if not found and state.settings[POLICY] == ANY_CHANNEL:
        for channel in range(1, state.settings[CHANNELS]):
            found = found or state.queues[target + channel, ROOM] >= flits
    return found


@inlined
def _ask(state: State, tick: int) -> int:
    """Has every input with work pick a channel, and returns the number of outputs that are asked for."""
    shift, channels = state.settings[CHANNEL_SHIFT], state.settings[CHANNELS]
    slot = tick & (len(state.wheel) - 1)
    inputs = list_events(state, state.wheel[slot, INPUTS], state.next_input)
    state.wheel[slot, INPUTS] = NONE
    asked = 0
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
                state.queues[queue, NEXT_BLOCKED] = state.queues[target, SHORT]
                state.queues[target, SHORT] = queue
            else:
                if state.outputs[output, ASKED] != tick:
                    state.outputs[output, ASKED] = tick
                    state.outputs[output, ASKERS] = 1
                    state.outputs[output, ASKING] = queue
                    state.asked[asked] = output
                    asked += 1
                else:
                    _compete(state, queue, output, tick, shift)
                break
    return asked


@inlined
def _prefetch_inputs(state: State, begin: int, end: int) -> None:
    """Prefetches the rows of the next inputs, and those of their queues, outputs and targets."""
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
def _compete(state: State, queue: int, output: int, tick: int, shift: int) -> None:
    """Has one of two queues that ask for an output in the same tick lose; it looks elsewhere in the next."""
    other = state.outputs[output, ASKING]
    state.outputs[output, ASKERS] += 1
    if state.settings[RANDOM_ARBITER]:
        wins = below(state.random, state.inputs[output, OWNER], state.outputs[output, ASKERS]) == 0
    else:
        turn = state.outputs[output, OUTPUT_TURN]
        mine, theirs = (queue >> shift) - turn, (other >> shift) - turn
        if mine <= 0:
            mine += _MOST_PORTS
        if theirs <= 0:
            theirs += _MOST_PORTS
        wins = mine < theirs
    loser = queue
    if wins:
        state.outputs[output, ASKING] = queue
        loser = other
    # Its output will be busy then; other heads of the input may go.
    look_at(state, loser >> shift, tick + 1)


@inlined
def _grant(state: State, tick: int, cycle: int, asked: int) -> None:
    flits, shift = state.settings[FLITS], state.settings[CHANNEL_SHIFT]
    places, counts = state.settings[QUEUE_PLACES], state.counts
    new = counts[NEW_HEADS]
    in_window = counts[WINDOW_BEGIN] <= cycle < counts[WINDOW_END]
    for index in range(asked):
        if state.settings[LARGE] and index & (BLOCK - 1) == 0:
            _prefetch_grants(state, index, min(index + BLOCK, asked))
        output = state.asked[index]
        queue = state.outputs[output, ASKING]
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
            _leave(state, packet, output, depart)
        else:
            _go_on(state, packet, queue, output, depart)
        if state.inputs[port, READY]:
            look_at(state, port, tick + flits)
    counts[NEW_HEADS] = new


@inlined
def _prefetch_grants(state: State, begin: int, end: int) -> None:
    """Prefetches the rows of the next outputs, queues and packets, which may have left the cache since."""
    shift = state.settings[CHANNEL_SHIFT]
    for index in range(begin, end):
        prefetch(state.outputs, state.asked[index])
    for index in range(begin, end):
        queue = state.outputs[state.asked[index], ASKING]
        prefetch(state.queues, queue)
        prefetch(state.inputs, queue >> shift)
    for index in range(begin, end):
        queue = state.outputs[state.asked[index], ASKING]
        prefetch(state.packets, state.queues[queue, PACKETS + state.queues[queue, FIRST]])
        if state.queues[queue, TARGET] != NONE:
            prefetch(state.queues, state.queues[queue, TARGET])


@inlined
def _go_on(state: State, packet: int, queue: int, output: int, depart: int) -> None:
    """Sends a packet to the next router; its head departs in a cycle."""
    flits, target = state.settings[FLITS], state.queues[queue, TARGET]
    if state.settings[POLICY] == ANY_CHANNEL:
        for channel in range(1, state.settings[CHANNELS]):
            other = state.queues[queue, TARGET] + channel
            if state.queues[other, ROOM] > state.queues[target, ROOM]:
                target = other
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
def _leave(state: State, packet: int, output: int, depart: int) -> None:
    """Sends a packet to its host, and measures it; its head departs in a cycle."""
    flits, counts = state.settings[FLITS], state.counts
    # The host takes what comes; as much may wait for the link as all channels hold.
    free = (depart + flits - state.settings[BUFFER]) * state.settings[SPEEDUP]
    state.outputs[output, OUTPUT_FREE] = max(state.outputs[output, OUTPUT_FREE], free)
    tail = depart + state.outputs[output, DELAY] + flits - 1
    latency = tail - state.packets[packet, BIRTH]
    measure(state, packet, tail, latency, latency)
    state.unused[counts[UNUSED]] = packet
    counts[UNUSED] += 1
