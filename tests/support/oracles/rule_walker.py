"""Packets followed through the rules and groups of a plan, one by one, by a program of its own.

It shares nothing with the project's switch model or proof: it matches the plain rules by priority and tries
every bucket and candidate of select groups, and the first living bucket of fast-failover groups.
"""

from routing.plan.model import (
    ETH_TYPE_IPV4,
    NO_VLAN,
    DecrementTtl,
    GroupKind,
    Output,
    PopVlan,
    PushVlan,
    SetField,
    ToGroup,
)
from topology.addressing import hosts_of


class RuleWalker:
    """The switches of a plan, with some links dead: ((router, port), ...)."""

    def __init__(self, plan, dead=()):
        self.topology = plan.topology
        self.hosts = [host for host in hosts_of(plan.topology, plan.hosts_per_router) if host.index == 0]
        self.dead = set(dead)
        self.tables = [_by_table(switch.rules) for switch in plan.switches]
        self.groups = [{group.number: group for group in switch.groups} for switch in plan.switches]
        self.peers = {}
        for link in plan.topology.link_list:
            self.peers[link.a, link.port_a] = (link.b, link.port_b)
            self.peers[link.b, link.port_b] = (link.a, link.port_a)

    def dependencies(self, virtual=1):
        """Returns {((tail, head, channel), (tail, head, channel)), ...} of the packets of all pairs."""
        found = set()
        for source in self.hosts:
            for destination in self.hosts:
                if source != destination:
                    self.follow(source, destination, virtual, found)
        return found

    def follow(self, source, destination, virtual, found):
        packet = {
            "in_port": self.topology.host_port(source.router, 0),
            "eth_type": ETH_TYPE_IPV4,
            "eth_src": source.mac,
            "eth_dst": destination.mac,
            "vlan_vid": NO_VLAN,
            "ipv4_src": source.ip,
            "ipv4_dst": destination.ip,
            "ip_dscp": 0,
        }
        pending, met = [(source.router, packet, None, 0)], set()
        while pending:
            router, packet, come_by, hops = pending.pop()
            key = (router, tuple(packet.values()), come_by)
            if key in met:
                continue
            met.add(key)
            for port, after in self._outputs(router, packet, 0):
                peer = self.peers.get((router, port))
                if peer is None or (router, port) in self.dead:
                    continue
                channel = (router, peer[0], min(hops + 1, virtual) - 1)
                if come_by:
                    found.add((come_by, channel))
                pending.append((peer[0], {**after, "in_port": peer[1]}, channel, min(hops + 1, virtual)))

    def _outputs(self, router, packet, table):
        """Returns [(port, packet)] of all that a switch may do with a packet."""
        for rule in self.tables[router].get(table, ()):
            if all(_matches(part, packet) for part in rule.match):
                sent, after = self._apply(router, rule.actions, dict(packet))
                return sent + (self._outputs(router, after, rule.goto) if rule.goto is not None else [])
        return []

    def _apply(self, router, actions, packet):
        sent = []
        for action in actions:
            match action:
                case Output(port):
                    if port != packet["in_port"]:  # else a switch drops it
                        sent.append((port, dict(packet)))
                case ToGroup(number):
                    sent += self._group(router, self.groups[router][number], packet)
                case SetField(field, value):
                    packet[field] = value
                case PushVlan():
                    packet["vlan_vid"] = 0x1000
                case PopVlan():
                    packet["vlan_vid"] = NO_VLAN
                case DecrementTtl():
                    pass
                case _:
                    raise AssertionError(action)
        return sent, packet

    def _group(self, router, group, packet):
        buckets = [b for b in group.buckets if (router, b.watch_port) not in self.dead]
        if group.kind is GroupKind.FAST_FAILOVER:
            buckets = buckets[:1]
        elif group.kind is GroupKind.SELECT:
            buckets = {b.actions: b for b in (*buckets, *group.candidates)}.values()
        return [one for b in buckets for one in self._apply(router, b.actions, dict(packet))[0]]


def _by_table(rules):
    tables = {}
    for rule in sorted(rules, key=lambda rule: -rule.priority):
        tables.setdefault(int(rule.table), []).append(rule)
    return tables


def _matches(part, packet):
    value = packet.get(part.field)
    return value is not None and (
        value == part.value if part.mask is None else value & part.mask == part.value
    )
