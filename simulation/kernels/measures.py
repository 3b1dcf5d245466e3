"""Measurements of packets: hops, arrivals at hosts and losses, shared by both flow controls."""

from __future__ import annotations

from simulation.kernels.compiled import inlined
from simulation.kernels.latency import latency_bin
from simulation.kernels.messages import arrive
from simulation.kernels.state import (
    ACCEPTED,
    ARRIVED,
    ARRIVED_HOPS,
    ARRIVED_LATENCY,
    ARRIVED_PATHS,
    DELAY,
    DELIVERED,
    DETOURED,
    DETOURED_COUNT,
    DROPPED,
    FLAGS,
    HOPS,
    HOST,
    LAST_LOSS,
    LATENCY_MAX,
    LATENCY_SUM,
    LOST,
    MEASURED,
    PACKET_HOPS,
    PATH_CYCLES,
    PATHS_SUM,
    TWO_DELAYS,
    WINDOW_BEGIN,
    WINDOW_END,
    State,
)
from topology.addressing import INITIAL_TTL

CUT_HOPS = INITIAL_TTL  # marks a packet lost on a failed link: over MAX_HOPS, so the next router drops it


@inlined
def measure(state: State, packet: int, cycle: int, latency: int, latency_cycles: int) -> None:
    """Counts a packet that arrives at its host.

    Args:
        state: the simulation.
        packet: the packet.
        cycle: the cycle of its arrival.
        latency: time since its generation, in the unit of the sums: cycles (credit) or ticks (drop).
        latency_cycles: the same time in full cycles.
    """
    counts = state.counts
    if len(state.messages):
        arrive(state, packet, cycle)
    counts[ARRIVED] += 1
    counts[ARRIVED_LATENCY] += latency
    counts[ARRIVED_HOPS] += state.packets[packet, HOPS]
    if state.settings[TWO_DELAYS]:
        counts[ARRIVED_PATHS] += state.packets[packet, PATH_CYCLES]
    if counts[WINDOW_BEGIN] <= cycle < counts[WINDOW_END]:
        counts[ACCEPTED] += 1
        state.host_packets[state.packets[packet, HOST]] += 1
    if state.packets[packet, FLAGS] & MEASURED:
        counts[DELIVERED] += 1
        counts[LATENCY_SUM] += latency
        counts[LATENCY_MAX] = max(counts[LATENCY_MAX], latency)
        state.latencies[latency_bin(latency_cycles)] += 1
        state.hops[state.packets[packet, HOPS]] += 1
        if state.settings[TWO_DELAYS]:
            counts[PATHS_SUM] += state.packets[packet, PATH_CYCLES]
        if state.packets[packet, FLAGS] & DETOURED:
            counts[DETOURED_COUNT] += 1


@inlined
def count_link(state: State, packet: int, output: int) -> None:
    """Counts a hop of a packet over a link between routers.

    Args:
        state: the simulation.
        packet: the packet.
        output: the port through which it leaves.
    """
    state.packets[packet, HOPS] += 1
    if state.settings[TWO_DELAYS]:
        state.packets[packet, PATH_CYCLES] += state.outputs[output, DELAY]
    state.counts[PACKET_HOPS] += 1


@inlined
def count_lost(state: State, packet: int, tick: int) -> None:
    """Counts a packet that cannot be forwarded, unless it was cut and therefore counted before.

    Args:
        state: the simulation.
        packet: the packet.
        tick: the current tick.
    """
    if state.packets[packet, HOPS] != CUT_HOPS:
        state.counts[DROPPED] += state.packets[packet, FLAGS] & MEASURED
        state.counts[LOST] += 1
        state.counts[LAST_LOSS] = tick
