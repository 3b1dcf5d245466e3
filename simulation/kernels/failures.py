"""Failures of links and routers: packets that are lost with them, and heads that must be routed again.

A packet that is on a link which breaks is marked as cut and goes on to the buffer at the other end, where no
rule serves it: its room there returns to the sender as that of any packet does.
"""

from __future__ import annotations

from typing import Any

from simulation.kernels.compiled import compiled, inlined
from simulation.kernels.measures import CUT_HOPS, count_lost
from simulation.kernels.state import (
    ARRIVALS,
    ARRIVED_MARKED,
    ARRIVED_TAG_SHIFT,
    BUSY,
    CHANNEL_SHIFT,
    COUNT,
    DETOURED,
    FIRST,
    FLAGS,
    FREE,
    HOPS,
    LINK_FREE,
    MARKED,
    MEASURED,
    NEW_HEADS,
    NEXT_BLOCKED,
    NONE,
    OF_HOST,
    OUTPUT,
    PACKETS,
    PEER,
    QUEUE,
    READY,
    SENDER,
    SHORT,
    SPEEDUP,
    TAG,
    TICK,
    WINDOW_BEGIN,
    WINDOW_END,
    State,
)


@compiled
def break_outputs(state: State, broken: Any, lossless: bool) -> None:
    """Loses the packets on the links of outputs that break, and has heads that wait for these look again.

    Args:
        state: the simulation, between two ticks.
        broken: int8 array, (ports,): 1 for outputs that break.
        lossless: whether routers have input queues with credits; else the packets that wait in the queues of
            these outputs are lost.
    """
    _cut_packets(state, broken)
    if lossless:
        _route_again(state, broken)
    else:
        for output in range(len(broken)):
            if broken[output]:
                state.outputs[output, LINK_FREE] = min(state.outputs[output, LINK_FREE], state.counts[TICK])


@inlined
def _cut_packets(state: State, broken: Any) -> None:
    """Loses the packets on links between routers."""
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
def _route_again(state: State, broken: Any) -> None:
    """Has the heads of queues that wait for broken outputs be routed as if they had just come."""
    queues, shift, new = state.queues, state.settings[CHANNEL_SHIFT], state.counts[NEW_HEADS]
    for index in range(new):
        queues[state.new_heads[index], OUTPUT] = NONE  # has not been routed
    for queue in range(len(queues)):
        output = queues[queue, OUTPUT]
        if queues[queue, COUNT] == 0 or output == NONE or not broken[output]:
            continue
        if queues[queue, NEXT_BLOCKED] == FREE:
            port = queue >> shift
            state.inputs[port, READY] &= ~(1 << (queue - (port << shift)))
        queues[queue, NEXT_BLOCKED] = FREE
        _restore_arrival(state, queues[queue, PACKETS + queues[queue, FIRST]], queue >> shift)
        state.new_heads[new] = queue
        new += 1
    state.counts[NEW_HEADS] = new
    # All that wait for a broken output, or for room beyond it, are among these.
    for output in range(len(broken)):
        if broken[output]:
            state.outputs[output, BUSY] = NONE
            peer = state.outputs[output, PEER]
            if peer >= 0:
                for target in range(peer << shift, (peer + 1) << shift):
                    queues[target, SHORT] = NONE


@inlined
def _restore_arrival(state: State, packet: int, port: int) -> None:
    """Gives a packet the tag and the flags with which it came to a router by one of its ports."""
    flags = state.packets[packet, FLAGS]
    state.packets[packet, TAG] = NONE if state.inputs[port, OF_HOST] else (flags >> ARRIVED_TAG_SHIFT) - 1
    kept = flags & (MEASURED if state.inputs[port, OF_HOST] else MEASURED | DETOURED)
    state.packets[packet, FLAGS] = kept | MARKED if flags & ARRIVED_MARKED else kept
