"""Routing of heads: the output and virtual channel of a packet that has reached the front of its queue.

Forwarding tables define where a packet may go (`simulation.tables.model`). If they offer the source router
several paths, the decision law chooses (`simulation.kernels.decisions`).
"""

from __future__ import annotations

from simulation.kernels.compiled import inlined
from simulation.kernels.credits import return_room
from simulation.kernels.decisions import DETOUR_BIT, DROP, MAX_HOPS, decide, lookup_index, outcome_of
from simulation.kernels.events import BLOCK, plan_input
from simulation.kernels.measures import count_lost
from simulation.kernels.prefetch import prefetch
from simulation.kernels.random import below
from simulation.kernels.state import (
    AFTER_TAG,
    ANY_CHANNEL,
    ARRIVED_MARKED,
    ARRIVED_TAG_SHIFT,
    BUCKET_LAW,
    BUNDLE_START,
    BY_CLASS,
    BY_HOP,
    BY_LEVEL,
    CHANNEL_SHIFT,
    CHANNELS,
    COUNT,
    DETOURED,
    FIRST,
    FLAGS,
    FLOWS,
    FROM_HOST,
    HOPS,
    HOST,
    HOST_INPUT,
    LARGE,
    LAW,
    MARKED,
    MARKED_TAGGED,
    MARKED_UNTAGGED,
    MEASURED,
    MINIMAL,
    MINIMAL_LAW,
    NEW_HEADS,
    NONE,
    OUT_MARK,
    OUT_PORT,
    OUT_TAG,
    OUTPUT,
    OWNER,
    PACKETS,
    PEER,
    POLICY,
    QUEUE_PLACES,
    READY,
    ROUTER,
    TAG,
    TAGGED,
    TARGET,
    UNTAGGED,
    UNUSED,
    State,
)

_LOW, _ODD = 0xFFFFFFFF, 0x45D9F3B  # their product fits into 63 bits


@inlined
def bucket_outcome(state: State, adaptive: int, port: int, packet: int) -> int:
    """Returns the first outcome of the bucket that a packet's flow is hashed to, from `State.buckets`.

    A packet belongs to a random flow of its host pair. Dead buckets are skipped. If all buckets are dead, or
    none has been written yet, the minimal path is taken.

    Args:
        state: the simulation.
        adaptive: the adaptive choice.
        port: the source host's port, which identifies the host.
        packet: the packet.
    """
    flows, buckets = state.settings[FLOWS], state.buckets.shape[1]
    pair = port * len(state.hosts) + state.packets[packet, HOST]
    flow = pair * flows + below(state.random, state.inputs[port, OWNER], flows)
    bucket = (_hash(flow) * buckets) >> 32
    outcome: int = state.adaptive[adaptive, MINIMAL]
    for _ in range(buckets):
        if state.buckets[adaptive, bucket] != NONE:
            outcome = state.buckets[adaptive, bucket]
            break
        bucket += 1
        if bucket == buckets:
            bucket = 0
    return outcome


@inlined
def _hash(number: int) -> int:
    """Returns a 32-bit hash of a number below 2^63."""
    mixed = (number ^ (number >> 32)) & _LOW
    for _ in range(2):
        mixed = ((mixed ^ (mixed >> 16)) * _ODD) & _LOW
    spread: int = mixed ^ (mixed >> 16)
    return spread


DELIVER = -2  # instead of the index of an outcome: the router delivers the packet to its host
_ROWS_OF_LINE = 4  # bundles per cache line


