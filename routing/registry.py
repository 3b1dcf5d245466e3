"""Registry of the routings by their names on the command line: one line for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from routing.algorithms import compact_valiant, four_color, minimal, ugal, ugal_pf, valiant
from routing.algorithms.bucket_control import CONTROL_PARAMETERS, Control, Law
from routing.algorithms.packet_law import PacketLaw
from routing.algorithms.within_paths import plan_within_paths
from routing.compiler import check_tags, check_ttl
from routing.families import DETOURS
from routing.garbage_collection import without_garbage_collection
from routing.ordered_repair import with_ordered_repair
from routing.path_sets import hierarchical
from routing.path_sets.registry import PATH_SETS
from routing.plan.model import RoutePlan
from routing.reroute.base import without_local_repair
from topology.base import Topology
from topology.errors import UsageError
from topology.files.shown import quoted
from topology.parameters import Parameter, Value, hint, join_parameters, split_parameters
from topology.plugins import Call, Registry


@dataclass(frozen=True)
class Routing:
    """A routing with values for its parameters.

    Attributes:
        plan_maker: (topology, hosts at each router that has any, values of `plan_parameters` by key) -> the
            plan, with fast reroute.
        summary: its paths, in one line.
        source: the publication that defines it.
        law_maker: (datapath id, values of `law_parameters` by key) -> the control law for the adaptive groups
            of that switch; None for an oblivious routing.
        shortest: whether its packets always take as many hops as the distance of the pair.
        plan_parameters: parameters of the switches' rules and groups.
        law_parameters: parameters of the control law; they do not change what is installed on a switch.
        packet_law: law for simulated source routers that decide per packet; None without one.
        families: names of the topology families that support it; empty for any graph.
        name: its name on the command line, including non-default parameters.
        given: key -> value of the non-default parameters.

    Examples:
        >>> def minimal(topology, hosts_per_router):
        ...     def source_table(view, reroute):
        ...         return SourceTable(choices=reroute.untagged.group_toward)
        ...     return compile_plan(topology, hosts_per_router, "mine", lambda hops: hops, source_table)
        >>> register("mine", Routing(minimal, "the shortest path", "-", shortest=True))
        >>> polarlab.plan(make_topology("polarfly", {"q": 3}), "mine")
        <plan of mine for polarfly: 13 switches, 802 rules, 144 groups>
    """

    plan_maker: Callable[..., RoutePlan]
    summary: str
    source: str
    law_maker: Callable[..., Law] | None = None
    shortest: bool = False
    plan_parameters: tuple[Parameter, ...] = ()
    law_parameters: tuple[Parameter, ...] = ()
    packet_law: PacketLaw | None = None
    families: tuple[str, ...] = ()
    name: str = ""
    given: Mapping[str, Value] = field(default_factory=dict)

    @property
    def oblivious(self) -> bool:
        """Whether its choices are independent of the traffic, so that theory can predict accepted load."""
        return self.law_maker is None

    @property
    def module(self) -> str:
        """The name of the module that builds its plans."""
        maker = self.plan_maker
        return (maker.func if isinstance(maker, partial) else maker).__module__

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters: of its law, its plan, and the control that all adaptive routings share."""
        control = () if self.oblivious else CONTROL_PARAMETERS
        return (*self.law_parameters, *self.plan_parameters, *control)

    def make_plan(self, topology: Topology, hosts_per_router: int) -> RoutePlan:
        """Returns the plan for a fabric, with fast reroute; it has the name of the routing with parameters.

        Args:
            topology: the fabric's graph, connected.
            hosts_per_router: p, the number of hosts at each router that has any, 1 to 254.

        Raises:
            UsageError: the routing needs detours that the topology's family does not have.
            ParameterError: there are more hosts or routers than addresses and tags, or paths are longer than
                the packets' TTL allows.
        """
        check_tags(topology)  # before the search for paths, which takes minutes in graphs this large
        plan = self.plan_maker(topology, hosts_per_router, **self._values(self.plan_parameters))
        return replace(plan, routing=self.name)

    def make_law(self, datapath_id: int) -> Law:
        """Returns the control law of a switch.

        Args:
            datapath_id: the switch.

        Raises:
            ValueError: the routing is oblivious.
        """
        if self.law_maker is None:
            raise ValueError(f"routing must be adaptive, got {self.name}")
        return self.law_maker(datapath_id, **self._values(self.law_parameters))

    def control(self) -> Control:
        """Returns the control settings of its adaptive groups; only for routings that are not oblivious."""
        values: dict[str, Any] = self._values(CONTROL_PARAMETERS)
        return Control(**values)

    def packet_values(self) -> dict[str, Value]:
        """Returns key -> value of the given parameters that also apply to per-packet decisions."""
        shared = self.packet_law.shared if self.packet_law else ()
        return {key: value for key, value in self.given.items() if key in shared}

    def _values(self, parameters: tuple[Parameter, ...]) -> dict[str, Value | None]:
        return {p.key: self.given.get(p.key, p.default) for p in parameters}


