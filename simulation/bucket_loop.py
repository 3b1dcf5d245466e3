"""The adaptive loop of a simulation: the control law of a routing re-points buckets, as the controller does.

Every period, the law of each switch sees the occupancies of the switch's ports and re-points buckets of its
adaptive groups (`routing.algorithms.bucket_control`), at once. A bucket takes the flows whose hash it has.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from routing.algorithms.bucket_control import AdaptiveGroup, SwitchAdapter
from routing.plan.model import RoutePlan
from routing.registry import routing
from simulation.arrays.forwarding import first_outcomes
from simulation.arrays.ports import link_ports
from simulation.kernels.decisions import DETOUR_BIT
from simulation.kernels.state import BURST, LINK_FREE, NONE, TICK, State
from simulation.settings import RouterSettings
from simulation.tables.model import ForwardingTables


class BucketLoop:
    """The adaptive groups of all switches of a simulation, an intervention every period."""

    def __init__(
        self, plan: RoutePlan, tables: ForwardingTables, period: int, routers: RouterSettings
    ) -> None:
        """Begins with minimal paths in all groups.

        Args:
            plan: plan of an adaptive routing.
            tables: its forwarding tables, with candidates.
            period: cycles between two steps of the law, at least 1.
            routers: settings of routers and links.

        Raises:
            ValueError: the plan's routing is oblivious.
        """
        chosen = routing(plan.routing)
        control = chosen.control()
        self._adapters = [
            SwitchAdapter(switch, chosen.make_law(switch.router + 1), control) for switch in plan.switches
        ]
        self._plan, self._tables = plan, tables
        self._uses, self._outcomes = _uses(tables), first_outcomes(tables)
        self._period, self._routers = period, routers
        self._links = link_ports(tables)
        self._next = 0
        self._buckets = max((len(group.buckets) for one in plan.switches for group in one.groups), default=1)
        self.moved = 0  # groups that were changed

    @property
    def next_cycle(self) -> int:
        """The cycle of the next step."""
        return self._next

    def act(self, network: State) -> State:
        """Takes a step of all switches' laws.

        Args:
            network: the network at the begin of the step's cycle.
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

    def take_tables(self, network: State, plan: RoutePlan, tables: ForwardingTables) -> State:
        """Returns a network whose buckets are those of other tables; the detours in use stay where they can.

        Args:
            network: the network, which has these tables.
            plan: the plan that the switches hold.
            tables: its forwarding tables, with candidates.
        """
        for before, switch, adapter in zip(self._plan.switches, plan.switches, self._adapters, strict=True):
            if switch is not before:
                adapter.take_plan(switch)
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
        """Writes the outcomes of the buckets of some groups."""
        adaptive = self._tables.adaptive
        for group in groups:
            pointing = np.array(group.pointing)
            for use in self._uses.get((router, group.group.number), ()):
                first = adaptive.candidate_starts[use]
                choices = self._outcomes[adaptive.candidates[first + pointing]]
                detour = (pointing > 0) & (choices >= 0)
                # Groups of fewer buckets than others have them several times over.
                row = np.where(detour, choices | DETOUR_BIT, choices)
                network.buckets[use] = np.resize(row, self._buckets)

    def _occupancies(self, network: State) -> npt.NDArray[np.float64]:
        """Returns the occupied share of each output, 0 to 1: float64 array, (links,).

        It is that of a queue (drop), or of one virtual channel's buffer beyond the link (credit), as for
        decisions for every packet.
        """
        routers = self._routers
        if routers.flow_control == "credit":
            return np.asarray(np.minimum(network.used[self._links] / routers.buffer_flits, 1.0))
        free = network.outputs[self._links, LINK_FREE]
        waiting = free - int(network.settings[BURST]) - int(network.counts[TICK])
        full = routers.queue_packets * routers.packet_flits * routers.ticks
        return np.asarray(np.clip(waiting / full, 0.0, 1.0))


def _uses(tables: ForwardingTables) -> dict[tuple[int, int], list[int]]:
    """Returns the adaptive choices by router and number of the group that they are."""
    found: dict[tuple[int, int], list[int]] = {}
    adaptive = tables.adaptive
    for use, key in enumerate(zip(adaptive.routers.tolist(), adaptive.groups.tolist(), strict=True)):
        found.setdefault(key, []).append(use)
    return found
