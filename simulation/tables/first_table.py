"""The first table of a switch, which selects the next table by the packet's origin (a host or a link)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from routing.plan.model import Table
from simulation.tables.actions import NO_TARGET
from simulation.tables.model import NO_TAG, inexpressible
from simulation.tables.outcomes import Outputs
from simulation.tables.packets import Ingress, Packet
from simulation.tables.rules import ANY, EXACT, PlanRules

Numbers = npt.NDArray[np.int64]


class FirstTable:
    """The rules of the first table of one switch; they must treat all packets of the same origin equally."""

    def __init__(
        self, plan: PlanRules, router: int, outputs: Outputs, hosts: slice, numbers: Numbers
    ) -> None:
        """Stores the rules of the table.

        Args:
            plan: the rules of all switches.
            router: the switch's router.
            outputs: the router's outputs.
            hosts: the range of the router's hosts.
            numbers: the numbers of the table's rules, by ascending priority.
        """
        self._plan = plan
        self._router = router
        self._outputs, self._links = outputs, len(outputs.links)
        self._ip = plan.ip[hosts]
        self._mac = plan.mac[hosts]
        self._numbers = numbers

    def link_start(self, packet: Packet) -> tuple[Table, Packet] | None:
        """Returns the next table for packets from other routers, and the packet as it arrives there.

        Args:
            packet: the packet as it arrives at the switch.

        Returns:
            The table and the packet; None if packets are dropped.

        Raises:
            PlanError: the next table depends on more than the packet's origin.
        """
        numbers, inputs = self._ingress_rules()
        of_links = inputs < self._links
        self._check_only_ingress(numbers[of_links])
        best = np.full(self._links, -1, np.int64)
        best[inputs[of_links]] = numbers[of_links]
        return self._only_start(best, packet)

    def host_start(self) -> tuple[Table, Packet] | None:
        """Returns the next table for packets from the router's own hosts, and the packet as it arrives there.

        Returns:
            The table and the packet; None if packets are dropped or the router has no hosts.

        Raises:
            PlanError: the next table depends on the host or the destination.
        """
        if not len(self._ip):
            return None
        numbers, inputs = self._ingress_rules()
        columns, hosts = self._plan.matches, inputs - self._links
        own = (hosts >= 0) & (hosts < len(self._ip))
        numbers, hosts = numbers[own], hosts[own]
        match = self._plan.rules.match[numbers]
        matched = columns.accepts_untagged[match] & columns.accepts[0][match]
        for field, addresses in (("ipv4_src", self._ip), ("eth_src", self._mac)):
            matched &= addresses[hosts] & columns.masks[field][match] == columns.values[field][match]
        if (columns.uses_destination[match[matched]] | columns.uses_other_field[match[matched]]).any():
            raise inexpressible(self._router, "its first table must treat all packets of a host equally")
        best = np.full(len(self._ip), -1, np.int64)
        best[hosts[matched]] = numbers[matched]
        return self._only_start(best, Packet(NO_TAG, 0, Ingress.HOST))

    def _ingress_rules(self) -> tuple[Numbers, Numbers]:
        """Returns the first table's rules for IPv4 packets, and the output numbers of their ingress ports."""
        numbers = self._numbers
        columns, match = self._plan.matches, self._plan.rules.match[numbers]
        ipv4 = columns.accepts[0][match] | columns.accepts[1][match]
        numbers, match = numbers[ipv4], match[ipv4]
        if (columns.masks["in_port"][match] != EXACT).any():
            raise inexpressible(self._router, "each rule of its first table must match one ingress port")
        ports = columns.values["in_port"][match].tolist()
        return numbers, np.array(list(map(self._outputs.number, ports)), np.int64)

    def _check_only_ingress(self, numbers: Numbers) -> None:
        columns, match = self._plan.matches, self._plan.rules.match[numbers]
        other = columns.uses_source[match] | columns.uses_other_field[match] | columns.uses_destination[match]
        for field in ("vlan_vid", "ip_dscp"):
            other |= columns.masks[field][match] != ANY
        if other.any():
            raise inexpressible(
                self._router, "its first table must treat all packets from other routers equally"
            )

    def _only_start(self, best: Numbers, packet: Packet) -> tuple[Table, Packet] | None:
        """Returns the next table and the packet as it arrives there; None if all packets are dropped."""
        rules = self._plan.rules
        starts = {
            (int(rules.goto[rule]), int(rules.actions[rule])) if rule >= 0 else (-1, -1)
            for rule in set(best.tolist())
        }
        if len(starts) > 1:
            raise inexpressible(self._router, f"its first table must treat {_PORTS[packet.ingress]} equally")
        goto, actions = starts.pop() if starts else (-1, -1)
        if actions < 0:
            return None
        if goto >= 0:
            return Table(goto), packet.after(self._plan.rewrites(actions, self._router))
        if self._plan.effect(actions, self._router).target != NO_TARGET:
            raise inexpressible(self._router, "its first table must not output packets")
        return None


_PORTS = {Ingress.HOST: "packets from all its hosts", Ingress.LINK: "packets from all other routers"}
