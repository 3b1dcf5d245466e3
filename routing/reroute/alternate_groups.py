"""The protected groups of one router: minimal ports with alternates; equal ones are one group."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from routing.plan.groups import GroupRole, group_number
from routing.plan.model import Bucket, Group, GroupKind, ToGroup
from routing.reroute.base import alternate_bucket


class Alternate(NamedTuple):
    """An alternate of a router.

    Attributes:
        neighbour: the neighbour to which the packet goes first.
        tag: the router whose tag the packet gets; None where it keeps the tag that it has, or has none.
    """

    neighbour: int
    tag: int | None = None


Alternates = tuple[Alternate, ...]

# A bucket, told apart by numbers, which are hashed faster: the number of the group that it hands over to; or
# its port, whether packets are marked, and the router whose tag they get.
_BucketKey = int | tuple[int, bool, int | None]


class AlternateGroups:
    """The groups of one router, numbered in the order in which they are first asked for."""

    def __init__(self, port_to: Mapping[int, int]) -> None:
        """Starts without any group.

        Args:
            port_to: neighbour -> port of the (first) link to it.
        """
        self._port_to = port_to
        self._protected: dict[tuple[tuple[int, ...], Alternates, bool], int] = {}
        self._shared: dict[tuple[int, ...], int] = {}
        self._numbers: dict[tuple[bool, tuple[_BucketKey, ...]], int] = {}
        self.groups: list[Group] = []

    def shared(self, ports: tuple[int, ...]) -> int:
        """Returns the number of the group that divides packets evenly among ports to several neighbours.

        While one of the ports is dead, the other ones take its share: no alternate is needed.

        Args:
            ports: the minimal ports.
        """
        number = self._shared.get(ports)
        if number is None:
            number = self._shared[ports] = self._add(GroupKind.SELECT, tuple(map(_port_bucket, ports)))
        return number

    def protected(self, ports: tuple[int, ...], alternates: Alternates, *, mark: bool) -> int:
        """Returns the number of the group that outputs to ports or, while all are dead, takes alternates.

        Args:
            ports: the minimal ports, all to one neighbour; packets are divided evenly among them.
            alternates: in order of preference.
            mark: whether the alternates mark the packets (untagged ones), or change their tag (tagged ones).
        """
        key = (ports, alternates, mark)
        if key not in self._protected:
            buckets = tuple([(self._port_to[n], mark, tag) for n, tag in alternates])
            self._protected[key] = self._failover(ports, buckets)
        return self._protected[key]

    def _failover(self, ports: tuple[int, ...], alternates: tuple[_BucketKey, ...]) -> int:
        rotations = [(*ports[first:], *ports[:first]) for first in range(len(ports))]
        numbers = [
            self._number(GroupKind.FAST_FAILOVER, _minimal(rotation) + alternates) for rotation in rotations
        ]
        return numbers[0] if len(numbers) == 1 else self._number(GroupKind.SELECT, tuple(numbers))

    def _number(self, kind: GroupKind, keys: tuple[_BucketKey, ...]) -> int:
        key = (kind is GroupKind.SELECT, keys)
        if key not in self._numbers:
            self._numbers[key] = self._add(kind, tuple(map(_bucket, keys)))
        return self._numbers[key]

    def _add(self, kind: GroupKind, buckets: tuple[Bucket, ...]) -> int:
        number = group_number(GroupRole.PROTECTED, len(self.groups))
        self.groups.append(Group(number, kind, buckets))
        return number


def _minimal(ports: tuple[int, ...]) -> tuple[_BucketKey, ...]:
    return tuple([(port, False, None) for port in ports])


@cache
def _port_bucket(port: int) -> Bucket:
    return alternate_bucket(port, False, None)


@cache
def _group_bucket(number: int) -> Bucket:
    return Bucket((ToGroup(number),))


def _bucket(key: _BucketKey) -> Bucket:
    """Returns the bucket of a key, which all routers share."""
    return _group_bucket(key) if isinstance(key, int) else alternate_bucket(*key)
