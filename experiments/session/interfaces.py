"""Interfaces of a fabric that are down without a failure, because a user's command has set them down."""

from __future__ import annotations

import contextlib
import fcntl
import socket
import struct
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from experiments.live_fabric import LiveFabric
from topology.addressing import Host, interface_name, switch_name
from topology.errors import MachineError, UsageError
from topology.faults import Component, ComponentKind
from traffic.engine import sockets

_GET_FLAGS, UP, RUNNING = 0x8913, 0x1, 0x40  # SIOCGIFFLAGS, IFF_UP, IFF_RUNNING


def interface_flags(name: str) -> int:
    """Returns the flags of an interface of the current network namespace.

    Raises:
        OSError: the interface does not exist.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        answer = fcntl.ioctl(asking, _GET_FLAGS, struct.pack("256s", name.encode()))
    return int(struct.unpack_from("H", answer, 16)[0])


def interfaces_down(fabric: LiveFabric, active_failures: Collection[Component]) -> frozenset[str]:
    """Returns the interfaces that are down although neither a failure nor the controller has set them down.

    Args:
        fabric: the fabric.
        active_failures: the components that have failed; the ends of their links do not count.
    """
    places: dict[str, list[str]] = defaultdict(list)
    for node, interface in _interfaces(fabric, active_failures):
        places[node].append(interface)
    down = []
    with sockets.namespaces():
        for node, names in places.items():
            with contextlib.suppress(MachineError):  # raised if the node's shell has just ended
                sockets.enter(fabric.network[node].pid)
                down += [name for name in names if _is_down(name)]
    return frozenset(down)


def _interfaces(fabric: LiveFabric, active_failures: Collection[Component]) -> Iterator[tuple[str, str]]:
    """Yields (node, interface) for the interfaces that neither a failure nor the controller has set down."""
    topology, by_controller = fabric.options.topology, fabric.controller.ports_down
    ends = [
        end
        for link in topology.link_list
        if not any(component.covers(link) for component in active_failures)
        for end in link.ends
    ]
    without = cut_off_hosts(fabric.hosts, active_failures)
    hosts = [host for host in fabric.hosts if host not in without]
    ends += [(host.router, topology.host_port(host.router, host.index)) for host in hosts]
    for router, port in ends:
        if (switch_name(router), port) not in by_controller:
            yield switch_name(router), interface_name(router, port)
    for host in hosts:
        yield host.name, host.interface


def cut_off_hosts(hosts: Iterable[Host], active_failures: Collection[Component]) -> frozenset[Host]:
    """Returns the hosts whose link has failed, or whose switch has no power.

    Args:
        hosts: the hosts of a fabric.
        active_failures: the components that have failed.
    """
    without_power = {
        component.routers for component in active_failures if component.kind is ComponentKind.SWITCH
    }
    links = {component.host for component in active_failures if component.host}
    return frozenset(host for host in hosts if (host.router,) in without_power or host in links)


def check_power(router: int, active_failures: Collection[Component]) -> None:
    """Raises UsageError if a router's switch has no power.

    Args:
        router: the router.
        active_failures: the components that have failed.
    """
    power = Component(ComponentKind.SWITCH, (router,))
    if power in active_failures:
        raise UsageError(f"{switch_name(router)} has no power; restore {power.name}")


def _is_down(name: str) -> bool:
    """Returns whether an interface of the current namespace exists and is down."""
    with contextlib.suppress(OSError):
        return not interface_flags(name) & UP
    return False
