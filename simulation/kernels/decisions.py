"""Decisions of source routers between the minimal path of a packet and detours.

Decision laws use the downstream occupancy of an output: the flits that it has sent and whose room has not
been credited back (`State.used`).
"""

from __future__ import annotations

from simulation.kernels.compiled import inlined
from simulation.kernels.random import below
from simulation.kernels.state import (
    AFTER_TAG,
    BUNDLE_CHOICE,
    BUNDLE_PORT,
    BUNDLE_START,
    CANDIDATES,
    DETOUR_CHOICE,
    DETOUR_HOPS,
    DETOUR_START,
    DETOURS_BEFORE,
    LAW,
    MARGIN,
    MINIMAL,
    MINIMAL_HOPS,
    MINIMAL_LAW,
    NONE,
    OUT_COUNT,
    OUT_PORT,
    OUT_TAG,
    OUT_WEIGHT,
    OUT_WEIGHTS,
    OWNER,
    PEER,
    PIGGYBACK_LAW,
    RANDOM_NEIGHBOUR,
    ROUTERS,
    TAGGED,
    THRESHOLD,
    THRESHOLD_LAW,
    UNTAGGED,
    WHOLE_PATH,
    State,
)
from topology.addressing import INITIAL_TTL

# Every router decrements the TTL of a packet and drops the packet at 0.
MAX_HOPS = INITIAL_TTL - 1
DROP = -1  # instead of the index of an outcome: the packet is dropped
DETOUR_BIT = 1 << 30  # marks the outcome of a detour
_DEAD_PATH_COST = 1 << 60
_CONGESTION_COST = 1 << 40  # of a congested global link; higher than the cost of any queues


@inlined
def lookup_index(state: State, layer: int, router: int, key: int) -> int:
    """Returns the index in `State.lookups` for a key at a router, in a lookup layer.

    Args:
        state: the simulation.
        layer: index of the lookup layer.
        router: the router.
        key: the destination router, or the router named by the tag.
    """
    routers: int = state.settings[ROUTERS]
    return (layer * routers + router) * routers + key


@inlined
def outcome_of(state: State, choice: int, router: int) -> int:
    """Returns a random outcome of a choice, with probabilities proportional to the weights.

    Args:
        state: the simulation.
        choice: the choice, identified by its first outcome; or DROP.
        router: the router whose random generator is used.
    """
    found = choice
    if choice != DROP and state.outcomes[choice, OUT_COUNT] > 1:
        number = below(state.random, router, state.outcomes[choice, OUT_WEIGHTS])
        while number >= state.outcomes[found, OUT_WEIGHT]:
            number -= state.outcomes[found, OUT_WEIGHT]
            found += 1
    return found


@inlined
def decide(state: State, adaptive: int, router: int, destination: int) -> int:
    """Returns the outcome that the decision law selects, with DETOUR_BIT for a detour.

    Args:
        state: the simulation.
        adaptive: the adaptive choice.
        router: the packet's source router.
        destination: the packet's destination router.
    """
    found = outcome_of(state, state.adaptive[adaptive, MINIMAL], router)
    law = state.settings[LAW]
    first, end = state.adaptive[adaptive, BUNDLE_START], state.adaptive[adaptive + 1, BUNDLE_START]
    if law == MINIMAL_LAW or first == end:
        return found
    if law == THRESHOLD_LAW:
        used = 1 << 40
        if found != DROP and state.outcomes[found, OUT_PORT] != NONE:
            used = state.used[state.outcomes[found, OUT_PORT]]
        if used << 8 > state.settings[THRESHOLD]:
            found = _neighbours_detour(state, first, end, router)
        return found
    begin = state.bundles[first, DETOURS_BEFORE]
    size = state.bundles[end, DETOURS_BEFORE] - begin
    least = _cost(state, found, state.adaptive[adaptive, MINIMAL_HOPS], destination)
    for _ in range(state.settings[CANDIDATES]):
        detour = _detour(state, first, end, begin + below(state.random, router, size))
        outcome = outcome_of(state, state.detours[detour, DETOUR_CHOICE], router)
        cost = _cost(state, outcome, state.detours[detour, DETOUR_HOPS], destination)
        if cost < least:
            found, least = outcome | DETOUR_BIT, cost
    return found


@inlined
def _cost(state: State, outcome: int, hops: int, destination: int) -> int:
    """Returns the cost of the path that starts with an outcome; UGAL and piggybacking compare these costs."""
    cost = _DEAD_PATH_COST
    if outcome != DROP and state.outcomes[outcome, OUT_PORT] != NONE:
        if state.settings[WHOLE_PATH] != 0:
            cost = _path_load(state, outcome, destination)
        else:
            cost = state.used[state.outcomes[outcome, OUT_PORT]] * hops
            if state.settings[LAW] == PIGGYBACK_LAW and _is_first_global_link_congested(
                state, outcome, destination
            ):
                cost += _CONGESTION_COST
    return cost


