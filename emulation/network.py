"""The Mininet network of a fabric: brings up real switches and takes them down together."""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from emulation import requirements
from emulation.cleanup import MERGING_NOTE, exclusive_run_dir, signals_deferred
from emulation.hosts.identity import OWN_ROOT
from emulation.hosts.spaces import HostSpaces
from emulation.mininet_library import Mininet, lg
from emulation.mininet_topo import FabricTopo
from emulation.node_configuration import check_queues, configure, set_queues, write_name_files
from emulation.node_shell import LastingNode, shells_side_by_side
from emulation.nodes import FabricHost, FabricLink, FabricSwitch, SwitchContext
from emulation.open_vswitch import VSwitch, kill_all
from emulation.shaping import renew, reshape
from emulation.subprocesses import (
    MARK_VARIABLE,
    finish,
    finish_all,
    process_mark,
    run,
    start,
)
from emulation.switches.page_merging import PageMerging, merging_available, offered
from routing.plan.model import Table
from topology.addressing import Host, hosts_of, interface_name, switch_name
from topology.base import Topology
from topology.links import LinkSpec

CONTROLLER_SOCKET = "controller"
_ANSWER_S = 10.0  # time limit for a switch's counters: a switch that hangs does not answer

# A rule that drops the packets from a host port that no other rule matches, as printed by `ovs-ofctl`.
_DROPPING = "|".join(str(int(table)) for table in (Table.INGRESS, Table.SOURCE, Table.MINIMAL))
_INGRESS_DROP = re.compile(
    rf"table=(?:{_DROPPING}), n_packets=(\d+),.* priority=1,in_port=(\d+) actions=drop"
)

Progress = Callable[[str], object]


@dataclass(frozen=True)
class NetworkSettings:
    """The description from which a fabric is built.

    Attributes:
        topology: the graph of its routers.
        hosts_per_router: p, the number of hosts at each router that has any.
        link_spec: properties of its links.
        datapath: `kernel` or `user`.
        host_root: who is root on hosts: the hosts' own root (OWN_ROOT) or the machine's (REAL_ROOT).
    """

    topology: Topology
    hosts_per_router: int
    link_spec: LinkSpec
    datapath: str
    host_root: str = OWN_ROOT

    @property
    def size(self) -> tuple[int, int, int]:
        """(number of routers, number of hosts, number of links between routers)."""
        topology = self.topology
        return topology.routers, topology.endpoints(self.hosts_per_router), topology.links


def initialize_mininet() -> None:
    """Raises limits of the process and the machine through Mininet, once.

    In namespaces Mininet cannot raise the machine's limits, and would print needless warnings at each launch.
    """
    level = lg.level
    lg.setLevel(logging.ERROR)
    try:
        Mininet.init()
    finally:
        lg.setLevel(level)


