"""Configuration of nodes by system calls in their namespaces: files, queues and addresses of interfaces.

Starting the programs for this (`mount`, `tc`, `ip`, `ethtool`) would take longer than the work itself.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from emulation.kernel.disciplines import Shaping, read_shaping
from emulation.kernel.namespaces import MOUNTS, NETWORK, in_namespaces
from emulation.kernel.rtnetlink import RouteSocket, add_address
from emulation.kernel.system_calls import bind
from emulation.nodes import FabricHost, FabricSwitch
from emulation.shaping import check_impairment, check_shaping, shape
from emulation.subprocesses import CommandError
from topology.addressing import format_ip, hosts_of, switch_name
from topology.base import Topology
from topology.links import LinkSpec

IFF_UP, IFF_PROMISC = 0x1, 0x100
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCSIFMTU, _SIOCETHTOOL = 0x8913, 0x8914, 0x8922, 0x8946
_ETHTOOL_STXCSUM = 0x17
_NAME_BYTES, _REQUEST_BYTES = 16, 40  # of struct ifreq


class InterfaceSettings:
    """Sets up the interfaces of the namespace in which it is created.

    The methods raise OSError if the kernel refuses.
    """

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def __enter__(self) -> InterfaceSettings:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._socket.close()

    def add_flags(self, name: str, flags: int) -> None:
        """Sets flags of an interface (IFF_UP, IFF_PROMISC) and keeps all others."""
        answer = self._request(_SIOCGIFFLAGS, name, b"")
        present = struct.unpack_from("=H", answer, _NAME_BYTES)[0]
        self._request(_SIOCSIFFLAGS, name, struct.pack("=H", present | flags))

    def set_mtu(self, name: str, mtu: int) -> None:
        """Sets the MTU of an interface, in bytes."""
        self._request(_SIOCSIFMTU, name, struct.pack("=i", mtu))

    def compute_checksums(self, name: str) -> None:
        """Makes the kernel compute the checksums of sent packets, like `ethtool -K NAME tx off`."""
        setting = ctypes.create_string_buffer(struct.pack("=II", _ETHTOOL_STXCSUM, 0))
        self._request(_SIOCETHTOOL, name, struct.pack("@P", ctypes.addressof(setting)))

    def _request(self, number: int, name: str, value: bytes) -> bytes:
        words = name.encode().ljust(_NAME_BYTES, b"\0") + value
        return fcntl.ioctl(self._socket, number, words.ljust(_REQUEST_BYTES, b"\0"))


_HOSTS_FILE, _RESOLVER_FILE = Path("/etc/hosts"), Path("/etc/resolv.conf")
# Nodes cannot reach a name server. Programs would wait 10 s for one that is configured here, even to resolve
# names of hosts: `getent hosts` asks for an IPv6 address first, which no host has.
_RESOLVER = "# nodes of a fabric have no name server\n"


def write_name_files(folder: Path, topology: Topology, hosts_per_router: int) -> dict[Path, Path]:
    """Writes the nodes' /etc/hosts and /etc/resolv.conf into a folder.

    Args:
        folder: the folder, which must exist as long as the nodes do.
        topology: the graph of routers.
        hosts_per_router: concentration p, the number of hosts at each router that has hosts.

    Returns:
        Path in the nodes -> written file, for the paths that exist on the machine.
    """
    machine = _machine_names()
    contents = {_HOSTS_FILE: hosts_text(topology, hosts_per_router, machine), _RESOLVER_FILE: _RESOLVER}
    files = {place: folder / place.name for place in contents}
    for place, file in files.items():
        file.write_text(contents[place])
        file.chmod(0o644)
    return {place: file for place, file in files.items() if place.exists()}


def hosts_text(topology: Topology, hosts_per_router: int, machine: str) -> str:
    """Returns the content of the nodes' /etc/hosts: the fabric's hosts, then the machine's entries.

    Args:
        topology: the graph of routers.
        hosts_per_router: concentration p, the number of hosts at each router that has hosts.
        machine: content of the machine's own file.
    """
    hosts = [f"{format_ip(host.ip)} {host.name}" for host in hosts_of(topology, hosts_per_router)]
    switches = f"# {switch_name(0)} to {switch_name(topology.routers - 1)} are switches, without an address"
    return "\n".join(["# hosts of the fabric", *hosts, switches, "# names of the machine", machine])


def _machine_names() -> str:
    """Returns the content of the machine's /etc/hosts; empty if there is none."""
    try:
        return _HOSTS_FILE.read_text(errors="replace")
    except OSError:
        return ""


_IPV6_SETTINGS = [Path(f"/proc/sys/net/ipv6/conf/{kind}/disable_ipv6") for kind in ("all", "default")]
# Accept the MTU of a path only from ICMP errors that the transport verifies. Otherwise any host of the fabric
# could shorten other hosts' TCP segments for ten minutes with one frame: all links have the same MTU.
_PATH_MTU_SETTING, _ONLY_VERIFIED = Path("/proc/sys/net/ipv4/ip_no_pmtu_disc"), "3"
_Result = TypeVar("_Result")


