"""First hops of packets from a router's own hosts, where they differ from those of packets in transit.

Rules for packets in transit depend on the destination or the tag alone. A routing may want other gateways for
packets that start at a router: such packets get their own groups, which only the router's source table uses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from types import MappingProxyType

from routing.compiler import SourceTable, SourceTableMaker, detour_bucket
from routing.plan.groups import GroupRole, RouterView, group_number, push_tag
from routing.plan.model import Bucket, Group, GroupKind, Rule, Table, ToGroup
from routing.plan.tables import PRIORITY_BLOCK, PRIORITY_ROUTER, TO_ANY_HOST
from routing.reroute.base import FastReroute, ProtectedGroups, alternate_bucket, alternates_for_dead_port

# (gateway, weight) for each gateway.
Gateways = tuple[tuple[int, int], ...]


class GatewayGroups:
    """Groups of one router that divide packets among neighbours by weight, built on first use.

    While the port to a neighbour is dead, the others take its share; a group with a single neighbour uses the
    alternates of the router's protected group for the same packets.
    """

    def __init__(self, view: RouterView, protected: ProtectedGroups, role: GroupRole) -> None:
        """Creates a builder without groups.

        Args:
            view: the router's ports.
            protected: its protected groups for the same packets, untagged or tagged.
            role: the role of the groups.
        """
        self.groups: list[Group] = []
        self._port_to = dict(view.neighbour_ports())
        self._toward = protected.group_toward
        self._protected = {group.number: group for group in protected.groups}
        self._role = role
        self._numbers: dict[tuple[Gateways, int], int] = {}

    def group(self, key: int, gateways: Gateways) -> Group:
        """Returns the group for the packets that a key identifies.

        Args:
            key: the packets' destination, or the router named by their tag.
            gateways: at least one gateway with its weight.
        """
        one = (gateways, self._toward[key] if len(gateways) == 1 else 0)
        if one not in self._numbers:
            self._numbers[one] = len(self.groups)
            self.groups.append(self._make(*one))
        return self.groups[self._numbers[one]]

    def _make(self, gateways: Gateways, minimal: int) -> Group:
        number = group_number(self._role, len(self.groups))
        ports = [(self._port_to[gateway], weight) for gateway, weight in gateways]
        if len(ports) > 1:
            return Group(number, GroupKind.SELECT, tuple(_weighted_bucket(*one) for one in ports))
        port = ports[0][0]
        alternates = alternates_for_dead_port(self._protected, minimal, port)
        return Group(number, GroupKind.FAST_FAILOVER, (alternate_bucket(port), *alternates))


@cache
def _weighted_bucket(port: int, weight: int) -> Bucket:
    bucket = alternate_bucket(port)
    return Bucket(bucket.actions, bucket.watch_port, weight)


class FirstHops:
    """The first hops of one router's own packets: those of packets in transit, with exceptions.

    Attributes:
        exceptions: router -> the neighbours to which own packets to that router, or with its tag, are sent.
    """

    def __init__(
        self,
        view: RouterView,
        reroute: FastReroute,
        exceptions: Mapping[int, tuple[int, ...]] = MappingProxyType({}),
    ) -> None:
        """Creates the first hops of one router.

        Args:
            view: the router's ports.
            reroute: its protected groups.
            exceptions: see the attribute.
        """
        self.exceptions = exceptions
        self._view = view
        self._reroute = reroute
        self._port_to = dict(view.neighbour_ports())
        self._untagged = GatewayGroups(view, reroute.untagged, GroupRole.FIRST_UNTAGGED)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups built so far, which the router's source table needs."""
        # Only routings with detours have tagged groups, so these are not built for others.
        tagged = self._tagged.groups if "_tagged" in self.__dict__ else ()
        return (*self._untagged.groups, *tagged)

    def toward(self, destination: int) -> int:
        """Returns the number that names the group for untagged packets.

        Args:
            destination: another router.
        """
        if destination not in self.exceptions:
            return self._reroute.untagged.group_toward[destination]
        return self._untagged.group(destination, self._equal(destination)).number

    def detour(self, intermediate: int) -> Bucket:
        """Returns the bucket that tags an untagged packet and sends it toward an intermediate router.

        Args:
            intermediate: another router.
        """
        if intermediate not in self.exceptions:
            return detour_bucket(self._reroute, intermediate)
        group = self._tagged.group(intermediate, self._equal(intermediate))
        return Bucket((*push_tag(intermediate), ToGroup(group.number)))

    def ports(self, other: int) -> tuple[int, ...]:
        """Returns the ports on which packets leave while all ports are up.

        Args:
            other: the destination, or the router named by the tag.
        """
        if other not in self.exceptions:
            return self._view.minimal_ports[other]
        return tuple(sorted(self._port_to[gateway] for gateway in self.exceptions[other]))

    @cached_property
    def _tagged(self) -> GatewayGroups:
        return GatewayGroups(self._view, self._reroute.tagged, GroupRole.FIRST_TAGGED)

    def _equal(self, other: int) -> Gateways:
        return tuple((gateway, 1) for gateway in self.exceptions[other])


def first_hops_source_table(exceptions: Callable[[int], Mapping[int, tuple[int, ...]]]) -> SourceTableMaker:
    """Returns the function that builds source tables of routings without detours.

    Args:
        exceptions: router -> `FirstHops.exceptions` of its own packets; the others follow the rules for
            transit.
    """

    def source_table(view: RouterView, reroute: FastReroute) -> SourceTable:
        first_hops = FirstHops(view, reroute, exceptions(view.router))
        rules = [
            Rule(Table.SOURCE, PRIORITY_ROUTER, view.matches[other], (ToGroup(first_hops.toward(other)),))
            for other in first_hops.exceptions
        ]
        others = Rule(Table.SOURCE, PRIORITY_BLOCK, TO_ANY_HOST, goto=Table.MINIMAL)
        return SourceTable((*rules, others), first_hops.groups)

    return source_table
