"""Fabric of simulated routers: a routing planned, checked against the routers, and compiled to tables."""

from __future__ import annotations

import time

import numpy as np

from experiments.events.base import Notify
from experiments.events.simulation import CreditsTooFew, ParametersUnused, TablesCompiled
from experiments.results.simulation.record import SimulatedFabricRecord
from experiments.spec.simulation.model import BY_HOP, CREDIT, SimulatedFabric
from routing.plan.model import RoutePlan
from routing.registry import make_plan, routing
from simulation.settings import RouterSettings
from simulation.tables.check import check_against_walk
from simulation.tables.compiler import compile_tables
from simulation.tables.model import ForwardingTables
from topology.errors import ParameterError, UsageError

_PRODUCT = "product"


def prepare_fabric(fabric: SimulatedFabric, notify: Notify) -> SimulatedFabricRecord:
    """Returns a fabric that is ready for packets.

    Args:
        fabric: its specification.
        notify: takes the events.

    Raises:
        UsageError: the routing cannot route the graph, or the decision for every packet does not fit to it.
        ParameterError: packets take more hops than there are virtual channels.
        PlanError: the plan has rules that forwarding tables cannot express, or the tables differ from the
            walk of the plan.
    """
    began = time.perf_counter()
    plan = make_plan(fabric.topology, fabric.hosts, fabric.routing)
    check_channels(plan, fabric.routers)
    planned = time.perf_counter()
    tables = compile_tables(plan)
    check_against_walk(plan, tables)
    _check_decision(fabric, tables)
    compiled = time.perf_counter()
    rules = plan.size().flows
    notify(TablesCompiled(tables.routers, tables.hosts, rules, compiled - began))
    _warn(fabric, notify)
    bringup_s = {"plan": planned - began, "tables": compiled - planned}
    return SimulatedFabricRecord(fabric, plan, tables, bringup_s)


def check_channels(plan: RoutePlan, routers: RouterSettings) -> None:
    """Raises ParameterError if packets of a plan take more hops than there are channels, one for each."""
    if routers.flow_control != CREDIT or routers.channel_policy != BY_HOP:
        return
    distances = np.arange(plan.topology.diameter + 1, dtype=np.int16)
    needed = int(plan.hop_bound(distances).max())
    if routers.channels < needed:
        raise ParameterError(
            f"virtual-channels must be {needed} or more for the paths of up to {needed} hops of "
            f"{plan.routing}, a channel for each hop, got {routers.channels}; or choose another "
            "--channel-policy"
        )


def credit_flits(routers: RouterSettings) -> int:
    """Returns the buffer that a virtual channel needs to use a whole link by itself, in flits.

    A packet's room is free again when it has passed the link, left the next router at once, and its credit is
    back; until then the link passes a flit in every cycle.

    Args:
        routers: settings of routers and links.
    """
    round_trip = routers.link_cycles + routers.router_cycles + routers.credit_cycles
    return routers.packet_flits + round_trip


def _check_decision(fabric: SimulatedFabric, tables: ForwardingTables) -> None:
    """Raises UsageError if a decision compares hops that the plan does not tell."""
    if fabric.packet_decision().law != _PRODUCT or not len(tables.adaptive.minimal):
        return
    if not tables.adaptive.minimal_hops.any():
        raise UsageError(
            f"--decision {_PRODUCT} needs a routing that knows the hops of its detours, as ugal, got "
            f"--routing {fabric.routing}; leave --decision out"
        )


def _warn(fabric: SimulatedFabric, notify: Notify) -> None:
    """Notifies of settings without effect, and of buffers too small for full links."""
    routers = fabric.routers
    if routers.flow_control == CREDIT and routers.buffer_flits < credit_flits(routers):
        notify(CreditsTooFew(credit_flits(routers), routers.buffer_flits))
    chosen = routing(fabric.routing)
    if chosen.packet_law is not None:
        plan_keys = {parameter.key for parameter in chosen.plan_parameters}
        unused = [
            p.name
            for p in chosen.parameters
            if p.key in chosen.given and p.key not in {*plan_keys, *chosen.packet_values()}
        ]
        if unused:
            notify(ParametersUnused(fabric.routing, tuple(unused)))
