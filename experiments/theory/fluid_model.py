"""What theory predicts: link loads and the accepted fraction of oblivious routings, by a fluid model.

Every pair of routers is a steady flow that divides over its paths by the shares of the plan's groups. A link
that is offered more than its capacity passes all of its flows scaled down alike, and what is lost there
does not load the links behind it. The losses of all links depend on one another; they are iterated until they
agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from routing.plan.model import RoutePlan
from routing.verification.traffic_split import TrafficSplit, traffic_split
from topology.errors import PolarLabError
from traffic.workload.patterns import Pattern

_TOLERANCE = 1e-9
_MOST_ITERATIONS = 5000
_DAMPING = 0.5  # flows that lose to one another in a circle would swing otherwise

Loads = npt.NDArray[np.float64]


class PredictionError(PolarLabError):
    """The fluid model found no steady state."""


@dataclass(frozen=True)
class Prediction:
    """A steady state of the fluid model.

    Attributes:
        offered: what hosts inject, as a fraction of all hosts' injection capacity; idle ones inject nothing.
        accepted: what arrives, likewise.
        offered_loads: float64, one per directed link: what it is offered, over its capacity.
        carried_loads: the same for what it passes on.
    """

    offered: float
    accepted: float
    offered_loads: Loads
    carried_loads: Loads


def predict_pattern(plan: RoutePlan, pattern: Pattern, load: float) -> Prediction:
    """Returns the steady state of a pattern at a load under an oblivious routing's plan.

    Raises:
        PredictionError: the losses do not settle.
    """
    demand = router_demand(pattern.shares(), plan.concentration)
    links = 2 * plan.topology.links
    return predict(traffic_split(plan), links, demand, plan.concentration, load)


def router_demand(shares: Loads, concentration: int) -> Loads:
    """Returns which share of a host's injection goes from router to router, summed over hosts.

    Args:
        shares: float64, hosts x hosts: the share of a source's packets that go to each host.
        concentration: p.

    Returns:
        float64, routers x routers; a row sums to p.
    """
    routers = len(shares) // concentration
    blocks = shares.reshape(routers, concentration, routers, concentration)
    return np.asarray(blocks.sum(axis=(1, 3)))


def predict(paths: TrafficSplit, links: int, demand: Loads, concentration: int, load: float) -> Prediction:
    """Returns the steady state of a pattern at a load; hosts' links are as fast as routers'.

    Args:
        paths: where the plan sends packets.
        links: the number of directed links.
        demand: float64, routers x routers; see `router_demand`.
        concentration: p.
        load: offered, as a fraction of the injection capacity.

    Raises:
        PredictionError: the losses do not settle.
    """
    injected = _injected(paths, demand * load)
    pass_on = np.ones(links)
    for _ in range(_MOST_ITERATIONS):
        flow = _propagate(paths, injected, pass_on)
        offered = np.bincount(paths.links, paths.shares * flow[paths.origins], links).astype(np.float64)
        wanted = 1 / np.maximum(offered, 1)
        change = float(np.abs(wanted - pass_on).max(initial=0))
        pass_on += _DAMPING * (wanted - pass_on)
        if change < _TOLERANCE:
            break
    else:
        raise PredictionError("the fluid model found no steady state")
    delivered = float((flow * paths.delivered).sum()) + float(np.trace(demand)) * load
    capacity = len(demand) * concentration
    hosts_offer = float(demand.sum()) * load / capacity
    return Prediction(hosts_offer, delivered / capacity, offered, offered * pass_on)


def _injected(paths: TrafficSplit, rates: Loads) -> Loads:
    injected = np.zeros(paths.states)
    sources, destinations = np.nonzero(paths.starts >= 0)
    # Several sources may begin in one state where a plan tells them apart by nothing.
    np.add.at(injected, paths.starts[sources, destinations], rates[sources, destinations])
    return injected


def _propagate(paths: TrafficSplit, injected: Loads, pass_on: Loads) -> Loads:
    """Returns the flow into every state; paths are short, so that a few rounds reach all of them."""
    weights = paths.shares * pass_on[paths.links]
    flow = injected
    while True:
        arriving = np.bincount(paths.targets, weights * flow[paths.origins], paths.states)
        new = injected + arriving
        if np.array_equal(new, flow):
            return new
        flow = new
