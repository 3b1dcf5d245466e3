"""Plans, proofs, predictions and explanations, none of which needs root; routings and patterns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.results.frames import frame
from experiments.spec.options import DEFAULT_LOAD, DEFAULT_PATTERN, option_of
from experiments.spec.values import check_choice
from experiments.theory.explain import Explanation
from experiments.theory.explain import explain as explain_routers
from experiments.theory.fluid_model import predict_pattern
from polarlab.api.arguments import checked_plan, checked_topology
from polarlab.api.listings import Listing, Named, row_with_parameters
from routing.plan.model import RoutePlan
from routing.plan.text import describe
from routing.registry import ROUTINGS, make_plan, routing
from routing.replan.replan import surviving_plan
from routing.verification.proof import MAX_LISTED_FAULTS, Proof
from routing.verification.verifier import prove as prove_scenarios
from topology.addressing import switch_name, switch_router
from topology.base import Topology
from topology.errors import UsageError
from topology.failures import NO_FAILURE, SCENARIOS, Failure, failure_of
from topology.faults import ComponentKind, parse_components
from topology.parameters import Parameter
from traffic.workload.collectives.registry import COLLECTIVES
from traffic.workload.motifs import MOTIFS, motif_usage
from traffic.workload.patterns import PATTERNS, make_pattern, usage

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MAX_LISTED_FAULTS"]  # for callers that print a proof's faults


@dataclass(frozen=True, repr=False)
class RoutingEntry(Named):
    """A routing.

    Attributes:
        name: its name.
        summary: its paths, in a line.
        source: the publication that defines it.
        parameters: its parameters, such as `threshold` in `ugal-pf:threshold=0.5`.
        plan_parameters: the parameters that change the switches' rules; others change the controller's
            choices.
        oblivious: whether its choices are independent of the traffic, so that `predict` works.
        shortest: whether all its paths are minimal.
        families: names of the families of topologies that support it; empty for any graph.
    """

    name: str
    summary: str
    source: str
    parameters: tuple[Parameter, ...]
    plan_parameters: tuple[Parameter, ...]
    oblivious: bool
    shortest: bool
    families: tuple[str, ...]


def routings() -> Listing[RoutingEntry]:
    """Returns the routings, by name.

    Examples:
        >>> [name for name, one in routings().items() if not one.oblivious]
        ['ugal', 'ugal-group', 'four-color-adaptive', 'ugal-pf']
    """
    return Listing(
        tuple(
            RoutingEntry(
                name,
                one.summary,
                one.source,
                one.parameters,
                one.plan_parameters,
                one.oblivious,
                one.shortest,
                one.families,
            )
            for name, one in ROUTINGS.items()
        ),
        row_with_parameters,
    )


@dataclass(frozen=True, repr=False)
class PatternEntry(Named):
    """A traffic pattern, or a collective with one of its algorithms.

    Attributes:
        name: its name.
        usage: its name with the arguments that it takes.
        level: `endpoints`, `routers`, `collective` or `motif`.
        definition: its definition, in a line.
        source: the publication that defines it.
        parameters: its parameters, such as `hosts` in `hotspot:hosts=8`.
    """

    name: str
    usage: str
    level: str
    definition: str
    source: str
    parameters: tuple[Parameter, ...] = ()


def patterns() -> Listing[PatternEntry]:
    """Returns the traffic patterns, collectives and motifs, by name.

    Examples:
        >>> patterns()["tornado"].level
        'routers'
        >>> [name for name, one in patterns().items() if one.level == "collective"][0]
        'allreduce:ring'
    """
    entries = [
        PatternEntry(
            name, usage(name), pattern.level, pattern.description, pattern.source, pattern.parameters
        )
        for name, pattern in PATTERNS.items()
    ]
    names = [(name, algorithm) for name, one in COLLECTIVES.items() for algorithm in one.algorithms]
    for name, algorithm in names:
        one, whole = COLLECTIVES[name], f"{name}:{algorithm}"
        entries.append(PatternEntry(whole, whole, "collective", one.description, one.source))
    for name, motif in MOTIFS.items():
        entries.append(
            PatternEntry(name, motif_usage(name), "motif", motif.description, motif.source, motif.parameters)
        )
    return Listing(tuple(entries), row_with_parameters)


def plan(
    topology: Topology,
    routing: str = "min",
    *,
    hosts: int = 1,
    local_repair: bool = True,
    ordered_repair: bool = False,
) -> RoutePlan:
    """Returns the rules and groups of every switch.

    Args:
        topology: graph of the routers.
        routing: routing algorithm, one of `routings()`.
        hosts: hosts attached to each router, 1 to 254; for a networkx graph, a factor applied to its
            nodes' own numbers of hosts.
        local_repair: whether switches have fast-reroute rules around failed links.
        ordered_repair: whether these rules follow an order of channels, so that failures cause no cycle; the
            plan's `unprotected` lists the pairs that no such rule protects.

    Raises:
        UsageError: the routing does not exist or cannot route the graph, or its repairs cannot be ordered.

    Examples:
        >>> plan(topology("polarfly", q=3)).size().flows
        659
    """
    checked = checked_topology(topology)
    return make_plan(checked, hosts, routing, local_repair=local_repair, ordered_repair=ordered_repair)


def prove(plan: RoutePlan, failures: str = "none") -> Proof:
    """Returns the proof that a plan delivers every packet, or its counterexamples.

    Args:
        plan: plan of all switches.
        failures: single failures to check, in addition to the intact fabric: `none`, `links` or `switches`.

    Raises:
        UsageError: `failures` is something else.

    Examples:
        >>> prove(plan(topology("polarfly", q=3)), "links")
        Proof(ok, pairs=156, scenarios=25, delivered=3900, max_hops=5)
    """
    plan = checked_plan(plan)
    check_choice("failures", failures, SCENARIOS)
    return prove_scenarios(plan, [NO_FAILURE, *SCENARIOS[failures](plan.topology)])


def unprotected_names(plan: RoutePlan) -> list[tuple[str, str, str]]:
    """Returns (switch, destination, failed component) wherever a plan has no backup path."""
    return [
        (switch_name(router), switch_name(destination), component.name)
        for router, destination, component in plan.unprotected
    ]


@dataclass(frozen=True)
class PredictedLink:
    """Load of one direction of a link by the fluid model.

    Attributes:
        link: its ends, such as `s3-s7` for packets from s3 to s7.
        offered: traffic offered to it, divided by its capacity; may exceed 1.
        carried: traffic that it passes on, divided by its capacity.
    """

    link: str
    offered: float
    carried: float


@dataclass(frozen=True)
class Prediction:
    """Steady state by the fluid model, in fractions of the injection capacity of all hosts.

    Attributes:
        routing, pattern, hosts, load, seed: as requested.
        offered: traffic that hosts inject.
        accepted: traffic that arrives.
        links: load of each direction of each link, router by router.

    Examples:
        >>> found = predict(plan(topology("polarfly", q=3)), "tornado", 0.9)
        >>> round(found.accepted, 3), round(found.link_load_max, 3), found.links_overloaded
        (0.838, 1.8, 1)
    """

    routing: str
    pattern: str
    hosts: int
    load: float
    offered: float
    accepted: float
    seed: int
    links: tuple[PredictedLink, ...]

    @property
    def link_load_max(self) -> float:
        """The highest load offered to a link, divided by the link's capacity."""
        return max(link.offered for link in self.links)

    @property
    def link_load_mean(self) -> float:
        """The mean load offered to a link, divided by the link's capacity."""
        return sum(link.offered for link in self.links) / len(self.links)

    @property
    def links_overloaded(self) -> int:
        """The number of directed links whose offered load exceeds their capacity."""
        return sum(link.offered > 1 + 1e-9 for link in self.links)

    def to_frame(self) -> pd.DataFrame:
        """Returns the loads of the links as a pandas frame.

        Raises:
            MachineError: pandas is not installed.
        """
        return frame(map(vars, self.links))

    def __repr__(self) -> str:
        return (
            f"Prediction({self.routing}, {self.pattern} at {self.load:g}: offered={self.offered:.6g}, "
            f"accepted={self.accepted:.6g}, link_load_max={self.link_load_max:.6g})"
        )


