"""Fabric of simulated routers: plans a routing, checks it against the routers and compiles it to tables."""

from __future__ import annotations

import math
import time

import numpy as np

from experiments.events.base import OnEvent
from experiments.events.notices import Notice
from experiments.planned_fabric import PlannedFabric
from experiments.simulation.memory import require_memory
from experiments.spec.fabric import BY_HOP, BY_LEVEL, CREDIT, FabricOptions
from experiments.spec.simulation.decisions import BUCKETS, COMPARING, PIGGYBACK, PRODUCT
from routing.algorithms.packet_law import BUFFER
from routing.plan.model import RoutePlan
from routing.registry import routing
from simulation.kernels.compiled import is_compiled, keeps_kernels
from simulation.settings import RouterSettings
from simulation.tables.check import check_against_walk
from simulation.tables.model import ForwardingTables
from topology.errors import NegativeResult, ParameterError, UsageError
from topology.parameters import join_parameters
from topology.shortest_paths import host_pairs_by_distance

# Routers of the largest fabric whose plan is proven, which takes 2 s. ER_31 under UGAL_PF would take minutes.
MAX_PROVEN = 256
_HIERARCHICAL_HOPS = 3  # of a path without intermediate routers


def prepare_fabric(options: FabricOptions, on_event: OnEvent) -> PlannedFabric:
    """Plans, proves and compiles a fabric, so that it is ready for packets.

    Args:
        options: its specification.
        on_event: called with each event.

    Raises:
        UsageError: the routing cannot route the graph, or the decision rule needs input that the routing
            lacks.
        ParameterError: packets take more hops than there are virtual channels.
        MachineError: the fabric does not fit into the available memory.
        NegativeResult: the plan fails its proof.
        PlanError: the plan has rules that forwarding tables cannot express, or the tables differ from a walk
            through the plan.
    """
    began = time.perf_counter()
    require_memory(options)
    planned = PlannedFabric(options)
    plan = planned.plan
    check_channels(plan, options.routers)
    made = time.perf_counter()
    _prove(planned, on_event)
    proven = time.perf_counter()
    tables = planned.tables
    check_against_walk(plan, tables)
    compiled = time.perf_counter()
    on_event(
        Notice(
            "tables-compiled",
            routers=tables.routers,
            hosts=tables.hosts,
            rules=planned.rules.flows,
            seconds=made - began + compiled - proven,
        )
    )
    check_fabric(options, plan, tables, on_event)
    if not is_compiled(options.routers.flow_control):
        on_event(Notice("kernels-compiled", kept=keeps_kernels()))
    planned.bringup_s.update(plan=made - began, verify=proven - made, tables=compiled - proven)
    return planned


def _prove(planned: PlannedFabric, on_event: OnEvent) -> None:
    """Raises NegativeResult if a plan fails its proof; plans of large fabrics are not proven."""
    routers = planned.options.topology.routers
    if routers > MAX_PROVEN:
        on_event(Notice("plan-not-proven", routers=routers, most=MAX_PROVEN))
        return
    proof = planned.prover.prove(planned.plan, every_host=False)
    if not proof.ok:
        raise NegativeResult(f"the plan fails its proof and is not simulated: {proof.faults[0]}")
    on_event(Notice("routes-proven", pairs=proof.pairs, max_hops=proof.max_hops))


def check_fabric(fabric: FabricOptions, plan: RoutePlan, tables: ForwardingTables, on_event: OnEvent) -> None:
    """Checks a fabric against a plan that may have been made for another fabric with the same routing.

    Args:
        fabric: specification of the fabric.
        plan: a plan of its routing.
        tables: the plan as forwarding tables.
        on_event: called with an event for settings without effect and for buffers too small for full links.

    Raises:
        UsageError: the decision rule needs input that the plan lacks.
        ParameterError: packets take more hops than there are virtual channels.
    """
    check_channels(plan, fabric.routers)
    check_decision(fabric, tables)
    _warn(fabric, on_event)


def planned_routing(text: str) -> str:
    """Returns the name of a routing with only those parameters that its plan depends on.

    Args:
        text: name of the routing, with its parameters.
    """
    chosen = routing(text)
    keys = {parameter.key for parameter in chosen.plan_parameters}
    given = {key: value for key, value in chosen.given.items() if key in keys}
    return join_parameters(chosen.name.partition(":")[0], given, chosen.plan_parameters)


