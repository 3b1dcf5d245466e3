"""The routings by their names on the command line: one registry line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from routing.algorithms import compact_valiant, minimal, ugal, ugal_pf, valiant
from routing.algorithms.bucket_control import Law
from routing.compiler import check_ttl
from routing.garbage_collection import without_garbage_collection
from routing.plan.model import RoutePlan
from routing.reroute.base import without_local_repair
from topology.base import Topology
from topology.errors import UsageError


@dataclass(frozen=True)
class Routing:
    """A routing.

    Attributes:
        make_plan: (topology, hosts at each router that has any) -> its plan, with fast reroute.
        summary: its paths, in a line.
        make_law: datapath id -> the control law of that switch's adaptive groups; None for an oblivious
            routing.
        shortest: whether its packets take exactly the pair's distance in hops.
    """

    make_plan: Callable[[Topology, int], RoutePlan]
    summary: str
    make_law: Callable[[int], Law] | None = None
    shortest: bool = False

    @property
    def oblivious(self) -> bool:
        """Whether its choices do not depend on the traffic, so that theory can predict the accepted load."""
        return self.make_law is None


ROUTINGS: Mapping[str, Routing] = {
    minimal.NAME: Routing(minimal.minimal_plan, "the shortest path", shortest=True),
    valiant.NAME: Routing(valiant.valiant_plan, "by way of a random router"),
    compact_valiant.NAME: Routing(
        compact_valiant.compact_valiant_plan, "by way of a random neighbour (polarfly)"
    ),
    ugal.NAME: Routing(
        ugal.ugal_plan, "minimal, or by way of a random router, by occupancy times hops", ugal.make_ugal_law
    ),
    ugal_pf.NAME: Routing(
        ugal_pf.ugal_pf_plan,
        "minimal, or a compact Valiant detour where it is full (polarfly)",
        lambda _datapath_id: ugal_pf.ugal_pf_law,
    ),
}


def routing(name: str) -> Routing:
    """Returns the routing with a name.

    Args:
        name: the name on the command line, a key of `ROUTINGS`.

    Raises:
        UsageError: the name is not a key of `ROUTINGS`; the message lists the keys.
    """
    if name not in ROUTINGS:
        raise UsageError(f"unknown routing {name!r}; there are: {', '.join(sorted(ROUTINGS))}")
    return ROUTINGS[name]


@without_garbage_collection()
def make_plan(topology: Topology, concentration: int, name: str, *, local_repair: bool = True) -> RoutePlan:
    """Returns the plan of a routing for a fabric.

    Args:
        topology: the fabric's graph, connected.
        concentration: p, the number of hosts at each router that has any, 1 to 254.
        name: the routing's name, a key of `ROUTINGS`.
        local_repair: whether the plan has fast reroute; without it, packets are lost at a dead port until the
            controller acts.

    Raises:
        UsageError: the name is unknown, or the routing needs detours that the topology's family has not.
        ParameterError: more hosts or routers than addresses and tags can tell apart, or longer paths than the
            packets' TTL allows.
    """
    plan = routing(name).make_plan(topology, concentration)
    if not local_repair:
        return without_local_repair(plan)
    check_ttl(topology, plan.hop_bound, plan.repair_hops)
    return plan
