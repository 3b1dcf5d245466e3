"""Minimal routing (`min`): every packet takes the shortest path that the topology's formula names."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from routing.compiler import SourceTable, compile_plan
from routing.plan.groups import RouterView
from routing.plan.model import RoutePlan, Rule, Table
from routing.plan.tables import PRIORITY_ROUTER, TO_ANY_HOST
from routing.reroute.base import FastReroute
from topology.base import Topology

NAME = "min"


def minimal_plan(topology: Topology, concentration: int) -> RoutePlan:
    """Returns the plan in which every pair's packets take exactly the pair's distance in hops.

    A switch holds masked rules for every other router, and groups per fabric port for these rules to point
    at, so that what happens at a port is said in one place. Arguments and errors as `compile_plan`.
    """
    return compile_plan(topology, concentration, NAME, _exactly, _straight_on)


def _straight_on(_view: RouterView, _reroute: FastReroute) -> SourceTable:
    return SourceTable((Rule(Table.SOURCE, PRIORITY_ROUTER, TO_ANY_HOST, goto=Table.MINIMAL),))


def _exactly(distances: npt.NDArray[np.int16]) -> npt.NDArray[np.int16]:
    return distances
