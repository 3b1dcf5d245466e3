"""API replies about switches, links and paths of a fabric, and checks of requested changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.live_fabric import LiveFabric
from experiments.observation.observer import Observer
from experiments.observation.switch_tables import read_switch
from experiments.results.link_loads import directed_links
from experiments.session.paths import PathReport
from experiments.theory.explain import paths_between
from experiments.theory.geometry import lines_between
from topology.addressing import switch_name
from topology.errors import ParameterError, UsageError
from topology.failures import failure_of
from topology.faults import Component, ComponentKind, parse_components


def check_change(
    verb: str, text: str, chosen: Sequence[Component], active_failures: Sequence[Component]
) -> None:
    """Raises UsageError if a change has no effect: all components have already failed, or none has."""
    if verb == "fail" and all(one in active_failures for one in chosen):
        raise UsageError(f"{text} has failed already")
    if verb == "restore" and not any(one.includes(failed) for one in chosen for failed in active_failures):
        raise UsageError("nothing has failed" if text == "all" else f"{text} has not failed")


def inspect_switch(fabric: LiveFabric, observer: Observer, switch: str) -> dict[str, Any]:
    """Returns rules, groups and counters of a switch, and the latest values of its hosts' links."""
    tables = read_switch(fabric, switch)
    hosts = [
        {"name": host.name, "lately": observer.lately(observer.links + place)[-1:]}
        for place, host in enumerate(fabric.hosts)
        if switch_name(host.router) == switch
    ]
    return {**vars(tables), "adaptive": [vars(group) for group in tables.adaptive], "hosts": hosts}


def inspect_link(fabric: LiveFabric, observer: Observer, link: str) -> dict[str, Any]:
    """Returns load, queue and drops of both directions of a link in the last minute.

    Raises:
        ParameterError: the fabric has no such link.
    """
    places = {one.name: place for place, one in enumerate(directed_links(fabric.options.topology))}
    for place, host in enumerate(fabric.hosts):
        places[f"{switch_name(host.router)}-{host.name}"] = observer.links + place
    first, _, second = link.partition("-")
    names = [name for name in (f"{first}-{second}", f"{second}-{first}") if name in places]
    if not names:
        examples = f"{next(iter(places))} or {list(places)[-1]}"
        raise ParameterError(f"link must be one of the fabric's, such as {examples}, got {link!r}")
    columns = ("time_s", "load", "waiting", "dropped")
    return {
        name: [dict(zip(columns, row, strict=True)) for row in observer.lately(places[name])]
        for name in names
    }


def inspect_path(fabric: LiveFabric, report: PathReport, without: str) -> dict[str, Any]:
    """Returns the reported paths and, given `without`, the paths if these links or switches failed.

    Raises:
        ParameterError: `without` does not name links and switches of the fabric.
    """
    names = {host.name: host for host in fabric.hosts}
    ends = names[report.source], names[report.destination]
    topology = fabric.options.topology
    body: dict[str, Any] = {
        "source": report.source,
        "destination": report.destination,
        "failed": report.failed,
        "words": lines_between(topology, ends[0].router, ends[1].router),
        "paths": [vars(path) for path in report.paths],
        "alternatives": [vars(path) for path in report.alternatives],
        "probes": report.probes,
        "lost": report.lost,
        "without": [],
    }
    if without:
        components = parse_components(without, topology, 1)
        if any(one.kind not in (ComponentKind.LINK, ComponentKind.SWITCH) for one in components):
            raise ParameterError(f"without takes links and switches, got {without!r}")
        paths, _ = paths_between(fabric.plan, *ends, failure_of(topology, components))
        body["without"] = [vars(path) for path in paths]
    return body
