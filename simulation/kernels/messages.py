"""Messages of an application: sent when all that they wait for has arrived and a computation has ended.

A host sends the messages that may be sent one after the other, in the order in which they became ready,
packet by packet. A message without packets is a computation: it ends when its time has passed. A wheel has
the cycles in which messages are due: to be sent, or to have arrived.
"""

from __future__ import annotations

from simulation.kernels.compiled import compiled, inlined
from simulation.kernels.state import (
    BEHIND,
    COMPUTE_CYCLES,
    DUE_CYCLE,
    FIRST_MESSAGE,
    FIRST_SUCCESSOR,
    LAST_MESSAGE,
    LAST_SUCCESSOR,
    MESSAGE_CYCLE,
    MESSAGE_DESTINATION,
    MESSAGE_SOURCE,
    NEXT_MESSAGE,
    NONE,
    READY_CYCLE,
    UNARRIVED,
    UNSENT,
    WAITS_FOR,
    Int64,
    State,
)


@compiled
def begin_messages(state: State, cycle: int) -> None:
    """Has an application begin: plans the messages that wait for no others.

    Args:
        state: the simulation; cycles of its messages are counted from the application's begin.
        cycle: the present cycle, in which it begins; messages have not been released in it.
    """
    for message in range(len(state.messages)):
        state.messages[message, DUE_CYCLE] += cycle
        if state.messages[message, WAITS_FOR] == 0:
            state.messages[message, DUE_CYCLE] += state.messages[message, COMPUTE_CYCLES]
            state.messages[message, READY_CYCLE] = state.messages[message, DUE_CYCLE]
            plan(state, message, cycle)


@compiled
def finish_unloaded(messages: Int64, successors: Int64, durations: Int64, stack: Int64) -> int:
    """Computes when messages arrive if none waits for a link; `messages` are changed as in a simulation.

    Args:
        messages: as `State.messages`; DUE_CYCLE is the result.
        successors: as `State.successors`.
        durations: cycles from a message's first packet being ready to its last having arrived.
        stack: room for as many numbers as there are messages.

    Returns:
        The number of messages that arrive: all, unless some wait for one another in a circle.
    """
    height = arrived = 0
    for message in range(len(messages)):
        if messages[message, WAITS_FOR] == 0:
            stack[height] = message
            height += 1
    while height:
        height -= 1
        arrived += 1
        message = stack[height]
        done = messages[message, DUE_CYCLE] + messages[message, COMPUTE_CYCLES] + durations[message]
        messages[message, DUE_CYCLE] = done
        for place in range(messages[message, FIRST_SUCCESSOR], messages[message, LAST_SUCCESSOR]):
            other = successors[place]
            messages[other, DUE_CYCLE] = max(messages[other, DUE_CYCLE], done)
            messages[other, WAITS_FOR] -= 1
            if messages[other, WAITS_FOR] == 0:
                stack[height] = other
                height += 1
    return arrived


@inlined
def release(state: State, cycle: int) -> int:
    """Puts messages that become ready in a cycle into their hosts' queues, and ends those that have arrived.

    Args:
        state: the simulation.
        cycle: the cycle.

    Returns:
        The number of hosts that had nothing to send before; `State.message_hosts` has them.
    """
    slot = cycle & (len(state.message_wheel) - 1)
    messages, queues = state.messages, state.message_queues
    state.counts[MESSAGE_CYCLE] = cycle
    begun = 0
    # What ends makes others ready, in this cycle if these do not compute.
    while state.message_wheel[slot] != NONE:
        message = _in_order(state, slot)
        while message != NONE:
            following = messages[message, NEXT_MESSAGE]
            if messages[message, DUE_CYCLE] > cycle:  # further ahead than the wheel goes
                plan(state, message, cycle)
            elif messages[message, UNARRIVED] == 0:
                _end(state, message, cycle)
            else:
                messages[message, NEXT_MESSAGE] = NONE
                host = messages[message, MESSAGE_SOURCE]
                if queues[host, FIRST_MESSAGE] == NONE:
                    queues[host, FIRST_MESSAGE] = message
                    state.message_hosts[begun] = host
                    begun += 1
                else:
                    messages[queues[host, LAST_MESSAGE], NEXT_MESSAGE] = message
                queues[host, LAST_MESSAGE] = message
            message = following
    return begun


@inlined
def waiting_since(state: State, host: int) -> int:
    """Returns the cycle in which the first message of a host's queue became ready, or NONE without one.

    Args:
        state: the simulation.
        host: the host.
    """
    message = state.message_queues[host, FIRST_MESSAGE]
    return state.messages[message, READY_CYCLE] if message != NONE else NONE


@inlined
def send_packet(state: State, host: int, packet: int) -> int:
    """Makes a packet the next of a host's messages, and returns its destination.

    Args:
        state: the simulation.
        host: the source; a message is in its queue.
        packet: the packet.
    """
    message = state.message_queues[host, FIRST_MESSAGE]
    state.packet_messages[packet] = message
    state.messages[message, UNSENT] -= 1
    if state.messages[message, UNSENT] == 0:
        state.message_queues[host, FIRST_MESSAGE] = state.messages[message, NEXT_MESSAGE]
    destination: int = state.messages[message, MESSAGE_DESTINATION]
    return destination


@inlined
def arrive(state: State, packet: int, cycle: int) -> None:
    """Counts a packet of a message; with the last one the message has arrived.

    Args:
        state: the simulation.
        packet: the packet.
        cycle: the cycle in which its tail arrives, later than the present one.
    """
    message = state.packet_messages[packet]
    state.messages[message, UNARRIVED] -= 1
    state.messages[message, DUE_CYCLE] = max(state.messages[message, DUE_CYCLE], cycle)
    if state.messages[message, UNARRIVED] == 0:
        plan(state, message, state.counts[MESSAGE_CYCLE])


@inlined
def plan(state: State, message: int, now: int) -> None:
    """Plans to look at a message when it is due, or earlier where that is beyond the wheel.

    Args:
        state: the simulation.
        message: the message.
        now: the present cycle.
    """
    last = len(state.message_wheel) - 1
    slot = min(state.messages[message, DUE_CYCLE], now + last) & last
    state.messages[message, NEXT_MESSAGE] = state.message_wheel[slot]
    state.message_wheel[slot] = message


@inlined
def _in_order(state: State, slot: int) -> int:
    """Returns the first message of a slot's list, which is emptied; the list is in the order of planning."""
    message, first = state.message_wheel[slot], NONE
    state.message_wheel[slot] = NONE
    while message != NONE:
        following = state.messages[message, NEXT_MESSAGE]
        state.messages[message, NEXT_MESSAGE] = first
        first = message
        message = following
    return first


@inlined
def _end(state: State, message: int, cycle: int) -> None:
    """Ends a message that has arrived, or a computation, and plans those that wait for no other."""
    messages = state.messages
    state.counts[BEHIND] -= 1
    for place in range(messages[message, FIRST_SUCCESSOR], messages[message, LAST_SUCCESSOR]):
        other = state.successors[place]
        messages[other, WAITS_FOR] -= 1
        if messages[other, WAITS_FOR] == 0:
            due = max(messages[other, DUE_CYCLE], cycle) + messages[other, COMPUTE_CYCLES]
            messages[other, DUE_CYCLE] = due
            messages[other, READY_CYCLE] = due
            plan(state, other, cycle)