def check_channels(plan: RoutePlan, routers: RouterSettings) -> None:
    """Raises ParameterError if packets may take more hops than there are virtual channels.

    Only lossless routers that use another virtual channel for each hop or each level are checked.
    """
    if routers.flow_control == CREDIT and routers.channel_policy == BY_LEVEL:
        levels = 2 * math.ceil(max_hops(plan) / _HIERARCHICAL_HOPS)
        if routers.channels < levels:
            raise ParameterError(
                f"virtual-channels must be {levels} or more for --channel-policy level, two for each "
                f"hierarchical part of the paths of {plan.routing}, got {routers.channels}"
            )
    if routers.flow_control != CREDIT or routers.channel_policy != BY_HOP:
        return
    needed = max_hops(plan)
    if routers.channels < needed:
        raise ParameterError(
            f"virtual-channels must be {needed} or more, one for each hop of the longest path of "
            f"{plan.routing}, got {routers.channels}; raise it or choose another --channel-policy (`any` "
            "needs only 1 if verify --deadlock finds no cycle)"
        )


def max_hops(plan: RoutePlan) -> int:
    """Returns the largest number of hops that a packet takes while nothing has failed."""
    # Only distances between routers with hosts count: others may be further apart.
    distances = np.array([0, *host_pairs_by_distance(plan.topology)], np.int16)
    return int(plan.hop_bound(distances).max())


def warn_of_repairs(fabric: FabricOptions, plan: RoutePlan, on_event: OnEvent) -> None:
    """Reports if packets that switches reroute may take more hops than there are virtual channels."""
    routers, hops = fabric.routers, max_hops(plan) + plan.repair_hops
    if routers.flow_control == CREDIT and routers.channel_policy == BY_HOP and routers.channels < hops:
        on_event(Notice("channels-shared", hops=hops, channels=routers.channels))


def credit_flits(routers: RouterSettings) -> int:
    """Returns the buffer that a single virtual channel needs for the full link rate, in flits.

    A packet's buffer space is reserved from its start on the link until its credit has returned. Meanwhile
    the link passes a flit in every cycle.

    Args:
        routers: settings of routers and links.
    """
    round_trip = routers.longest_link_cycles + routers.router_cycles + routers.credit_cycles
    return routers.packet_flits + round_trip


def check_decision(fabric: FabricOptions, tables: ForwardingTables) -> None:
    """Raises UsageError if a fabric's decision rule lacks its input.

    Rules that compare detours with minimal paths need the hops of both; one rule also needs links between
    groups of routers.

    Args:
        fabric: specification of the fabric.
        tables: a plan of its routing as forwarding tables.
    """
    law = fabric.packet_decision().law
    if law not in COMPARING or not len(tables.adaptive.minimal):
        return
    if law == PIGGYBACK and not fabric.topology.clusters().members:
        raise UsageError(
            f"--decision {PIGGYBACK} needs a topology with links between groups of routers, got "
            f"{fabric.name}; try --decision {PRODUCT}"
        )
    if not tables.adaptive.minimal_hops.any():
        raise UsageError(
            f"--decision {law} needs a routing that knows the hops of its detours, like ugal, got "
            f"--routing {fabric.routing}; leave --decision out"
        )


def _warn(fabric: FabricOptions, on_event: OnEvent) -> None:
    """Reports settings without effect, and buffers too small for full links."""
    routers = fabric.routers
    if routers.flow_control == CREDIT and routers.buffer_flits < credit_flits(routers):
        on_event(
            Notice("credits-too-few", needed_flits=credit_flits(routers), buffer_flits=routers.buffer_flits)
        )
    if unused := _unused_parameters(fabric):
        on_event(Notice("parameters-unused", routing=fabric.routing, names=unused))


def _unused_parameters(fabric: FabricOptions) -> tuple[str, ...]:
    """Returns the names of the routing's given parameters that a simulation ignores."""
    chosen = routing(fabric.routing)
    if chosen.packet_law is None:
        return ()
    if fabric.packet_decision().law == BUCKETS:
        unused = {parameter.key for parameter in chosen.packet_law.own}
    else:
        used = {*(parameter.key for parameter in chosen.plan_parameters), *chosen.packet_values()}
        unused = chosen.given.keys() - used
        if fabric.routers.flow_control != CREDIT:  # whose ports have one queue
            unused |= {BUFFER.key}
    return tuple(p.name for p in chosen.parameters if p.key in chosen.given and p.key in unused)
