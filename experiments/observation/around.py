"""The ways that packets now take around failures, for the drawing of a fabric."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence

import numpy as np

from experiments.planned_fabric import PlannedFabric
from experiments.theory.explain import paths_between
from routing.plan.model import RoutePlan
from routing.replan.replan import surviving_plan
from routing.replan.surviving_graph import crossing_pairs
from topology.addressing import Host, hosts_of
from topology.errors import PolarLabError
from topology.failures import Failure, failure_of
from topology.faults import Component, ComponentKind, components_of_graph

_MAX_COMPONENTS = 3
MAX_ROUTERS = 200  # of larger fabrics, nothing is drawn: their plans take long

Paths = tuple[tuple[str, ...], ...]


class WaysAround:
    """The ways around the failures of a fabric, computed in a thread when the failures or the plan change."""

    def __init__(self, fabric: PlannedFabric) -> None:
        self._fabric = fabric
        self._key: tuple[tuple[str, ...], str] = (), "none"
        self._paths: Paths = ()

    def latest(self, failed: tuple[str, ...], planned_failure: str) -> Paths:
        """Returns the ways around given failures; empty until they are known.

        Args:
            failed: names of the failed components; without any, there are no ways around.
            planned_failure: the failure that the controller's plan is for, or `none`.
        """
        key = failed, planned_failure
        if key != self._key:
            self._key, self._paths = key, ()
            if failed:
                threading.Thread(target=self._find, args=(key,), daemon=True).start()
        return self._paths

    def _find(self, key: tuple[tuple[str, ...], str]) -> None:
        failed, planned_failure = key
        paths = ways_around(self._fabric.plan, failed, replanned=planned_failure != "none")
        if key == self._key:
            self._paths = paths


def ways_around(plan: RoutePlan, failed: Sequence[str], *, replanned: bool) -> Paths:
    """Returns, for each failed component, the path of packets whose minimal path crosses the component.

    Args:
        plan: the plan of the whole fabric.
        failed: names of the failed components.
        replanned: whether the controller's plan avoids them; otherwise switches reroute by themselves.
    """
    topology = plan.topology
    components = components_of_graph(failed, topology) if topology.routers <= MAX_ROUTERS else ()
    if not components:
        return ()
    failure = failure_of(topology, components)
    hosts = {host.router: host for host in reversed(hosts_of(topology, plan.hosts_per_router))}
    paths: dict[tuple[str, ...], None] = {}
    for component in components[:_MAX_COMPONENTS]:
        if pair := _pair(plan, component, failure, hosts):
            source, destination = pair
            with contextlib.suppress(PolarLabError):  # no plan exists for these failures
                now = surviving_plan(plan, failure, toward=[destination]) if replanned else plan
                taken, _ = paths_between(now, hosts[source], hosts[destination], failure)
                arriving = [path for path in taken if path.ends is None]
                if arriving:
                    paths[max(arriving, key=lambda path: path.share).switches] = None
    return tuple(paths)


def _pair(
    plan: RoutePlan, component: Component, failure: Failure, hosts: dict[int, Host]
) -> tuple[int, int] | None:
    """Returns a pair of routers whose minimal paths cross a component; preferably a link's own ends."""
    able = hosts.keys() - failure.failed_routers
    if component.kind is ComponentKind.LINK and able >= {*component.routers}:
        source, destination = component.routers
        return source, destination
    crossing = crossing_pairs(plan.topology, failure_of(plan.topology, [component]))
    found = ((a, b) for a, b in np.argwhere(crossing).tolist() if able >= {a, b})
    return next(found, None)
