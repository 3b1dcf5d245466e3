"""Buckets of adaptive groups: packets of a flow take the bucket that the flow's hash picks."""

from __future__ import annotations

from simulation.kernels.compiled import inlined
from simulation.kernels.random import below
from simulation.kernels.state import FLOWS, HOST, MINIMAL, NONE, OWNER, State

_LOW, _ODD = 0xFFFFFFFF, 0x45D9F3B  # products of both have less than 63 bits


@inlined
def outcome_of_flow(state: State, adaptive: int, port: int, packet: int) -> int:
    """Returns the first outcome of the bucket of a packet's flow, as `State.buckets` has it.

    A packet belongs to a random flow of its pair of hosts. Dead buckets are skipped; where all are, or none
    has been written, the outcome is that of the minimal path.

    Args:
        state: the simulation.
        adaptive: the adaptive choice.
        port: input at which the packet came; that of a host stands for the host.
        packet: the packet.
    """
    flows, buckets = state.settings[FLOWS], state.buckets.shape[1]
    pair = port * len(state.hosts) + state.packets[packet, HOST]
    flow = pair * flows + below(state.random, state.inputs[port, OWNER], flows)
    bucket = (_mixed(flow) * buckets) >> 32
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
def _mixed(number: int) -> int:
    """Returns a hash of 32 bits of a number below 2^63."""
    mixed = (number ^ (number >> 32)) & _LOW
    for _ in range(2):
        mixed = ((mixed ^ (mixed >> 16)) * _ODD) & _LOW
    spread: int = mixed ^ (mixed >> 16)
    return spread
