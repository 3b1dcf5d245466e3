"""Random links that fail before the first packet, and the repair of the switches' plan."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import count

import numpy as np
import numpy.typing as npt

from experiments.spec.simulation.model import NEVER
from topology.analysis.resilience import survived_failures
from topology.base import Topology
from topology.faults import Fault, link_component

# Largest share of failed links. Orders of failure are drawn so that the graph stays connected with it.
MAX_SHARE = 0.2
_REPLAN_CYCLES = 1  # a single new plan is installed one cycle after all links have failed


@dataclass(frozen=True)
class LinkFailures:
    """A share of a network's links that fails before the first packet.

    Attributes:
        share: the share of the links, 0 to MAX_SHARE.
        replanned: whether switches get a plan for the surviving graph, in addition to fast reroute.
    """

    share: float
    replanned: bool

    @property
    def replan_cycles(self) -> int | str:
        """Cycles until switches have the plan for the surviving graph; `none` if they never get one."""
        return _REPLAN_CYCLES if self.replanned else NEVER

    def faults(self, topology: Topology, seed: int) -> tuple[Fault, ...]:
        """Returns the failures of the links, all at the start of the simulation.

        Args:
            topology: the network, connected, of at least 2 routers.
            seed: seed of the order of failure; with a smaller share, the first links of the same order fail.
        """
        order = failing_order(topology, seed)
        failed = order[: round(self.share * len(order))]
        return tuple(
            Fault(0.0, link_component(topology.link_list[place])) for place in sorted(failed.tolist())
        )


@cache
def failing_order(topology: Topology, seed: int) -> npt.NDArray[np.int64]:
    """Returns a random failure order in which the graph stays connected until MAX_SHARE of its links fail.

    Args:
        topology: the network, connected, of at least 2 routers.
        seed: seed of the random generator; orders are drawn until one meets the condition.

    Returns:
        int64 array, (links,): indices into `link_list`, in the order of failure.
    """
    ends = np.array([(link.a, link.b) for link in topology.link_list])
    for attempt in count():
        order = np.random.default_rng((seed, attempt)).permutation(len(ends))
        if survived_failures(topology.routers, ends, order) >= round(MAX_SHARE * len(ends)):
            return order
    raise AssertionError("count() ends")
