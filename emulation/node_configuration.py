"""Configuration of nodes: files, queues and addresses of their interfaces, set in all nodes at once.

This process enters each node's namespaces and makes the settings there; only queues are set by a program, one
`tc` a node.
"""

from __future__ import annotations

import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from emulation.interface_settings import IFF_PROMISC, IFF_UP, Interfaces, add_address
from emulation.namespaces import bind_file, in_namespaces
from emulation.nodes import FabricHost, FabricSwitch
from emulation.shaping import shaping_commands
from emulation.subprocesses import CommandError, feed, finish, start
from topology.links import LinkSpec

# Nodes that are configured at a time: enough to keep all cores busy, few enough to be ended soon.
_SIDE_BY_SIDE = 64
_IPV6_SETTINGS = [Path(f"/proc/sys/net/ipv6/conf/{kind}/disable_ipv6") for kind in ("all", "default")]


def configure(nodes: Sequence[Any], spec: LinkSpec, names: Mapping[Path, Path]) -> None:
    """Sets up the interfaces of nodes, whose links exist.

    Args:
        nodes: switches and hosts.
        spec: properties of the links.
        names: place in the nodes -> file that appears there.

    Raises:
        CommandError: a node cannot be configured.
    """
    _in_each(nodes, lambda node: _prepare(node, names))
    # Before the interfaces are up: then the kernel would wait for all processors at each change of a queue.
    set_queues(nodes, spec, shaping_commands)
    _in_each(nodes, lambda node: _set_up(node, spec))


def set_queues(nodes: Sequence[Any], spec: LinkSpec, commands: Callable[[str, LinkSpec], list[str]]) -> None:
    """Sets the shaping of all interfaces of nodes; only links between routers have a delay or a loss.

    Args:
        nodes: switches and hosts.
        spec: properties of the links.
        commands: gives the lines for `tc -batch` of an interface.

    Raises:
        CommandError: `tc` refuses.
    """

    def lines(node: Any) -> list[str]:
        toward_routers = set(interfaces_to_routers(node))
        return [
            line
            for name in interfaces(node)
            for line in commands(name, spec if name in toward_routers else spec.unimpaired())
        ]

    run_in_nodes(nodes, ["tc", "-batch", "-"], lines)


def run_in_nodes(
    nodes: Sequence[Any], argv: Sequence[str], lines: Callable[[Any], Sequence[str]] = lambda _node: ()
) -> list[tuple[Any, str]]:
    """Runs a program in every node, side by side, and returns each node with the program's output.

    Args:
        nodes: switches and hosts.
        argv: the program and its arguments.
        lines: gives the lines of its standard input.

    Raises:
        CommandError: it fails in a node.
    """
    outputs: list[tuple[Any, str]] = []
    running: deque[tuple[Any, subprocess.Popen[str]]] = deque()
    for node in nodes:
        process = start(argv, node=node.pid)
        feed(process, "".join(f"{line}\n" for line in lines(node)))
        running.append((node, process))
        if len(running) == _SIDE_BY_SIDE:
            first, process = running.popleft()
            outputs.append((first, finish(process)))
    return outputs + [(node, finish(process)) for node, process in running]


def interfaces(node: Any) -> list[str]:
    """Returns the names of a node's interfaces without its loopback."""
    return [interface.name for interface in node.intfList() if interface.name != "lo"]


def interfaces_to_routers(node: Any) -> list[str]:
    """Returns the interfaces of a switch that lead to other switches."""
    return [
        interface.name
        for interface in node.intfList()
        if interface.link
        and all(isinstance(end.node, FabricSwitch) for end in (interface.link.intf1, interface.link.intf2))
    ]


def _in_each(nodes: Sequence[Any], action: Callable[[Any], None]) -> None:
    """Does something in the namespaces of every node; CommandError if it fails."""
    for node in nodes:
        try:
            in_namespaces(node.pid, partial(action, node))
        except OSError as error:
            raise CommandError(f"{node.name} cannot be configured: {error.strerror}") from error


def _prepare(node: Any, names: Mapping[Path, Path]) -> None:
    """Mounts files and turns IPv6 off, as its router solicitations would be foreign packets on the fabric."""
    for place, file in names.items():
        bind_file(str(file), str(place))
    for setting in _IPV6_SETTINGS:
        if setting.exists():
            setting.write_text("1")


def _set_up(node: Any, spec: LinkSpec) -> None:
    """Sets a node's interfaces up.

    Hosts compute checksums in software, as a veth does not and the userspace datapath passes frames on
    unchanged. Ports of switches are promiscuous from the beginning: a switch that makes them so itself has
    all its neighbours' programs read of it, port by port.
    """
    names = interfaces(node)
    flags = IFF_UP | IFF_PROMISC if isinstance(node, FabricSwitch) else IFF_UP
    with Interfaces() as settings:
        if isinstance(node, FabricHost):
            add_address(names[0], node.params["ip"])
            settings.send_with_checksums(names[0])
        settings.set_flags("lo", IFF_UP)
        for name in names:
            settings.set_mtu(name, spec.mtu)
            settings.set_flags(name, flags)