def predict(
    plan: RoutePlan, pattern: str = DEFAULT_PATTERN, load: float = DEFAULT_LOAD, *, seed: int = 1
) -> Prediction:
    """Returns accepted traffic and link loads of an oblivious routing by the fluid model.

    Args:
        plan: plan of all switches.
        pattern: traffic pattern, one of `patterns()` that is not a collective.
        load: offered load, over 0 and at most 1 of the injection capacity.
        seed: seed of the pattern's random choices, 0 or more.

    Raises:
        UsageError: the routing adapts to the traffic, or a value is outside its domain.

    Examples:
        >>> predict(plan(topology("polarfly", q=5), hosts=2), "tornado", 0.6)
        Prediction(min, tornado at 0.6: offered=0.6, accepted=0.426686, link_load_max=2.2)
    """
    plan = checked_plan(plan)
    for name, value in {"load": load, "seed": seed}.items():
        option_of(name, "predict").accept(value)
    check_oblivious(plan.routing)
    topology, hosts = plan.topology, plan.hosts_per_router
    demand = make_pattern(pattern, topology, hosts, seed)
    found = predict_pattern(plan, demand, load)
    names = [
        f"{switch_name(router)}-{switch_name(neighbour)}"
        for router in range(topology.routers)
        for neighbour in topology.neighbours(router).tolist()
    ]
    loads = zip(names, found.offered_loads.tolist(), found.carried_loads.tolist(), strict=True)
    links = tuple(PredictedLink(*entry) for entry in loads)
    return Prediction(plan.routing, demand.name, hosts, load, found.offered, found.accepted, seed, links)


