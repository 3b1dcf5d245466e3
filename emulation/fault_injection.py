"""Fault injection into a running fabric: failures of links, switches, and switch programs.

A link fails when one end of its veth pair is set down: the other end loses its carrier, as with a pulled
cable. The chosen end is one that the controller does not set down itself (`controller.fabric_state`): if a
switch failed, the end at this switch, else the end at the router with the lower index.
"""

from __future__ import annotations

from collections.abc import Callable

from emulation.network import FabricNetwork
from emulation.open_vswitch import VSwitch
from emulation.subprocesses import CommandError
from topology.addressing import Host, interface_name, switch_name
from topology.base import Link
from topology.faults import Component, ComponentKind, link_component


class FaultInjector:
    """The faults of one network: links that are down, switches without power, and hanging switches."""

    def __init__(self, network: FabricNetwork) -> None:
        self._network = network
        self._topology = network.settings.topology
        self._links_down: dict[Link, tuple[int, int]] = {}  # link -> the end that is down: router, port
        self._host_links_down: set[Component] = set()
        self._powered_off: set[int] = set()
        self._hanging: set[int] = set()

    @property
    def active_failures(self) -> tuple[Component, ...]:
        """The links, switches and switch programs that have failed and were not restored."""
        switches = [Component(ComponentKind.SWITCH, (router,)) for router in sorted(self._powered_off)]
        hanging = [Component(ComponentKind.HANG, (router,)) for router in sorted(self._hanging)]
        hosts = sorted(self._host_links_down, key=lambda component: (component.routers, component.location))
        return (*switches, *hanging, *map(link_component, tuple(self._links_down)), *hosts)

    def fail(self, component: Component) -> None:
        """Makes a link, switch or switch program fail; does nothing if it has already failed.

        Raises:
            CommandError: a command for this fails.
        """
        match component.kind:
            case ComponentKind.LINK if component.host:
                self._host_links_down.add(component)
                self._set(*self._host_end(component.host), "down")
            case ComponentKind.LINK:
                for link in self._covered(component):
                    self._set_link_down(link)
            case ComponentKind.SWITCH:
                (router,) = component.routers
                self._powered_off.add(router)
                try:
                    self._set_interfaces(router, "down")
                finally:
                    self._vswitch(router).kill_daemon()
            case ComponentKind.HANG:
                (router,) = component.routers
                self._hanging.add(router)
                self._vswitch(router).kill_daemon()
            case ComponentKind.CONTROLLER:
                raise ValueError("the controller is not part of the network")

    def restore(self, component: Component) -> None:
        """Restores a link, switch or switch program that has failed; a switch comes back without rules.

        Raises:
            CommandError: a command for this fails.
        """
        match component.kind:
            case ComponentKind.LINK if component.host:
                self._host_links_down.discard(component)
                if component.host.router not in self._powered_off:
                    self._set(*self._host_end(component.host), "up")
            case ComponentKind.LINK:
                for link in self._covered(component):
                    end = self._links_down.pop(link, None)
                    if end and end[0] not in self._powered_off:
                        self._set(end[0], [end[1]], "up")
            case ComponentKind.SWITCH:
                (router,) = component.routers
                self._powered_off.discard(router)
                try:
                    self._set_interfaces(router, "up")
                finally:
                    self._start_unless_failed(router)
            case ComponentKind.HANG:
                (router,) = component.routers
                self._hanging.discard(router)
                self._start_unless_failed(router)
            case ComponentKind.CONTROLLER:
                raise ValueError("the controller is not part of the network")

    def restore_all(self, before_each: Callable[[], object] = lambda: None) -> None:
        """Restores everything.

        Args:
            before_each: called before each component is restored; an error that it raises ends this.

        Raises:
            CommandError: some faults could not be undone; the text names them, and all others are undone
                unless `before_each` raised an error, which is then the cause.
        """
        failed: list[str] = []
        ended: Exception | None = None
        for component in self.active_failures:
            try:
                before_each()
            except Exception as error:
                if not failed:
                    raise
                ended = error
                break
            try:
                self.restore(component)
            except CommandError as error:
                failed.append(f"{component.name} ({error.reason or error})")
        if failed:
            outcome = "restored everything except" if ended is None else f"{ended}; could not restore"
            raise CommandError(f"{outcome} {', '.join(failed)}") from ended

    def _covered(self, component: Component) -> list[Link]:
        return [link for link in self._topology.link_list if component.covers(link)]

    def _host_end(self, host: Host) -> tuple[int, list[int]]:
        """Returns the switch's end of a host's link: the router, and a list with the port."""
        return host.router, [self._topology.host_port(host.router, host.index)]

    def _start_unless_failed(self, router: int) -> None:
        if router not in self._powered_off and router not in self._hanging:
            self._vswitch(router).restart()

    def _set_link_down(self, link: Link) -> None:
        if link not in self._links_down:
            dead = self._powered_off | self._hanging
            router, port = next((end for end in link.ends if end[0] in dead), link.ends[0])
            self._links_down[link] = (router, port)
            self._set(router, [port], "down")

    def _set_interfaces(self, router: int, state: str) -> None:
        """Sets all interfaces of a switch up or down, except the ends of failed links."""
        down = [*self._links_down.values()]
        down += [(end, ports[0]) for end, ports in map(self._host_end, self._hosts_cut_off())]
        excepted = {port for end_router, port in down if end_router == router}
        settings = self._vswitch(router).settings
        self._set(router, [number for _, number in settings.ports if number not in excepted], state)

    def _hosts_cut_off(self) -> list[Host]:
        return [component.host for component in self._host_links_down if component.host]

    def _set(self, router: int, ports: list[int], state: str) -> None:
        self._network.set_interfaces(router, [interface_name(router, port) for port in ports], state)

    def _vswitch(self, router: int) -> VSwitch:
        vswitch: VSwitch | None = self._network[switch_name(router)].vswitch
        assert vswitch
        return vswitch
