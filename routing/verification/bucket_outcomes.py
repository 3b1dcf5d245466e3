"""Possible outcomes of the buckets of groups, with their shares of the packets of a bucket or of a group."""

from __future__ import annotations

from typing import NamedTuple

from routing.verification.packet_actions import Shared


class BucketOutcomes(NamedTuple):
    """The possible outcomes of a bucket.

    Attributes:
        outcomes: with their shares of the bucket's packets.
        adapted: with the share 0, for a bucket that only an adaptation may choose.
        ports: the ports whose state mattered.
        parts: `outcomes` with their shares of the packets of a group, by the weights of bucket and group.
    """

    outcomes: Shared
    adapted: Shared
    ports: frozenset[int]
    parts: dict[tuple[int, int], Shared]

    def shared(self, weight: int, total: int) -> Shared:
        """Returns the outcomes with their shares of the packets of a group.

        Groups that give the bucket the same part get the same objects, by which what follows is found again.

        Args:
            weight: the weight of the bucket.
            total: the sum of the weights of the group's buckets.
        """
        part = self.parts.get((weight, total))
        if part is None:
            part = [(share * weight / total, outcome) for share, outcome in self.outcomes]
            self.parts[weight, total] = part
        return part