def _calls(_name: str, entry: Routing) -> Iterator[Call]:
    yield Call(entry.plan_maker, ("topology", "hosts_per_router"), entry.plan_parameters)
    if entry.law_maker is not None:
        yield Call(entry.law_maker, ("datapath_id",), entry.law_parameters)


_OWN = {
    minimal.NAME: Routing(minimal.minimal_plan, "the shortest path", "PolarFly, section V-A", shortest=True),
    valiant.NAME: Routing(
        valiant.valiant_plan,
        "via a random router",
        "Valiant, SIAM J. Comput. 11, 1982",
        plan_parameters=valiant.PLAN_PARAMETERS,
    ),
    compact_valiant.NAME: Routing(
        compact_valiant.compact_valiant_plan,
        "via a random neighbour (polarfly)",
        "PolarFly, section V-B",
        plan_parameters=compact_valiant.PLAN_PARAMETERS,
        families=tuple(DETOURS),
    ),
    ugal.NAME: Routing(
        ugal.ugal_plan,
        "minimal or via a random router, by occupancy times hops",
        "Singh, PhD thesis, Stanford, 2005",
        ugal.make_ugal_law,
        plan_parameters=ugal.PLAN_PARAMETERS,
        law_parameters=ugal.LAW_PARAMETERS,
        packet_law=ugal.PACKET_LAW,
    ),
    valiant.BY_GROUP: Routing(
        valiant.valiant_group_plan,
        "via a random other group (dragonfly)",
        "Kim et al., ISCA 2008, section 4.1",
        plan_parameters=valiant.BY_GROUP_PARAMETERS,
        families=PATH_SETS[hierarchical.NAME].families,
    ),
    ugal.BY_GROUP: Routing(
        ugal.ugal_group_plan,
        "hierarchical or via a random other group, by occupancy times hops (dragonfly)",
        "Kim et al., ISCA 2008, section 4.2",
        ugal.make_ugal_law,
        plan_parameters=ugal.BY_GROUP_PARAMETERS,
        law_parameters=ugal.LAW_PARAMETERS,
        packet_law=ugal.PACKET_LAW,
        families=PATH_SETS[hierarchical.NAME].families,
    ),
    four_color.VALIANT: Routing(
        four_color.four_color_valiant_plan,
        "via a third group, over gateways of four colours, acyclic (dragonfly, trunking 4)",
        "after Camarero et al., TACO 2014, section 6",
        plan_parameters=four_color.VALIANT_PARAMETERS,
        families=PATH_SETS[hierarchical.NAME].families,
    ),
    four_color.ADAPTIVE: Routing(
        four_color.four_color_adaptive_plan,
        "four-color or via a third group, by occupancy times hops (dragonfly, trunking 4)",
        "after Camarero et al., TACO 2014, section 6",
        ugal.make_ugal_law,
        plan_parameters=four_color.ADAPTIVE_PARAMETERS,
        law_parameters=ugal.LAW_PARAMETERS,
        packet_law=four_color.PACKET_LAW,
        families=PATH_SETS[hierarchical.NAME].families,
    ),
    ugal_pf.NAME: Routing(
        ugal_pf.ugal_pf_plan,
        "minimal, or a compact Valiant detour if the minimal path is full (polarfly)",
        "PolarFly, section V-B",
        ugal_pf.make_ugal_pf_law,
        plan_parameters=ugal_pf.PLAN_PARAMETERS,
        law_parameters=ugal_pf.LAW_PARAMETERS,
        packet_law=ugal_pf.PACKET_LAW,
        families=tuple(DETOURS),
    ),
    **{
        name: Routing(
            partial(plan_within_paths, paths=name),
            paths.summary,
            paths.source,
            shortest=paths.shortest,
            families=paths.families,
            plan_parameters=paths.parameters,
        )
        for name, paths in PATH_SETS.items()
    },
}
ROUTINGS = Registry("routings", "routing", Routing, _OWN, _calls)


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
        plan = with_ordered_repair(plan)
    if not local_repair:
        return without_local_repair(plan)
    check_ttl(topology, plan.hop_bound, plan.repair_hops)
    return plan
