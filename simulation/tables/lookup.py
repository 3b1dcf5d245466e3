"""Look-ups in the rules of one switch: the actions that packets meet, by destination or by tag."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from routing.plan.model import Table
from routing.plan.tables import tag_of
from simulation.tables.actions import KEPT, NO_TARGET
from simulation.tables.coverage import EVERYONE
from simulation.tables.first_table import FirstTable
from simulation.tables.model import NO_TAG, inexpressible
from simulation.tables.outcomes import Outputs
from simulation.tables.packets import DROPPED, UNCERTAIN, Ingress, Packet, Treatments
from simulation.tables.rules import ANY, EXACT, PlanRules

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class SwitchRules:
    """The rules of one switch."""

    def __init__(self, plan: PlanRules, router: int, routers: int, outputs: Outputs, hosts: slice) -> None:
        """Divides the rules by table.

        Args:
            plan: the rules of all switches.
            router: the switch's router.
            routers: N, the number of routers.
            outputs: the router's outputs.
            hosts: the numbers of the router's hosts.
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
        """Returns the treatment of packets that the router's own hosts have just sent, by destination.

        Raises:
            PlanError: tables cannot express it.
        """
        start = self._first.host_start()
        return self._dropped() if start is None else self._treatments(*start)

    def from_link(self, mark: int) -> Treatments:
        """Returns the treatment of packets without a tag that come from other routers, by destination.

        Args:
            mark: the packets' mark.

        Raises:
            PlanError: tables cannot express it.
        """
        start = self._first.link_start(Packet(NO_TAG, mark, Ingress.LINK))
        return self._dropped() if start is None else self._treatments(*start)

    def from_link_tagged(self, mark: int) -> Treatments:
        """Returns the treatment of packets with a tag that come from other routers, by the tag.

        At the router that the tag names, the tag must be removed, and a marked packet must go on as one
        without a tag; then the treatment is DROPPED, and UNCERTAIN otherwise.

        Args:
            mark: the packets' mark.

        Raises:
            PlanError: tables cannot express it.
        """
        start = self._first.link_start(Packet(KEPT, mark, Ingress.LINK))
        if start is None:
            nothing = np.full(self.routers, DROPPED, np.int64)
            return Treatments(nothing, (), np.zeros(self.routers, np.int64))
        tagged = self._tag_treatments(*start)
        actions = tagged.treatments.actions.copy()
        actions[self._router] = UNCERTAIN
        popped = self._after_tag(mark)
        if popped is not None and (not mark or self._is_untagged(popped, mark)):
            actions[self._router] = DROPPED
        return Treatments(actions, tagged.treatments.packets, tagged.treatments.places)

    def from_link_after_tag(self) -> Treatments:
        """Returns the treatment of packets without a mark that come with the router's own tag.

        Returns:
            The treatment by destination; where the tag is not removed, that of packets without a tag.

        Raises:
            PlanError: tables cannot express it.
        """
        popped = self._after_tag(0)
        return self.from_link(0) if popped is None else popped

    @cached_property
    def chooses_after_tag(self) -> bool:
        """Whether packets without a mark that come with the router's own tag go on otherwise than untagged.

        Raises:
            PlanError: tables cannot express the treatment.
        """
        popped = self._after_tag(0)
        return popped is not None and not self._is_untagged(popped, 0)

    def _after_tag(self, mark: int) -> Treatments | None:
        """Returns the treatment of packets with the router's own tag; None where it is not removed."""
        start = self._first.link_start(Packet(KEPT, mark, Ingress.LINK))
        popped = None if start is None else self._tag_treatments(*start).popped
        return None if popped is None else self._treatments(*popped)

    def _is_untagged(self, treatments: Treatments, mark: int) -> bool:
        """Returns whether a treatment is that of packets without a tag, for all but the router itself."""
        untagged = self.from_link(mark)
        columns = np.ones(len(untagged.actions), bool)
        columns[self._router] = False
        return treatments.equals(untagged, columns)

    def _dropped(self) -> Treatments:
        columns = self.routers + self._hosts
        return Treatments(np.full(columns, DROPPED, np.int64), (), np.zeros(columns, np.int64))

    # ---- the other tables ----

    def _treatments(self, table: Table, packet: Packet) -> Treatments:
        """Returns the treatment of packets to every destination from a table on."""
        key = (table, packet)
        if key not in self._known:
            best = self._best_rules(table, packet)
            self._known[key] = self._follow(best, packet, self._treatments)
        return self._known[key]

    def _follow(
        self, best: Numbers, packet: Packet, treat: Callable[[Table, Packet], Treatments]
    ) -> Treatments:
        """Returns the treatment by the best rules, with that by the tables to which they lead."""
        rules = self._plan.rules
        taken = best >= 0
        actions = np.where(taken, rules.actions[best], DROPPED)
        goto = np.where(taken, rules.goto[best], -1)
        places = np.zeros(len(best), np.int64)
        going = goto >= 0
        packets = [packet]
        if not going.any():
            return Treatments(actions, (packet,), places)
        width = len(Table) + 1
        codes = np.where(going, actions * width + goto, -1)
        for code in _different(codes[going]):
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
        """Returns the rule that takes packets to every destination and own host, or -1."""
        key = (int(table), packet.tag, packet.mark)
        rules, columns = self._plan.rules, self._plan.matches
        numbers = self._tables[table]
        match = rules.match[numbers]
        met = columns.takes[packet.mark][match]
        if packet.tag == NO_TAG:
            met &= columns.takes_untagged[match]
        else:
            vlan = tag_of(packet.tag)
            met &= vlan & columns.masks["vlan_vid"][match] == columns.values["vlan_vid"][match]
        self._check_fields(table, match[met])
        at_port = columns.sees_ingress[match]
        if key not in self._best:
            general = met & ~at_port
            self._best[key] = self._best_of(numbers[general], match[general])
        best = self._best[key]
        if (met & at_port).any():
            self._check_ingress(numbers[met & at_port], packet.ingress, best)
        return best

    def _check_fields(self, table: Table, match: Numbers) -> None:
        columns = self._plan.matches
        if (columns.sees_source[match] | columns.sees_other[match]).any():
            raise inexpressible(
                self._router, f"a rule of table {table} looks at more than destination, tag and mark"
            )

    def _best_of(self, numbers: Numbers, match: Numbers) -> Numbers:
        """Returns the best of some rules for every destination and own host.

        Args:
            numbers: the rules, by ascending priority.
            match: the numbers of their matches.
        """
        coverage = self._plan.matches.coverage
        best = np.full(self.routers + self._hosts, -1, np.int64)
        single = coverage.single[match]
        if (coverage.partial[match] & (single != self._router)).any():
            raise inexpressible(self._router, "a rule makes a difference between the hosts of another router")
        index, routers = coverage.expanded(match[some := single != EVERYONE])
        best[routers] = numbers[some][index]
        self._fill(best, slice(None, self.routers), numbers[~some])
        near = (single == self._router) | (single < 0)
        self._best_of_hosts(best, numbers[near], match[near])
        return best

    def _fill(self, best: Numbers, columns: slice, for_all: Numbers) -> None:
        """Gives columns the last one of some rules for all destinations where they have no better one."""
        if len(for_all):
            priority, top = self._plan.rules.priority, int(for_all[-1])
            own = best[columns]
            own[(own < 0) | (priority[own] < priority[top])] = top

    def _best_of_hosts(self, best: Numbers, numbers: Numbers, match: Numbers) -> None:
        if not len(numbers) or not self._hosts:
            return
        columns = self._plan.matches
        met = np.ones((len(match), self._hosts), bool)
        for field, addresses in (("ipv4_dst", self._ip), ("eth_dst", self._mac)):
            masks, values = columns.masks[field][match], columns.values[field][match]
            met &= addresses & masks[:, None] == values[:, None]
        last = len(match) - 1 - met[::-1].argmax(axis=0)
        best[self.routers :] = np.where(met.any(axis=0), numbers[last], -1)

    def _check_ingress(self, numbers: Numbers, ingress: Ingress, best: Numbers) -> None:
        """Checks that rules which look at the ingress port make no difference.

        Args:
            numbers: the rules.
            ingress: the packets' ingress port.
            best: the rule that takes packets otherwise, by column.
        """
        rules, columns = self._plan.rules, self._plan.matches
        origins = {Ingress.CLEARED: [0], Ingress.LINK: self._outputs.links, Ingress.HOST: self._outputs.hosts}
        match = rules.match[numbers]
        ports = np.array(origins[ingress], np.int64)
        masks, values = columns.masks["in_port"][match], columns.values["in_port"][match]
        met = (ports[:, None] & masks == values).any(axis=0)
        if not met.any():
            return
        numbers = numbers[met]
        others = np.delete(best, self._router)
        actions = self._plan.actions.columns()
        drops = (rules.goto[numbers] < 0) & (actions.target[rules.actions[numbers]] == NO_TARGET)
        lowest = rules.priority[others[others >= 0]].min(initial=1 << 16)
        takes = (rules.priority[numbers] >= lowest) | (~drops & (others < 0).any())
        if takes.any():
            raise inexpressible(
                self._router, "the treatment of packets depends on the port that they come in by"
            )

    # ---- packets with tags ----

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
        seen = columns.sees_destination[rules.match[best]] & (best >= 0)
        actions = np.where(seen, UNCERTAIN, treatments.actions)
        own = self._popped(int(best[self._router]), packet)
        return _TagTreatments(Treatments(actions, treatments.packets, treatments.places), own)

    def _popped(self, rule: int, packet: Packet) -> tuple[Table, Packet] | None:
        """Returns the table to which a rule hands packets without their tag, and the packet there."""
        if rule < 0 or self._plan.rules.goto[rule] < 0:
            return None
        later = packet.after(self._plan.effect(int(self._plan.rules.actions[rule]), self._router))
        return (Table(int(self._plan.rules.goto[rule])), later) if later.tag == NO_TAG else None

    def _best_for_tags(self, table: Table, packet: Packet) -> Numbers:
        """Returns the rule that takes packets with the tag of every router, or -1."""
        rules, columns = self._plan.rules, self._plan.matches
        numbers = self._tables[table]
        match = rules.match[numbers]
        met = columns.takes[packet.mark][match]
        masks, values = columns.masks["vlan_vid"][match], columns.values["vlan_vid"][match]
        exact = masks == EXACT
        routers = values - tag_of(0)
        met &= ~exact | ((routers >= 0) & (routers < self.routers))
        if (met & ~exact & (masks != ANY)).any():
            raise inexpressible(self._router, f"rules of table {table} must name one tag each")
        self._check_fields(table, match[met])
        at_port = met & columns.sees_ingress[match]
        exact, general = met & exact & ~at_port, met & ~exact & ~at_port
        best = np.full(self.routers, -1, np.int64)
        best[routers[exact]] = numbers[exact]
        self._fill(best, slice(None), numbers[general])
        if at_port.any():
            self._check_ingress(numbers[at_port], packet.ingress, best)
        return best


@dataclass(frozen=True)
class _TagTreatments:
    """The treatment of packets with tags.

    Attributes:
        treatments: by the router that the tag names.
        popped: the table in which packets with the router's own tag go on without it, and the packet there;
            None if they do not.
    """

    treatments: Treatments
    popped: tuple[Table, Packet] | None


def _different(numbers: Numbers) -> list[int]:
    """Returns different numbers, ascending; mostly all are the same."""
    first = numbers[0]
    return [int(first)] if (numbers == first).all() else np.unique(numbers).tolist()
