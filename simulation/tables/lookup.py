"""Lookups in the rules of one switch: the actions applied to packets, by destination or by tag.

A tagged packet is on a detour: its tag names the intermediate router that it visits first. A marked packet
was rerouted around a failure: its mark is 1, otherwise 0. A packet may have both. "Columns" are those of
`Treatments`: destinations, or the routers that tags name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from routing.plan.model import Table
from routing.plan.tables import tag_of
from simulation.tables.actions import KEPT, NO_TARGET
from simulation.tables.coverage import ALL_ROUTERS
from simulation.tables.first_table import FirstTable
from simulation.tables.model import NO_TAG, inexpressible
from simulation.tables.outcomes import Outputs
from simulation.tables.packets import DROPPED, UNCERTAIN, Ingress, Packet, Treatments
from simulation.tables.rules import ANY, EXACT, PlanRules

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class SwitchRules:
    """Looks up the treatment of packets in the rules of one switch."""

    def __init__(self, plan: PlanRules, router: int, routers: int, outputs: Outputs, hosts: slice) -> None:
        """Splits the rules of a switch by table.

        Args:
            plan: the rules of all switches.
            router: the switch's router.
            routers: N, the number of routers.
            outputs: the router's outputs.
            hosts: the range of the router's host numbers.
        """
        self._plan = plan
        self._router = router
        self.routers = routers
        self._outputs = outputs
        self._ip = plan.ip[hosts]
        self._mac = plan.mac[hosts]
        self._hosts = len(self._ip)
        numbers = plan.numbers[router]
        bounds = np.searchsorted(plan.rules.table[numbers], np.arange(len(Table) + 1)).tolist()
        self._tables = [numbers[bounds[table] : bounds[table + 1]] for table in Table]
        self._first = FirstTable(plan, router, outputs, hosts, self._tables[Table.INGRESS])
        self._known: dict[tuple[int, Packet], Treatments] = {}
        self._known_tags: dict[tuple[int, Packet], _TagTreatments] = {}
        self._best: dict[tuple[int, int, int], Numbers] = {}

    # ---- arrivals ----

    def from_host(self) -> Treatments:
        """Returns the treatment of packets from the router's own hosts, by destination.

        Raises:
            PlanError: forwarding tables cannot express the treatment.
        """
        start = self._first.host_start()
        return self._dropped() if start is None else self._treatments(*start)

    def from_link(self, mark: int) -> Treatments:
        """Returns the treatment of untagged packets from other routers, by destination.

        Args:
            mark: 1 for packets that were rerouted, else 0.

        Raises:
            PlanError: forwarding tables cannot express the treatment.
        """
        start = self._first.link_start(Packet(NO_TAG, mark, Ingress.LINK))
        return self._dropped() if start is None else self._treatments(*start)

    def from_link_tagged(self, mark: int) -> Treatments:
        """Returns the treatment of tagged packets from other routers, by tag.

        For the router's own tag, the entry is only a flag: DROPPED if the router removes this tag (and then
        forwards marked packets like untagged ones), else UNCERTAIN.

        Args:
            mark: 1 for packets that were rerouted, else 0.

        Raises:
            PlanError: forwarding tables cannot express the treatment.
        """
        start = self._first.link_start(Packet(KEPT, mark, Ingress.LINK))
        if start is None:
            all_dropped = np.full(self.routers, DROPPED, np.int64)
            return Treatments(all_dropped, (), np.zeros(self.routers, np.int64))
        tagged = self._tag_treatments(*start)
        actions = tagged.treatments.actions.copy()
        actions[self._router] = UNCERTAIN
        popped = self._after_tag(mark)
        if popped is not None and (not mark or self._is_untagged(popped, mark)):
            actions[self._router] = DROPPED
        return Treatments(actions, tagged.treatments.packets, tagged.treatments.places)

    def from_link_after_tag(self) -> Treatments:
        """Returns the treatment of unmarked packets that arrive with the router's own tag, by destination.

        Returns:
            The treatment after the router has removed the tag; if no rule removes it, the treatment of
            untagged packets.

        Raises:
            PlanError: forwarding tables cannot express the treatment.
        """
        popped = self._after_tag(0)
        return self.from_link(0) if popped is None else popped

    @cached_property
    def chooses_after_tag(self) -> bool:
        """Whether unmarked packets with the router's own tag are forwarded differently from untagged ones.

        Raises:
            PlanError: forwarding tables cannot express the treatment.
        """
        popped = self._after_tag(0)
        return popped is not None and not self._is_untagged(popped, 0)

    def _after_tag(self, mark: int) -> Treatments | None:
        """Returns the treatment of packets after the router has removed its own tag; None if it does not."""
        start = self._first.link_start(Packet(KEPT, mark, Ingress.LINK))
        popped = None if start is None else self._tag_treatments(*start).popped
        return None if popped is None else self._treatments(*popped)

    def _is_untagged(self, treatments: Treatments, mark: int) -> bool:
        """Returns whether a treatment equals that of untagged packets, except in this router's column."""
        untagged = self.from_link(mark)
        columns = np.ones(len(untagged.actions), bool)
        columns[self._router] = False
        return treatments.equals(untagged, columns)

    def _dropped(self) -> Treatments:
        columns = self.routers + self._hosts
        return Treatments(np.full(columns, DROPPED, np.int64), (), np.zeros(columns, np.int64))

    # ---- the other tables ----

    def _treatments(self, table: Table, packet: Packet) -> Treatments:
        """Returns the treatment, by destination, of packets that enter the given table."""
        key = (table, packet)
        if key not in self._known:
            best = self._best_rules(table, packet)
            self._known[key] = self._follow(best, packet, self._treatments)
        return self._known[key]

    def _follow(
        self, best: Numbers, packet: Packet, treat: Callable[[Table, Packet], Treatments]
    ) -> Treatments:
        """Returns the treatment of packets by rules and by the tables to which the rules pass them.

        Args:
            best: the rule that applies to each column of the treatment; -1 for none.
            packet: the packet that the rules match.
            treat: (next table, packet as it arrives there) -> the treatment by that table.
        """
        rules = self._plan.rules
        matched = best >= 0
        actions = np.where(matched, rules.actions[best], DROPPED)
        goto = np.where(matched, rules.goto[best], -1)
        places = np.zeros(len(best), np.int64)
        continues = goto >= 0
        packets = [packet]
        if not continues.any():
            return Treatments(actions, (packet,), places)
        width = len(Table) + 1
        codes = np.where(continues, actions * width + goto, -1)
        for code in _distinct(codes[continues]):
            effect = self._plan.rewrites(code // width, self._router)
            columns = codes == code
            later = treat(Table(code % width), packet.after(effect))
            if columns.all():
                return later
            actions[columns] = later.actions[columns]
            places[columns] = later.places[columns] + len(packets)
            packets += later.packets
        return Treatments(actions, tuple(packets), places)

    def _best_rules(self, table: Table, packet: Packet) -> Numbers:
        """Returns the number of the best rule for each destination router and local host; -1 for none."""
        key = (int(table), packet.tag, packet.mark)
        rules, columns = self._plan.rules, self._plan.matches
        numbers = self._tables[table]
        match = rules.match[numbers]
        matched = columns.accepts[packet.mark][match]
        if packet.tag == NO_TAG:
            matched &= columns.accepts_untagged[match]
        else:
            vlan = tag_of(packet.tag)
            matched &= vlan & columns.masks["vlan_vid"][match] == columns.values["vlan_vid"][match]
        self._check_fields(table, match[matched])
        at_port = columns.uses_ingress[match]
        if key not in self._best:
            general = matched & ~at_port
            self._best[key] = self._best_of(numbers[general], match[general])
        best = self._best[key]
        if (matched & at_port).any():
            self._check_ingress(numbers[matched & at_port], packet.ingress, best)
        return best

    def _check_fields(self, table: Table, match: Numbers) -> None:
        columns = self._plan.matches
        if (columns.uses_source[match] | columns.uses_other_field[match]).any():
            raise inexpressible(
                self._router, f"a rule of table {table} matches more than destination, tag and mark"
            )

    def _best_of(self, numbers: Numbers, match: Numbers) -> Numbers:
        """Returns the number of the best of the given rules for each destination router and each local host.

        Args:
            numbers: the rules, by ascending priority.
            match: the numbers of their matches.
        """
        coverage = self._plan.matches.coverage
        best = np.full(self.routers + self._hosts, -1, np.int64)
        single = coverage.single[match]
        if (coverage.partial[match] & (single != self._router)).any():
            raise inexpressible(self._router, "a rule distinguishes between the hosts of another router")
        index, routers = coverage.expanded(match[some := single != ALL_ROUTERS])
        # NumPy keeps the last of several values for an index: the rule of the highest priority.
        best[routers] = numbers[some][index]
        self._fill(best, slice(None, self.routers), numbers[~some])
        near = (single == self._router) | (single < 0)
        self._best_of_hosts(best, numbers[near], match[near])
        return best

    def _fill(self, best: Numbers, columns: slice, for_all: Numbers) -> None:
        """Writes the last rule of `for_all` into columns that have no rule or one of lower priority.

        Args:
            best: the best rule so far for each destination or tag; updated in place.
            columns: the range of `best` to update.
            for_all: rules that match all destinations, by ascending priority.
        """
        if len(for_all):
            priority, top = self._plan.rules.priority, int(for_all[-1])
            own = best[columns]
            own[(own < 0) | (priority[own] < priority[top])] = top

    def _best_of_hosts(self, best: Numbers, numbers: Numbers, match: Numbers) -> None:
        if not len(numbers) or not self._hosts:
            return
        columns = self._plan.matches
        matched = np.ones((len(match), self._hosts), bool)
        for field, addresses in (("ipv4_dst", self._ip), ("eth_dst", self._mac)):
            masks, values = columns.masks[field][match], columns.values[field][match]
            matched &= addresses & masks[:, None] == values[:, None]
        last = len(match) - 1 - matched[::-1].argmax(axis=0)
        best[self.routers :] = np.where(matched.any(axis=0), numbers[last], -1)

    def _check_ingress(self, numbers: Numbers, ingress: Ingress, best: Numbers) -> None:
        """Checks that rules that match the ingress port do not change the treatment of packets.

        Args:
            numbers: the rules that match the ingress port.
            ingress: the packets' ingress port.
            best: the best of the other rules for each destination or tag.
        """
        rules, columns = self._plan.rules, self._plan.matches
        origins = {Ingress.CLEARED: [0], Ingress.LINK: self._outputs.links, Ingress.HOST: self._outputs.hosts}
        match = rules.match[numbers]
        ports = np.array(origins[ingress], np.int64)
        masks, values = columns.masks["in_port"][match], columns.values["in_port"][match]
        matched = (ports[:, None] & masks == values).any(axis=0)
        if not matched.any():
            return
        numbers = numbers[matched]
        others = np.delete(best, self._router)
        actions = self._plan.actions.columns()
        drops = (rules.goto[numbers] < 0) & (actions.target[rules.actions[numbers]] == NO_TARGET)
        lowest = rules.priority[others[others >= 0]].min(initial=1 << 16)
        relevant = (rules.priority[numbers] >= lowest) | (~drops & (others < 0).any())
        if relevant.any():
            raise inexpressible(self._router, "the treatment of packets depends on their ingress port")

    # ---- tagged packets ----

    def _tag_treatments(self, table: Table, packet: Packet) -> _TagTreatments:
        key = (table, packet)
        if key not in self._known_tags:
            self._known_tags[key] = self._new_tag_treatments(table, packet)
        return self._known_tags[key]

    def _new_tag_treatments(self, table: Table, packet: Packet) -> _TagTreatments:
        rules, columns = self._plan.rules, self._plan.matches
        best = self._best_for_tags(table, packet)
        popped: list[tuple[Table, Packet]] = []

        def treat(goto: Table, later: Packet) -> Treatments:
            if later.tag == KEPT:
                return self._tag_treatments(goto, later).treatments
            popped.append((goto, later))
            uncertain = np.full(self.routers, UNCERTAIN, np.int64)
            return Treatments(uncertain, (later,), np.zeros(self.routers, np.int64))

        treatments = self._follow(best, packet, treat)
        seen = columns.uses_destination[rules.match[best]] & (best >= 0)
        actions = np.where(seen, UNCERTAIN, treatments.actions)
        own = self._popped(int(best[self._router]), packet)
        return _TagTreatments(Treatments(actions, treatments.packets, treatments.places), own)

    def _popped(self, rule: int, packet: Packet) -> tuple[Table, Packet] | None:
        """Returns the next table and the packet that enters it if a rule removes the tag; else None."""
        if rule < 0 or self._plan.rules.goto[rule] < 0:
            return None
        later = packet.after(self._plan.effect(int(self._plan.rules.actions[rule]), self._router))
        return (Table(int(self._plan.rules.goto[rule])), later) if later.tag == NO_TAG else None

    def _best_for_tags(self, table: Table, packet: Packet) -> Numbers:
        """Returns the number of the best rule for packets with the tag of each router; -1 for no match."""
        rules, columns = self._plan.rules, self._plan.matches
        numbers = self._tables[table]
        match = rules.match[numbers]
        matched = columns.accepts[packet.mark][match]
        masks, values = columns.masks["vlan_vid"][match], columns.values["vlan_vid"][match]
        exact = masks == EXACT
        routers = values - tag_of(0)
        matched &= ~exact | ((routers >= 0) & (routers < self.routers))
        if (matched & ~exact & (masks != ANY)).any():
            raise inexpressible(self._router, f"each rule of table {table} must match exactly one tag")
        self._check_fields(table, match[matched])
        at_port = matched & columns.uses_ingress[match]
        exact, general = matched & exact & ~at_port, matched & ~exact & ~at_port
        best = np.full(self.routers, -1, np.int64)
        best[routers[exact]] = numbers[exact]
        self._fill(best, slice(None), numbers[general])
        if at_port.any():
            self._check_ingress(numbers[at_port], packet.ingress, best)
        return best


@dataclass(frozen=True)
class _TagTreatments:
    """The treatment of tagged packets.

    Attributes:
        treatments: the treatment for each router that the tag may name.
        popped: the next table and the packet as it arrives there, if the router removes its own tag; else
            None.
    """

    treatments: Treatments
    popped: tuple[Table, Packet] | None


def _distinct(numbers: Numbers) -> list[int]:
    """Returns the distinct numbers in ascending order."""
    first = numbers[0]  # mostly all numbers are equal, and no sorting is needed
    return [int(first)] if (numbers == first).all() else np.unique(numbers).tolist()
