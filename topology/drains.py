"""Drains: links and switches that are up but carry no transit traffic, for maintenance without loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from topology.addressing import switch_name
from topology.base import Topology
from topology.errors import ParameterError
from topology.failures import NO_FAILURE, Failure, failure_of
from topology.faults import (
    CONTROLLER,
    FORCE,
    Component,
    ComponentKind,
    Fault,
    parse_drained,
    without_components,
)
from topology.shortest_paths import connected_components

_MAX_NAMED = 10


@dataclass(frozen=True)
class Drain:
    """The set of drained links and switches.

    A drained link carries no packets. A drained switch carries packets from and to its own hosts only.

    Attributes:
        components: the drained components, links and switches.
        ends: (router, port) of both ends of every drained link, without the links of drained switches.
        routers: the routers of the drained switches.
    """

    components: tuple[Component, ...] = ()
    ends: frozenset[tuple[int, int]] = frozenset()
    routers: frozenset[int] = frozenset()

    @property
    def any_drained(self) -> bool:
        """Whether a link or a switch is drained."""
        return bool(self.components)

    @property
    def name(self) -> str:
        """A name for messages, such as `s3, s1-s2`; `none` if nothing is drained."""
        return ", ".join(component.location for component in self.components) or "none"

    def ports(self, topology: Topology, router: int) -> frozenset[int]:
        """Returns the ports of a router that lead over a drained link or to a drained switch.

        Args:
            topology: the graph of routers.
            router: the index of the router.

        Returns:
            Port numbers.
        """
        ports = set(self.link_ports.get(router, ()))
        if self.routers:
            beyond = np.isin(topology.neighbours(router), [*self.routers])
            ports.update(topology.link_ports(router)[beyond].tolist())
        return frozenset(ports)

    @cached_property
    def link_ports(self) -> dict[int, set[int]]:
        """Router -> its ports on drained links, for routers that have any."""
        ports: dict[int, set[int]] = {}
        for router, port in self.ends:
            ports.setdefault(router, set()).add(port)
        return ports


NO_DRAIN = Drain()


def drain_of(topology: Topology, components: Iterable[Component]) -> Drain:
    """Returns the combined drain of several components of a fabric.

    Args:
        topology: the graph of routers.
        components: links between switches, and switches.
    """
    ordered = sorted(
        _without_parts(set(components)),
        key=lambda component: (component.kind is ComponentKind.LINK, component.routers, component.copy),
    )
    links = [component for component in ordered if component.kind is ComponentKind.LINK]
    drained = [link for link in topology.link_list if any(component.covers(link) for component in links)]
    return Drain(
        tuple(ordered),
        frozenset(end for link in drained for end in link.ends),
        frozenset(e.routers[0] for e in ordered if e.kind is ComponentKind.SWITCH),
    )


def _without_parts(components: set[Component]) -> set[Component]:
    """Returns components without single parallel links that a whole link among them includes."""
    return {one for one in components if not (one.copy and replace(one, copy=0) in components)}


def drain_named(topology: Topology, names: Iterable[str]) -> Drain:
    """Returns the drain of the named components.

    Args:
        topology: the graph of routers.
        names: the components, each in the form of `parse_drained`; none for no drain.

    Raises:
        ParameterError: a name is malformed, or the fabric does not have such a component.
    """
    return drain_of(topology, [component for name in names for component in parse_drained(name, topology)])


def cut_off(topology: Topology, failure: Failure, before: Drain, after: Drain) -> tuple[tuple[str, ...], ...]:
    """Returns the sets of switches that a drain would cut off from the rest of the fabric.

    Args:
        topology: the graph of routers.
        failure: the links and switches that have failed.
        before: the components that are drained already.
        after: all components that would be drained, including those of `before`.

    Returns:
        Tuples of switch names: one for each connected part of the fabric except the largest, and one for each
        drained switch whose own hosts would be cut off; empty if the drain separates nothing.
    """
    out = failure.failed_routers | after.routers
    now, then = (_connected_parts(topology, failure, drain) for drain in (before, after))
    parts: dict[int, list[int]] = {}
    for router in range(topology.routers):
        if router not in out:
            parts.setdefault(then[router], []).append(router)
    alone = sorted(_without_way_out(topology, failure, after) - _without_way_out(topology, failure, before))
    if len(parts) == len({now[router] for routers in parts.values() for router in routers}):
        return tuple((switch_name(router),) for router in alone)
    smaller = sorted(parts.values(), key=lambda routers: (-len(routers), routers))[1:]
    return tuple(tuple(map(switch_name, routers)) for routers in [*smaller, *([router] for router in alone)])


def with_drained(
    topology: Topology,
    before: Drain,
    components: Iterable[Component],
    failure: Failure,
    *,
    force: bool = False,
) -> Drain:
    """Returns a drain extended by more components, if these can be drained.

    Args:
        topology: the graph of routers.
        before: the components that are drained already.
        components: the components to drain in addition.
        failure: the links and switches that have failed.
        force: whether to drain them even if that cuts off others.

    Raises:
        ParameterError: a component is drained already or has failed, or its drain would cut off others.
    """
    components = tuple(components)
    for component in components:
        own = drain_of(topology, [component])
        if own.ends <= before.ends and own.routers <= before.routers:
            raise ParameterError(
                f"component to drain must carry traffic; {component.location} is already drained"
            )
        if own.routers & failure.failed_routers or (own.ends and own.ends <= failure.failed_ends):
            raise ParameterError(f"component to drain must be up; {component.location} is down")
    after = drain_of(topology, (*before.components, *components))
    parts = cut_off(topology, failure, before, after)
    if parts and not force:
        names = ", ".join(component.location for component in components)
        raise ParameterError(
            f"drain must leave the other switches connected; {names} would cut off {cut_off_text(parts)}; "
            f"{FORCE} drains anyway"
        )
    return after


def without_drained(topology: Topology, before: Drain, components: Iterable[Component]) -> Drain:
    """Returns a drain without some of its components.

    Args:
        topology: the graph of routers.
        before: the drained components.
        components: the components whose drain ends; a link without a number includes all its parallel links.

    Raises:
        ParameterError: a component is not drained.
    """
    left: Sequence[Component] = before.components
    for component in components:
        rest = without_components(left, [component], topology)
        if rest == list(left):
            raise ParameterError(f"{component.location} is not drained; drained: {before.name}")
        left = rest
    return drain_of(topology, left)


def drain_faults(topology: Topology, drain: Drain) -> tuple[Fault, ...]:
    """Returns the faults of a schedule that drain a whole fabric's components at time 0.

    Args:
        topology: the graph of routers.
        drain: the drained components.
    """
    faults, before = [], NO_DRAIN
    for component in drain.components:
        after = drain_of(topology, (*before.components, component))
        forced = bool(cut_off(topology, NO_FAILURE, before, after))
        faults.append(Fault(0.0, component, maintenance=True, forced=forced))
        before = after
    return tuple(faults)


def check_schedule(faults: Iterable[Fault], topology: Topology) -> None:
    """Checks the restorations and drains of a fault schedule against the failures and drains before them.

    Args:
        faults: the faults in order of time.
        topology: the graph of routers.

    Raises:
        ParameterError: a component cannot be restored, drained or undrained at that time; the message quotes
            the fault.
    """
    drain = NO_DRAIN
    failed: set[Component] = set()
    for fault in faults:
        try:
            if not fault.maintenance:
                failed = _after(failed, fault, topology)
            elif CONTROLLER in failed:
                raise ParameterError("controller must be up to divert traffic, but has failed")
            elif fault.restores:
                drain = without_drained(topology, drain, [fault.component])
            else:
                failure = failure_of(topology, failed)
                drain = with_drained(topology, drain, [fault.component], failure, force=fault.forced)
        except ParameterError as error:
            raise ParameterError(f"`{fault.line}`: {error}") from None


def _after(failed: set[Component], fault: Fault, topology: Topology) -> set[Component]:
    """Returns the failed components after one more failure or restoration."""
    component = fault.component
    if not fault.restores:
        return {*failed, component}
    left = set(without_components(failed, [component], topology))
    if left == failed:
        raise ParameterError(f"component to restore must have failed; {component.name} has not")
    return left


def cut_off_text(parts: Iterable[tuple[str, ...]]) -> str:
    """Returns a text for messages that lists the switches that a drain would cut off.

    Args:
        parts: the names of the switches in each part, as returned by `cut_off`; at most ten switches of a
            part are listed, and the others are counted.
    """
    texts = []
    for part in parts:
        more = f" and {len(part) - _MAX_NAMED} more" if len(part) > _MAX_NAMED else ""
        texts.append(", ".join(part[:_MAX_NAMED]) + more)
    return "; ".join(texts)


def _connected_parts(topology: Topology, failure: Failure, drain: Drain) -> list[int]:
    """Returns, for each router, the index of its connected component.

    Failed and drained links and switches are removed from the graph.
    """
    ends = {end for link in topology.link_list if {link.a, link.b} & drain.routers for end in link.ends}
    routers = failure.failed_routers | drain.routers
    return connected_components(topology, Failure("", failure.failed_ends | drain.ends | ends, routers))


def _without_way_out(topology: Topology, failure: Failure, drain: Drain) -> set[int]:
    """Returns the drained routers that have no link to a working, undrained router."""
    unusable = failure.failed_ends | drain.ends
    out = failure.failed_routers | drain.routers
    reached = set()
    for link in topology.link_list:
        if unusable.isdisjoint(link.ends):
            reached |= {link.a} if link.b not in out else set()
            reached |= {link.b} if link.a not in out else set()
    return set(drain.routers - failure.failed_routers - reached)
