"""The names of PolarLab that plug-ins may import.

    from polarlab.extend import PatternDefinition, register

docs/how-to/extending.md is the guide. Names stay the same within a major version; any version may add new
ones.
"""

from __future__ import annotations

import routing.registry  # noqa: F401  # `register` finds registries that are imported, as others are below
from routing.algorithms.bucket_control import (
    BUCKETS,
    AdaptiveGroup,
    Change,
    Law,
    PortOccupancies,
    least_occupied,
    max_returned,
)
from routing.algorithms.packet_law import PacketLaw, PacketRule
from routing.algorithms.routing import Routing
from routing.compiler import AfterTagTable, SourceTable, compile_plan, detour_bucket, evenly_spaced
from routing.path_sets.registry import OVER, with_paths
from routing.plan.groups import GroupRole, RouterView, group_number, push_tag
from routing.plan.model import Bucket, Group, GroupKind, RoutePlan, Rule, Table, ToGroup
from routing.plan.tables import PRIORITY_ROUTER, TO_ANY_HOST
from routing.reroute.base import FastReroute
from topology.base import Adjacency, DestinationBlock, Topology
from topology.clusters import Clusters, consecutive_clusters
from topology.errors import ParameterError, UsageError
from topology.families.family import Family, Member
from topology.layout import Layout
from topology.parameters import Parameter
from topology.plugins import register
from topology.registry import make_topology
from topology.shortest_paths import SearchedTopology, adjacency_from_links
from traffic.workload.collectives.algorithms import Program, Span, Step, split_evenly
from traffic.workload.collectives.operations import AllReduce, AllToAll, Collective
from traffic.workload.hot_spots import HotSpots
from traffic.workload.motifs import Motif
from traffic.workload.patterns import SEED, PatternDefinition

__all__ = [
    "BUCKETS",
    "OVER",
    "PRIORITY_ROUTER",
    "SEED",
    "TO_ANY_HOST",
    "AdaptiveGroup",
    "Adjacency",
    "AfterTagTable",
    "AllReduce",
    "AllToAll",
    "Bucket",
    "Change",
    "Clusters",
    "Collective",
    "DestinationBlock",
    "Family",
    "FastReroute",
    "Group",
    "GroupKind",
    "GroupRole",
    "HotSpots",
    "Law",
    "Layout",
    "Member",
    "Motif",
    "PacketLaw",
    "PacketRule",
    "Parameter",
    "ParameterError",
    "PatternDefinition",
    "PortOccupancies",
    "Program",
    "RoutePlan",
    "RouterView",
    "Routing",
    "Rule",
    "SearchedTopology",
    "SourceTable",
    "Span",
    "Step",
    "Table",
    "ToGroup",
    "Topology",
    "UsageError",
    "adjacency_from_links",
    "compile_plan",
    "consecutive_clusters",
    "detour_bucket",
    "evenly_spaced",
    "group_number",
    "least_occupied",
    "make_topology",
    "max_returned",
    "push_tag",
    "register",
    "split_evenly",
    "with_paths",
]
