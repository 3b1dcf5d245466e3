"""Registry entry of a routing: its plans, its laws, and its description for the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from routing.algorithms.bucket_control import CONTROL_PARAMETERS, Control, Law
from routing.algorithms.packet_law import PacketLaw
from routing.compiler import check_tags
from routing.plan.model import RoutePlan
from topology.base import Topology
from topology.parameters import Parameter, Value
from topology.plugins import returned, wrong_result


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
        shortest: whether its packets always take as many hops as the distance to their destination.
        plan_parameters: parameters of the switches' rules and groups.
        law_parameters: parameters of the control law; they change no rules or groups of a switch.
        packet_law: law for simulated source routers that decide per packet; None if it has none.
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
        """Whether path choices are independent of the traffic, so that theory can predict accepted load."""
        return self.law_maker is None

    @property
    def module(self) -> str:
        """The name of the Python module that builds the routing's plans."""
        maker = self.plan_maker
        return (maker.func if isinstance(maker, partial) else maker).__module__

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters: of the laws, of the plan, and those that all adaptive routings share."""
        control = () if self.oblivious else CONTROL_PARAMETERS
        per_packet = self.packet_law.own if self.packet_law else ()
        return (*self.law_parameters, *per_packet, *self.plan_parameters, *control)

    def make_plan(self, topology: Topology, hosts_per_router: int) -> RoutePlan:
        """Returns the plan for a fabric, with fast reroute, named after the routing with its parameters.

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
        plan = returned(self.plan_maker, plan, RoutePlan)
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
        law = self.law_maker(datapath_id, **self._values(self.law_parameters))
        if not callable(law):
            raise wrong_result(self.law_maker, law, "a function of a group and the ports' occupancies")
        return law

    def control(self) -> Control:
        """Returns the settings for the control of adaptive groups; oblivious routings do not use them."""
        values: dict[str, Any] = self._values(CONTROL_PARAMETERS)
        return Control(**values)

    def packet_values(self) -> dict[str, Value]:
        """Returns the non-default parameters, by key, that also apply to per-packet decisions."""
        law = self.packet_law
        keys = (*law.shared, *(parameter.key for parameter in law.own)) if law else ()
        return {key: value for key, value in self.given.items() if key in keys}

    def _values(self, parameters: tuple[Parameter, ...]) -> dict[str, Value | None]:
        return {p.key: self.given.get(p.key, p.default) for p in parameters}
