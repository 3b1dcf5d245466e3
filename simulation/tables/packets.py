"""Packets as forwarding tables know them, and their treatment by the rules of a switch."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulation.tables.actions import KEPT, ActionEffect

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# In place of the number of a list of actions:
DROPPED = -1
UNCERTAIN = -2  # the treatment of packets with a tag depends on more than the tag


class Ingress(enum.Enum):
    """The ingress port of a packet as far as tables know it."""

    HOST = "host"  # any port of a host
    LINK = "link"  # any port of a link to another router
    CLEARED = "cleared"


class Arrival(enum.Enum):
    """The kinds of packets that a switch looks up, by the array of `ForwardingTables` for them."""

    HOST = "from_host"
    UNTAGGED = "untagged"
    TAGGED = "tagged"
    AFTER_TAG = "after_tag"
    MARKED = "marked"
    MARKED_TAGGED = "marked_tagged"

    @property
    def by_tag(self) -> bool:
        """Whether the look-up is by the tag instead of the destination."""
        return self in (Arrival.TAGGED, Arrival.MARKED_TAGGED)

    @property
    def mark(self) -> int:
        """The mark of these packets."""
        return int(self in (Arrival.MARKED, Arrival.MARKED_TAGGED))


class Packet(NamedTuple):
    """The fields of a packet that tables know, besides its destination.

    Attributes:
        tag: the router that its tag names, or NO_TAG; of packets with all tags, KEPT.
        mark: 1 if it was rerouted, else 0.
        ingress: the port that it came in by.
    """

    tag: int
    mark: int
    ingress: Ingress

    def after(self, effect: ActionEffect) -> Packet:
        """Returns the packet after the rewrites of a list of actions.

        Args:
            effect: their effect.
        """
        return Packet(
            self.tag if effect.tag == KEPT else effect.tag,
            self.mark if effect.mark == KEPT else effect.mark,
            Ingress.CLEARED if effect.cleared else self.ingress,
        )


@dataclass(frozen=True)
class Treatments:
    """The last actions that packets meet, by column.

    The columns are destination routers and then the router's own hosts, or the routers that tags name.

    Attributes:
        actions: (columns,): numbers of lists of actions, DROPPED or UNCERTAIN.
        packets: the packets that get there.
        places: (columns,): the index in `packets`; 0 where there is none.
    """

    actions: Numbers
    packets: tuple[Packet, ...]
    places: Numbers

    def equals(self, other: Treatments, columns: Flags) -> bool:
        """Returns whether treatments are the same in some of their columns.

        Args:
            other: treatments with the same columns.
            columns: whether a column matters.
        """
        if self is other:
            return True
        same = self.actions == other.actions
        for place, packet in enumerate(self.packets):
            known = [packet == one for one in other.packets] or [False]
            same &= (self.places != place) | np.array(known)[other.places] | (self.actions == DROPPED)
        return bool(same[columns].all())
