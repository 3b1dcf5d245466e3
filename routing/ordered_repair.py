"""Plans whose repairs keep to an order of channels: acyclic, whatever links or switches have failed."""

from __future__ import annotations

from dataclasses import replace

from routing.algorithms.minimal import minimal_plan
from routing.deadlock.channels import Channels
from routing.deadlock.cycles import shortest_cycle
from routing.deadlock.dependency_graph import dependency_graph, first_hosts
from routing.deadlock.moves import MoveFinder
from routing.plan.model import RoutePlan, Table, ToGroup
from routing.reroute.base import without_local_repair
from routing.reroute.ordered_alternates import OrderedSearch
from routing.verification.forwarding_states import StateSpace
from topology.errors import ParameterError, UsageError

# An alternate takes about 0.6 KB of memory; ordering this many takes minutes.
MAX_ALTERNATES = 1 << 21


def with_ordered_repair(plan: RoutePlan) -> RoutePlan:
    """Returns a plan with other alternates: their channels ascend in one order of all channels.

    Args:
        plan: a plan with fast reroute.

    Returns:
        The plan; `RoutePlan.unprotected` lists destinations without such an alternate.

    Raises:
        UsageError: routers forward packets of their own hosts differently from packets in transit, or channel
            dependencies are cyclic even without failures.
        ParameterError: there are too many alternates to order.
    """
    make_reroute = ordered_search(plan).fast_reroute
    return replace(minimal_plan(plan.topology, plan.hosts_per_router, make_reroute), routing=plan.routing)


def ordered_search(plan: RoutePlan) -> OrderedSearch:
    """Returns the search for ordered alternates of a plan, after computing an order of its channels.

    Args:
        plan: a plan with fast reroute.

    Raises:
        UsageError: routers forward packets of their own hosts differently from packets in transit, or channel
            dependencies are cyclic even without failures.
        ParameterError: there are too many alternates to order.
    """
    alternates = 2 * plan.topology.links * plan.topology.routers
    if alternates > MAX_ALTERNATES:
        raise ParameterError(
            f"alternates of an ordered repair (directed links times destinations) must be at most "
            f"{MAX_ALTERNATES}, got {alternates}; try a smaller fabric, or --no-local-repair"
        )
    if any(_chooses(plan, router) for router in range(plan.topology.routers)):
        raise UsageError(
            "ordered repair needs sources that forward as in transit, without detours, "
            f"got {plan.routing}; try up-down, or --no-local-repair"
        )
    space = StateSpace(without_local_repair(plan))
    graph = dependency_graph(MoveFinder(space, first_hosts(space)), Channels(plan.topology))
    if cycle := shortest_cycle(graph):
        raise UsageError(
            f"ordered repair needs a routing without cyclic dependencies, got {plan.routing} with a cycle of "
            f"{len(cycle)} channels; try up-down, which is acyclic on any graph"
        )
    return OrderedSearch(plan.topology, graph)


def _chooses(plan: RoutePlan, router: int) -> bool:
    """Returns whether a router's source table passes packets to groups of its own."""
    rules = (rule for rule in plan.switches[router].rules if rule.table is Table.SOURCE)
    return any(isinstance(action, ToGroup) for rule in rules for action in rule.actions)