def check_oblivious(name: str) -> None:
    """Raises UsageError unless the fluid model can predict a routing, that is, unless it is oblivious."""
    if not routing(name).oblivious:
        oblivious = ", ".join(sorted(other for other in ROUTINGS.loaded() if ROUTINGS[other].oblivious))
        raise UsageError(
            f"routing must be oblivious for a prediction ({oblivious}), got {name}, which adapts"
        )


def explain(topology: Topology, source: str, destination: str, *, routing: str = "min") -> Explanation:
    """Returns the paths from one switch to another, their reasons, and their backups; `print` shows them.

    Args:
        topology: graph of the routers.
        source: a switch, such as `s3`.
        destination: another switch, such as `s17`.
        routing: routing algorithm, one of `routings()`.

    Raises:
        UsageError: a switch or the routing does not exist, or both switches are the same.

    Examples:
        >>> explain(topology("polarfly", q=3), "s3", "s8").ways[0].switches
        ('s3', 's8')
    """
    topology = checked_topology(topology)
    ends = [switch_router(name, topology.routers) for name in (source, destination)]
    return explain_routers(topology, routing, *ends)


@dataclass(frozen=True)
class SwitchRules:
    """Rules and groups of a switch; `print` shows them.

    Attributes:
        switch: name of the switch.
        rules: a line for each rule, in the order of look-up.
        groups: a line for each group, by number.

    Examples:
        >>> found = rules(plan(topology("polarfly", q=2)), "s3")
        >>> found
        <s3: 34 rules, 6 groups>
        >>> found.groups[0]
        'group 0x1 indirect: TTL less 1, out of port 1'
    """

    switch: str
    rules: tuple[str, ...]
    groups: tuple[str, ...]

    def __str__(self) -> str:
        parts = {"rules": self.rules, "groups": self.groups}
        return "\n".join(
            line
            for name, lines in parts.items()
            for line in (f"{name} ({len(lines)})", *(f"  {line}" for line in lines))
        )

    def __repr__(self) -> str:
        return f"<{self.switch}: {len(self.rules)} rules, {len(self.groups)} groups>"


def rules(plan: RoutePlan, switch: str, *, without: str | None = None) -> SwitchRules:
    """Returns the rules and groups of a switch, as planned.

    Args:
        plan: plan of all switches.
        switch: the switch, such as `s3`.
        without: failed links and switches that the controller plans around, such as `link:s1-s7,switch:s4`;
            None for no failures.

    Raises:
        UsageError: the switch does not exist or is one of `without`, or `without` names anything other than
            links and switches.

    Examples:
        >>> rules(plan(topology("polarfly", q=3)), "s3")
        <s3: 51 rules, 12 groups>
    """
    plan = checked_plan(plan)
    router = switch_router(switch, plan.topology.routers)
    if without is not None:
        failure = _failure(without, plan.topology)
        if router in failure.failed_routers:
            raise UsageError(f"switch must not be in --without, got {switch}")
        plan = surviving_plan(plan, failure)
    return switch_rules(plan, router)


def switch_rules(plan: RoutePlan, router: int) -> SwitchRules:
    """Returns the rules and groups of a router's switch."""
    description = describe(plan.switches[router])
    return SwitchRules(switch_name(router), tuple(description["rules"]), tuple(description["groups"]))


def _failure(text: str, topology: Topology) -> Failure:
    components = parse_components(text, topology, 1)
    if any(component.kind not in (ComponentKind.LINK, ComponentKind.SWITCH) for component in components):
        raise UsageError(f"--without takes links and switches, got {text}")
    return failure_of(topology, components)
