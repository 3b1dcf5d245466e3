"""Planned fabrics: a specification with everything derived from it, for emulation and simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from experiments.results.model import RuleCounts
from experiments.spec.fabric import FabricOptions
from experiments.spec.simulation.decisions import BUCKETS
from routing.plan.model import RoutePlan
from routing.registry import make_plan
from topology.addressing import Host, hosts_of
from topology.files.plugin_files import Sources, needed, take_over
from topology.plugins import check_plugins

if TYPE_CHECKING:
    from routing.verification.verifier import Prover
    from simulation.tables.model import ForwardingTables


@dataclass(frozen=True)
class PlannedFabric:
    """A fabric's specification, with the plan of its routes and other data derived from it.

    The plan is computed when it is first needed, and shared by copies made with `changed`. A pickled fabric
    does not include it.

    Attributes:
        options: specification of the fabric.
        bringup_s: step of the bring-up -> its duration in s, for the steps that are complete.
        datapath: datapath of its switches, `kernel` or `user`; empty without switches.
        occupancy: source of the queue occupancies that an adaptive routing reads; None for other routings.
        framework: framework of its controller, `ryu` or `os-ken`; empty without one.
    """

    options: FabricOptions
    bringup_s: dict[str, float] = field(default_factory=dict)
    datapath: str = ""
    occupancy: str | None = None
    framework: str = ""

    @cached_property
    def plan(self) -> RoutePlan:
        """The plan: rules and groups of every router."""
        asked = self.options
        return make_plan(
            asked.topology,
            asked.hosts,
            asked.routing,
            local_repair=asked.local_repair,
            ordered_repair=asked.ordered_repair,
        )

    @cached_property
    def prover(self) -> Prover:
        """Prover of the fabric's plans; it reuses earlier work for plans similar to a proven one."""
        from routing.verification.verifier import Prover

        return Prover()

    @cached_property
    def tables(self) -> ForwardingTables:
        """The plan as forwarding tables of simulated routers."""
        from simulation.tables.compiler import compile_tables

        return compile_tables(self.plan, candidates=self.options.packet_decision().law == BUCKETS)

    @cached_property
    def hosts(self) -> tuple[Host, ...]:
        """All hosts, router by router."""
        return hosts_of(self.options.topology, self.options.hosts)

    @cached_property
    def rules(self) -> RuleCounts:
        """Rules and groups of the plan."""
        size = self.plan.size()
        return RuleCounts(size.flows, size.groups)

    def host_distances(self) -> npt.NDArray[np.int16]:
        """Returns the hops of the plan's minimal path between any two hosts: int16 array, hosts x hosts."""
        routers = np.array([host.router for host in self.hosts])
        return self.plan.topology.distances(routers[:, None], routers[None, :])

    def changed(self, **values: Any) -> Self:
        """Returns a copy of the fabric with some attributes replaced; it shares the plan."""
        other = object.__new__(type(self))
        vars(other).update(vars(self) | values)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        """Supports pickling; unpickling first installs the plug-ins that the fabric needs."""
        names = (self.options.topology.name, self.options.routing.partition(":")[0])
        kept = {name: value for name, value in vars(self).items() if name not in ("plan", "prover")}
        return _with_plugins, needed(*names), kept


def _with_plugins(files: Sources, kept: Mapping[str, str]) -> PlannedFabric:
    """Installs the sender's plug-ins, and returns a fabric whose attributes the unpickler then sets.

    Raises:
        UsageError: this machine lacks a plug-in's package, or has a different version of it.
    """
    take_over(files)
    check_plugins(kept)
    return PlannedFabric.__new__(PlannedFabric)
