"""The protected groups of one router: minimal ports with alternates; equal ones are one group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from routing.plan.groups import GroupRole, group_number, push_tag
from routing.plan.model import Actions, Bucket, Group, GroupKind, SetField, ToGroup
from routing.plan.tables import tag_of
from routing.reroute.base import MARK, port_bucket


class Alternate(NamedTuple):
    """An alternate of a router.

    Attributes:
        neighbour: the neighbour to which the packet goes first.
        tag: the router whose tag the packet gets; None where it keeps the tag that it has, or has none.
    """

    neighbour: int
    tag: int | None = None


Alternates = tuple[Alternate, ...]


class AlternateGroups:
    """The groups of one router, numbered in the order in which they are first asked for."""

    def __init__(self, port_to: Mapping[int, int]) -> None:
        """Starts without any group.

        Args:
            port_to: neighbour -> port of the (first) link to it.
        """
        self._port_to = port_to
        self._protected: dict[tuple[tuple[int, ...], Alternates, bool], int] = {}
        self._numbers: dict[tuple[GroupKind, tuple[Bucket, ...]], int] = {}
        self.groups: list[Group] = []

    def shared(self, ports: tuple[int, ...]) -> int:
        """Returns the number of the group that divides packets evenly among ports to several neighbours.

        While one of the ports is dead, the other ones take its share: no alternate is needed.

        Args:
            ports: the minimal ports.
        """
        return self._number(GroupKind.SELECT, tuple(map(port_bucket, ports)))

    def protected(self, ports: tuple[int, ...], alternates: Alternates, *, mark: bool) -> int:
        """Returns the number of the group that outputs to ports or, while all are dead, takes alternates.

        Args:
            ports: the minimal ports, all to one neighbour; packets are divided evenly among them.
            alternates: in order of preference.
            mark: whether the alternates mark the packets (untagged ones), or change their tag (tagged ones).
        """
        key = (ports, alternates, mark)
        if key not in self._protected:
            buckets = tuple(self._bucket(alternate, mark=mark) for alternate in alternates)
            self._protected[key] = self._failover(ports, buckets)
        return self._protected[key]

    def _failover(self, ports: tuple[int, ...], alternates: tuple[Bucket, ...]) -> int:
        rotations = [(*ports[first:], *ports[:first]) for first in range(len(ports))]
        numbers = [
            self._number(GroupKind.FAST_FAILOVER, (*map(port_bucket, rotation), *alternates))
            for rotation in rotations
        ]
        if len(numbers) == 1:
            return numbers[0]
        return self._number(GroupKind.SELECT, tuple(Bucket((ToGroup(number),)) for number in numbers))

    def _number(self, kind: GroupKind, buckets: tuple[Bucket, ...]) -> int:
        key = (kind, buckets)
        if key not in self._numbers:
            self._numbers[key] = group_number(GroupRole.PROTECTED, len(self.groups))
            self.groups.append(Group(self._numbers[key], kind, buckets))
        return self._numbers[key]

    def _bucket(self, alternate: Alternate, *, mark: bool) -> Bucket:
        changes: Actions = ()
        if mark:
            changes = (MARK,) if alternate.tag is None else (MARK, *push_tag(alternate.tag))
        elif alternate.tag is not None:
            changes = (SetField("vlan_vid", tag_of(alternate.tag)),)
        return port_bucket(self._port_to[alternate.neighbour], changes)