@inlined
def route_heads(state: State, tick: int) -> None:
    """Routes all new heads of queues.

    A head without a matching rule is dropped, and the packet behind it is routed instead.

    Args:
        state: the simulation.
        tick: the current tick.
    """
    shift, places = state.settings[CHANNEL_SHIFT], state.settings[QUEUE_PLACES]
    counts = state.counts
    for index in range(counts[NEW_HEADS]):
        if state.settings[LARGE] and index & (BLOCK - 1) == 0:
            _prefetch_heads(state, index, min(index + BLOCK, counts[NEW_HEADS]))
        queue = state.new_heads[index]
        port = queue >> shift
        while state.queues[queue, COUNT]:
            first = state.queues[queue, FIRST]
            packet = state.queues[queue, PACKETS + first]
            if route(state, queue, port, packet):
                state.inputs[port, READY] |= 1 << (queue - (port << shift))
                plan_input(state, port, tick)
                break
            state.queues[queue, FIRST] = first + 1 if first + 1 < places else 0
            state.queues[queue, COUNT] -= 1
            return_room(state, queue, port)
            count_lost(state, packet, tick)
            state.unused[counts[UNUSED]] = packet
            counts[UNUSED] += 1
    counts[NEW_HEADS] = 0


@inlined
def _prefetch_heads(state: State, begin: int, end: int) -> None:
    """Prefetches the table entries of the next heads and the outputs that they will request."""
    shift = state.settings[CHANNEL_SHIFT]
    for index in range(begin, end):
        queue = state.new_heads[index]
        prefetch(state.packets, state.queues[queue, PACKETS + state.queues[queue, FIRST]])
        prefetch(state.inputs, queue >> shift)
    for index in range(begin, end):
        queue = state.new_heads[index]
        packet = state.queues[queue, PACKETS + state.queues[queue, FIRST]]
        port = queue >> shift
        place = _packet_lookup_index(state, state.inputs[port, OWNER], state.inputs[port, HOST_INPUT], packet)
        state.events[index - begin] = place
        if place != NONE:
            prefetch(state.lookups, place)
        else:
            prefetch(state.outputs, state.host_ports[state.packets[packet, HOST]])
    for index in range(end - begin):
        if state.events[index] != NONE:
            choice = state.lookups[state.events[index]]
            state.events[index] = choice
            if choice < NONE:
                prefetch(state.adaptive, -2 - choice)
            else:
                prefetch(state.outcomes, choice)
    for index in range(end - begin):
        if state.events[index] != NONE:
            _prefetch_choice(state, state.events[index])


@inlined
def _prefetch_choice(state: State, choice: int) -> None:
    """Prefetches the output or the detours of an entry of `State.lookups`."""
    if choice >= 0:
        prefetch(state.outputs, state.outcomes[choice, OUT_PORT])
    elif state.settings[LAW] != MINIMAL_LAW:
        prefetch(state.outcomes, state.adaptive[-2 - choice, MINIMAL])
        bundle = state.adaptive[-2 - choice, BUNDLE_START]
        while bundle < state.adaptive[-1 - choice, BUNDLE_START]:
            prefetch(state.bundles, bundle)
            bundle += _ROWS_OF_LINE


@inlined
def route(state: State, queue: int, port: int, packet: int) -> bool:
    """Writes OUTPUT and TARGET of a queue for its head, and returns whether the packet can be forwarded.

    Args:
        state: the simulation.
        queue: the queue.
        port: the input that the queue belongs to.
        packet: the packet at its head.
    """
    output = output_of(state, port, packet)
    if output != NONE:
        state.queues[queue, OUTPUT], state.queues[queue, TARGET] = output, NONE
        peer = state.outputs[output, PEER]
        if peer >= 0:
            if state.settings[POLICY] == BY_LEVEL:
                channel = _level(state, queue, port, packet, output)
            else:
                hops, tag = state.packets[packet, HOPS], state.packets[packet, TAG]
                channel = _channel(state, hops, tag, state.inputs[port, OWNER])
            state.queues[queue, TARGET] = (peer << state.settings[CHANNEL_SHIFT]) + channel
    return bool(output != NONE)


