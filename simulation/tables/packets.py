"""Kinds of packets that forwarding tables distinguish, and their treatment by the rules of a switch."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulation.tables.actions import KEPT, ActionEffect

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# Instead of the number of an action list:
DROPPED = -1
UNCERTAIN = -2  # the treatment of tagged packets depends on more than the tag


class Ingress(enum.Enum):
    """The ingress port of a packet, as far as forwarding tables distinguish it."""

    HOST = "host"  # any port of a host
    LINK = "link"  # any port of a link to another router
    CLEARED = "cleared"


class Arrival(enum.Enum):
    """The kinds of packets that arrive at a switch; the value names their array in `ForwardingTables`."""

    HOST = "from_host"
    UNTAGGED = "untagged"
    TAGGED = "tagged"
    AFTER_TAG = "after_tag"
    MARKED = "marked"
    MARKED_TAGGED = "marked_tagged"

    @property
    def by_tag(self) -> bool:
        """Whether packets are looked up by their tag instead of their destination."""
        return self in (Arrival.TAGGED, Arrival.MARKED_TAGGED)

    @property
    def mark(self) -> int:
        """The mark of these packets."""
        return int(self in (Arrival.MARKED, Arrival.MARKED_TAGGED))


class Packet(NamedTuple):
    """The fields of a packet that forwarding tables distinguish, besides its destination.

    Attributes:
        tag: the router named by its tag, or NO_TAG; KEPT stands for packets with any tag.
        mark: 1 if it was rerouted, else 0.
        ingress: its ingress port.
    """

    tag: int
    mark: int
    ingress: Ingress

    def after(self, effect: ActionEffect) -> Packet:
        """Returns the packet after an action list has rewritten it.

        Args:
            effect: the effect of the action list.
        """
        return Packet(
            self.tag if effect.tag == KEPT else effect.tag,
            self.mark if effect.mark == KEPT else effect.mark,
            Ingress.CLEARED if effect.cleared else self.ingress,
        )


@dataclass(frozen=True)
class Treatments:
    """The last action list that is applied to packets, for each column of a table.

    Columns are destination routers followed by the router's own hosts, or the routers named by tags.

    Attributes:
        actions: (columns,): number of the action list, DROPPED or UNCERTAIN.
        packets: the distinct packets, as they reach these action lists.
        places: (columns,): index in `packets`; 0 for dropped packets.
    """

    actions: Numbers
    packets: tuple[Packet, ...]
    places: Numbers

    def equals(self, other: Treatments, columns: Flags) -> bool:
        """Returns whether two treatments are the same in the given columns.

        Args:
            other: treatments with the same columns.
            columns: (columns,): whether to compare the column.
        """
        if self is other:
            return True
        same = self.actions == other.actions
        for place, packet in enumerate(self.packets):
            known = [packet == one for one in other.packets] or [False]
            same &= (self.places != place) | np.array(known)[other.places] | (self.actions == DROPPED)
        return bool(same[columns].all())
