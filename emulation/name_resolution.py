"""Names of hosts inside the nodes of a fabric: files /etc/hosts and /etc/resolv.conf of their own."""

from __future__ import annotations

from pathlib import Path

from topology.addressing import format_ip, hosts_of, switch_name
from topology.base import Topology

_HOSTS_FILE, _RESOLVER_FILE = Path("/etc/hosts"), Path("/etc/resolv.conf")
# No name server can be reached from a node. Programs would wait 10 s for one that is named here, even for
# names of hosts: `getent hosts` asks for an IPv6 address first, which no host has.
_RESOLVER = "# nodes of a fabric have no name server\n"


def write_name_files(folder: Path, topology: Topology, concentration: int) -> dict[Path, Path]:
    """Writes the files into a folder, and returns their places in the nodes.

    Args:
        folder: the folder, which lasts as long as the nodes.
        topology: the graph of routers.
        concentration: p, the number of hosts at each router that has any.

    Returns:
        Place -> file, for the places that the machine has.
    """
    contents = {_HOSTS_FILE: hosts_text(topology, concentration, _machine_names()), _RESOLVER_FILE: _RESOLVER}
    files = {place: folder / place.name for place in contents}
    for place, file in files.items():
        file.write_text(contents[place])
        file.chmod(0o644)
    return {place: file for place, file in files.items() if place.exists()}


def hosts_text(topology: Topology, concentration: int, machine: str) -> str:
    """Returns the content of the nodes' /etc/hosts: names of the fabric's hosts, then those of the machine.

    Args:
        topology: the graph of routers.
        concentration: p, the number of hosts at each router that has any.
        machine: content of the machine's own file.
    """
    hosts = [f"{format_ip(host.ip)} {host.name}" for host in hosts_of(topology, concentration)]
    switches = f"# {switch_name(0)} to {switch_name(topology.routers - 1)} are switches, without an address"
    return "\n".join(["# hosts of the fabric", *hosts, switches, "# names of the machine", machine])


def _machine_names() -> str:
    """Returns the content of the machine's /etc/hosts; empty where it has none."""
    try:
        return _HOSTS_FILE.read_text(errors="replace")
    except OSError:
        return ""
