"""Fluid model: link loads and the accepted fraction of oblivious routings.

Every pair of routers has a steady flow that is split over its paths by the weights of the plan's groups. A
link that is offered more than its capacity scales all its flows down by the same factor, and dropped traffic
does not load later links. The losses of all links depend on one another; they are iterated to a fixed point.
The links from routers to hosts have the same capacity and come last: no host accepts more than that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from routing.plan.model import RoutePlan
from routing.verification.traffic_split import TrafficSplit, traffic_split
from routing.verification.verifier import Prover
from topology.addressing import host_routers
from topology.errors import PolarLabError
from traffic.workload.patterns import Pattern

_TOLERANCE = 1e-9
_MAX_ITERATIONS = 5000
_DAMPING = 0.5  # without it, flows with cyclic dependencies would oscillate

Loads = npt.NDArray[np.float64]


class PredictionError(PolarLabError):
    """The iteration of the fluid model did not converge."""


@dataclass(frozen=True)
class Prediction:
    """Steady state of the fluid model.

    Attributes:
        offered: traffic that hosts inject, as a fraction of all hosts' injection capacity.
        accepted: traffic that arrives, as a fraction of all hosts' injection capacity.
        offered_loads: float64 array, one entry per directed link: traffic offered to it / its capacity.
        carried_loads: float64 array, one entry per directed link: traffic that it passes on / its capacity.
    """

    offered: float
    accepted: float
    offered_loads: Loads
    carried_loads: Loads


def predict_pattern(
    plan: RoutePlan, pattern: Pattern, load: float, prover: Prover | None = None
) -> Prediction:
    """Returns the steady state of a pattern at a load under an oblivious routing's plan.

    Args:
        plan: plan of the switches.
        pattern: destinations of every host.
        load: offered load, 0 to 1 of the injection capacity.
        prover: the prover that has proven the plan; its work is reused.

    Raises:
        PredictionError: the losses do not converge.
    """
    routers = host_routers(plan.topology, plan.hosts_per_router)
    to_hosts = np.zeros((plan.topology.routers, len(routers)))
    np.add.at(to_hosts, routers, pattern.shares())
    return predict(traffic_split(plan, prover), 2 * plan.topology.links, to_hosts, routers, load)


def router_demand(shares: Loads, host_routers: npt.NDArray[np.int64], routers: int) -> Loads:
    """Returns the demand from router to router, in units of one host's injection capacity.

    Args:
        shares: float64 array, hosts x hosts: share of a source's packets that go to each host.
        host_routers: int64 array, one entry per host: its router.
        routers: number of routers.

    Returns:
        float64 array, routers x routers; each row sums to the number of sending hosts of its router.
    """
    demand = np.zeros((routers, routers))
    np.add.at(demand, (host_routers[:, None], host_routers[None, :]), shares)
    return demand


def predict(
    paths: TrafficSplit, links: int, to_hosts: Loads, host_routers: npt.NDArray[np.int64], load: float
) -> Prediction:
    """Returns the steady state of a demand at a load; links to hosts are as fast as those between routers.

    Args:
        paths: links that the plan's packets take, with the shares of packets.
        links: number of directed links.
        to_hosts: float64 array, routers x hosts: demand from all hosts of a router to each host, in units of
            one host's injection capacity.
        host_routers: int64 array, one entry per host: its router.
        load: offered load, 0 to 1 of the injection capacity.

    Raises:
        PredictionError: the losses do not converge.
    """
    demand = np.zeros(paths.starts.shape)
    np.add.at(demand.T, host_routers, to_hosts.T)
    injected = _injected(paths, demand * load)
    pass_on = np.ones(links)
    for _ in range(_MAX_ITERATIONS):
        flow = _propagate(paths, injected, pass_on)
        offered = np.bincount(paths.links, paths.shares * flow[paths.origins], links).astype(np.float64)
        wanted = 1 / np.maximum(offered, 1)
        change = float(np.abs(wanted - pass_on).max(initial=0))
        pass_on += _DAMPING * (wanted - pass_on)
        if change < _TOLERANCE:
            break
    else:
        raise PredictionError(f"the fluid model did not converge in {_MAX_ITERATIONS} iterations")
    arriving = (to_hosts * _arriving_shares(paths, pass_on)[:, host_routers]).sum(axis=0) * load
    hosts = len(host_routers)
    injected_share = float(to_hosts.sum()) * load / hosts
    return Prediction(
        injected_share, float(np.minimum(arriving, 1).sum()) / hosts, offered, offered * pass_on
    )


def _arriving_shares(paths: TrafficSplit, pass_on: Loads) -> Loads:
    """Returns a float64 array, routers x routers: the fraction of each pair's packets that arrives.

    Args:
        paths: links that the plan's packets take, with the shares of packets.
        pass_on: float64 array, one entry per directed link: fraction of offered traffic that it passes on.
    """
    weights = paths.shares * pass_on[paths.links]
    arriving = paths.delivered
    while True:
        onward = np.bincount(paths.origins, weights * arriving[paths.targets], paths.states)
        new = paths.delivered + onward
        if np.array_equal(new, arriving):
            break
        arriving = new
    shares = np.where(paths.starts >= 0, arriving[np.maximum(paths.starts, 0)], 0.0)
    np.fill_diagonal(shares, 1.0)
    return shares


def _injected(paths: TrafficSplit, rates: Loads) -> Loads:
    injected = np.zeros(paths.states)
    sources, destinations = np.nonzero(paths.starts >= 0)
    # Sources that the plan does not distinguish share a start state.
    np.add.at(injected, paths.starts[sources, destinations], rates[sources, destinations])
    return injected


def _propagate(paths: TrafficSplit, injected: Loads, pass_on: Loads) -> Loads:
    """Returns a float64 array, one entry per state: the traffic that enters it.

    A state is a stage of packets' paths, see TrafficSplit.

    Args:
        paths: links that the plan's packets take, with the shares of packets.
        injected: float64 array, one entry per state: traffic that hosts inject into it.
        pass_on: float64 array, one entry per directed link: fraction of offered traffic that it passes on.
    """
    # Each round adds a hop: paths are short, so that a few rounds suffice.
    weights = paths.shares * pass_on[paths.links]
    flow = injected
    while True:
        arriving = np.bincount(paths.targets, weights * flow[paths.origins], paths.states)
        new = injected + arriving
        if np.array_equal(new, flow):
            return new
        flow = new
