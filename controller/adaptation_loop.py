"""The adaptive loop: an adaptive law computes each switch's groups from its queues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import replace

from controller.occupancy.queue_handoff import AdaptationRequest
from controller.occupancy.source import OccupancySource, ProblemLog
from controller.openflow.commands import Message, PutGroup
from routing.algorithms.bucket_control import Means, SwitchAdapter
from routing.plan.model import Group, RoutePlan
from routing.registry import routing
from topology.addressing import dpid

STEPS_PER_QUEUE = 10  # steps in the time that a full queue takes to drain; queues change no faster
MIN_STEP_S, MAX_STEP_S = 0.05, 1.0
_USUAL_FRAME_BYTES = 1000


def step_s(rate_bps: int, queue_packets: int) -> float:
    """Returns the period of the adaptive loop, which is between 0.05 and 1 s.

    Args:
        rate_bps: rate of the links.
        queue_packets: capacity of the ports' queues, in packets.
    """
    drain_s = queue_packets * _USUAL_FRAME_BYTES * 8 / rate_bps
    return min(max(drain_s / STEPS_PER_QUEUE, MIN_STEP_S), MAX_STEP_S)


class AdaptiveLoop:
    """Adapts the groups of all switches of a plan. The caller decides when, and sends the changed groups."""

    def __init__(
        self,
        plan: RoutePlan,
        source: OccupancySource,
        every_s: float = MIN_STEP_S,
        requested: Callable[[], AdaptationRequest | None] = lambda: None,
    ) -> None:
        """Starts with minimal paths in all groups.

        Args:
            plan: plan of an adaptive routing.
            source: reports the occupancies of the switches' output buffers.
            every_s: period at which the caller calls `step`.
            requested: returns the next request of the parent process; None if there is none.

        Raises:
            ValueError: the plan's routing is oblivious.
        """
        self._routing = routing(plan.routing)
        if self._routing.oblivious:
            raise ValueError(f"routing must be adaptive, got {plan.routing}")
        self._plans = {dpid(switch.router): switch for switch in plan.switches}
        self._shared: Means = {}
        self._adapters = {datapath_id: self._adapter(datapath_id) for datapath_id in self._plans}
        self.source = source
        self.every_s = every_s
        self.restored = 0  # number of requests that pointed all groups at minimal paths again
        self.groups_modified = 0
        self._requested = requested
        self._new_names: list[str] = []
        self._problems = ProblemLog()

    def add_problem(self, text: str) -> None:
        """Records a problem of the adaptation."""
        self._problems.add(text)

    def new_problems(self) -> list[str]:
        """Returns the problems of the adaptation and its source since the last call."""
        return [*self.source.new_problems(), *self._problems.take()]

    def new_names(self) -> list[str]:
        """Returns the routing names, with parameters, that requests have set since the last call."""
        taken, self._new_names = self._new_names, []
        return taken

    def use_routing(self, name: str) -> None:
        """Changes the parameters of the law and those of the control of groups; detours in use are kept.

        Args:
            name: name of the plan's routing with the new parameters.
        """
        self._routing = routing(name)
        self._new_names.append(name)
        for datapath_id, adapter in self._adapters.items():
            adapter.use_law(self._routing.make_law(datapath_id), self._routing.control())

    def reset(self, datapath_id: int) -> None:
        """Resets the groups of a switch to minimal paths; call it when the switch is sent its plan again."""
        if datapath_id in self._plans:
            self._forget({datapath_id})
            self._adapters[datapath_id] = self._adapter(datapath_id)

    def _forget(self, datapath_ids: Set[int]) -> None:
        """Drops the occupancies that other switches know of switches that are not read now."""
        routers = {self._plans[datapath_id].router for datapath_id in datapath_ids}
        for port in [port for port in self._shared if port[0] in routers]:
            del self._shared[port]

    def use_plan(self, plan: RoutePlan) -> None:
        """Replaces the plan; groups may have other candidate paths in the new one. Detours in use are kept.

        Args:
            plan: the plan to which the switches are being updated.
        """
        for switch in plan.switches:
            if self._plans[dpid(switch.router)] is not switch:
                self._plans[dpid(switch.router)] = switch
                self._adapters[dpid(switch.router)].use_plan(switch)

    def detoured(self) -> float:
        """Returns the fraction of the buckets of all adaptive groups that point at detours, 0 to 1."""
        groups = [group for adapter in self._adapters.values() for group in adapter.groups]
        buckets = sum(len(group.pointing) for group in groups)
        return 1 - sum(group.minimal_buckets for group in groups) / buckets if buckets else 0.0

    def adapted(self, datapath_id: int, messages: list[Message]) -> list[Message]:
        """Returns the messages with the plan's buckets of adaptive groups replaced by the current ones.

        The plan's groups use minimal paths only, which may be congested now.
        """
        adapter = self._adapters.get(datapath_id)
        if adapter is None:
            return messages
        return [
            replace(message, command=replace(command, group=adapter.present(command.group)))
            if isinstance(command := message.command, PutGroup)
            else message
            for message in messages
        ]

    def _adapter(self, datapath_id: int) -> SwitchAdapter:
        """Creates the adapter of a switch, whose adaptive groups all use minimal paths at first."""
        law = self._routing.make_law(datapath_id)
        control = self._routing.control()
        return SwitchAdapter(self._plans[datapath_id], law, control, self._shared)

    def step(self, ready: frozenset[int]) -> Iterator[tuple[int, list[Group]]]:
        """Yields (datapath id, changed groups) for the ready switches whose groups change.

        Args:
            ready: datapath ids of the switches that have their plan installed.
        """
        while request := self._requested():
            if request.routing is not None:
                self.use_routing(request.routing)
                continue
            yield from ((datapath_id, self._adapters[datapath_id].restore()) for datapath_id in sorted(ready))
            self.restored += 1
        self._forget(self._plans.keys() - ready)
        for datapath_id, occupancies in self.source.read().items():
            if datapath_id in ready:
                groups = self._adapters[datapath_id].update(occupancies)
                if groups:
                    self.groups_modified += len(groups)
                    yield datapath_id, groups
