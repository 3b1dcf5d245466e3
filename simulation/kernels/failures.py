"""Failures of links and routers: packets lost on failed links, and heads that must be rerouted.

A packet on a failing link is marked as cut and continues to the buffer at the other end, where it is dropped.
That way its credit returns to the sender like that of any other packet.
"""

from __future__ import annotations

from typing import Any

from simulation.kernels.compiled import compiled, inlined
from simulation.kernels.measures import CUT_HOPS, count_lost
from simulation.kernels.state import (
    ARRIVALS,
    ARRIVED_MARKED,
    ARRIVED_TAG_SHIFT,
    CHANNEL_SHIFT,
    COUNT,
    DETOURED,
    FIRST,
    FLAGS,
    HOPS,
    HOST_INPUT,
    LINK_FREE,
    MARKED,
    MEASURED,
    NEW_HEADS,
    NEXT_BLOCKED,
    NONE,
    NOT_BLOCKED,
    OUTPUT,
    OUTPUT_WAITERS,
    PACKETS,
    PEER,
    QUEUE,
    READY,
    ROOM_WAITERS,
    SENDER,
    SPEEDUP,
    TAG,
    TICK,
    WINDOW_BEGIN,
    WINDOW_END,
    State,
)


@compiled
def break_outputs(state: State, broken: Any, lossless: bool) -> None:
    """Drops the packets on the links of failed outputs and reroutes the heads that wait for these outputs.

    Args:
        state: the simulation, between two ticks.
        broken: int8 array, (ports,): 1 for failed outputs.
        lossless: whether routers use credit flow control; if not, the packets in the output queues are lost.
    """
    _cut_packets(state, broken)
    if lossless:
        _reroute_heads(state, broken)
    else:
        for output in range(len(broken)):
            if broken[output]:
                state.outputs[output, LINK_FREE] = min(state.outputs[output, LINK_FREE], state.counts[TICK])


@inlined
def _cut_packets(state: State, broken: Any) -> None:
    """Marks the packets on failed links as cut and counts them as lost."""
    counts = state.counts
    cycle = counts[TICK] // state.settings[SPEEDUP]
    in_window = counts[WINDOW_BEGIN] <= cycle < counts[WINDOW_END]
    for slot in range(len(state.wheel)):
        packet = state.wheel[slot, ARRIVALS]
        while packet != NONE:
            output = state.queues[state.packets[packet, QUEUE], SENDER]
            if output >= 0 and broken[output] and state.packets[packet, HOPS] != CUT_HOPS:
                count_lost(state, packet, counts[TICK])
                state.packets[packet, HOPS] = CUT_HOPS
                if in_window:
                    state.port_drops[output] += 1
            packet = state.next_packet[packet]


@inlined
def _reroute_heads(state: State, broken: Any) -> None:
    """Adds the queues that wait for failed outputs to `State.new_heads`, so that their heads are rerouted."""
    queues, shift, new = state.queues, state.settings[CHANNEL_SHIFT], state.counts[NEW_HEADS]
    for index in range(new):
        queues[state.new_heads[index], OUTPUT] = NONE  # not routed yet: OUTPUT belongs to the packet before
    for queue in range(len(queues)):
        output = queues[queue, OUTPUT]
        if queues[queue, COUNT] == 0 or output == NONE or not broken[output]:
            continue
        if queues[queue, NEXT_BLOCKED] == NOT_BLOCKED:
            port = queue >> shift
            state.inputs[port, READY] &= ~(1 << (queue - (port << shift)))
        queues[queue, NEXT_BLOCKED] = NOT_BLOCKED
        _restore_arrival(state, queues[queue, PACKETS + queues[queue, FIRST]], queue >> shift)
        state.new_heads[new] = queue
        new += 1
    state.counts[NEW_HEADS] = new
    # All queues in the lists of a failed output, and of the buffers behind it, are rerouted: empty the lists.
    for output in range(len(broken)):
        if broken[output]:
            state.outputs[output, OUTPUT_WAITERS] = NONE
            peer = state.outputs[output, PEER]
            if peer >= 0:
                for target in range(peer << shift, (peer + 1) << shift):
                    queues[target, ROOM_WAITERS] = NONE


@inlined
def _restore_arrival(state: State, packet: int, port: int) -> None:
    """Restores the tag and flags that a packet had when it arrived at the port."""
    flags = state.packets[packet, FLAGS]
    state.packets[packet, TAG] = NONE if state.inputs[port, HOST_INPUT] else (flags >> ARRIVED_TAG_SHIFT) - 1
    kept = flags & (MEASURED if state.inputs[port, HOST_INPUT] else MEASURED | DETOURED)
    state.packets[packet, FLAGS] = kept | MARKED if flags & ARRIVED_MARKED else kept
