"""The plan compiler: tags in use, routers without hosts, limits of tags and TTL."""

import networkx as nx
import numpy as np
import pytest
from support.builders.graphs import Drawn
from support.builders.leaf_spine import LeafSpine

from routing.compiler import SourceTable, compile_plan, detour_bucket
from routing.plan.groups import GroupRole, group_number
from routing.plan.model import Group, GroupKind, Rule, Table, ToGroup
from routing.plan.tables import MAX_TAGS, PRIORITY_ROUTER, TO_ANY_HOST
from routing.registry import make_plan
from routing.verification.verifier import prove
from topology.errors import ParameterError
from topology.failures import NO_FAILURE, link_failures, switch_failures
from topology.families.low_diameter.polarfly import PolarFly

HUB = 0
GROUP = group_number(GroupRole.CHOICE_ANY)


def through_the_hub(view, reroute):
    """The source table that sends all packets to router 0 first."""
    if view.router == HUB:
        return SourceTable((Rule(Table.SOURCE, PRIORITY_ROUTER, TO_ANY_HOST, goto=Table.MINIMAL),))
    rule = Rule(Table.SOURCE, PRIORITY_ROUTER, TO_ANY_HOST, (ToGroup(GROUP),))
    return SourceTable((rule,), (Group(GROUP, GroupKind.INDIRECT, (detour_bucket(reroute, HUB),)),))


def test_the_tag_of_router_0_is_forwarded_where_it_is_the_only_one():
    topology = PolarFly(2)
    plan = compile_plan(
        topology, 1, "hub", lambda d: np.where(d == 0, 0, 4).astype(np.int16), through_the_hub
    )
    proof = prove(plan)
    assert proof.ok, proof.faults
    assert proof.max_hops == 4


def test_the_number_of_routers_is_limited_by_the_tags():
    class Large(LeafSpine):
        @property
        def routers(self):
            return MAX_TAGS + 1

        def host_counts(self, hosts_per_router):
            return np.full(self.routers, hosts_per_router)

    with pytest.raises(ParameterError, match=f"{MAX_TAGS}.*{MAX_TAGS + 1}"):
        make_plan(Large(), 1, "min")


# ---- routers without hosts ----


FABRICS = {"leaf-spine 4 x 2": LeafSpine(), "leaf-spine 5 x 3": LeafSpine(5, 3)}


@pytest.mark.parametrize("name", ["min", "valiant", "ugal"])
@pytest.mark.parametrize("hosts_per_router", [1, 2])
@pytest.mark.parametrize("fabric", FABRICS)
def test_hosts_at_some_routers_only_are_all_served_whatever_single_link_fails(fabric, hosts_per_router, name):
    topology = FABRICS[fabric]
    plan = make_plan(topology, hosts_per_router, name)
    hosts = topology.leaves * hosts_per_router
    proof = prove(plan, [NO_FAILURE, *link_failures(topology)])
    assert proof.ok, proof.faults
    assert proof.pairs == hosts * (hosts - 1)
    assert proof.delivered == proof.pairs * proof.scenarios
    assert plan.unprotected == ()


@pytest.mark.parametrize("name", ["min", "valiant", "ugal"])
def test_hosts_at_some_routers_only_are_all_served_whatever_single_switch_fails(name):
    topology = LeafSpine()
    proof = prove(make_plan(topology, 1, name), switch_failures(topology))
    assert proof.ok, proof.faults
    assert proof.delivered > 0


def test_every_router_has_a_switch_and_only_those_with_hosts_a_source_table():
    topology = LeafSpine()
    plan = make_plan(topology, 2, "valiant")
    assert [switch.router for switch in plan.switches] == list(range(topology.routers))
    choosing = {switch.router for switch in plan.switches if GROUP in {g.number for g in switch.groups}}
    assert choosing == set(range(topology.leaves))


def test_destinations_without_hosts_are_not_listed_as_unprotected():
    chord = [*nx.cycle_graph(10).edges, (0, 5)]
    listed = {destination for _, destination, _ in make_plan(Drawn(chord), 1, "min").unprotected}

    class WithoutOneHost(Drawn):
        def host_counts(self, hosts_per_router):
            return np.where(np.arange(self.routers) == min(listed), 0, hosts_per_router)

    plan = make_plan(WithoutOneHost(chord), 1, "min")
    assert {destination for _, destination, _ in plan.unprotected} == listed - {min(listed)}


def test_groups_of_a_switch_share_the_buckets_of_their_detours():
    for switch in make_plan(PolarFly(3), 1, "ugal").switches:
        candidates = [bucket for group in switch.groups for bucket in group.candidates]
        assert len({id(bucket) for bucket in candidates}) == len(set(candidates)) < len(candidates)
