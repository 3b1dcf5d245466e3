"""UGAL_PF (`ugal-pf`): the minimal path while it is free, compact Valiant detours otherwise.

A switch has two choice groups per port, one for the destinations behind the port's neighbour and one for the
neighbour itself; both start with all buckets minimal. O(q) groups serve O(q^2) destinations, because the
detours depend only on the minimal next hop (`topology.families.low_diameter.polarfly_detours`).

The paper decides per packet: minimal, unless the output buffer toward the minimal next hop is over 2/3 full;
then a detour through a random neighbour. Here the share of detours grows while the minimal port's buffer is
above this threshold and not draining, or is crowded (4/5 full). It shrinks while that buffer is below 1/5 and
not filling, or while a detour's own buffer is above the threshold. Otherwise it stays. The other limits are
parameters relative to the threshold, so that the threshold can be varied alone.

Detours go through the neighbour with the least occupied port, or as in the paper through a random one
(`neighbour=random`). Adjacent pairs also have a detour of two hops over the third router of a triangle, or as
in the paper only detours of four hops (`triangle=false`).

Source: PolarFly (SC22), section VII-C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import numpy as np

from routing import families
from routing.algorithms.bucket_control import (
    BUCKETS,
    AdaptiveGroup,
    Change,
    PortOccupancies,
    least_occupied,
    max_returned,
)
from routing.algorithms.detour_groups import DETOURS, TRIANGLE, CandidatePath, detour_plan
from routing.algorithms.packet_law import BUFFER, NEIGHBOUR, RANDOM, PacketLaw, PacketRule
from routing.algorithms.routing import Routing
from routing.plan.model import Group, GroupKind, RoutePlan
from topology.base import Topology
from topology.parameters import Parameter

NAME = "ugal-pf"
LAW_PARAMETERS = (
    Parameter(
        name="threshold",
        type=float,
        help="occupancy of the minimal port's buffer above which detours are taken",
        above=0,
        most=1,
        default=2 / 3,
        default_text="2/3",
    ),
    Parameter(
        name="release",
        type=float,
        help="minimal port's occupancy below which traffic returns from detours, as a share of the threshold",
        least=0,
        most=1,
        default=0.3,
    ),
    Parameter(
        name="margin",
        type=float,
        help="how much emptier a detour's port must be than the minimal port, as a share of the threshold",
        least=0,
        most=1,
        default=0.75,
    ),
    Parameter(
        name="crowded",
        type=float,
        help="occupancy at which many buckets move at once: 0 is the threshold, 1 a full buffer",
        least=0,
        most=1,
        default=0.4,
    ),
    Parameter(
        name="fast-rise",
        type=float,
        help="many buckets move at once if the occupancy exceeds its running mean by more than this",
        least=0,
        most=1,
        default=0.15,
    ),
    Parameter(
        name="detour-step",
        type=float,
        help="share of the minimal buckets that move at once",
        above=0,
        most=1,
        default=1 / 3,
        default_text="1/3",
    ),
    NEIGHBOUR,
)


def ugal_pf_plan(
    topology: Topology, hosts_per_router: int, *, detours: int | None, triangle: bool, buckets: int
) -> RoutePlan:
    """Returns the plan whose groups start on minimal paths; compact Valiant detours are the other candidates.

    Args:
        topology: the fabric's graph; its family has detours.
        hosts_per_router: p, the number of hosts at each router that has any, 1 to 254.
        detours: the maximum number of detours of a group, at least 1; None for all.
        triangle: whether adjacent pairs have the detour of two hops.
        buckets: the number of buckets of a group, 2 to 256.

    Raises:
        UsageError: the topology's family has no detours.
        ParameterError: there are more hosts or routers than addresses and tags.
    """
    make_group = partial(_group, buckets)
    return detour_plan(topology, hosts_per_router, NAME, make_group, lambda near: near, detours, triangle)


def _group(buckets: int, number: int, minimal: CandidatePath, detours: Sequence[CandidatePath]) -> Group:
    paths = [minimal, *detours]
    return Group(
        number,
        GroupKind.SELECT,
        (minimal.bucket,) * buckets,
        candidates=tuple(map(attrgetter("bucket"), paths)),
        ports=tuple(map(attrgetter("ports"), paths)),
    )


@dataclass(frozen=True)
class UgalPfLaw:
    """The control law of UGAL_PF; occupancies are shares of a port's buffer, 0 to 1.

    Attributes:
        high: occupancy of the minimal port above which buckets move to detours, and of a detour's port above
            which its buckets move back.
        low: occupancy of the minimal port below which buckets move back from detours.
        crowded: occupancy of the minimal port at which it is about to lose packets; many buckets then move
            at once.
        margin: by how much a detour's port must be less occupied than the port that it relieves.
        fast_rise: excess of the occupancy over its running mean above which many buckets move at once.
        detour_step: share of a path's buckets that move at once.
        random: draws the detours to which buckets move; None for those with the least occupied ports.
    """

    high: float
    low: float
    crowded: float
    margin: float
    fast_rise: float
    detour_step: float
    random: np.random.Generator | None = None

    def __call__(self, group: AdaptiveGroup, ports: PortOccupancies) -> Change:
        """Moves buckets of one group between its minimal path and its detours.

        Args:
            group: the group; every candidate has one port.
            ports: the occupancies of the switch's ports.

        Returns:
            The direction of the change.
        """
        port = group.ports[0]
        occupancy = ports.now(port)
        if group.has_detours and self._return_crowded(group, ports):
            return Change.RETURNED
        rise = ports.rise(port)
        if occupancy >= self.crowded or (occupancy > self.high and rise > self.fast_rise):
            return self._relieve(group, ports, max(1, int(group.minimal_buckets * self.detour_step)))
        if occupancy > self.high and rise >= 0:
            return self._relieve(group, ports, 1)
        if group.has_detours and occupancy < self.low and rise <= 0:
            _return_buckets(group, ports)
            return Change.RETURNED
        return Change.NONE

    def _relieve(self, group: AdaptiveGroup, ports: PortOccupancies, most: int) -> Change:
        """Moves at most `most` buckets from the minimal path to detours.

        These are the ones with the least occupied ports, or random ones that are not too occupied.
        """
        limit = ports.mean(group.ports[0]) - self.margin
        counts = group.counts()
        moved = 0
        if self.random is not None:
            for target in self.random.integers(1, len(counts), most).tolist():
                moved += ports.mean(group.ports[target]) <= limit and group.move(0, target)
            return Change.DETOURED if moved else Change.NONE
        while moved < most:
            target = least_occupied(group, ports, counts)
            if ports.mean(group.ports[target]) > limit or not group.move(0, target):
                break
            counts[target] += 1
            moved += 1
        return Change.DETOURED if moved else Change.NONE

    def _return_crowded(self, group: AdaptiveGroup, ports: PortOccupancies) -> bool:
        """Moves buckets of the most occupied detour to the minimal path if the detour's port is over `high`.

        Returns whether buckets moved. The occupancy of the minimal port does not matter: if that is crowded,
        too, a crowded detour only loads more links than the minimal path.
        """
        crowded = _most_occupied(group, ports)
        if ports.mean(group.ports[crowded]) <= self.high:
            return False
        for _ in range(max(1, int(group.pointing.count(crowded) * self.detour_step))):
            group.move(crowded, 0)
        return True


def make_ugal_pf_law(  # noqa: PLR0913  # the parameters of the law
    datapath_id: int,
    *,
    threshold: float,
    release: float,
    margin: float,
    crowded: float,
    fast_rise: float,
    detour_step: float,
    neighbour: str,
) -> UgalPfLaw:
    """Returns the control law of a switch.

    Args:
        datapath_id: the switch; it seeds the choice of random neighbours.
        threshold: occupancy of the minimal port above which detours are taken, over 0 and at most 1.
        release: occupancy of the minimal port below which buckets return from detours to the minimal path,
            as a share of the threshold.
        margin: how much emptier a detour's port must be than the minimal port, as a share of the threshold.
        crowded: occupancy at which many buckets move at once, from 0 (the threshold) to 1 (a full buffer).
        fast_rise: many buckets move at once if an occupancy exceeds its running mean by more than this.
        detour_step: share of a path's buckets that move at once, over 0 and at most 1.
        neighbour: whether detours start at the least occupied port or at a random one.
    """
    return UgalPfLaw(
        high=threshold,
        low=threshold * release,
        crowded=threshold + crowded * (1 - threshold),
        margin=threshold * margin,
        fast_rise=fast_rise,
        detour_step=detour_step,
        random=np.random.default_rng(datapath_id) if neighbour == RANDOM else None,
    )


def _return_buckets(group: AdaptiveGroup, ports: PortOccupancies) -> None:
    """Moves buckets back to the minimal path, from the most occupied detours."""
    for _ in range(max_returned(group)):
        group.move(_most_occupied(group, ports), 0)


def _most_occupied(group: AdaptiveGroup, ports: PortOccupancies) -> int:
    """Returns the index of the candidate with the most occupied port among the detours that have buckets."""
    return max(set(group.pointing) - {0}, key=lambda index: ports.mean(group.ports[index]))


ROUTING = Routing(
    ugal_pf_plan,
    "minimal, or a compact Valiant detour if the minimal path is full (polarfly)",
    "PolarFly, section VII-C",
    make_ugal_pf_law,
    plan_parameters=(DETOURS, TRIANGLE, BUCKETS),
    law_parameters=LAW_PARAMETERS,
    packet_law=PacketLaw(PacketRule.THRESHOLD, shared=("threshold", "neighbour"), own=(BUFFER,)),
    families=tuple(families.DETOURS),
)
