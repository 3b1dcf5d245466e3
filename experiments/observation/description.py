"""Description of a fabric for those who watch it: its links, its layout, its hosts and its proof."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.observation.model import DescribedLink, FabricDescription, Proof
from experiments.results.link_loads import directed_links
from experiments.spec.settings import FabricSettings
from topology.addressing import hosts_of
from topology.base import Topology
from topology.faults import link_element
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
        settings: its settings, as results keep them.
        routing: name of the routing.
        proof: the proof of its plan.
        actions: names of the actions that those who watch may ask for.
        replay: the results that are replayed; None of a fabric that is up.
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
        actions=tuple(actions),
        replay=replay,
    )


def described_links(topology: Topology) -> tuple[DescribedLink, ...]:
    """Returns the links of a graph, with the places of their directions among its directed links."""
    places = {(one.source, one.port): place for place, one in enumerate(directed_links(topology))}
    return tuple(
        DescribedLink(
            link_element(link).name.removeprefix("link:"),
            (link.ends[0][0], link.ends[1][0]),
            (link.ends[0][1], link.ends[1][1]),
            (places[link.ends[0]], places[link.ends[1]]),
        )
        for link in topology.link_list
    )
