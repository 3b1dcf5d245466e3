"""Description of a fabric for its viewers: its links, layout, hosts and proof."""

from __future__ import annotations

import math
from collections.abc import Iterable

from experiments.observation.model import DescribedLink, DescribedParameter, FabricDescription, Proof
from experiments.results.link_loads import directed_links
from experiments.session.routing_parameters import changeable_parameters
from experiments.spec.settings import FabricSettings
from routing.registry import routing as routing_named
from topology.addressing import hosts_of
from topology.base import Topology
from topology.faults import link_component
from traffic.workload.collectives.registry import COLLECTIVES
from traffic.workload.patterns import PATTERNS


def describe(
    topology: Topology,
    settings: FabricSettings,
    routing: str,
    *,
    proof: Proof | None = None,
    actions: Iterable[str] = (),
    replay: str | None = None,
) -> FabricDescription:
    """Returns the description of a fabric.

    Args:
        topology: graph of its routers.
        settings: its settings, in the form of results.
        routing: name of the routing.
        proof: the proof of its plan.
        actions: names of the actions that viewers may request.
        replay: name of the replayed results; None for a live fabric.
    """
    layout = topology.layout()
    hosts = hosts_of(topology, settings.hosts)
    parameters = " ".join(f"{name}={value}" for name, value in settings.params.items())
    return FabricDescription(
        title=f"{settings.name} {parameters}".strip(),
        name=settings.name,
        params=dict(settings.params),
        routing=routing,
        hosts=tuple(host.name for host in hosts),
        host_routers=tuple(host.router for host in hosts),
        link_rate_bps=settings.link_rate_bps,
        queue_packets=settings.queue_packets,
        routers=topology.routers,
        links=described_links(topology),
        positions=tuple((round(float(x), 4), round(float(y), 4)) for x, y in layout.positions),
        kinds=layout.kinds,
        kind=tuple(layout.kind.tolist()),
        rows=layout.rows,
        proof=proof,
        patterns=tuple(PATTERNS),
        collectives=tuple(
            f"{name}:{one}" for name in COLLECTIVES.loaded() for one in COLLECTIVES[name].algorithms
        ),
        parameters=() if replay else described_parameters(routing),
        actions=tuple(actions),
        replay=replay,
    )


def described_parameters(name: str) -> tuple[DescribedParameter, ...]:
    """Returns the parameters of a routing that can change while a fabric is up.

    Args:
        name: name of the routing with its parameters.
    """
    present = routing_named(name)
    changeable = changeable_parameters(present)
    values = {one.key: one.default for one in changeable} | {**present.given}
    return tuple(
        DescribedParameter(
            name=one.name,
            help=one.described,
            whole=one.type is int,
            least=one.least if math.isfinite(one.least) else None,
            most=one.most if math.isfinite(one.most) else None,
            above=one.above,
            choices=tuple(one.choices()) if one.choices else (),
            value=str(values[one.key]) if one.choices else float(values[one.key] or 0),
        )
        for one in changeable
    )


def described_links(topology: Topology) -> tuple[DescribedLink, ...]:
    """Returns a graph's links, each with the indices of its two directions among the directed links."""
    places = {(one.source, one.port): place for place, one in enumerate(directed_links(topology))}
    return tuple(
        DescribedLink(
            link_component(link).name.removeprefix("link:"),
            (link.ends[0][0], link.ends[1][0]),
            (link.ends[0][1], link.ends[1][1]),
            (places[link.ends[0]], places[link.ends[1]]),
        )
        for link in topology.link_list
    )
