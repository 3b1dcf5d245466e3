"""Link and switch state as the controller knows it, with hold-down of flapping links.

A link is usable while both of its ports are up, both of its switches have their rules, and it is not held
down. A link that goes down repeatedly is held down for increasing times once it comes back: fast failover has
no memory, and traffic would follow every flap. The links of a switch that connects without rules are held
down until the switch has its rules and a plan avoids these links, because they come up one by one: a switch
with only a few links up could not pass on the packets that its neighbours send to it.

To hold a link down, the controller sets one of its ports down, so that neither switch uses it. If the link is
held down because one of its switches is lost or has no rules, the controller sets down the port of the other
switch.

Pure: events and their times come in as method calls, which return the ports to set down or up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from topology.addressing import switch_name
from topology.base import Link, Topology
from topology.failures import Failure
from topology.faults import link_component

# A link flaps if it goes down FLAPS times within FLAP_WINDOW_S. The first hold-down lasts FIRST_HOLD_S; each
# further one takes twice as long as the previous one, up to LONGEST_HOLD_S.
FLAPS, FLAP_WINDOW_S = 3, 10.0
FIRST_HOLD_S, LONGEST_HOLD_S = 0.5, 16.0
# A switch counts as lost this long after its connection ended.
LOST_AFTER_S = 0.2
# A held-down port that someone else brings up is set down again after at least this time.
REPEAT_S = 0.5
# Replanning waits until nothing has changed for SETTLE_S, but at most LONGEST_WAIT_S: one failure of a switch
# arrives as many port events.
SETTLE_S, LONGEST_WAIT_S = 0.02, 0.1

End = tuple[int, int]  # router, port
_Key = Link | int | tuple[int]  # a dead link, a lost router, or (a returning router,)


@dataclass(frozen=True, slots=True)
class SetPort:
    """Command to set a port of a router administratively down, or back up."""

    router: int
    port: int
    down: bool


@dataclass
class _LinkRecord:
    link: Link
    down_ends: set[End] = field(default_factory=set)
    admin_down: set[End] = field(default_factory=set)  # the ends that are administratively down
    went_down_s: list[float] = field(default_factory=list)
    hold_s: float = FIRST_HOLD_S
    held_until_s: float | None = None
    held_for: set[int] = field(default_factory=set)  # those of its two routers that are lost or have no rules
    set_down: set[End] = field(default_factory=set)  # ends set down by this controller or an earlier one
    set_down_s: float | None = None  # when its port was last set down

    @property
    def ends(self) -> tuple[End, End]:
        return self.link.ends

    @property
    def held(self) -> bool:
        return self.held_until_s is not None or bool(self.held_for)

    @property
    def dead(self) -> bool:
        return self.held or bool(self.down_ends)


class FabricState:
    """The state of all links and switches of a fabric; initially all are up.

    Attributes:
        changes: number of changes of links, switches and hold-downs so far.
    """

    def __init__(self, topology: Topology) -> None:
        self._records = [_LinkRecord(link) for link in topology.link_list]
        self._by_end = {end: record for record in self._records for end in record.ends}
        self._by_router: dict[int, list[_LinkRecord]] = {}
        for record in self._records:
            for router, _ in record.ends:
                self._by_router.setdefault(router, []).append(record)
        self._timed: list[_LinkRecord] = []  # links held down until a known time
        self._set_up_by_others: dict[Link, _LinkRecord] = {}  # held links whose port must be set down again
        self._lost: set[int] = set()
        self._returning: set[int] = set()  # those lost routers that have their rules again
        self._disconnected_s: dict[int, float] = {}  # router -> when its connection ended
        self._planned: set[_Key] = set()  # dead links, lost and returning routers that the last plan is for
        self._unplanned: set[_Key] = set()  # those whose state differs from the planned one
        self.changes = 0
        self._first_change_s: float | None = None
        self._last_change_s = 0.0

    # ---- events; each returns the ports to set ----

    def port_changed(
        self, router: int, port: int, up: bool, now_s: float, *, admin_down: bool = False
    ) -> list[SetPort]:
        """Records what a switch reports about one of its ports.

        Args:
            router: the switch's router.
            port: the port's number; ports to hosts are ignored.
            up: whether the port can carry packets.
            now_s: time of the event.
            admin_down: whether the port is administratively down.

        Returns:
            The ports to set.
        """
        record = self._by_end.get((router, port))
        if record is None:
            return []
        port_was_down, was_dead = bool(record.down_ends), record.dead
        (record.down_ends.discard if up else record.down_ends.add)((router, port))
        (record.admin_down.add if admin_down else record.admin_down.discard)((router, port))
        # A port that the controller itself set down does not flap.
        if not up and not port_was_down and not record.held:
            record.went_down_s = [*_recent(record, now_s), now_s]
        if record.dead != was_dead:
            self._note_change(now_s, [record])
        if record.held:
            return self._keep_down(record, now_s)
        if port_was_down and not record.down_ends:
            return self._hold_if_flapping(record, now_s)
        return []

    def switch_disconnected(self, router: int, now_s: float) -> None:
        """Records that a switch's connection ended; `tick` declares it lost unless it reconnects soon."""
        self._disconnected_s.setdefault(router, now_s)

    def switch_connected(self, router: int) -> None:
        """Records that a switch connected; its links remain usable unless it had been declared lost."""
        self._disconnected_s.pop(router, None)

    def switch_lost(self, router: int, now_s: float) -> list[SetPort]:
        """Holds down all links of a switch that is gone or has no rules, until it is admitted."""
        self._disconnected_s.pop(router, None)
        self._lost.add(router)
        self._returning.discard(router)
        commands = []
        for record in self._records_of(router):
            record.held_for.add(router)
            commands += _set_down(record, now_s)
        self._note_change(now_s, self._records_of(router), router)
        return commands

    def switch_filled(self, router: int, now_s: float) -> None:
        """Records that a switch has its rules installed; if it was lost, it is `returning` from now on."""
        if router in self._lost:
            self._returning.add(router)
            self._note_change(now_s, [], router)

    def admit(self, now_s: float) -> list[SetPort]:
        """Admits the returning switches that the last plan avoids: ends the hold-down of their links.

        Call it while all switches have that plan installed and no other is being made.
        """
        commands = []
        for router in sorted(router for router in self._returning if (router,) in self._planned):
            held = [record for record in self._records_of(router) if router in record.held_for]
            self._returning.discard(router)
            self._lost.discard(router)
            for record in held:
                record.held_for.discard(router)
                commands += self._release(record)
            self._note_change(now_s, held, router)
        return commands

    def adopt(self, router: int, port: int) -> None:
        """Records a port that an earlier controller set down, so that this controller brings it up again."""
        record = self._by_end.get((router, port))
        if record:
            record.set_down.add((router, port))

    def release_adopted(self) -> list[SetPort]:
        """Brings up the ports recorded by `adopt`, except those of links that are held down.

        Call it once all switches have described their state.
        """
        return [command for record in self._records for command in self._release(record)]

    def tick(self, now_s: float) -> list[SetPort]:
        """Declares switches lost that did not reconnect, and ends the hold-downs whose time is over."""
        commands = []
        for router, since_s in list(self._disconnected_s.items()):
            if now_s - since_s >= LOST_AFTER_S:
                commands += self.switch_lost(router, now_s)
        over = [record for record in self._timed if now_s >= (record.held_until_s or 0.0)]
        self._timed = [record for record in self._timed if now_s < (record.held_until_s or 0.0)]
        for record in over:
            record.held_until_s = None
            # On probation: if it goes down once more, it is held again, for longer.
            record.went_down_s = [now_s] * (FLAPS - 1)
            commands += self._release(record)
        if over:
            self._note_change(now_s, over)
        for record in list(self._set_up_by_others.values()):
            commands += self._keep_down(record, now_s)
        return commands

    # ---- queries ----

    def seen_by_neighbour(self, router: int, absent: Collection[int]) -> bool:
        """Returns whether any neighbour of a router, except absent ones, has its port to the router up."""
        ends = (end for record in self._records_of(router) for end in record.ends)
        return any(end[0] != router and end[0] not in absent and self._port_up(end) for end in ends)

    @property
    def returning(self) -> frozenset[int]:
        """The lost routers whose switches have their rules again, but which are not admitted yet."""
        return frozenset(self._returning)

    def failure(self) -> Failure:
        """Returns all links and switches that are not usable."""
        dead = [record for record in self._records if record.dead]
        names = [link_component(r.link).location for r in dead if not r.held_for]
        names += [switch_name(router) for router in sorted(self._lost)]
        ends = frozenset(end for record in dead for end in record.ends)
        return Failure(", ".join(names) or "none", ends, frozenset(self._lost))

    def held_until_s(self) -> dict[str, float]:
        """Returns link name -> end of its hold-down, for the links that are held down because they flap."""
        held = {link_component(r.link).location: r.held_until_s for r in self._timed}
        return {name: until_s for name, until_s in held.items() if until_s is not None}

    def plan_due(self, now_s: float) -> bool:
        """Returns whether the state differs from the last plan's and has not changed for some time."""
        if self._first_change_s is None:
            return False
        settled = now_s - self._last_change_s >= SETTLE_S
        return settled or now_s - self._first_change_s >= LONGEST_WAIT_S

    def mark_planned(self) -> None:
        """Records that a plan for the current `failure` is being made."""
        self._planned ^= self._unplanned
        self._unplanned.clear()
        self._first_change_s = None

    # ---- internals ----

    def _hold_if_flapping(self, record: _LinkRecord, now_s: float) -> list[SetPort]:
        recent = _recent(record, now_s)
        if len(recent) == 1:
            record.hold_s = FIRST_HOLD_S
        if len(recent) < FLAPS:
            return []
        if record.held_until_s is None:
            self._timed.append(record)
        record.held_until_s = now_s + record.hold_s
        record.hold_s = min(2 * record.hold_s, LONGEST_HOLD_S)
        self._note_change(now_s, [record])
        return _set_down(record, now_s)

    def _keep_down(self, record: _LinkRecord, now_s: float) -> list[SetPort]:
        """Sets the port of a held-down link down again, after someone else has set it up.

        If the last such command is less than `REPEAT_S` old, `tick` sends the next one later.
        """
        if not record.held:
            self._set_up_by_others.pop(record.link, None)
            return []
        if record.set_down_s is not None and now_s < record.set_down_s + REPEAT_S:
            self._set_up_by_others[record.link] = record
            return []
        self._set_up_by_others.pop(record.link, None)
        return _set_down(record, now_s)

    def _release(self, record: _LinkRecord) -> list[SetPort]:
        """Brings up a link's ports if a controller set them down, unless the link is still held down.

        A disconnected switch cannot receive commands. Its ports stay recorded here and are brought up when it
        is back; the switch's own note (`Installer.set_port`) may be lost by then.
        """
        if record.held:
            return []
        ends = sorted(end for end in record.set_down if end[0] not in self._disconnected_s)
        record.set_down.difference_update(ends)
        return [SetPort(*end, down=False) for end in ends]

    def _records_of(self, router: int) -> list[_LinkRecord]:
        return self._by_router.get(router, [])

    def _port_up(self, end: End) -> bool:
        return end not in self._by_end[end].down_ends

    def _note_change(self, now_s: float, records: Iterable[_LinkRecord], router: int | None = None) -> None:
        """Records that some links, and perhaps a switch, have changed.

        The cost must not depend on the number of links, because a switch can report any number of changes.
        """
        self.changes += 1
        dead: dict[_Key, bool] = {record.link: record.dead for record in records}
        if router is not None:
            dead |= {router: router in self._lost, (router,): router in self._returning}
        for component, is_dead in dead.items():
            differs = is_dead != (component in self._planned)
            (self._unplanned.add if differs else self._unplanned.discard)(component)
        if not self._unplanned:
            self._first_change_s = None
            return
        self._last_change_s = now_s
        if self._first_change_s is None:
            self._first_change_s = now_s


def _recent(record: _LinkRecord, now_s: float) -> list[float]:
    return [time_s for time_s in record.went_down_s if now_s - time_s < FLAP_WINDOW_S]


def _set_down(record: _LinkRecord, now_s: float) -> list[SetPort]:
    """Sets down one port of a held-down link.

    If one of its switches is lost or has no rules, the port of the other switch is set down.

    Does nothing while a port of the link is administratively down: a port that someone else set down must not
        be brought up later by this controller.
    """
    end = next((end for end in record.ends[::-1] if end[0] not in record.held_for), record.ends[1])
    if end in record.admin_down or record.set_down & record.admin_down:
        return []
    record.set_down.add(end)
    record.set_down_s = now_s
    return [SetPort(*end, down=True)]
