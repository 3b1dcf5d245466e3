"""The adaptive loop of a simulation: a routing's control law re-points buckets, as a controller would.

Once per period, the law of each switch reads the occupancies of the switch's ports and re-points buckets of
its adaptive groups (`routing.algorithms.bucket_control`). Unlike in an emulated fabric, the change takes
effect immediately. Each flow is hashed to one bucket of a group.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from routing.algorithms.bucket_control import AdaptiveGroup, Means, SwitchAdapter
from routing.plan.model import RoutePlan
from routing.registry import routing
from simulation.arrays.forwarding import first_outcomes
from simulation.arrays.ports import link_ports
from simulation.kernels.decisions import DETOUR_BIT
from simulation.kernels.state import BURST, LINK_FREE, NONE, TICK, State
from simulation.settings import RouterSettings
from simulation.tables.model import ForwardingTables


class BucketLoop:
    """Intervention that runs the control laws of all switches once per period."""

    def __init__(
        self, plan: RoutePlan, tables: ForwardingTables, period: int, routers: RouterSettings
    ) -> None:
        """Creates an adaptive loop; at first, all groups use minimal paths.

        Args:
            plan: plan of an adaptive routing algorithm.
            tables: its forwarding tables, compiled with candidate detours.
            period: cycles between two steps of the control law, at least 1.
            routers: settings of routers and links.

        Raises:
            ValueError: the plan's routing algorithm is oblivious.
        """
        chosen = routing(plan.routing)
        control = chosen.control()
        shared: Means = {}
        self._adapters = [
            SwitchAdapter(switch, chosen.make_law(switch.router + 1), control, shared)
            for switch in plan.switches
        ]
        self._plan, self._tables = plan, tables
        self._uses, self._outcomes = _uses(tables), first_outcomes(tables)
        self._period, self._routers = period, routers
        self._links = link_ports(tables)
        self._next = 0
        self._buckets = max((len(group.buckets) for one in plan.switches for group in one.groups), default=1)
        self.moved = 0  # group changes so far

    @property
    def next_cycle(self) -> int:
        """The cycle of the next step."""
        return self._next

    def act(self, network: State) -> State:
        """Runs one step of every switch's control law and returns the network with the new buckets.

        Args:
            network: the network at the start of the step's cycle.
        """
        self._next += self._period
        if not network.buckets.size:
            network = self._with_all_buckets(network)
        occupancies = self._occupancies(network).tolist()
        starts = self._tables.link_starts.tolist()
        for router, adapter in enumerate(self._adapters):
            ports = self._plan.topology.link_ports(router).tolist()
            own = occupancies[starts[router] : starts[router + 1]]
            changed = adapter.step(dict(zip(ports, own, strict=True)))
            self.moved += len(changed)
            self._write(network, router, changed)
        return network

    def replace_tables(self, network: State, plan: RoutePlan, tables: ForwardingTables) -> State:
        """Returns a network whose buckets fit new tables; buckets keep detours that the new plan still has.

        Args:
            network: the network, which already has the new tables.
            plan: the plan that the switches have installed.
            tables: its forwarding tables, compiled with candidate detours.
        """
        for before, switch, adapter in zip(self._plan.switches, plan.switches, self._adapters, strict=True):
            if switch is not before:
                adapter.use_plan(switch)
        self._plan, self._tables = plan, tables
        self._uses, self._outcomes = _uses(tables), first_outcomes(tables)
        return self._with_all_buckets(network)

    def _with_all_buckets(self, network: State) -> State:
        shape = (len(self._tables.adaptive.groups), self._buckets)
        network = network._replace(buckets=np.full(shape, NONE, np.int32))
        for router, adapter in enumerate(self._adapters):
            self._write(network, router, adapter.groups)
        return network

    def _write(self, network: State, router: int, groups: Iterable[AdaptiveGroup]) -> None:
        """Writes the first outcome of each bucket of the groups to `State.buckets`."""
        adaptive = self._tables.adaptive
        for group in groups:
            pointing = np.array(group.pointing)
            for use in self._uses.get((router, group.group.number), ()):
                first = adaptive.candidate_starts[use]
                choices = self._outcomes[adaptive.candidates[first + pointing]]
                detour = (pointing > 0) & (choices >= 0)
                row = np.where(detour, choices | DETOUR_BIT, choices)
                # All rows have the length of the largest group: smaller groups repeat their buckets.
                network.buckets[use] = np.resize(row, self._buckets)

    def _occupancies(self, network: State) -> npt.NDArray[np.float64]:
        """Returns the occupied share of each output, 0 to 1: float64 array, (links,).

        The share refers to the output queue (drop), or to the downstream buffer of one virtual channel
        (credit), as in per-packet decisions.
        """
        routers = self._routers
        if routers.flow_control == "credit":
            return np.asarray(np.minimum(network.used[self._links] / routers.buffer_flits, 1.0))
        free = network.outputs[self._links, LINK_FREE]
        waiting = free - int(network.settings[BURST]) - int(network.counts[TICK])
        full = routers.queue_packets * routers.packet_flits * routers.ticks
        return np.asarray(np.clip(waiting / full, 0.0, 1.0))


def _uses(tables: ForwardingTables) -> dict[tuple[int, int], list[int]]:
    """Returns, by (router, group number), the indices of the adaptive choices that use the group."""
    found: dict[tuple[int, int], list[int]] = {}
    adaptive = tables.adaptive
    for use, key in enumerate(zip(adaptive.routers.tolist(), adaptive.groups.tolist(), strict=True)):
        found.setdefault(key, []).append(use)
    return found
