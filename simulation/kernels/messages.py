"""Messages of an application: each is sent after its dependencies have arrived and its computation is done.

A host sends its ready messages one after the other, in the order in which they became ready, packet by
packet. A message without packets is a computation: it ends when its time has passed. A timing wheel lists the
messages that are due in each cycle: they become ready to send, or have arrived.
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
def start_messages(state: State, cycle: int) -> None:
    """Starts an application: plans the messages without dependencies.

    Args:
        state: the simulation; the cycles of its messages are relative to the application's start.
        cycle: the current cycle, in which the application starts and no message has been released yet.
    """
    for message in range(len(state.messages)):
        state.messages[message, DUE_CYCLE] += cycle
        if state.messages[message, WAITS_FOR] == 0:
            state.messages[message, DUE_CYCLE] += state.messages[message, COMPUTE_CYCLES]
            state.messages[message, READY_CYCLE] = state.messages[message, DUE_CYCLE]
            plan_message(state, message, cycle)


@compiled
def finish_unloaded(messages: Int64, successors: Int64, durations: Int64, stack: Int64) -> int:
    """Computes the arrival of all messages in a network without contention.

    Args:
        messages: like `State.messages`; changed in place, and DUE_CYCLE is the result.
        successors: like `State.successors`.
        durations: cycles from the time a message is ready to the arrival of its last packet.
        stack: working memory, one number per message.

    Returns:
        The number of messages that arrive: all, unless there is a cyclic dependency.
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
    """Puts messages that become ready in a cycle into their hosts' queues, and completes arrived messages.

    Args:
        state: the simulation.
        cycle: the cycle.

    Returns:
        The number of hosts whose queue was empty before; `State.message_hosts` lists them.
    """
    slot = cycle & (len(state.message_wheel) - 1)
    messages, queues = state.messages, state.message_queues
    state.counts[MESSAGE_CYCLE] = cycle
    newly_active = 0
    # A completed message makes others ready, even in this cycle if they have no computation: hence the loop.
    while state.message_wheel[slot] != NONE:
        message = _take_in_order(state, slot)
        while message != NONE:
            following = messages[message, NEXT_MESSAGE]
            if messages[message, DUE_CYCLE] > cycle:  # it was beyond the wheel's range when it was planned
                plan_message(state, message, cycle)
            elif messages[message, UNARRIVED] == 0:
                _complete(state, message, cycle)
            else:
                messages[message, NEXT_MESSAGE] = NONE
                host = messages[message, MESSAGE_SOURCE]
                if queues[host, FIRST_MESSAGE] == NONE:
                    queues[host, FIRST_MESSAGE] = message
                    state.message_hosts[newly_active] = host
                    newly_active += 1
                else:
                    messages[queues[host, LAST_MESSAGE], NEXT_MESSAGE] = message
                queues[host, LAST_MESSAGE] = message
            message = following
    return newly_active


@inlined
def waiting_since(state: State, host: int) -> int:
    """Returns the cycle in which the first message of a host's queue became ready; NONE for an empty queue.

    Args:
        state: the simulation.
        host: the host.
    """
    message = state.message_queues[host, FIRST_MESSAGE]
    return state.messages[message, READY_CYCLE] if message != NONE else NONE


@inlined
def send_packet(state: State, host: int, packet: int) -> int:
    """Assigns a packet to the first message of a host's queue and returns its destination.

    Args:
        state: the simulation.
        host: the source host; its queue must have a message.
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
    """Counts the arrival of a message's packet; after the last packet, plans the message's completion.

    Args:
        state: the simulation.
        packet: the packet.
        cycle: the cycle in which its tail arrives, later than the current one.
    """
    message = state.packet_messages[packet]
    state.messages[message, UNARRIVED] -= 1
    state.messages[message, DUE_CYCLE] = max(state.messages[message, DUE_CYCLE], cycle)
    if state.messages[message, UNARRIVED] == 0:
        plan_message(state, message, state.counts[MESSAGE_CYCLE])


@inlined
def plan_message(state: State, message: int, now: int) -> None:
    """Plans a visit to a message in the cycle when it is due, or earlier if that is beyond the wheel's range.

    Args:
        state: the simulation.
        message: the message.
        now: the current cycle.
    """
    last = len(state.message_wheel) - 1
    slot = min(state.messages[message, DUE_CYCLE], now + last) & last
    state.messages[message, NEXT_MESSAGE] = state.message_wheel[slot]
    state.message_wheel[slot] = message


@inlined
def _take_in_order(state: State, slot: int) -> int:
    """Empties a slot and returns the first of its messages, now linked in the order of their planning."""
    message, first = state.message_wheel[slot], NONE
    state.message_wheel[slot] = NONE
    while message != NONE:
        following = state.messages[message, NEXT_MESSAGE]
        state.messages[message, NEXT_MESSAGE] = first
        first = message
        message = following
    return first


@inlined
def _complete(state: State, message: int, cycle: int) -> None:
    """Completes a message or computation; plans the dependents that wait for no other message."""
    messages = state.messages
    state.counts[BEHIND] -= 1
    for place in range(messages[message, FIRST_SUCCESSOR], messages[message, LAST_SUCCESSOR]):
        other = state.successors[place]
        messages[other, WAITS_FOR] -= 1
        if messages[other, WAITS_FOR] == 0:
            due = max(messages[other, DUE_CYCLE], cycle) + messages[other, COMPUTE_CYCLES]
            messages[other, DUE_CYCLE] = due
            messages[other, READY_CYCLE] = due
            plan_message(state, other, cycle)
