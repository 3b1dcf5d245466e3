"""UGAL_PF (`ugal-pf`): minimal while the way is free, compact Valiant detours while it is not.

A switch has two groups per port, for the destinations behind the port's neighbour and for the neighbour
itself; both begin with all buckets minimal, and `controller.adaptation` points some of them at detours.
O(q) groups serve O(q^2) destinations, because the detours depend on the minimal next hop alone
(`controller.polarfly_detours`).

Source: PolarFly (SC22), section V-B.
"""

from __future__ import annotations

from controller.adaptation import BUCKETS
from controller.assembly import RouterView, SourcePart, assemble, toward_port
from controller.compact_valiant import FAR_GROUPS, NEAR_GROUPS, group_rules, hop_bound, near_bucket
from controller.plan import Bucket, Group, GroupKind, RoutePlan
from controller.polarfly_detours import far_detours, near_detours
from topology.errors import UsageError
from topology.graph import Topology
from topology.polarfly import PolarFly

NAME = "ugal-pf"


def ugal_pf_plan(topology: Topology, hosts_per_router: int) -> RoutePlan:
    """Returns the plan whose groups begin minimal and may be pointed at every compact Valiant detour.

    Arguments and errors as `assemble`.

    Raises:
        UsageError: the topology is no PolarFly, on whose geometry the detours rest.
    """
    if not isinstance(topology, PolarFly):
        raise UsageError(f"{NAME} is a routing for polarfly, not for {topology.name}")
    return assemble(topology, hosts_per_router, NAME, hop_bound, _adaptive, tagged=True)


def _adaptive(view: RouterView) -> SourcePart:
    graph = view.topology
    assert isinstance(graph, PolarFly)
    groups = []
    for neighbour in graph.neighbours(view.router).tolist():
        port = view.port_to_neighbour(neighbour)
        far = [toward_port(view.ports[m]) for m in far_detours(graph, view.router, neighbour)]
        near = [near_bucket(view, d) for d in near_detours(graph, view.router, neighbour)]
        groups.append(_group(FAR_GROUPS + port, port, far))
        groups.append(_group(NEAR_GROUPS + port, port, near))
    return SourcePart(tuple(group_rules(view)), tuple(groups))


def _group(number: int, port: int, detours: list[Bucket]) -> Group:
    minimal = toward_port(port)
    return Group(number, GroupKind.SELECT, (minimal,) * BUCKETS, (minimal, *detours))