@inlined
def _detour(state: State, first: int, end: int, number: int) -> int:
    """Returns the index in `State.detours` of a detour, given its position among all detours of a choice.

    Args:
        state: the simulation.
        first: first bundle in which the detour may be.
        end: end of these bundles.
        number: the detour's position, from 0, counted over all bundles.
    """
    while end - first > 1:
        middle = (first + end) >> 1
        if state.bundles[middle, DETOURS_BEFORE] <= number:
            first = middle
        else:
            end = middle
    place: int = state.bundles[first, DETOUR_START] + number - state.bundles[first, DETOURS_BEFORE]
    return place


@inlined
def _path_load(state: State, outcome: int, destination: int) -> int:
    """Returns the occupancy of all outputs on the path that starts with an outcome.

    Where a router has several outcomes, the path is assumed to follow the first one.
    """
    load, hops = 0, 0
    while outcome != DROP and hops < MAX_HOPS:
        hops += 1
        port = state.outcomes[outcome, OUT_PORT]
        if port == NONE:
            break
        load += state.used[port]
        outcome = _next_outcome(state, outcome, destination)
    return load


@inlined
def _is_first_global_link_congested(state: State, outcome: int, destination: int) -> bool:
    """Returns whether the first global link is congested on the path that starts with an outcome.

    Where a router has several outcomes, the path is assumed to follow the first one.
    """
    congested, hops = False, 0
    while outcome != DROP and hops < MAX_HOPS:
        hops += 1
        port = state.outcomes[outcome, OUT_PORT]
        if port == NONE:
            break
        if state.global_ports[port]:
            congested = _is_congested(state, port)
            break
        outcome = _next_outcome(state, outcome, destination)
    return congested


@inlined
def _is_congested(state: State, port: int) -> bool:
    """Returns whether a global link is congested.

    It is congested if its occupancy exceeds twice the mean over its router's global links plus MARGIN.
    """
    router, links, used = state.inputs[port, OWNER], 0, 0
    for other in range(state.first_ports[router], state.first_ports[router + 1]):
        if state.global_ports[other]:
            links += 1
            used += state.used[other]
    return bool((state.used[port] * links - 2 * used) << 8 > state.settings[MARGIN] * links)


@inlined
def _next_outcome(state: State, outcome: int, destination: int) -> int:
    """Follows an outcome to the next router and returns the first outcome there; DROP at the path's end."""
    router = state.inputs[state.outputs[state.outcomes[outcome, OUT_PORT], PEER], OWNER]
    tag, layer, following = state.outcomes[outcome, OUT_TAG], state.settings[UNTAGGED], DROP
    if tag == router:
        tag, layer = NONE, state.settings[AFTER_TAG]
    if tag != NONE or router != destination:
        key = destination
        if tag != NONE:
            layer, key = state.settings[TAGGED], tag
        choice = state.lookups[lookup_index(state, layer, router, key)]
        if choice >= 0:
            following = choice
    return following


@inlined
def _neighbours_detour(state: State, first: int, end: int, router: int) -> int:
    """Returns the outcome of a random detour through one port, with DETOUR_BIT; or DROP.

    The port is the least occupied one, or with RANDOM_NEIGHBOUR a random one.
    """
    bundle = first + below(state.random, router, end - first)
    best, least = bundle, 1 << 60
    for _ in range(0 if state.settings[RANDOM_NEIGHBOUR] else end - first):
        port, occupied = state.bundles[bundle, BUNDLE_PORT], 0
        if port != NONE:
            occupied = state.used[port] << 8
        else:
            choice = state.bundles[bundle, BUNDLE_CHOICE]
            count = state.outcomes[choice, OUT_COUNT]
            for outcome in range(choice, choice + count):
                occupied += state.used[state.outcomes[outcome, OUT_PORT]] << 8
            occupied //= count
        if occupied < least:
            best, least = bundle, occupied
        bundle += 1
        if bundle == end:
            bundle = first
    size = state.bundles[best + 1, DETOURS_BEFORE] - state.bundles[best, DETOURS_BEFORE]
    detour = state.bundles[best, DETOUR_START] + below(state.random, router, size)
    outcome = outcome_of(state, state.detours[detour, DETOUR_CHOICE], router)
    return outcome | DETOUR_BIT if outcome != DROP else DROP
