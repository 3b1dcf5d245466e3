"""What of a fabric works: ports that are up, switches that hold their rules, links that are held down.

A link works while both of its ports are up, both of its switches are there and filled, and it is not held.
A link that goes down again and again is held down for a growing time once it comes back: fast failover has
no memory, and traffic would follow every flap. So are the links of a switch that returns empty, until it is
filled. One port of a held link is set down by the controller, so that neither of its switches uses it: where
a switch is the reason, that of its neighbour.

Pure: it is told what happens and the time, and answers with the ports to be set down or up.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from topology.addressing import switch_name
from topology.base import Link, Topology
from topology.failures import Failure
from topology.faults import link_element

# A link that went down so many times within so many seconds flaps, and is held for this long at first.
FLAPS, FLAP_WINDOW_S = 3, 10.0
FIRST_HOLD_S, LONGEST_HOLD_S = 0.5, 16.0
# A switch whose connection is gone for so long is lost.
LOST_AFTER_S = 0.2
# Changes that come so soon after one another are planned for together; none waits longer than the second.
SETTLE_S, LONGEST_WAIT_S = 0.02, 0.1

End = tuple[int, int]  # router, port


@dataclass(frozen=True, slots=True)
class SetPort:
    """Set a port of a router administratively down, or up again."""

    router: int
    port: int
    down: bool


@dataclass
class _LinkRecord:
    link: Link
    down_ends: set[End] = field(default_factory=set)
    admin_down: set[End] = field(default_factory=set)  # of these, the ones that somebody set down
    went_down_s: list[float] = field(default_factory=list)
    hold_s: float = FIRST_HOLD_S
    held_until_s: float | None = None
    held_for: set[int] = field(default_factory=set)  # routers that are not there or not filled
    set_down: set[End] = field(default_factory=set)  # by us, or by a controller before us

    @property
    def ends(self) -> tuple[End, End]:
        return self.link.ends

    @property
    def held(self) -> bool:
        return self.held_until_s is not None or bool(self.held_for)

    @property
    def dead(self) -> bool:
        return self.held or bool(self.down_ends)


class FabricHealth:
    """The state of all links and switches of a fabric."""

    def __init__(self, topology: Topology) -> None:
        self._records = [_LinkRecord(link) for link in topology.link_list]
        self._by_end = {end: record for record in self._records for end in record.ends}
        self._gone: set[int] = set()
        self._silent_s: dict[int, float] = {}
        self._planned = self._state()
        self._first_change_s: float | None = None
        self._last_change_s = 0.0

    # ---- what happens; each returns the ports to be set ----

    def port_changed(
        self, router: int, port: int, up: bool, now_s: float, *, admin_down: bool = False
    ) -> list[SetPort]:
        """A switch tells that a port of its went up or down, and whether somebody set it down."""
        record = self._by_end.get((router, port))
        if record is None:
            return []
        was_dead, was_known_dead = bool(record.down_ends), record.dead
        (record.down_ends.discard if up else record.down_ends.add)((router, port))
        (record.admin_down.add if admin_down else record.admin_down.discard)((router, port))
        # What we set down ourselves is no flap.
        if not up and not was_dead and not record.held:
            recent = [then for then in record.went_down_s if now_s - then < FLAP_WINDOW_S]
            record.went_down_s = [*recent, now_s]
        # Looking at all links whenever a switch tells of a port would take a large fabric minutes.
        if record.dead != was_known_dead:
            self._note(now_s)
        if record.held:
            return _hold_again(record)
        if was_dead and not record.down_ends:
            return self._hold_if_flapping(record, now_s)
        return []

    def switch_silent(self, router: int, now_s: float) -> None:
        """A switch's connection is gone; if it does not come back soon, the switch is taken for lost."""
        self._silent_s.setdefault(router, now_s)

    def switch_heard(self, router: int) -> None:
        """A switch connected; it may get packets as before if it had not been taken for lost."""
        self._silent_s.pop(router, None)

    def switch_lost(self, router: int, now_s: float) -> list[SetPort]:
        """A switch is gone or holds no rules: its neighbours are to send nothing to it until it is filled."""
        self._silent_s.pop(router, None)
        self._gone.add(router)
        commands = []
        for record in self._of(router):
            record.held_for.add(router)
            commands += _hold_again(record)
        self._note(now_s)
        return commands

    def switch_filled(self, router: int, now_s: float) -> list[SetPort]:
        """A switch holds its rules: it may get packets."""
        self._gone.discard(router)
        commands = []
        for record in self._of(router):
            if router in record.held_for:
                record.held_for.discard(router)
                commands += self._release(record)
        self._note(now_s)
        return commands

    def adopt(self, router: int, port: int) -> None:
        """A controller before us had set a port down; `release_adopted` gives it back."""
        record = self._by_end.get((router, port))
        if record:
            record.set_down.add((router, port))

    def release_adopted(self) -> list[SetPort]:
        """What nothing holds any more may be used, once all switches were heard or are known to be lost."""
        return [command for record in self._records for command in self._release(record)]

    def tick(self, now_s: float) -> list[SetPort]:
        """Time passes: switches that are silent for long are lost, links held for long enough released."""
        commands = []
        for router, since_s in list(self._silent_s.items()):
            if now_s - since_s >= LOST_AFTER_S:
                commands += self.switch_lost(router, now_s)
        for record in self._records:
            if record.held_until_s is not None and now_s >= record.held_until_s:
                record.held_until_s = None
                # On probation: one more time down, and it is held again, for longer.
                record.went_down_s = [now_s] * (FLAPS - 1)
                commands += self._release(record)
                self._note(now_s)
        return commands

    # ---- what follows ----

    def seen(self, router: int, absent: Collection[int]) -> bool:
        """Returns whether a neighbour that is not absent has its port towards a router up."""
        others = (end for record in self._of(router) for end in record.ends if end not in record.down_ends)
        return any(other != router and other not in absent for other, _ in others)

    def failure(self) -> Failure:
        """Returns everything that does not work."""
        dead = [record for record in self._records if record.dead]
        names = [link_element(r.link).location for r in dead if not r.held_for]
        names += [switch_name(router) for router in sorted(self._gone)]
        ends = frozenset(end for record in dead for end in record.ends)
        return Failure(", ".join(names) or "none", ends, frozenset(self._gone))

    def plan_due(self, now_s: float) -> bool:
        """Whether something changed that was not planned for yet, and no more is about to change with it."""
        if self._first_change_s is None:
            return False
        settled = now_s - self._last_change_s >= SETTLE_S
        return settled or now_s - self._first_change_s >= LONGEST_WAIT_S

    def planned(self) -> None:
        """What `failure` says was planned for."""
        self._planned = self._state()
        self._first_change_s = None

    # ---- inside ----

    def _hold_if_flapping(self, record: _LinkRecord, now_s: float) -> list[SetPort]:
        recent = [then for then in record.went_down_s if now_s - then < FLAP_WINDOW_S]
        if len(recent) == 1:
            record.hold_s = FIRST_HOLD_S
        if len(recent) < FLAPS:
            return []
        record.held_until_s = now_s + record.hold_s
        record.hold_s = min(2 * record.hold_s, LONGEST_HOLD_S)
        return _hold_again(record)

    def _release(self, record: _LinkRecord) -> list[SetPort]:
        """Sets up what we set down of a link, if nothing holds it any more.

        A switch whose connection is gone cannot be told, and may come back without its note of the port: that
        is set up when it is back.
        """
        if record.held:
            return []
        ends = sorted(end for end in record.set_down if end[0] not in self._silent_s)
        record.set_down.difference_update(ends)
        return [SetPort(*end, down=False) for end in ends]

    def _of(self, router: int) -> list[_LinkRecord]:
        return [record for record in self._records if router in (record.link.a, record.link.b)]

    def _state(self) -> frozenset[End]:
        dead = frozenset(end for record in self._records if record.dead for end in record.ends)
        return dead | {(router, 0) for router in self._gone}

    def _note(self, now_s: float) -> None:
        if self._state() == self._planned:
            self._first_change_s = None
            return
        self._last_change_s = now_s
        if self._first_change_s is None:
            self._first_change_s = now_s


def _hold_again(record: _LinkRecord) -> list[SetPort]:
    """Sets one port of a held link down, unless one is: what others set down is not for us to set up again.

    That of the neighbour where a switch is the reason. Others may have set it up meanwhile.
    """
    end = next((end for end in record.ends[::-1] if end[0] not in record.held_for), record.ends[1])
    if end in record.admin_down or record.set_down & record.admin_down:
        return []
    record.set_down.add(end)
    return [SetPort(*end, down=True)]
