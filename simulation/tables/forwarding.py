"""Compiles the forwarding of one switch to arrays, for a given set of failed ports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from routing.plan.model import SwitchPlan
from simulation.tables.actions import INVALID, KEPT, check_effect
from simulation.tables.detours import AdaptiveUse, CandidateRegistry, Detours, find_detours
from simulation.tables.lookup import SwitchRules
from simulation.tables.model import NO_CHOICE, NO_TAG, inexpressible
from simulation.tables.outcomes import LOST, NO_OUTPUT, Outputs, SwitchGroups
from simulation.tables.packets import DROPPED, UNCERTAIN, Arrival, Ingress, Packet, Treatments
from simulation.tables.rules import PlanRules
from simulation.tables.shapes import Columns, ShapeRegistry, common, of_outputs

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


# Instead of the shape of a group or port, in `_target_infos`:
_LOST = -1
_MIXED = -2  # outcomes with different tags or marks
_ADAPTIVE = -3

_MAX_KEPT = 8  # size of the cache of `SwitchForwarding.emitted_tags`


@dataclass(frozen=True)
class SwitchTables:
    """The forwarding of one switch, with choices numbered from 0.

    Attributes:
        rows: kind of arrival -> this switch's row of the array that the kind names in `ForwardingTables`.
        delivered: for each of the router's hosts, whether packets to it are delivered.
        choices: the outcomes of the choices, with numbers of the router's outputs instead of links.
        adaptive: the adaptive choices, with numbers of choices instead of keys; None if there are none.
    """

    rows: Mapping[Arrival, Numbers]
    delivered: Flags
    choices: Columns
    adaptive: Detours | None


@dataclass(frozen=True)
class EmittedTags:
    """The tags and marks that packets may have when they leave a switch.

    Attributes:
        tags: (2, N): entry [mark, router]: whether packets may have that mark and a tag that names that
            router.
        marked: whether untagged packets may be marked.
    """

    tags: Flags
    marked: bool


class SwitchForwarding:
    """Compiles the forwarding of one switch lazily, for one kind of arrival at a time."""

    def __init__(
        self,
        switch: SwitchPlan,
        rules: SwitchRules,
        plan: PlanRules,
        buckets: CandidateRegistry,
        outputs: Outputs,
        failed_ports: frozenset[int],
    ) -> None:
        """Prepares the compilation of a switch.

        Args:
            switch: the switch's plan.
            rules: the switch's rules.
            plan: the rules of all switches.
            buckets: registry of the candidates of all switches.
            outputs: the switch's outputs.
            failed_ports: the switch's ports that are down.

        Raises:
            PlanError: two groups have the same number.
        """
        self._router = switch.router
        self._rules = rules
        self._plan = plan
        self._buckets = buckets
        self._links = len(outputs.links)
        self._failed = failed_ports
        self._groups = SwitchGroups(switch, plan.actions, outputs, failed_ports)
        self._routers = rules.routers
        self._shapes = ShapeRegistry(self._routers)
        self._target_infos: dict[int, tuple[int, int, int, bool]] = {}  # by target
        self._uses: dict[tuple[int, Packet], int] = {}
        self._all_uses: list[AdaptiveUse] = []
        self._rows: dict[Arrival, Numbers] = {}
        self._uncertain: dict[Arrival, Flags] = {}
        self._delivered: dict[Arrival, Flags] = {}
        self._detours: Detours | None = None
        self._emitted_tags: dict[tuple[object, ...], EmittedTags] = {}

    # ---- rows of keys ----

    def row(self, arrival: Arrival) -> Numbers:
        """Returns the key of the choice for each destination router, or each router that a tag may name.

        Values below 0 are not keys: NO_CHOICE, or -2 - a for adaptive choice a.

        Args:
            arrival: the kind of arrival.

        Raises:
            PlanError: forwarding tables cannot express the treatment.
        """
        if arrival not in self._rows:
            if arrival.by_tag:
                treatments = self._rules.from_link_tagged(arrival.mark)
                tags = np.arange(self._routers)
                keys = self._keys_of(treatments, tags)
                self._uncertain[arrival] = (treatments.actions == UNCERTAIN) | self._to_hosts(keys)
            else:
                keys, own = self._keys_of_destinations(self._treatments(arrival))
                self._delivered[arrival] = own
            self._rows[arrival] = keys
        return self._rows[arrival]

    def _treatments(self, arrival: Arrival) -> Treatments:
        """Returns the treatment of packets that are looked up by their destination."""
        if arrival is Arrival.HOST:
            return self._rules.from_host()
        if arrival is Arrival.AFTER_TAG:
            return self._rules.from_link_after_tag()
        return self._rules.from_link(arrival.mark)

    @property
    def chooses_after_tag(self) -> bool:
        """Whether packets with the router's own tag are forwarded differently from untagged packets."""
        return self._rules.chooses_after_tag

    def check_tags(self, arrival: Arrival, tags: Flags) -> None:
        """Checks that tags alone determine how packets are forwarded, and that routers remove their own tag.

        Args:
            arrival: TAGGED or MARKED_TAGGED.
            tags: (N,): whether packets may have a tag that names the router.

        Raises:
            PlanError: the router treats some of these packets differently.
        """
        self.row(arrival)
        uncertain = np.flatnonzero(self._uncertain[arrival] & tags)
        if len(uncertain):
            if uncertain[0] == self._router:
                raise inexpressible(
                    self._router, "packets with its own tag are not forwarded like untagged packets"
                )
            reason = f"the tag does not determine the treatment of packets with tag {uncertain[0] + 1}"
            raise inexpressible(self._router, reason)

    def _keys_of_destinations(self, treatments: Treatments) -> tuple[Numbers, Flags]:
        """Returns the key for each destination router, and a flag for each host of the switch.

        The flag says whether packets to the host are delivered.
        """
        actions = treatments.actions.copy()
        actions[self._router] = DROPPED
        keys = self._keys_of(Treatments(actions, treatments.packets, treatments.places), None)
        keys, own = keys[: self._routers], keys[self._routers :]
        if (self._to_hosts(keys)).any():
            raise inexpressible(self._router, "packets for another router's hosts are sent to its own hosts")
        expected = self._delivery_keys(len(own))
        delivered = (own == expected) | (own == expected + 1)  # without and with a mark
        if ((own != NO_CHOICE) & ~delivered).any():
            raise inexpressible(self._router, "packets for one of its hosts are sent elsewhere")
        return keys, delivered

    def _delivery_keys(self, hosts: int) -> Numbers:
        """Returns the keys of untagged, unmarked packets that leave through each host's output."""
        outputs = range(self._links, self._links + hosts)
        shapes = [self._shapes.add(of_outputs((output,))) for output in outputs]
        unmarked = np.zeros(hosts, np.int64)
        return self._shapes.keys(np.array(shapes, np.int64), np.full(hosts, NO_TAG, np.int64), unmarked)

    def _to_hosts(self, keys: Numbers) -> Flags:
        """Returns, for each key, whether any of its outcomes leaves through a host's output."""
        shapes = np.where(keys >= 0, self._shapes.shapes(keys), -1)
        to_host = [max(outputs, default=NO_OUTPUT) >= self._links for outputs in self._shapes.output_sets]
        return np.array([*to_host, False])[shapes]

    def _keys_of(self, treatments: Treatments, tags: Numbers | None) -> Numbers:
        keys = np.full(len(treatments.actions), NO_CHOICE, np.int64)
        for place, packet in enumerate(treatments.packets):
            columns = np.flatnonzero((treatments.places == place) & (treatments.actions >= 0))
            actions = treatments.actions[columns]
            if len(columns) and tags is not None and packet.tag == KEPT:
                keys[columns] = self._keys(actions, packet, tags[columns])
            elif len(columns):
                distinct, index = np.unique(actions, return_inverse=True)
                keys[columns] = self._keys(distinct, packet)[index]
        return keys

    def _keys(self, actions: Numbers, packet: Packet, tags: Numbers | None = None) -> Numbers:
        """Returns, for each action list, the key of the choice for packets that reach the list.

        Args:
            actions: the numbers of the action lists.
            packet: the packet that reaches them.
            tags: the packet's tag for each list, if tags differ.
        """
        columns = self._plan.actions.columns()
        if (faulty := columns.faulty[actions]).any():
            check_effect(self._plan.actions.effects[actions[faulty][0]], self._router)
        targets, places = np.unique(columns.target[actions], return_inverse=True)
        forms = np.array([self._target_info(target) for target in targets.tolist()], np.int64).reshape(-1, 4)
        shapes, tag_after, mark_after, cleared = forms[places].T
        tag, mark = columns.tag[actions], columns.mark[actions]
        tag = np.where(tag == KEPT, packet.tag if tags is None else tags, tag)
        mark = np.where(mark == KEPT, packet.mark, mark)
        not_cleared = (cleared == 0) & ~columns.cleared[actions] & (shapes != _LOST)
        # OpenFlow drops an output to the ingress port unless in_port was cleared; tables lack the port.
        if packet.ingress is Ingress.LINK and not_cleared.any():
            raise inexpressible(
                self._router, "packets may be sent back through their ingress port without clearing in_port"
            )
        known = np.where(tag_after == KEPT, tag, tag_after), np.where(mark_after == KEPT, mark, mark_after)
        if (((known[0] == INVALID) | (known[1] == INVALID)) & (shapes >= 0)).any():
            raise inexpressible(self._router, "packets get a tag or a mark that the fabric does not use")
        keys = np.where(shapes >= 0, self._shapes.keys(shapes, *known), NO_CHOICE)
        for index in np.flatnonzero(shapes < _LOST).tolist():
            ingress = Ingress.CLEARED if columns.cleared[actions[index]] else packet.ingress
            at = Packet(int(tag[index]), int(mark[index]), ingress)
            keys[index] = self._special_key(int(targets[places[index]]), at)
        return keys

    def _target_info(self, target: int) -> tuple[int, int, int, bool]:
        """Returns facts about packets that reach a target.

        Returns:
            The number of the target's shape, or _LOST, _MIXED or _ADAPTIVE; the tag and the mark of packets
            afterwards; and whether their ingress port is cleared.
        """
        info = self._target_infos.get(target)
        if info is None:
            info = self._target_infos[target] = self._find_target_info(target)
        return info

    def _find_target_info(self, target: int) -> tuple[int, int, int, bool]:
        if target > 0 and self._groups.adaptive_group(target) is not None:
            return _ADAPTIVE, KEPT, KEPT, True
        outcomes = self._groups.outcomes(target)
        if outcomes == LOST:
            return _LOST, KEPT, KEPT, True
        if len(outcomes) == 1:
            [(output, tag, mark, cleared, _)] = outcomes
            # Packets from links cannot have a host's port as their ingress port.
            cleared |= target < 0 and output >= self._links
            return self._shapes.add(of_outputs((output,))), tag, mark, cleared
        cleared = all(one.cleared for one in outcomes)
        if len({(one.tag, one.mark) for one in outcomes if one.output != NO_OUTPUT}) > 1:
            return _MIXED, KEPT, KEPT, cleared
        tag, mark, shape = common(outcomes)
        return self._shapes.add(shape), tag, mark, cleared

    def _special_key(self, target: int, packet: Packet) -> int:
        """Returns the key of an adaptive group (-2 - a) or of a target with different tags or marks."""
        group = self._groups.adaptive_group(target)
        if group is None:
            outcomes = self._groups.outcomes(target)
            return self._shapes.key(
                tuple(
                    one._replace(
                        tag=packet.tag if one.tag == KEPT else one.tag,
                        mark=packet.mark if one.mark == KEPT else one.mark,
                    )
                    if one.output != NO_OUTPUT
                    else one
                    for one in outcomes
                )
            )
        if packet.tag != NO_TAG:
            raise inexpressible(self._router, f"adaptive group {group.number:#x} receives tagged packets")
        use = self._uses.setdefault((target, packet), len(self._all_uses))
        if use == len(self._all_uses):
            self._all_uses.append(AdaptiveUse(group, packet))
        return -2 - use

    # ---- tables ----

    def emitted_tags(self, arrivals: Sequence[Arrival], tags: Flags) -> EmittedTags:
        """Returns the tags and marks that packets may have when they leave the switch.

        Args:
            arrivals: the kinds of arrivals, in the order of `Arrival`.
            tags: (2, N): entry [mark, router]: whether arriving packets may have that mark and a tag that
                names that router.
        """
        key = (*arrivals, tags.tobytes())
        if key not in self._emitted_tags:
            if len(self._emitted_tags) == _MAX_KEPT:
                self._emitted_tags.clear()
            self._emitted_tags[key] = self._find_emitted_tags(arrivals, tags)
        return self._emitted_tags[key]

    def _find_emitted_tags(self, arrivals: Sequence[Arrival], tags: Flags) -> EmittedTags:
        rows = [(arrival, self.row(arrival)) for arrival in arrivals]
        keys = self._with_detours([row[tags[one.mark]] if one.by_tag else row for one, row in rows])
        columns = self._shapes.columns(keys)
        found = np.zeros((2, self._routers), bool)
        tagged = columns.tags != NO_TAG
        found[columns.marks[tagged], columns.tags[tagged]] = True
        return EmittedTags(found, bool((columns.marks[~tagged] > 0).any()))

    def _with_detours(self, rows: list[Numbers]) -> Numbers:
        """Returns the distinct keys of the rows and of all adaptive choices, in ascending order."""
        if self._all_uses:
            detours = self._find_detours()
            rows += [detours.minimal, detours.bundle_keys, detours.keys]
        keys = np.unique(np.concatenate(rows))
        return keys[keys >= 0]

    def _find_detours(self) -> Detours:
        if self._detours is None or len(self._detours.minimal) < len(self._all_uses):
            self._detours = find_detours(
                self._all_uses, self._buckets, self._shapes, self._failed, self._keys
            )
            if (self._to_hosts(self._detours.keys)).any():
                raise inexpressible(self._router, "a detour leads to a host")
        return self._detours

    def tables(self, arrivals: Sequence[Arrival]) -> SwitchTables:
        """Returns the switch's forwarding.

        Args:
            arrivals: the kinds of arrivals, in the order of `Arrival`.

        Raises:
            PlanError: forwarding tables cannot express it.
        """
        keys = self._with_detours([self.row(arrival) for arrival in arrivals])
        keys = self._shapes.in_order(keys)
        numbering = _Numbering(keys)
        return SwitchTables(
            rows={
                arrival: numbering.numbers(self._resolve_dead_groups(self.row(arrival)))
                for arrival in arrivals
            },
            delivered=self._all_delivered(arrivals),
            choices=self._shapes.columns(keys),
            adaptive=numbering.numbered(self._find_detours()) if self._all_uses else None,
        )

    def _resolve_dead_groups(self, row: Numbers) -> Numbers:
        """Returns a row in which minimal paths replace the adaptive choices that have no live detours."""
        if not self._all_uses:
            return row
        detours = self._find_detours()
        adaptive = np.flatnonzero(row < NO_CHOICE)
        uses = -2 - row[adaptive]
        without = detours.bundle_starts[uses] == detours.bundle_starts[uses + 1]
        row = row.copy()
        row[adaptive[without]] = detours.minimal[uses[without]]
        return row

    def _all_delivered(self, arrivals: Sequence[Arrival]) -> Flags:
        delivered = self._delivered[Arrival.UNTAGGED]
        for arrival in arrivals:
            # A router's only host receives nothing from the router's own hosts.
            if arrival.by_tag or (arrival is Arrival.HOST and len(delivered) < 2):
                continue
            if (self._delivered[arrival] != delivered).any():
                raise inexpressible(
                    self._router, "only some of the packets for one of its hosts are delivered"
                )
        return delivered


class _Numbering:
    """Numbers the choices of a switch, and translates their keys to these numbers."""

    def __init__(self, keys: Numbers) -> None:
        """Numbers distinct keys in the given order."""
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def numbers(self, keys: Numbers) -> Numbers:
        """Returns the numbers of keys; NO_CHOICE and adaptive choices are unchanged."""
        known = keys >= 0
        numbers = keys.copy()
        numbers[known] = self._order[np.searchsorted(self._keys, keys[known])]
        return numbers

    def numbered(self, detours: Detours) -> Detours:
        """Returns detours with numbers of choices instead of keys."""
        return replace(
            detours,
            minimal=self.numbers(detours.minimal),
            bundle_keys=self.numbers(detours.bundle_keys),
            keys=self.numbers(detours.keys),
        )