def configure(nodes: Sequence[Any], spec: LinkSpec, names: Mapping[Path, Path]) -> None:
    """Sets up the interfaces of nodes after their links were created.

    Args:
        nodes: switches and hosts.
        spec: properties of the links.
        names: path in the nodes -> file of the machine that appears there.

    Raises:
        CommandError: a node cannot be configured.
    """
    for node in nodes:
        if not _has_space(node):  # a host's space has the files in its file system already
            _inside(node, lambda: _mount(names), NETWORK | MOUNTS)
        _inside(node, _set_protocols)
        # Before the interfaces are up: once they are, the kernel waits for all processors at each change.
        set_queues([node], spec, shape)
        _inside(node, partial(_set_up, node, spec))


def set_queues(
    nodes: Sequence[Any], spec: LinkSpec, setting: Callable[[RouteSocket, int, LinkSpec], None]
) -> None:
    """Sets the shaping of all interfaces of nodes; only links between routers have delay or loss.

    Args:
        nodes: switches and hosts.
        spec: properties of the links.
        setting: sets the shaping of an interface, such as `shaping.shape`.

    Raises:
        CommandError: the kernel refuses.
    """
    for node in nodes:
        _inside(node, partial(_set_queues, node, spec, setting))


def check_queues(nodes: Sequence[Any], spec: LinkSpec) -> None:
    """Checks that the kernel reports the intended shaping for all interfaces of nodes.

    Args:
        nodes: switches and hosts.
        spec: properties of the links.

    Raises:
        CommandError: an interface has different shaping, or the kernel refuses.
    """
    for node in nodes:
        reported = _inside(node, _read_queues)
        check_shaping(_interfaces(node), spec, reported)
        check_impairment(_interfaces_to_routers(node), spec, reported)


def _has_space(node: Any) -> bool:
    return isinstance(node, FabricHost) and node.space is not None


def _inside(node: Any, action: Callable[[], _Result], kinds: int = NETWORK) -> _Result:
    """Runs an action in a node's namespaces and returns its result; raises CommandError if it fails."""
    try:
        return in_namespaces(node.pid, action, kinds)
    except OSError as error:
        raise CommandError(f"cannot configure {node.name}: {error.strerror}") from error


def _interfaces(node: Any) -> list[str]:
    return [interface.name for interface in node.intfList() if interface.name != "lo"]


def _interfaces_to_routers(node: Any) -> list[str]:
    """Returns the interfaces of a switch that lead to other switches."""
    return [
        interface.name
        for interface in node.intfList()
        if interface.link
        and all(isinstance(end.node, FabricSwitch) for end in (interface.link.intf1, interface.link.intf2))
    ]


def _mount(names: Mapping[Path, Path]) -> None:
    for place, file in names.items():
        bind(str(file), str(place))


def _set_protocols() -> None:
    """Turns IPv6 off (no foreign router solicitations); ignores unverified ICMP errors about MTUs."""
    _PATH_MTU_SETTING.write_text(_ONLY_VERIFIED)
    for setting in _IPV6_SETTINGS:
        if setting.exists():
            setting.write_text("1")


def _set_queues(node: Any, spec: LinkSpec, setting: Callable[[RouteSocket, int, LinkSpec], None]) -> None:
    toward_routers, hosts_spec = set(_interfaces_to_routers(node)), spec.unimpaired()
    with RouteSocket() as kernel:
        for name in _interfaces(node):
            setting(kernel, socket.if_nametoindex(name), spec if name in toward_routers else hosts_spec)


def _read_queues() -> dict[str, Shaping]:
    with RouteSocket() as kernel:
        reported = read_shaping(kernel)
    return {name: reported[number] for number, name in socket.if_nameindex() if number in reported}


def _set_up(node: Any, spec: LinkSpec) -> None:
    """Sets a node's interfaces up.

    Hosts compute checksums in software, because a veth does not and the userspace datapath forwards frames
    unchanged. Switch ports are promiscuous from the start: if the switch's program set this, each port would
    notify the programs of all neighbours.
    """
    names = _interfaces(node)
    flags = IFF_UP | IFF_PROMISC if isinstance(node, FabricSwitch) else IFF_UP
    with InterfaceSettings() as settings, RouteSocket() as kernel:
        if isinstance(node, FabricHost):
            add_address(kernel, socket.if_nametoindex(names[0]), node.params["ip"])
            settings.compute_checksums(names[0])
        settings.add_flags("lo", IFF_UP)
        for name in names:
            settings.set_mtu(name, spec.mtu)
            settings.add_flags(name, flags)
