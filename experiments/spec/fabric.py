"""Specification of a fabric: topology, hosts, links, routing and datapath, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.occupancy.source import NETLINK
from controller.openflow.frameworks import AUTO
from emulation.hosts.identity import OWN_ROOT
from experiments.spec.options import AUTO_RATE, GIVEN_RATE
from experiments.spec.settings import FabricSettings
from routing.registry import routing
from topology.base import Params, Topology
from topology.links import LinkSpec, parse_rate_bps

_UNCALIBRATED_BPS = 300_000  # while a fabric starts whose rate is yet to be found


@dataclass(frozen=True)
class FabricOptions:
    """The fabric to launch.

    Attributes:
        name, params: the topology's family and parameters, as on the command line.
        topology: the graph that they name.
        hosts: hosts attached to each router, 1 to 254.
        links: rate, queue, MTU, delay and loss of the links.
        routing: canonical name of a routing, with its parameters.
        datapath: `auto`, `kernel` or `user`, as asked for.
        occupancy: source of port occupancies for adaptive routings: `netlink` or `port-statistics`.
        calibrate: whether the links' rate is only the start of a search for the highest that the machine
            carries.
        link_rate_from: origin of the links' rate, one of GIVEN_RATE, RULE_RATE and AUTO_RATE.
        local_repair: whether switches hold fast-reroute rules around failed links.
        ordered_repair: whether these keep to an order of channels, so that failures bring no circle.
        framework: controller framework, `auto`, `ryu` or `os-ken`, as asked for.
        host_root: root of hosts, `own` or the machine's `real` one.
        experiment: the experiment that it is part of, as manifests keep it; None outside of one.
    """

    name: str
    params: Params
    topology: Topology
    hosts: int
    links: LinkSpec
    routing: str
    datapath: str
    occupancy: str = NETLINK
    calibrate: bool = False
    link_rate_from: str = field(default=GIVEN_RATE, compare=False)
    local_repair: bool = True
    ordered_repair: bool = False
    framework: str = AUTO
    host_root: str = OWN_ROOT
    experiment: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    def settings(self) -> FabricSettings:
        """Returns the settings, except the routing, that results depend on."""
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


def routing_name(text: str) -> str:
    """Returns the canonical name of a routing with its parameters; an unknown routing raises UsageError."""
    return routing(text).name


def link_rate_bps(text: str) -> int:
    """Returns the bit/s that `2Mbit` names; of `auto`, a rate low enough to start any fabric with.

    Raises:
        ParameterError: the text is not a rate.
    """
    return _UNCALIBRATED_BPS if text == AUTO_RATE else parse_rate_bps(text)