@inlined
def output_of(state: State, port: int, packet: int) -> int:
    """Returns the output through which a packet leaves a router, or NONE if it is dropped.

    Also writes the tag and flags with which the packet leaves the router.

    Args:
        state: the simulation.
        port: input at which the packet arrived.
        packet: the packet.
    """
    outcome = DROP
    if state.packets[packet, HOPS] < MAX_HOPS:
        outcome = _outcome_of(state, port, packet)
    output = NONE
    if outcome == DELIVER:
        output = state.host_ports[state.packets[packet, HOST]]
    elif outcome != DROP:
        # The tag and mark on arrival are kept in case a failure makes rerouting necessary.
        before = state.packets[packet, FLAGS]
        flags = (before & (MEASURED | DETOURED)) | ((state.packets[packet, TAG] + 1) << ARRIVED_TAG_SHIFT)
        if before & MARKED:
            flags |= ARRIVED_MARKED
        if outcome & DETOUR_BIT:
            outcome ^= DETOUR_BIT
            flags |= DETOURED
        output = state.outcomes[outcome, OUT_PORT]
        state.packets[packet, TAG] = state.outcomes[outcome, OUT_TAG]
        state.packets[packet, FLAGS] = flags | MARKED if state.outcomes[outcome, OUT_MARK] else flags
    return output


@inlined
def _outcome_of(state: State, port: int, packet: int) -> int:
    """Returns the outcome of a packet (with DETOUR_BIT for a detour), DROP or DELIVER."""
    router = state.inputs[port, OWNER]
    place = _packet_lookup_index(state, router, state.inputs[port, HOST_INPUT], packet)
    outcome = DELIVER
    if place != NONE:
        choice = state.lookups[place]
        if choice >= -1:
            outcome = outcome_of(state, choice, router)
        elif state.settings[LAW] == BUCKET_LAW:
            first = bucket_outcome(state, -2 - choice, port, packet)
            outcome = outcome_of(state, first & ~DETOUR_BIT if first != NONE else DROP, router)
            if first != NONE and first & DETOUR_BIT and outcome != DROP:
                outcome |= DETOUR_BIT
        else:
            outcome = decide(state, -2 - choice, router, state.packets[packet, ROUTER])
    return outcome


@inlined
def _packet_lookup_index(state: State, router: int, host_input: int, packet: int) -> int:
    """Returns the index in `State.lookups` for a packet at a router, or NONE if the router delivers it."""
    settings, destination = state.settings, state.packets[packet, ROUTER]
    tag, marked = state.packets[packet, TAG], state.packets[packet, FLAGS] & MARKED
    place, after_tag = NONE, tag == router
    if after_tag:
        tag = NONE
    if tag != NONE or destination != router:
        layer, key = settings[UNTAGGED], destination
        if host_input:
            layer = settings[FROM_HOST]
        elif tag != NONE:
            layer, key = settings[MARKED_TAGGED] if marked else settings[TAGGED], tag
        elif marked:
            layer = settings[MARKED_UNTAGGED]
        elif after_tag:
            layer = settings[AFTER_TAG]
        place = lookup_index(state, layer, router, key)
    return place


@inlined
def _channel(state: State, hops: int, tag: int, router: int) -> int:
    """Returns the virtual channel of a packet's next hop; 0 if any channel with room will do."""
    channels, policy = state.settings[CHANNELS], state.settings[POLICY]
    channel = 0
    if policy == BY_HOP:
        channel = min(hops, channels - 1)
    elif policy < ANY_CHANNEL:
        first, count = 0, channels
        if policy == BY_CLASS:
            first = 0 if tag != NONE else channels >> 1
            count = channels >> 1 if tag != NONE else channels - first
        channel = first + below(state.random, router, count)
    return channel


@inlined
def _level(state: State, queue: int, port: int, packet: int, output: int) -> int:
    """Returns the virtual channel of a packet's next hop with BY_LEVEL.

    It is twice the number of intermediate routers passed, plus 1 after a global link since the last of them.

    Args:
        state: the simulation.
        queue: the packet's queue, whose channel is that of its last hop.
        port: the input.
        packet: the packet.
        output: the output of the next hop.
    """
    level = 0
    if state.inputs[port, HOST_INPUT] == 0:
        level = queue - (port << state.settings[CHANNEL_SHIFT])
        arrived_tag = (state.packets[packet, FLAGS] >> ARRIVED_TAG_SHIFT) - 1
        if arrived_tag == state.inputs[port, OWNER]:
            level = (level & -2) + 2
        elif state.global_ports[port]:
            level |= 1
    if state.global_ports[output]:
        level &= -2
    channel: int = min(level, state.settings[CHANNELS] - 1)
    return channel
