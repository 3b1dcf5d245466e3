"""Links that have failed before the first packet, drawn at random, and the repairs of the switches' plan."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import count

import numpy as np
import numpy.typing as npt

from experiments.spec.simulation.model import NEVER
from topology.analysis.resilience import survived_failures
from topology.base import Topology
from topology.faults import Fault, link_element

MOST_SHARE = 0.2  # of the links, after whose failure the graph is connected in every order that is drawn
_REPLAN_CYCLES = 1  # one plan, the cycle after all of the links have failed


@dataclass(frozen=True)
class LinkFailures:
    """A share of a network's links that has failed before the first packet.

    Attributes:
        share: the share of the links, 0 to MOST_SHARE.
        replanned: whether switches have a plan for the surviving graph; else fast reroute is alone.
    """

    share: float
    replanned: bool

    @property
    def replan_cycles(self) -> int | str:
        """Cycles until switches have the plan for the surviving graph; `none` if they never do."""
        return _REPLAN_CYCLES if self.replanned else NEVER

    def faults(self, topology: Topology, seed: int) -> tuple[Fault, ...]:
        """Returns the failures of the links, all of them at the begin of the simulation.

        Args:
            topology: the network, connected, of at least 2 routers.
            seed: seed of the order of failure; a smaller share of the same order has the first of its links.
        """
        order = failing_order(topology, seed)
        failed = order[: round(self.share * len(order))]
        return tuple(Fault(0.0, link_element(topology.link_list[place])) for place in sorted(failed.tolist()))


@cache
def failing_order(topology: Topology, seed: int) -> npt.NDArray[np.int64]:
    """Returns a random order of the links that leaves the graph connected while MOST_SHARE of them fails.

    Args:
        topology: the network, connected, of at least 2 routers.
        seed: seed of the random generator; of several orders it is the first one that does so.

    Returns:
        int64 array, (links,): places in `link_list`, in the order of their failure.
    """
    ends = np.array([(link.a, link.b) for link in topology.link_list])
    for attempt in count():
        order = np.random.default_rng((seed, attempt)).permutation(len(ends))
        if survived_failures(topology.routers, ends, order) >= round(MOST_SHARE * len(ends)):
            return order
    raise AssertionError("count() ends")
