"""Checks forwarding tables against a switch model that applies the plan's rules to packets (the walk)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.garbage_collection import without_garbage_collection
from routing.plan.model import ETH_TYPE_IPV4, NO_VLAN, REROUTED_DSCP, RoutePlan
from routing.plan.tables import router_of_tag, tag_of
from routing.verification.packet_actions import Packet, Shared
from routing.verification.proof import PlanError
from routing.verification.rules import Numbers, RuleBook
from routing.verification.switch_model import SwitchModel
from simulation.tables.model import NO_CHOICE, NO_TAG, ForwardingTables
from topology.addressing import INITIAL_TTL, Host, hosts_of, switch_name
from topology.base import Topology
from topology.failures import NO_FAILURE, Failure

MAX_SWITCHES = 8  # number of switches to compare
_DESTINATIONS = 48  # random destination hosts, in addition to the hosts of these switches
_TOLERANCE = 1e-9

# The directed link through which packets leave (-1 if they are lost), and their tag and mark afterwards.
NextHop = tuple[int, int, int]


class PacketKind(NamedTuple):
    """The fields, besides the destination, that determine the treatment of a packet at a router.

    Attributes:
        from_host: whether it comes from a host of the router.
        tag: the router named by its tag, or NO_TAG.
        mark: 1 if it was rerouted, else 0.
    """

    from_host: bool
    tag: int = NO_TAG
    mark: int = 0


class Forwarded(NamedTuple):
    """The treatment of packets at a router.

    Attributes:
        shares: next hop -> share of the packets that take it, over 0.
        detours: next hops that only a decision law of the simulator may choose.
    """

    shares: dict[NextHop, float]
    detours: frozenset[NextHop]

    def agrees(self, other: Forwarded) -> bool:
        """Returns whether two treatments are the same, except for rounding errors.

        Args:
            other: the other treatment.
        """
        return (
            self.detours == other.detours
            and self.shares.keys() == other.shares.keys()
            and all(abs(share - other.shares[hop]) < _TOLERANCE for hop, share in self.shares.items())
        )


def look_up(tables: ForwardingTables, kind: PacketKind, router: int, destination: int) -> int:
    """Looks up packets of a kind; returns a choice, the code of an adaptive choice, or NO_CHOICE.

    Args:
        tables: the tables.
        kind: the packets' fields.
        router: the router at which they are.
        destination: the router of their destination host, different from `router`.
    """
    if kind.from_host:
        return int(tables.from_host[router, destination])
    if kind.tag == router and not kind.mark and tables.after_tag.size:
        return int(tables.after_tag[router, destination])
    if kind.tag in (NO_TAG, router):
        table = tables.marked if kind.mark else tables.untagged
        return int(table[router, destination])
    table = tables.marked_tagged if kind.mark else tables.tagged
    return int(table[router, kind.tag])


def forwarded(tables: ForwardingTables, value: int) -> Forwarded:
    """Returns the treatment of packets to which an entry of forwarding tables applies.

    Args:
        tables: the tables.
        value: the entry, as returned by `look_up`.
    """
    if value >= NO_CHOICE:
        return Forwarded(_shares(tables, value), frozenset())
    adaptive, number = tables.adaptive, -2 - value
    hops = {hop for detour in adaptive.detours_of(number) for hop in _shares(tables, detour)}
    return Forwarded(
        _shares(tables, int(adaptive.minimal[number])), frozenset(hop for hop in hops if hop != _LOST)
    )


def _shares(tables: ForwardingTables, choice: int) -> dict[NextHop, float]:
    if choice == NO_CHOICE:
        return {_LOST: 1.0}
    choices = tables.choices
    outcomes = slice(*choices.starts[choice : choice + 2].tolist())
    weights = choices.weights[outcomes].tolist()
    hops = zip(
        choices.links[outcomes].tolist(),
        choices.tags[outcomes].tolist(),
        choices.marks[outcomes].tolist(),
        strict=True,
    )
    return {hop: weight / sum(weights) for hop, weight in zip(hops, weights, strict=True)}


_LOST: NextHop = (-1, NO_TAG, 0)


def next_hop_of(topology: Topology, router: int, port: int, packet: Packet) -> NextHop:
    """Returns the next hop of a packet that leaves a switch.

    Args:
        topology: the graph of routers.
        router: the switch's router.
        port: the port through which the packet leaves.
        packet: the packet's fields as it leaves.
    """
    vlan = packet["vlan_vid"]
    tag = NO_TAG if vlan == NO_VLAN else router_of_tag(vlan)
    numbers = topology.link_numbers
    link = numbers.get((router, port), len(numbers))  # for a host's port: a number that no link has
    return link, tag, int(packet["ip_dscp"] == REROUTED_DSCP)


def gathered(hops: Iterable[tuple[float, NextHop | None]]) -> Forwarded:
    """Combines next hops, each with its share of the packets, into the treatment of these packets.

    Args:
        hops: (share of the packets, next hop). The share is 0 for detours that only a decision law may
            choose; the next hop is None for packets that are lost.
    """
    shares: dict[NextHop, float] = {}
    detours = set()
    for share, hop in hops:
        if share:
            shares[hop or _LOST] = shares.get(hop or _LOST, 0.0) + share
        elif hop:
            detours.add(hop)
    return Forwarded(shares, frozenset(detours))


@without_garbage_collection()
def check_against_walk(
    plan: RoutePlan,
    tables: ForwardingTables,
    states: int = 3000,
    seed: int = 0,
    failure: Failure = NO_FAILURE,
) -> None:
    """Checks that forwarding tables treat random packets at random switches as the plan's rules do.

    Args:
        plan: the plan.
        tables: its forwarding tables.
        states: approximate number of packets to compare.
        seed: seed of the random generator.
        failure: the links and routers that are down.

    Raises:
        PlanError: tables and rules treat a packet differently.
    """
    generator = np.random.default_rng(seed)
    routers = generator.permutation(tables.routers)[:MAX_SWITCHES].tolist()
    hosts = hosts_of(plan.topology, plan.hosts_per_router)
    tags = used_tags(tables)
    # All switches share one RuleBook, so that equal rules are parsed once.
    some = np.union1d(
        generator.permutation(tables.hosts)[:_DESTINATIONS],
        np.flatnonzero(np.isin(tables.host_routers, routers)),
    )
    destinations = tuple(hosts[host] for host in some.tolist())
    book = RuleBook(
        {"eth_dst": [host.mac for host in destinations], "ipv4_dst": [host.ip for host in destinations]}
    )
    for router in routers:
        check = _SwitchCheck(plan, tables, router, destinations, book, tags, failure)
        kinds = check.kinds()
        count = max(1, states // (len(routers) * max(1, len(some))))
        # Untagged packets (from hosts and routers) and packets with the router's own tag are always compared.
        always = [kind for kind in kinds if kind.tag in (NO_TAG, router)]
        tagged = [kind for kind in kinds if kind.tag not in (NO_TAG, router)]
        rest = [tagged[index] for index in generator.permutation(len(tagged)).tolist()]
        for kind in [*always, *rest][: max(count, len(always))]:
            check.compare(kind, generator)


def used_tags(tables: ForwardingTables) -> npt.NDArray[np.bool_]:
    """Returns the tags that packets may have under the given tables.

    Args:
        tables: forwarding tables.

    Returns:
        (2, N): entry [mark, router]: whether packets may have that mark and a tag that names that router.
    """
    choices, adaptive = tables.choices, tables.adaptive
    outcomes = np.diff(choices.starts)
    always = [tables.from_host, tables.untagged, tables.after_tag, tables.marked]
    always += [adaptive.minimal, adaptive.detours]
    matched = np.zeros(len(outcomes), bool)
    for array in always:
        matched[array[array >= 0]] = True
    tags = np.zeros((2, tables.routers), bool)
    while True:
        rows = np.repeat(matched, outcomes) & (choices.tags != NO_TAG)
        before = tags.copy()
        tags[choices.marks[rows], choices.tags[rows]] = True
        if (tags == before).all():
            return tags
        for table, own in zip((tables.tagged, tables.marked_tagged), tags, strict=True):
            found = table[:, own[: table.shape[1]]]
            matched[found[found >= 0]] = True


class _SwitchCheck:
    """Compares tables and rules at one switch, for packets to selected hosts."""

    def __init__(
        self,
        plan: RoutePlan,
        tables: ForwardingTables,
        router: int,
        hosts: tuple[Host, ...],
        book: RuleBook,
        used_tags: npt.NDArray[np.bool_],
        failure: Failure,
    ) -> None:
        self._used_tags = used_tags
        self._tables = tables
        self._router = router
        self._hosts = hosts
        self._topology = plan.topology
        self._failed = failure.failed_ports(router)
        self._down = router in failure.failed_routers
        all_hosts = hosts_of(plan.topology, plan.hosts_per_router)
        self._own = [host for host in all_hosts if host.router == router]
        self._numbers = {host: number for number, host in enumerate(all_hosts)}
        self._model = SwitchModel(plan.switches[router], book)

    def kinds(self) -> list[PacketKind]:
        """Returns the kinds of packets that may arrive at the router, untagged kinds first."""
        found = [PacketKind(True)] if self._own else []
        found.append(PacketKind(False))
        if self._tables.marked.size:
            found.append(PacketKind(False, mark=1))
        marks, tags = np.nonzero(self._used_tags)
        kinds = (PacketKind(False, *one) for one in zip(tags.tolist(), marks.tolist(), strict=True))
        return [*found, *kinds]

    def compare(self, kind: PacketKind, generator: np.random.Generator) -> None:
        """Compares how tables and rules treat packets of a kind that arrive at a random port."""
        for packet in self._packets(kind, generator):
            everyone = np.arange(len(self._hosts))
            for destinations, outcomes, _ in self._model.treatments(packet, everyone, self._failed):
                self._compare(kind, packet, destinations, outcomes)

    def _packets(self, kind: PacketKind, generator: np.random.Generator) -> Iterator[Packet]:
        source = self._own[int(generator.integers(len(self._own)))] if kind.from_host else _UNKNOWN_SENDER
        ports = self._topology.link_ports(self._router)
        port = int(ports[generator.integers(len(ports))])
        if kind.from_host:
            port = self._topology.host_port(self._router, source.index)
        yield {
            "in_port": port,
            "eth_type": ETH_TYPE_IPV4,
            "eth_src": source.mac,
            "vlan_vid": NO_VLAN if kind.tag == NO_TAG else tag_of(kind.tag),
            "ipv4_src": source.ip,
            "ip_dscp": REROUTED_DSCP if kind.mark else 0,
            "ip_ttl": INITIAL_TTL,
        }

    def _compare(self, kind: PacketKind, packet: Packet, destinations: Numbers, outcomes: Shared) -> None:
        walked: Forwarded | None = None
        same: set[int] = set()  # table entries that agree with the rules
        for number in destinations.tolist():
            host = self._hosts[number]
            if host.router != self._router:
                value = look_up(self._tables, kind, self._router, host.router)
                walked = walked or gathered(self._next_hops(outcomes))
                if value not in same and not walked.agrees(forwarded(self._tables, value)):
                    raise self._error(kind, host)
                same.add(value)
            elif kind.tag in (NO_TAG, self._router) and not self._down:
                port = self._topology.host_port(host.router, host.index)
                sent = [[emission.port for emission in outcome] for _, outcome in outcomes]
                arrives = bool(self._tables.delivered[self._numbers[host]])
                # Hosts do not send packets to themselves.
                if port != packet["in_port"] and (sent == [[port]]) != arrives:
                    raise self._error(kind, host)

    def _next_hops(self, outcomes: Shared) -> Iterator[tuple[float, NextHop | None]]:
        for share, outcome in outcomes:
            if len(outcome) > 1:
                raise PlanError(f"{switch_name(self._router)} cannot be simulated: it copies packets")
            sent = [next_hop_of(self._topology, self._router, one.port, one.packet) for one in outcome]
            yield share, (sent[0] if sent else None)

    def _error(self, kind: PacketKind, host: Host) -> PlanError:
        tag = "no tag" if kind.tag == NO_TAG else f"tag {kind.tag + 1}"
        origin = "a host" if kind.from_host else "another router"
        return PlanError(
            f"forwarding tables of {switch_name(self._router)} must agree with its rules, got a different "
            f"treatment of packets from {origin} to {host.name} with {tag} and mark {kind.mark}"
        )


# The sender of packets from other routers; no rule at the switch matches it.
_UNKNOWN_SENDER = Host(0, 0, 0)
