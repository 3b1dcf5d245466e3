"""Registry of the routings by command-line name: one line for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from routing.algorithms.packet_law import PacketLaw, PacketRule
from routing.algorithms.routing import Routing
from routing.algorithms.within_paths import routing_within_paths
from routing.compiler import check_ttl
from routing.garbage_collection import without_garbage_collection
from routing.path_sets.registry import PATH_SETS
from routing.plan.model import RoutePlan
from routing.reroute.base import without_local_repair
from topology.base import Topology
from topology.errors import ParameterError, UsageError
from topology.files.escaping import quoted
from topology.parameters import hint, join_parameters, split_parameters
from topology.plugins import Call, Places, Registry


def _calls(name: str, entry: Routing) -> Iterator[Call]:
    yield Call(entry.plan_maker, ("topology", "hosts_per_router"), entry.plan_parameters)
    if entry.law_maker is not None:
        yield Call(entry.law_maker, ("datapath_id",), entry.law_parameters)
    law = entry.packet_law
    if law is None:
        return
    if not isinstance(law, PacketLaw) or not isinstance(law.rule, PacketRule):
        raise ParameterError(f"packet_law of {name} must be a PacketLaw with a PacketRule, got {quoted(law)}")
    keys = [parameter.key for parameter in entry.parameters]
    if wrong := [key for key in law.shared if key not in keys]:
        raise ParameterError(
            f"shared of {name}'s packet_law must be among its parameters, {', '.join(keys)}, got "
            f"{quoted(wrong[0])}"
        )


_OWN: Mapping[str, str | Callable[[], Routing]] = {
    "min": "routing.algorithms.minimal:ROUTING",
    "valiant": "routing.algorithms.valiant:ROUTING",
    "compact-valiant": "routing.algorithms.compact_valiant:ROUTING",
    "ugal": "routing.algorithms.ugal:ROUTING",
    "valiant-group": "routing.algorithms.valiant:BY_GROUP_ROUTING",
    "ugal-group": "routing.algorithms.ugal:BY_GROUP_ROUTING",
    "four-color-valiant": "routing.algorithms.four_color:VALIANT_ROUTING",
    "four-color-adaptive": "routing.algorithms.four_color:ADAPTIVE_ROUTING",
    "ugal-pf": "routing.algorithms.ugal_pf:ROUTING",
    **{name: partial(routing_within_paths, name) for name in PATH_SETS},
    "hierarchical": "routing.algorithms.hierarchical:ROUTING",
    "four-color": "routing.algorithms.four_color:MINIMAL_ROUTING",
}
ROUTINGS = Registry("routings", "routing", Routing, Places[Routing](_OWN), _calls)


def routing(text: str) -> Routing:
    """Returns the routing that a text specifies, with its parameters.

    Args:
        text: a key of `ROUTINGS`, alone or with parameters, such as `ugal-pf:threshold=0.5`.

    Returns:
        The routing; its `name` is canonical: equivalent texts give the same name.

    Raises:
        UsageError: the name is not a key of `ROUTINGS`, or the routing has no such parameter; the message
            lists the known ones.
        ParameterError: the value of a parameter is outside its domain.
    """
    text = ROUTINGS.spelled(text)
    name = text.partition(":")[0]
    if name not in ROUTINGS:
        names = ", ".join(sorted(ROUTINGS))
        raise UsageError(f"routing must be one of {names}, got {quoted(name)}{hint(name, ROUTINGS)}")
    entry = ROUTINGS[name]
    name = join_parameters(*split_parameters(text, entry.parameters), entry.parameters)
    return replace(entry, name=name, given=split_parameters(name, entry.parameters)[1])


@without_garbage_collection()
def make_plan(
    topology: Topology,
    hosts_per_router: int,
    name: str,
    *,
    local_repair: bool = True,
    ordered_repair: bool = False,
) -> RoutePlan:
    """Returns the plan of a routing for a fabric.

    Args:
        topology: the fabric's graph, connected.
        hosts_per_router: p, the number of hosts at each router that has any, 1 to 254.
        name: the routing's name, a key of `ROUTINGS`, alone or with parameters.
        local_repair: whether the plan has fast reroute; without it, packets are lost at a dead port until the
            controller acts.
        ordered_repair: whether fast reroute keeps to an order of channels, so that no failure makes the
            plan's channel dependencies cyclic; destinations without such an alternate are unprotected.

    Raises:
        UsageError: the routing or its parameter is unknown, the routing needs detours that the topology's
            family does not have, or repairs of its plan cannot be ordered.
        ParameterError: the value of a parameter is outside its domain, there are more hosts or routers than
            addresses and tags, paths are longer than the packets' TTL allows, or there are too many
            alternates to order.
    """
    if ordered_repair and not local_repair:
        raise UsageError("ordered-repair needs local-repair, whose alternates it selects")
    plan = routing(name).make_plan(topology, hosts_per_router)
    if ordered_repair:
        from routing.ordered_repair import with_ordered_repair

        plan = with_ordered_repair(plan)
    if not local_repair:
        return without_local_repair(plan)
    check_ttl(topology, plan.hop_bound, plan.repair_hops)
    return plan
