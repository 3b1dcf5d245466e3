"""UGAL_PF (`ugal-pf`): minimal while the way is free, compact Valiant detours while it is not.

A switch has two groups per port, for the destinations behind the port's neighbour and for the neighbour
itself; both begin with all buckets minimal, and `controller.adaptation` points some of them at detours.
O(q) groups serve O(q^2) destinations, because the detours depend on the minimal next hop alone
(`controller.polarfly_detours`).

Source: PolarFly (SC22), section V-B.
"""

from __future__ import annotations

from controller.adaptation import BUCKETS
from controller.assembly import toward_port
from controller.detour_groups import detour_plan
from controller.plan import Bucket, Group, GroupKind, RoutePlan
from topology.graph import Topology

NAME = "ugal-pf"


def ugal_pf_plan(topology: Topology, hosts_per_router: int) -> RoutePlan:
    """Returns the plan whose groups begin minimal and may be pointed at every compact Valiant detour.

    Arguments and errors as `detour_plan`.
    """
    return detour_plan(topology, hosts_per_router, NAME, _group, lambda detours: detours)


def _group(number: int, port: int, detours: tuple[Bucket, ...]) -> Group:
    minimal = toward_port(port)
    return Group(number, GroupKind.SELECT, (minimal,) * BUCKETS, (minimal, *detours))
