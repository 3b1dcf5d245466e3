"""Live fabric: the emulated network with its controller, its plan proven and installed."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from controller.occupancy.queue_handoff import Queues
from controller.occupancy.queues import QueueReader, QueueState, SwitchQueues
from controller.occupancy.source import NETLINK, PORT_STATISTICS
from controller.openflow.frameworks import choose
from controller.reports import Planned, Proven
from emulation.network import FabricNetwork, NetworkSettings, launched
from emulation.requirements import choose_datapath
from experiments.controller_process import ControllerProcess
from experiments.events.base import OnEvent
from experiments.events.notices import Notice
from experiments.events.progress import SwitchesConnected
from experiments.planned_fabric import PlannedFabric
from experiments.spec.fabric import FabricOptions
from experiments.spec.files.inputs import digests_of
from routing.algorithms.routing import Routing
from routing.plan.digest import plan_digest
from routing.registry import routing
from topology.drains import drain_faults, drain_of
from topology.errors import MachineError, UsageError
from topology.faults import Component, Fault
from topology.networkx_graphs import NetworkxTopology
from traffic.engine import sockets

_HOST_PORT = 0  # number of a host's only port, whose interface is like h1_1-eth0


@dataclass(frozen=True, kw_only=True)
class LiveFabric(PlannedFabric):
    """A fabric that is up: its network and its controller run, and its plan is installed.

    Attributes:
        options, bringup_s, datapath, occupancy, framework: see PlannedFabric.
        network: its Mininet network.
        controller: its controller.
        active_failures: components that have failed and stay failed during a measurement.
        drained: links and switches that are drained and stay drained during a measurement.
    """

    network: FabricNetwork
    controller: ControllerProcess
    active_failures: tuple[Component, ...] = ()
    drained: tuple[Component, ...] = ()

    @property
    def standing_faults(self) -> tuple[Fault, ...]:
        """The drains and failures that stay during a measurement, as faults at time 0."""
        # Drains come first: a drained component may fail, but one that has failed cannot be drained.
        topology = self.options.topology
        drains = drain_faults(topology, drain_of(topology, self.drained))
        return (*drains, *(Fault(0.0, component) for component in self.active_failures))

    def reset(self) -> None:
        """Resets the fabric before a measurement: no detours, and empty flow caches.

        Raises:
            UsageError: the routing adapts, and its controller does not run.
        """
        if self.occupancy is not None and not self.controller.running:
            raise UsageError(f"{self.options.routing} needs its controller to adapt; start it, then measure")
        self.network.finish_merging()
        if self.occupancy is not None:
            self.controller.restore_minimal_paths()
        self.network.flush_flow_caches()

    def restart_controller(self, on_event: OnEvent) -> None:
        """Restarts a stopped controller, to which the switches then connect by themselves.

        Args:
            on_event: called with each event.

        Raises:
            ControllerError: it could not be started.
        """
        self.network.remove_controller_socket()
        self.controller.start()
        if self.occupancy is not None:
            with _queues(self.options, self.network, on_event) as queues:
                self.controller.hand_over(queues)

    def ended_processes(self) -> list[str]:
        """Returns descriptions of the processes that have ended although they should run."""
        ended = [] if self.controller.running or self.controller.stopped else ["the controller"]
        return ended + self.network.ended_processes()


# Function that starts to observe a live fabric; the observation ends with the returned context.
Watching = Callable[[LiveFabric], AbstractContextManager[object]]


def unwatched(_fabric: LiveFabric) -> AbstractContextManager[object]:
    """Returns a context in which nothing observes a fabric."""
    return contextlib.nullcontext()


@contextlib.contextmanager
def live_fabric(
    options: FabricOptions, on_event: OnEvent, watching: Watching = unwatched
) -> Iterator[LiveFabric]:
    """Brings up a fabric, yields it, and always takes it down at the end.

    Args:
        options: specification of the fabric.
        on_event: called with each event.
        watching: starts observation of the fabric.

    Raises:
        MachineError: the machine lacks a requirement.
        NegativeResult: the plan fails its proof; nothing was installed.
        CommandError, ControllerError: a process could not be started.
    """
    with (
        prepared_network(options, on_event) as network,
        controlled(options, network, on_event, watching) as fabric,
    ):
        yield fabric
        on_event(Notice("fabric-down"))


@contextlib.contextmanager
def prepared_network(options: FabricOptions, on_event: OnEvent) -> Iterator[FabricNetwork]:
    """Yields a prepared network, which `controlled` builds and starts; takes it down at the end.

    Args:
        options: specification of the fabric.
        on_event: called with each event.

    Raises:
        MachineError: the machine lacks a requirement.
    """
    choose(options.framework)  # fails early if the framework is not installed
    datapath = choose_datapath(options.datapath)
    settings = NetworkSettings(options.topology, options.hosts, options.links, datapath, options.host_root)
    with launched(settings, lambda step: on_event(Notice("emulation-step", description=step))) as network:
        yield network


@contextlib.contextmanager
def controlled(
    options: FabricOptions, network: FabricNetwork, on_event: OnEvent, watching: Watching = unwatched
) -> Iterator[LiveFabric]:
    """Starts a network's controller, yields the fabric once its plan is installed, then stops the controller.

    The same network can be used for several routings in turn: rules of the previous routing are removed.

    Args:
        options: specification of the fabric.
        network: its network, from `prepared_network`.
        on_event: called with each event.
        watching: starts observation of the fabric.

    Raises:
        MachineError: the machine lacks a requirement.
        NegativeResult: the plan fails its proof; nothing was installed.
        CommandError, ControllerError: a process could not be started.
    """
    started = time.monotonic()
    with options.reading_inputs():
        digests_of(map(str, options.params.values()))  # the controller reads the graph's file anew
    if network.started:
        network.clear_rules()
    with _controller(options, network) as controller:  # plans and proves while the network is built
        fabric = LiveFabric(
            options,
            datapath=network.settings.datapath,
            framework=controller.framework,
            network=network,
            controller=controller,
        )
        digest = plan_digest(fabric.plan)
        if not network.built:
            network.build()
        chosen = routing(options.routing)
        if not chosen.oblivious:
            _report_simulated(chosen, on_event)
            with _queues(options, network, on_event) as queues:
                controller.hand_over(queues)
                fabric = fabric.changed(occupancy=NETLINK if queues.switches else PORT_STATISTICS)
        controller.wait_until_listening()
        controller.check_plan(digest)
        _report_plan(controller, on_event)
        if not network.started:
            network.start()
        built = time.monotonic()
        fabric.bringup_s.update(build=built - started, **_installed(controller, options, built, on_event))
        on_event(Notice("plan-installed", seconds=sum(fabric.bringup_s.values())))
        with watching(fabric):
            yield fabric


def _report_simulated(chosen: Routing, on_event: OnEvent) -> None:
    """Reports given parameters of a routing that switches ignore."""
    per_packet = chosen.packet_law.own if chosen.packet_law else ()
    names = tuple(parameter.name for parameter in per_packet if parameter.key in chosen.given)
    if names:
        on_event(Notice("parameters-simulated", routing=chosen.name, names=names))


def _installed(
    controller: ControllerProcess, options: FabricOptions, built: float, on_event: OnEvent
) -> dict[str, float]:
    """Waits until all switches have the plan.

    Returns:
        Duration in s of the steps `connect` and `install`, after the time `built` at which the network was
        complete; 0 for a step that had ended before.
    """
    times = controller.wait_until_installed(
        options.topology.routers, lambda *counts: on_event(SwitchesConnected(*counts))
    )
    return {
        "connect": max(0.0, times.connected_s - built),
        "install": max(0.0, times.installed_s - max(built, times.connected_s)),
    }


def _controller(options: FabricOptions, network: FabricNetwork) -> ControllerProcess:
    params, topology = options.params, options.topology
    if isinstance(topology, NetworkxTopology):  # the controller's process reads it from a file
        path = network.run_dir / topology.file_name
        path.write_text(topology.graphml, encoding="utf-8")
        params = {"from": str(path)}
    return ControllerProcess(
        options.name,
        params,
        options.hosts,
        options.routing,
        network.controller_target,
        network.run_dir / "controller.log",
        local_repair=options.local_repair,
        ordered_repair=options.ordered_repair,
        framework=options.framework,
        ports=None
        if topology.given_ports is None
        else [topology.router_ports(router, options.hosts) for router in range(topology.routers)],
    )


@contextlib.contextmanager
def _queues(options: FabricOptions, network: FabricNetwork, on_event: OnEvent) -> Iterator[Queues]:
    """Yields the sockets from which the controller reads the switches' queues.

    There are no sockets if the controller must request port statistics from the switches instead.
    """
    spec = options.links
    with contextlib.ExitStack() as opened:
        switches: dict[int, SwitchQueues] = {}
        if options.occupancy == NETLINK:
            try:
                switches = open_queues(network, opened)
            except (OSError, MachineError) as error:
                on_event(Notice("queues-unreadable", reason=str(error)))
        yield Queues(switches, spec.queue_packets, spec.rate_bps)


def open_queues(
    network: FabricNetwork, opened: contextlib.ExitStack, *, groups: int = 0
) -> dict[int, SwitchQueues]:
    """Opens a netlink socket in every switch's namespace, to read its queues.

    Args:
        network: the fabric's network, built.
        opened: stack that closes the sockets.
        groups: multicast groups of kernel messages that the sockets receive.

    Returns:
        Datapath id -> queues of the switch's ports whose interfaces exist.

    Raises:
        OSError, MachineError: the machine does not permit it.
    """
    switches = {}
    with sockets.namespaces():
        for switch in network.switches:
            settings = switch.settings()
            sockets.enter(settings.namespace_pid)
            numbers = {name: number for number, name in socket.if_nameindex()}
            ports = {numbers[name]: number for name, number in settings.ports if name in numbers}
            netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            opened.enter_context(netlink)
            netlink.bind((0, groups))
            switches[settings.dpid] = SwitchQueues(netlink.fileno(), ports)
    return switches


def open_queue_readers(network: FabricNetwork) -> dict[int, QueueReader]:
    """Opens for every switch a reader of its queues, which the caller must close.

    Args:
        network: the fabric's network, built.

    Returns:
        Datapath id -> reader of the queues that `open_queues` returns.

    Raises:
        OSError, MachineError: the machine does not permit it.
    """
    with contextlib.ExitStack() as opened:
        return {
            number: QueueReader(replace(queues, descriptor=os.dup(queues.descriptor)))
            for number, queues in open_queues(network, opened).items()
        }


def read_host_queues(network: FabricNetwork) -> dict[str, QueueState]:
    """Returns host -> state of its queue; hosts that cannot be read are left out.

    It takes about 0.1 ms per host; do not call it repeatedly while traffic runs.

    Args:
        network: the fabric's network, built.
    """
    states: dict[str, QueueState] = {}
    with sockets.namespaces():
        for name, pid in network.namespace_pids().items():
            with contextlib.suppress(OSError, MachineError):  # the host's namespace is gone
                sockets.enter(pid)
                states[name] = _read_queue(socket.if_nametoindex(f"{name}-eth{_HOST_PORT}"))
    return states


def _read_queue(interface: int) -> QueueState:
    """Returns the state of an interface's queue, given the interface's index in the current namespace."""
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    reader = QueueReader(SwitchQueues(netlink.detach(), {interface: _HOST_PORT}))
    try:
        return reader.read().get(_HOST_PORT, QueueState(0, 0, 0, 0))
    finally:
        reader.close()


def _report_plan(controller: ControllerProcess, on_event: OnEvent) -> None:
    planned, proven = controller.latest(Planned), controller.latest(Proven)
    on_event(
        Notice(
            "plan-proven",
            pairs=proven.pairs,
            max_hops=proven.max_hops,
            rules=planned.flows,
            groups=planned.groups,
        )
    )


def report_ingress_drops(
    network: FabricNetwork, on_event: OnEvent, before: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Reports the packets of hosts that switches dropped at ingress, if there are any.

    Args:
        network: the fabric's network.
        on_event: called with the event.
        before: earlier result of `FabricNetwork.ingress_drops`, which is subtracted.

    Returns:
        Host -> number of dropped packets; only hosts with dropped packets.
    """
    dropped = dict(Counter(network.ingress_drops()) - Counter(before))
    if dropped:
        on_event(Notice("ingress-drops", packets=dropped))
    return dropped
