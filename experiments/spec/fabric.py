"""Specification of a fabric: topology, hosts, routing, and settings of the engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, get_args

from controller.occupancy.source import NETLINK
from controller.openflow.frameworks import AUTO
from emulation.hosts.identity import OWN_ROOT
from experiments.spec.experiment import Experiment
from experiments.spec.files.experiment_file import kept_content
from experiments.spec.files.inputs import kept_digests
from experiments.spec.options import AUTO_RATE, GIVEN_RATE, KINDS, RULE_RATE
from experiments.spec.settings import FabricSettings
from experiments.spec.simulation.decisions import DECISIONS, MINIMAL, check_given_once
from experiments.spec.values import from_options
from routing.path_sets.hierarchical import NAME as HIERARCHICAL
from routing.path_sets.registry import OVER
from routing.registry import routing
from simulation.settings import Arbitration, ChannelPolicy, Decision, FlowControl, RouterSettings
from topology.base import Params, Topology
from topology.errors import ParameterError, UsageError
from topology.files.reading import expecting
from topology.links import LinkSpec, parse_rate_bps
from topology.parameters import join_parameters, split_parameters
from traffic.workload.patterns import Pattern, make_pattern

FLOW_CONTROLS: Sequence[str] = get_args(FlowControl)
CHANNEL_POLICIES: Sequence[str] = get_args(ChannelPolicy)
ARBITRATIONS: Sequence[str] = get_args(Arbitration)
CREDIT, BY_HOP, BY_CLASS, BY_LEVEL = "credit", "hop", "class", "level"
_UNCALIBRATED_BPS = 300_000  # link rate of a fabric until its rate has been calibrated
_UNUSED_LINKS = LinkSpec(_UNCALIBRATED_BPS, 1)  # links of simulated fabrics, which ignore them
# Fields of RouterSettings whose options have other names.
_ROUTER_OPTIONS = {"channels": "virtual-channels", "queue_packets": "queue", "burst_packets": "burst"}


@dataclass(frozen=True)
class FabricOptions:
    """The requested fabric of switches or simulated routers.

    Only the emulation reads the fields from `links` to `host_root`. Only the simulator reads `routers` and
    `decision`.

    Attributes:
        name, params: the topology's family and parameters, as on the command line.
        topology: the graph of routers.
        hosts: number of hosts attached to each router, 1 to 254.
        routing: canonical name of the routing, with its parameters.
        links: rate, queue, MTU, delay and loss of the links.
        datapath: requested datapath, `auto`, `kernel` or `user`.
        occupancy: source of port occupancies for adaptive routings: `netlink` or `port-statistics`.
        calibrate: whether the link rate is only the start of a search for the highest rate that the machine
            sustains.
        link_rate_from: origin of the link rate: GIVEN_RATE, RULE_RATE or AUTO_RATE.
        framework: requested controller framework, `auto`, `ryu` or `os-ken`.
        host_root: root user of hosts, `own` or the machine's `real` one.
        routers: settings of simulated routers and links.
        decision: decision rule per packet, a result of `decision_name`; None for the routing's own rule.
        local_repair: whether switches have fast-reroute rules around failed links.
        ordered_repair: whether these rules follow an order of channels, so that failures cause no cyclic
            dependency between channels.
        experiment: experiment of the fabric as kept in manifests; None if there is none.

    Raises:
        UsageError: `decision` is given for a routing without detours, a latency of global links for a
            topology without clusters, or channels by level for paths that they do not order.
        ParameterError: a packet does not fit into a buffer.
    """

    name: str
    params: Params = field(hash=False)
    topology: Topology
    hosts: int
    routing: str
    links: LinkSpec = _UNUSED_LINKS
    datapath: str = AUTO
    occupancy: str = NETLINK
    calibrate: bool = False
    link_rate_from: str = field(default=GIVEN_RATE, compare=False)
    framework: str = AUTO
    host_root: str = OWN_ROOT
    routers: RouterSettings = field(default_factory=RouterSettings)
    decision: str | None = None
    local_repair: bool = True
    ordered_repair: bool = False
    experiment: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        routers = self.routers
        if self.decision is not None:
            chosen = routing(self.routing)
            if chosen.packet_law is None:
                raise UsageError(
                    "--decision needs a routing that chooses between paths, unlike "
                    f"{chosen.name}; leave --decision out"
                )
            check_given_once(self.decision, chosen.name, chosen.packet_values())
        if routers.global_link_cycles is not None and not self.topology.clusters().members:
            raise UsageError(
                f"--global-link-cycles needs a topology with clusters of routers, got {self.name}; "
                "leave it out"
            )
        if routers.channel_policy == BY_LEVEL:
            self._check_levels()
        if routers.channel_policy == BY_CLASS and routers.channels < 2:
            raise ParameterError(
                "virtual-channels must be 2 or more for --channel-policy class, which splits them into two "
                f"halves, got {routers.channels}"
            )
        if routers.flow_control == CREDIT and routers.buffer_flits < routers.packet_flits:
            raise ParameterError(
                f"buffer-flits must be {routers.packet_flits} flits or more, the length of a packet, "
                f"got {routers.buffer_flits}"
            )

    def _check_levels(self) -> None:
        """Raises UsageError if levels do not order channels: paths inside a group must be single links."""
        chosen = routing(self.routing)
        groups = " with Hamming groups" if "local" in self.topology.params else ""
        hierarchical = HIERARCHICAL in (chosen.name.partition(":")[0], chosen.given.get(OVER.key))
        if self.topology.name != "dragonfly" or groups or not hierarchical:
            raise UsageError(
                f"--channel-policy level needs a dragonfly with complete groups, and {HIERARCHICAL} or "
                f"over={HIERARCHICAL}, got {self.topology.name}{groups} with --routing {self.routing}"
            )

    @property
    def decision_text(self) -> str:
        """Name of the decision rule per packet, with its parameters; `minimal` if there are no detours."""
        chosen = routing(self.routing)
        if self.decision is not None or chosen.packet_law is None:
            return self.decision or MINIMAL
        name = chosen.packet_law.rule.value
        return join_parameters(name, chosen.packet_values(), DECISIONS[name])

    def packet_decision(self) -> Decision:
        """Returns the decision rule per packet in the simulator's form."""
        name = self.decision_text.partition(":")[0]
        values: dict[str, Any] = split_parameters(self.decision_text, DECISIONS[name])[1]
        return Decision(**{"law": name, **values})

    def pattern(self, name: str, seed: int) -> Pattern:
        """Returns a pattern on the fabric.

        Args:
            name: its name, with parameters.
            seed: seed of the pattern's own random choices.

        Raises:
            UsageError: the fabric does not support it, or its file has changed since the experiment began.
        """
        with self.reading_inputs():
            return make_pattern(name, self.topology, self.hosts, seed)

    def reading_inputs(self) -> AbstractContextManager[None]:
        """Returns a context that refuses input files that have changed since the experiment began."""
        return expecting(kept_digests(self.experiment), "the experiment began", "begin another one")

    def settings(self) -> FabricSettings:
        """Returns the settings that results depend on, except the routing."""
        return FabricSettings(
            name=self.name,
            params=dict(self.params),
            hosts=self.hosts,
            link_rate_bps=self.links.rate_bps,
            queue_packets=self.links.queue_packets,
            mtu=self.links.mtu,
            link_delay_ms=self.links.delay_ms,
            link_loss=self.links.loss,
            link_rate_from=self.link_rate_from,
        )


