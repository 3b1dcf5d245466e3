"""Faults done to a running fabric: cables pulled, switches without power, programs that die.

A pulled cable is a veth pair one of whose ends is set down: the other then has no carrier, as both would
have. It is an end that the controller does not set down meanwhile (`controller.fabric_state`): of a flapping
link that of the lower router, at a switch that is dead that switch's own.
"""

from __future__ import annotations

from emulation.network import FabricNetwork
from emulation.open_vswitch import VSwitch
from topology.addressing import interface_name, switch_name
from topology.base import Link
from topology.faults import Element, ElementKind, link_element


class FaultInjector:
    """What is broken of one network."""

    def __init__(self, network: FabricNetwork) -> None:
        self._network = network
        self._topology = network.settings.topology
        self._pulled: dict[Link, tuple[int, int]] = {}  # the end that is down: router, port
        self._powerless: set[int] = set()
        self._hanging: set[int] = set()

    def fail(self, element: Element) -> None:
        """Breaks something; what is broken already stays so.

        Raises:
            CommandError: the machine does not do it.
        """
        match element.kind:
            case ElementKind.LINK:
                for link in self._covered(element):
                    self._pull(link)
            case ElementKind.SWITCH:
                (router,) = element.routers
                self._powerless.add(router)
                self._set_interfaces(router, "down")
                self._vswitch(router).kill_daemon()
            case ElementKind.HANG:
                (router,) = element.routers
                self._hanging.add(router)
                self._vswitch(router).kill_daemon()
            case ElementKind.CONTROLLER:
                raise ValueError("the controller is no part of the network")

    def restore(self, element: Element) -> None:
        """Mends something; a switch comes back without rules. What is whole stays so. Errors as `fail`."""
        match element.kind:
            case ElementKind.LINK:
                for link in self._covered(element):
                    end = self._pulled.pop(link, None)
                    if end and end[0] not in self._powerless:
                        self._set(end[0], [end[1]], "up")
            case ElementKind.SWITCH:
                (router,) = element.routers
                self._powerless.discard(router)
                self._set_interfaces(router, "up")
                self._start_if_whole(router)
            case ElementKind.HANG:
                (router,) = element.routers
                self._hanging.discard(router)
                self._start_if_whole(router)
            case ElementKind.CONTROLLER:
                raise ValueError("the controller is no part of the network")

    def restore_all(self) -> None:
        """Mends everything."""
        for router in sorted(self._powerless):
            self.restore(Element(ElementKind.SWITCH, (router,)))
        for router in sorted(self._hanging):
            self.restore(Element(ElementKind.HANG, (router,)))
        for link in list(self._pulled):
            self.restore(link_element(link))

    def _covered(self, element: Element) -> list[Link]:
        return [link for link in self._topology.link_list if element.covers(link)]

    def _start_if_whole(self, router: int) -> None:
        if router not in self._powerless and router not in self._hanging:
            self._vswitch(router).start_daemon_again()

    def _pull(self, link: Link) -> None:
        if link not in self._pulled:
            dead = self._powerless | self._hanging
            router, port = next((end for end in link.ends if end[0] in dead), link.ends[0])
            self._pulled[link] = (router, port)
            self._set(router, [port], "down")

    def _set_interfaces(self, router: int, state: str) -> None:
        """Sets all interfaces of a switch up or down, but for the ends of pulled cables."""
        pulled = {port for where, port in self._pulled.values() if where == router}
        settings = self._vswitch(router).settings
        self._set(router, [number for _, number in settings.ports if number not in pulled], state)

    def _set(self, router: int, ports: list[int], state: str) -> None:
        self._network.set_interfaces(router, [interface_name(router, port) for port in ports], state)

    def _vswitch(self, router: int) -> VSwitch:
        vswitch: VSwitch | None = self._network[switch_name(router)].vswitch
        assert vswitch
        return vswitch
