"""Mininet nodes and links whose interfaces `emulation.network` creates all at once.

Mininet sets up each interface with several commands through the node's shell, which takes most of the time to
build a large network. Here a link only records its two ends. `emulation.network` creates all veth pairs with
one command, and `emulation.node_configuration` sets up queues and addresses by system calls.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from emulation.hosts.node import SpacedNode
from emulation.hosts.spaces import HostSpaces
from emulation.mininet_library import Host, Intf, Link, Switch
from emulation.node_shell import LastingNode
from emulation.open_vswitch import VSwitch, start_daemons, start_databases
from emulation.subprocesses import answer
from emulation.switches.database import SwitchSettings
from topology.links import LinkSpec

# By default a veth gets one queue per processor but uses only one, and for each end the kernel waits until
# all processors have seen them.
_ONE_QUEUE = "numtxqueues 1 numrxqueues 1"
_QUERY_TIMEOUT_S = 10  # of a query to a switch: a switch that hangs does not answer


class FabricInterface(Intf):  # type: ignore[misc]
    """One end of a link; its interface exists once the network has created all of them."""

    def __init__(self, name: str, node: Any = None, port: int | None = None, **params: Any) -> None:
        params["moveIntfFn"] = _created_in_place
        super().__init__(name, node=node, port=port, **params)

    def config(self, **_params: Any) -> dict[str, str]:
        """Does nothing: the network configures all interfaces at once."""
        return {}


def _created_in_place(_interface: Intf, _node: Any) -> None:
    """Does nothing; Mininet would move the interface to its node, where it already is."""


class FabricLink(Link):  # type: ignore[misc]
    """A link that `emulation.network` creates together with all others."""

    # Interface indexes, which must differ between the ends of a link: if they are equal, Linux takes the veth
    # for its own lower device and reports a lost carrier some 500 ms late.
    _numbers = itertools.count(1000)

    def __init__(self, node1: Any, node2: Any, **params: Any) -> None:
        params["intf"] = FabricInterface
        self.index1, self.index2 = next(self._numbers), next(self._numbers)
        super().__init__(node1, node2, **params)

    @classmethod
    def makeIntfPair(cls, *_arguments: Any, **_keywords: Any) -> tuple[None, None]:
        """Does nothing: the network creates all pairs at once."""
        return None, None

    def creation_command(self) -> str:
        """Returns the line for `ip -batch` that creates the veth pair, each end in its node's namespace."""
        ends = [
            f"name {interface.name} index {index} netns {interface.node.pid} {_ONE_QUEUE} {_mac(interface)}"
            for interface, index in ((self.intf1, self.index1), (self.intf2, self.index2))
        ]
        return f"link add {ends[0]} type veth peer {ends[1]}"


def _mac(interface: Intf) -> str:
    if isinstance(interface.node, FabricHost):
        return f"address {interface.node.params['mac']}"
    return ""


class FabricHost(SpacedNode, Host):  # type: ignore[misc]
    """A host; the network configures its interface with the host's addresses."""

    def __init__(self, name: str, spaces: HostSpaces | None = None, **params: Any) -> None:
        """Creates a host.

        Args:
            name: name of the host.
            spaces: the namespaces of all hosts; None gives the host the machine's file system and root.
            params: parameters of Mininet's Host.
        """
        self.space = spaces.space(name) if spaces else None
        super().__init__(name, **params)

    def configDefault(self, **_params: Any) -> dict[str, str]:
        """Records the addresses for Mininet's own commands; the network configures them."""
        interface = self.defaultIntf()
        interface.mac = self.params["mac"]
        interface.ip, interface.prefixLen = self.params["ip"].split("/")
        return {}


@dataclass(frozen=True)
class SwitchContext:
    """The settings that all switches of a fabric share.

    Attributes:
        run_dir: the folder of their sockets, databases and logs.
        datapath: `kernel` or `user`.
        controller: the OpenFlow target that they connect to.
        link_spec: properties of their links.
        make_room: called now and then while they are started, to wait until memory is free.
    """

    run_dir: Path
    datapath: str
    controller: str
    link_spec: LinkSpec
    make_room: Callable[[], None] = lambda: None


class FabricSwitch(LastingNode, Switch):  # type: ignore[misc]
    """A switch with a namespace and an Open vSwitch of its own."""

    # Mininet sets this only for switches without a namespace, but reads it for all.
    controlIntf = None  # noqa: N815

    def __init__(self, name: str, context: SwitchContext, **params: Any) -> None:
        params["inNamespace"] = True
        super().__init__(name, **params)
        self.context = context
        self.vswitch: VSwitch | None = None

    def start(self, controllers: Sequence[Any]) -> None:
        """Restarts programs that have ended, after `stop` or a crash; `batchStartup` starts all switches."""
        if self.vswitch:
            self.vswitch.restart()

    def restart(self) -> None:
        """Restarts the switch's shell in the namespaces that the switch's other programs use."""
        super().restart()
        if self.vswitch:
            self.vswitch.settings = replace(self.vswitch.settings, namespace_pid=self.pid)

    @staticmethod
    def start_databases(switches: Sequence[FabricSwitch]) -> None:
        """Starts the databases of all switches; their ports must be known, but no interface need exist yet.

        Raises:
            CommandError: a node has ended.
            MachineError: Open vSwitch is not installed as expected.
        """
        for switch in switches:
            switch.vswitch = VSwitch(switch.settings(), switch.context.run_dir, switch.context.datapath)
        if switches:
            context = switches[0].context
            start_databases(_vswitches(switches), context.run_dir, context.controller)

    @classmethod
    def batchStartup(cls, switches: Sequence[FabricSwitch]) -> Sequence[FabricSwitch]:
        """Starts all switches and returns them when their bridges exist; their databases must already run.

        Raises:
            CommandError: a switch does not come up.
        """
        if switches:
            start_daemons(_vswitches(switches), switches[0].context.make_room)
        return switches

    def settings(self) -> SwitchSettings:
        """Returns the configuration of this switch's Open vSwitch."""
        ports = tuple(
            (interface.name, number) for interface, number in self.ports.items() if interface.name != "lo"
        )
        return SwitchSettings(self.name, int(self.dpid, 16), self.pid, ports, self.context.link_spec)

    def stop(self, deleteIntfs: bool = True) -> None:
        """Kills the switch's program; keeps its namespace, interfaces and configuration."""
        if self.vswitch:
            self.vswitch.kill_daemon()

    def dpctl(self, *arguments: str) -> str:
        """Runs `ovs-ofctl` on this switch (Mininet's `dpctl` command).

        The arguments are parsed by the shell: they may contain quotes and a pipe.
        """
        if not self.vswitch:
            return f"{self.name} is not running\n"
        command, *rest = arguments
        limit = f"--timeout={_QUERY_TIMEOUT_S}"
        # Show port names, as `ovs-ofctl` does on a terminal.
        words = ["ovs-ofctl", limit, "-OOpenFlow13", "--names", command, self.vswitch.management, *rest]
        return answer(["bash", "-c", " ".join(words)], begin=self.start_program)

    def connected(self) -> bool:
        """Returns whether the switch is connected to its controller."""
        socket = self.context.run_dir / f"{self.name}.sock"
        words = ["ovs-vsctl", f"--timeout={_QUERY_TIMEOUT_S}", f"--db=unix:{socket}", "list", "controller"]
        return bool(re.search(r"is_connected *: *true", answer(words)))


def _vswitches(switches: Sequence[FabricSwitch]) -> list[VSwitch]:
    return [switch.vswitch for switch in switches if switch.vswitch]