class FabricNetwork(Mininet):  # type: ignore[misc]
    """The Mininet network of a fabric; use `launched`, which always takes it down."""

    def __init__(self, settings: NetworkSettings, run_dir: Path, progress: Progress) -> None:
        self.switches: list[FabricSwitch]
        self.hosts: list[FabricHost]
        self.links: list[FabricLink]
        self.settings = settings
        self.run_dir = run_dir
        self._progress = progress
        self.started = False
        self.spaces: HostSpaces | None = None  # None if hosts share the machine's file system and users
        merges = requirements.merging_pays(*settings.size) and merging_available()
        self._merging = PageMerging(MERGING_NOTE) if merges else None
        initialize_mininet()
        context = SwitchContext(run_dir, settings.datapath, self.controller_target, settings.link_spec)
        if self._merging:
            context = replace(context, make_room=self._merging.make_room)
        super().__init__(
            topo=FabricTopo(settings.topology, settings.hosts_per_router),
            switch=partial(FabricSwitch, context=context),
            host=FabricHost,
            link=FabricLink,
            controller=None,
            build=False,
        )

    @property
    def controller_target(self) -> str:
        """The OpenFlow target to which the switches connect: a Unix socket in the run directory."""
        return f"unix:{self.run_dir / CONTROLLER_SOCKET}"

    def build(self) -> None:
        """Creates all nodes, links and interfaces and configures them."""
        self._progress(f"starting shells of {self.settings.topology.routers} switches and their hosts")
        names = write_name_files(self.run_dir, self.settings.topology, self.settings.hosts_per_router)
        if self.settings.host_root == OWN_ROOT:
            self.spaces = HostSpaces(self._machine_names(), self.run_dir, names)
            self.host = partial(FabricHost, spaces=self.spaces)
        with shells_side_by_side():
            super().build()
        self._progress(f"creating {len(self.links)} links")
        # One program creates all links, on one processor. Databases need no links and start in parallel.
        commands = self.run_dir / "links"
        commands.write_text("\n".join(link.creation_command() for link in self.links))
        creation = start(["ip", "-batch", str(commands)])
        with offered() if self._merging else contextlib.nullcontext():
            FabricSwitch.start_databases(self.switches)
        finish(creation)
        configure(self._nodes, self.settings.link_spec, names)

    def start(self) -> None:
        """Starts all switches; they then connect to their controller by themselves."""
        if not self.built:
            self.build()
        self._progress(f"starting {len(self.switches)} Open vSwitches")
        with self._merging.of_programs() if self._merging else contextlib.nullcontext():
            FabricSwitch.batchStartup(self.switches)
        check_queues(self._nodes, self.settings.link_spec)  # switches may have removed them
        self.started = True

    def finish_merging(self) -> None:
        """Waits until the kernel has finished searching for equal memory pages of the switches."""
        if self._merging:
            self._merging.finish()

    def clear_rules(self) -> None:
        """Removes all rules and groups from all switches, and the socket of a controller that has exited."""
        self.remove_controller_socket()
        for command in ("del-flows", "del-groups"):
            finish_all([vswitch.start_command(command) for vswitch in self._vswitches()])

    def set_interfaces(self, router: int, names: Iterable[str], state: str) -> None:
        """Sets interfaces of a router's switch `up` or `down`; sets the others even if one does not exist.

        Raises:
            CommandError: an interface cannot be set; a host's root can have deleted it.
        """
        batch = "\n".join(f"link set {name} {state}" for name in names)
        run(["ip", "-force", "-batch", "-"], stdin=batch, begin=self[switch_name(router)].start_program)

    def remove_controller_socket(self) -> None:
        """Removes the socket of a controller that has exited, so that another can listen on it."""
        (self.run_dir / CONTROLLER_SOCKET).unlink(missing_ok=True)

    def flush_flow_caches(self) -> None:
        """Empties the flow caches of all running switches; revalidating old flows would slow the next run."""
        finish_all([vswitch.start_cache_flush() for vswitch in self._running_vswitches()])

    def ingress_drops(self) -> dict[str, int]:
        """Counts the packets that switches dropped at ingress because the host may not send them.

        Rules of each switch count them by port.

        Returns:
            Host name -> dropped packets, for hosts with at least one.

        Raises:
            CommandError: a switch does not answer.
        """
        topology = self.settings.topology
        hosts = {
            (switch_name(host.router), topology.host_port(host.router, host.index)): host.name
            for host in hosts_of(topology, self.settings.hosts_per_router)
        }
        running = self._running_vswitches()
        dumps = finish_all([one.start_command("dump-flows") for one in running], timeout_s=_ANSWER_S)
        dropped: Counter[str] = Counter()
        for vswitch, dump in zip(running, dumps, strict=True):
            for packets, port in _INGRESS_DROP.findall(dump):
                dropped[hosts[vswitch.settings.name, int(port)]] += int(packets)
        return {host: packets for host, packets in dropped.items() if packets}

    def dump_tables(self, switch: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Returns the rules and the groups of a switch, one per line in the format of `ovs-ofctl`.

        Args:
            switch: name of the switch.

        Raises:
            CommandError: the switch does not answer.
        """
        vswitch = self[switch].vswitch
        assert vswitch
        # One after the other: if the switch ended meanwhile, the second program would keep running.
        flows, groups = (finish(vswitch.start_command(name)) for name in ("dump-flows", "dump-groups"))
        return _lines(flows), _lines(groups)

    def _vswitches(self) -> list[VSwitch]:
        return [switch.vswitch for switch in self.switches if switch.vswitch]

    def _running_vswitches(self) -> list[VSwitch]:
        return [v for v in self._vswitches() if not v.daemon_killed and not v.ended_programs()]

    def reshape(self, spec: LinkSpec) -> None:
        """Changes rate, queue, delay and loss of all links while no packets are in flight.

        Args:
            spec: the new properties. The MTU must stay the same. No queue may be longer than when the fabric
                started, because the buffers of a userspace datapath were sized for that.
        """
        same_structure = spec.impaired == self.settings.link_spec.impaired
        setting = reshape if same_structure else renew
        self.settings = replace(self.settings, link_spec=spec)
        set_queues(self._nodes, spec, setting)
        check_queues(self._nodes, spec)

    def stop(self, hurried: Callable[[], bool] = lambda: False) -> None:
        """Takes down everything that was built; may be called more than once.

        Args:
            hurried: returns whether to skip steps that may take long.
        """
        if self._merging:
            self._merging.end()
        kill_all(self._vswitches())
        nodes = self._nodes
        for shell in [node.shell for node in nodes if node.shell]:
            shell.kill()
        for node in nodes:
            node.terminate()
        if self.spaces:
            self.spaces.close(hurried)
        self.switches, self.hosts, self.links = [], [], []

    def ended_processes(self) -> list[str]:
        """Returns descriptions of the switch programs, node shells and hosts that have ended."""
        shells = [f"the shell of {node.name}" for node in self.nodes_without_shell()]
        hosts = [f"the first process of {host.name}" for host in self.hosts if host.ended]
        return self.ended_programs() + shells + hosts

    def ended_programs(self) -> list[str]:
        """Returns descriptions of the switch programs that have ended unexpectedly."""
        return [
            f"{program} of {switch.name}"
            for switch in self.switches
            if switch.vswitch
            for program in switch.vswitch.ended_programs()
        ]

    def nodes_without_shell(self) -> list[LastingNode]:
        """Returns the nodes whose shells have ended."""
        return [node for node in self._nodes if node.shell_ended]

    @property
    def _nodes(self) -> list[LastingNode]:
        return [*self.switches, *self.hosts]

    @contextlib.contextmanager
    def working_folders_in(self, results: Path) -> Iterator[None]:
        """Places the hosts' working folders in a results folder for the duration of the block."""
        before = self.spaces.keep_in(results) if self.spaces else None
        try:
            yield
        finally:
            if self.spaces:
                self.spaces.keep_in(before)

    def namespace_pids(self) -> dict[str, int]:
        """Returns host name -> id of a process in the host's network namespace."""
        return {host.name: host.pid for host in self.hosts}

    def host_interface(self, host: Host) -> tuple[int, str]:
        """Returns (id of a process in the host's network namespace, name of the host's interface)."""
        return self[host.name].pid, host.interface

    def switch_interface(self, host: Host) -> tuple[int, str]:
        """Returns (id of a process in the switch's network namespace, name of its interface to a host)."""
        port = self.settings.topology.host_port(host.router, host.index)
        return self[switch_name(host.router)].pid, interface_name(host.router, port)

    def first_processes(self) -> dict[str, int]:
        """Returns host name -> id of the host's first process, for hosts with their own root."""
        return {host.name: host.space.pid for host in self.hosts if host.space}

    def _machine_names(self) -> dict[str, str]:
        """Returns host name -> the host's own hostname, which must not contain underscores."""
        hosts = hosts_of(self.settings.topology, self.settings.hosts_per_router)
        return {host.name: host.name.replace("_", "-") for host in hosts}


def _lines(dump: str) -> tuple[str, ...]:
    """Returns the lines of a switch's reply without its heading."""
    lines = (line.strip() for line in dump.splitlines())
    return tuple(line for line in lines if line and "_REPLY" not in line and not line.startswith("OFPST_"))


@contextlib.contextmanager
def launched(settings: NetworkSettings, progress: Progress = lambda _step: None) -> Iterator[FabricNetwork]:
    """Yields a fabric that the caller builds and starts, and always takes it down at the end.

    All processes that nodes and users of the fabric started end with it.

    Args:
        settings: the description of the fabric.
        progress: called with a description of each step, and of processes that could not be killed.

    Raises:
        MachineError: not root, no Open vSwitch, another fabric is running, or not enough memory.
        CommandError: a component of the fabric could not be set up.
    """
    requirements.require_emulation()
    if settings.link_spec.impaired:
        requirements.require_netem()
    requirements.require_memory(*settings.size)
    with exclusive_run_dir(progress) as run_dir, _marked():
        network = FabricNetwork(settings, run_dir, progress)
        try:
            yield network
        finally:
            with signals_deferred() as pending:
                network.stop(hurried=lambda: bool(pending))


@contextlib.contextmanager
def _marked() -> Iterator[None]:
    """Marks all processes started during the block, including Mininet's shells, as this fabric's."""
    os.environ[MARK_VARIABLE] = process_mark(os.getpid())
    try:
        yield
    finally:
        del os.environ[MARK_VARIABLE]