def fabric_options(experiment: Experiment, values: Mapping[str, Any]) -> FabricOptions:
    """Returns the specification of an experiment's fabric.

    Args:
        experiment: the experiment.
        values: option -> value, complete.
    """
    own = _of_switches(experiment, values) if "link-rate" in values else {"routers": router_settings(values)}
    return from_options(
        FabricOptions,
        values,
        name=experiment.family,
        params=experiment.params,
        topology=experiment.topology,
        experiment=kept_content(experiment) if experiment.kind in KINDS else None,
        **{"routers": RouterSettings(), **own},  # some families have an option `routers`, so never omit it
    )


def _of_switches(experiment: Experiment, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of FabricOptions that describe switches' links: settings, and origin of the rate."""
    rate, origin = values["link-rate"], GIVEN_RATE  # also the origin of a rate that the sweep varies
    if rate == AUTO_RATE:
        origin = AUTO_RATE
    elif "link-rate" not in experiment.values and "link-rate" in experiment.complete_values:
        origin = RULE_RATE
    links = LinkSpec(
        link_rate_bps(rate),
        values["queue"],
        values["mtu"],
        values.get("link-delay", 0.0),
        values.get("link-loss", 0.0),
    )
    return {"links": links, "calibrate": rate == AUTO_RATE, "link_rate_from": origin}


def router_settings(values: Mapping[str, Any]) -> RouterSettings:
    """Returns the settings of simulated routers and links.

    Args:
        values: option -> value, for all options that apply.
    """
    options = {
        entry.name: _ROUTER_OPTIONS.get(entry.name, entry.name.replace("_", "-"))
        for entry in dataclasses.fields(RouterSettings)
    }
    return RouterSettings(**{name: values[option] for name, option in options.items() if option in values})


def routing_name(text: str) -> str:
    """Returns the canonical name of a routing with its parameters; raises UsageError if it is unknown."""
    return routing(text).name


def link_rate_bps(text: str) -> int:
    """Returns a rate like `2Mbit` in bit/s; for `auto`, a rate low enough to start any fabric.

    Raises:
        ParameterError: the text is not a rate.
    """
    return _UNCALIBRATED_BPS if text == AUTO_RATE else parse_rate_bps(text)
