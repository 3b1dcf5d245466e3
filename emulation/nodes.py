"""Mininet nodes and links whose interfaces `emulation.network` creates all at once.

Mininet sets up each interface by several commands through the node's shell, which takes most of the time that
a large network's build needs. Here a link only notes its two ends, and `emulation.network` has the kernel
create all veth pairs, queues and addresses by one command a node.
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

# A veth that is made with a queue for each processor uses one all the same, and for each end the kernel waits
# until all processors know.
_ONE_QUEUE = "numtxqueues 1 numrxqueues 1"
_QUERY_TIMEOUT_S = 10  # of a command that asks a switch; one that hangs does not answer


class FabricInterface(Intf):  # type: ignore[misc]
    """One end of a link; its interface exists once the network has created all of them."""

    def __init__(self, name: str, node: Any = None, port: int | None = None, **params: Any) -> None:
        params["moveIntfFn"] = _made_in_place
        super().__init__(name, node=node, port=port, **params)

    def config(self, **_params: Any) -> dict[str, str]:
        """Does nothing: the network configures all interfaces at once."""
        return {}


def _made_in_place(_interface: Intf, _node: Any) -> None:
    """Replaces Mininet's move of an interface to its node: these are created in their namespaces."""


class FabricLink(Link):  # type: ignore[misc]
    """A link that `emulation.network` creates together with all others."""

    # Interface indexes, different at the two ends of a link: where they are equal, Linux takes the veth for
    # its own lower device and reports a lost carrier some 500 ms late.
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
        """Takes the host's space among those of all hosts; None makes its root the machine's."""
        self.space = spaces.space(name) if spaces else None
        super().__init__(name, **params)

    def configDefault(self, **_params: Any) -> dict[str, str]:
        """Notes the addresses, which Mininet's own commands read; the network configures them."""
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

    # Mininet gives this only to switches without a namespace, and reads it of all.
    controlIntf = None  # noqa: N815

    def __init__(self, name: str, context: SwitchContext, **params: Any) -> None:
        params["inNamespace"] = True
        super().__init__(name, **params)
        self.context = context
        self.vswitch: VSwitch | None = None

    def start(self, controllers: Sequence[Any]) -> None:
        """Starts the programs that do not run, after `stop` or a crash; `batchStartup` starts all of them."""
        if self.vswitch:
            self.vswitch.start_again()

    def start_again(self) -> None:
        """Starts a shell again; the switch's programs are started through it."""
        super().start_again()
        if self.vswitch:
            self.vswitch.settings = replace(self.vswitch.settings, namespace_pid=self.pid)

    @staticmethod
    def start_databases(switches: Sequence[FabricSwitch]) -> None:
        """Starts the databases of all switches, whose ports are known; their interfaces need not exist yet.

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
        """Starts all switches, which have databases, and returns them when their bridges exist.

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
        """Kills the switch's program; its namespace, interfaces and configuration stay."""
        if self.vswitch:
            self.vswitch.kill_daemon()

    def dpctl(self, *arguments: str) -> str:
        """Runs `ovs-ofctl` on this switch (Mininet's `dpctl` command).

        The words are those of a line of the shell: they may have quotes and end in a pipe.
        """
        if not self.vswitch:
            return f"{self.name} is not running\n"
        command, *rest = arguments
        limit = f"--timeout={_QUERY_TIMEOUT_S}"
        # Names of ports, as on a terminal.
        words = ["ovs-ofctl", limit, "-OOpenFlow13", "--names", command, self.vswitch.management, *rest]
        return answer(["bash", "-c", " ".join(words)], begin=self.start_program)

    def connected(self) -> bool:
        """Returns whether the switch is connected to its controller."""
        socket = self.context.run_dir / f"{self.name}.sock"
        words = ["ovs-vsctl", f"--timeout={_QUERY_TIMEOUT_S}", f"--db=unix:{socket}", "list", "controller"]
        return bool(re.search(r"is_connected *: *true", answer(words)))


def _vswitches(switches: Sequence[FabricSwitch]) -> list[VSwitch]:
    return [switch.vswitch for switch in switches if switch.vswitch]
