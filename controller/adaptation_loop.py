"""The loop that adapts a fabric: read the occupancies, let every switch's law decide, tell what changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from controller.occupancy.source import Complaints, OccupancySource
from routing.algorithms.bucket_control import SwitchAdapter
from routing.plan.model import Group, RoutePlan
from routing.registry import routing
from topology.addressing import dpid

# A step is a tenth of the time in which a full queue drains, so that adaptation is as quick as queues are.
STEPS_PER_QUEUE = 10
LEAST_STEP_S, MOST_STEP_S = 0.05, 1.0
_USUAL_FRAME_BYTES = 1000


def step_s(rate_bps: int, queue_packets: int) -> float:
    """Returns how often a fabric is to be looked at, in seconds, by its ports' shape."""
    drain_s = queue_packets * _USUAL_FRAME_BYTES * 8 / rate_bps
    return min(max(drain_s / STEPS_PER_QUEUE, LEAST_STEP_S), MOST_STEP_S)


class AdaptiveLoop:
    """The adaptive groups of all switches of a plan. It keeps no time and sends nothing itself."""

    def __init__(
        self,
        plan: RoutePlan,
        source: OccupancySource,
        every_s: float = LEAST_STEP_S,
        asked_to_restore: Callable[[], bool] = lambda: False,
    ) -> None:
        """Makes a loop in which all groups are minimal.

        Args:
            plan: of an adaptive routing.
            source: of the occupancies.
            every_s: how often whoever runs it is to call `step`.
            asked_to_restore: whether somebody wants all detours to be taken back now.
        """
        make_law = routing(plan.routing).make_law
        if make_law is None:
            raise ValueError(f"{plan.routing} does not adapt")
        self._make_law = make_law
        self._plans = {dpid(switch.router): switch for switch in plan.switches}
        self._adapters = {
            number: SwitchAdapter(switch, make_law(number)) for number, switch in self._plans.items()
        }
        self.source = source
        self.every_s = every_s
        self.restored = 0
        self._asked_to_restore = asked_to_restore
        self._complaints = Complaints()
        self.groups_modified = 0

    def complain(self, text: str) -> None:
        """Notes what is amiss; the same a second time is not said again."""
        self._complaints.add(text)

    def complaints(self) -> list[str]:
        """Returns what is amiss with the adaptation or its source and was not said before."""
        return [*self.source.complaints(), *self._complaints.take()]

    def reset(self, datapath_id: int) -> None:
        """A switch got its plan anew: its groups are all minimal again."""
        if datapath_id in self._plans:
            self._adapters[datapath_id] = SwitchAdapter(self._plans[datapath_id], self._make_law(datapath_id))

    def step(self, ready: frozenset[int]) -> Iterator[tuple[int, list[Group]]]:
        """Yields (datapath id, groups to be changed) for the switches among `ready` that need a change."""
        if self._asked_to_restore():
            yield from ((number, self._adapters[number].restore()) for number in sorted(ready))
            self.restored += 1
        for datapath_id, occupancies in self.source.read().items():
            if datapath_id in ready:
                groups = self._adapters[datapath_id].update(occupancies)
                if groups:
                    self.groups_modified += len(groups)
                    yield datapath_id, groups
