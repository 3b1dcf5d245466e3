"""States of packets, and the destinations that a switch treats alike."""

import numpy as np

from routing.registry import make_plan
from routing.verification.forwarding_states import StateSpace
from topology.failures import NO_FAILURE
from topology.families.low_diameter.polarfly import PolarFly

GRAPH = PolarFly(5)


def test_destinations_behind_one_neighbour_are_alike_and_own_hosts_are_not():
    space = StateSpace(make_plan(GRAPH, 2, "min"))
    hops = GRAPH.all_next_hops()
    for source in (host for host in space.hosts if host.router in (0, 7, 30)):
        router = source.router
        classes = space.classes(space.initial_state(source))
        for one in space.hosts:
            for other in space.hosts:
                alike = classes[space.host_number(one)] == classes[space.host_number(other)]
                away = router not in (one.router, other.router)
                # A neighbour has other ways around its dead link than those behind it.
                near = (one.router == hops[router][one.router]) == (
                    other.router == hops[router][other.router]
                )
                expected = away and hops[router][one.router] == hops[router][other.router] and near
                assert alike == (expected or one == other)


def test_sources_share_the_states_that_their_packets_meet_in():
    space = StateSpace(make_plan(GRAPH, 2, "min"))
    for source in space.hosts:
        for destination in space.hosts:
            space.steps_toward(destination)(space.initial_state(source), NO_FAILURE)
    # Of every router, those of its two hosts, and one for all packets from other routers.
    assert np.bincount([state.router for state in space.states]).tolist() == [3] * GRAPH.routers
