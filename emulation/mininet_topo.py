r"""The Mininet topology of a fabric, for PolarLab's networks and for `mn --custom`.

    mn --custom emulation/mininet_topo.py --topo polarfly,3 --switch ovs,protocols=OpenFlow15 \
       --controller remote,port=6653

While `python -m controller.service polarfly q=3` runs, this starts the same fabric on Mininet's own switches.
"""

from __future__ import annotations

from typing import Any

from mininet.topo import Topo

from topology.addressing import NETWORK_PREFIX, dpid, format_ip, format_mac, hosts_of, switch_name
from topology.base import Topology
from topology.parameters import Value
from topology.registry import FAMILIES, make_topology


class FabricTopo(Topo):  # type: ignore[misc]
    """The switches, hosts and links of a topology, with their names, addresses and ports."""

    def build(self, topology: Topology, hosts_per_router: int = 1) -> None:
        """Adds all nodes and links; Mininet calls it with the constructor's arguments.

        Args:
            topology: the graph of routers.
            hosts_per_router: concentration p, the number of hosts at each router that has hosts.
        """
        for router in range(topology.routers):
            self.addSwitch(switch_name(router), dpid=f"{dpid(router):016x}")
        for host in hosts_of(topology, hosts_per_router):
            ip = f"{format_ip(host.ip)}/{NETWORK_PREFIX}"
            self.addHost(host.name, ip=ip, mac=format_mac(host.mac))
            port = topology.host_port(host.router, host.index)
            self.addLink(host.name, switch_name(host.router), port1=0, port2=port)
        for link in topology.link_list:
            a, b = switch_name(link.a), switch_name(link.b)
            self.addLink(a, b, port1=link.port_a, port2=link.port_b)


def _constructor(family: str) -> Any:
    """Returns the function that `mn --topo family,value,key=value,...,hosts=p` calls.

    The values of the family's parameters are given by position or by key.
    """

    def make(*values: Value, hosts: int = 1, **params: Value) -> FabricTopo:
        keys = [parameter.key for parameter in FAMILIES[family].parameters]
        return FabricTopo(make_topology(family, {**dict(zip(keys, values, strict=False)), **params}), hosts)

    return make


topos = {family: _constructor(family) for family in FAMILIES.loaded()}
