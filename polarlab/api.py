"""Functions of the package, which `polarlab` loads when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from experiments.spec.values import check_choice
from routing.plan.model import RoutePlan
from routing.registry import make_plan
from routing.verification.verifier import Proof
from routing.verification.verifier import prove as prove_scenarios
from topology.base import Topology
from topology.failures import NO_FAILURE, Failure, link_failures, switch_failures
from topology.parameters import Value
from topology.registry import make_topology

FAILURES: Mapping[str, Callable[[Topology], Iterable[Failure]]] = {
    "none": lambda _topology: (),
    "links": link_failures,
    "switches": switch_failures,
}


def topology(name: str, /, **params: Value) -> Topology:
    """Returns a graph of a family.

    Args:
        name: the family, one of `polarlab topology --list`.
        params: its parameters by the names of their options; Python's `from_` stands for `from`.

    Raises:
        UsageError: the family does not exist, or a parameter is missing or outside its domain.
    """
    return make_topology(name, {key.rstrip("_"): value for key, value in params.items()})


def plan(topology: Topology, routing: str = "min", *, hosts: int = 1, local_repair: bool = True) -> RoutePlan:
    """Returns the rules and groups of every switch.

    Args:
        topology: the graph of the routers.
        routing: the routing algorithm, one of `polarlab run --help`.
        hosts: hosts attached to each router, 1 to 254.
        local_repair: whether switches hold fast-reroute rules around failed links.

    Raises:
        UsageError: the routing does not exist or cannot route the graph.
    """
    return make_plan(topology, hosts, routing, local_repair=local_repair)


def prove(plan: RoutePlan, failures: str = "none") -> Proof:
    """Returns the proof that a plan delivers every packet, or its counterexamples.

    Args:
        plan: the plan of all switches.
        failures: failures that are tried one at a time, beside none: `none`, `links` or `switches`.

    Raises:
        UsageError: `failures` is something else.
    """
    check_choice("failures", failures, FAILURES)
    return prove_scenarios(plan, [NO_FAILURE, *FAILURES[failures](plan.topology)])
