"""Families with a fast reroute or detours of their own, and those without."""

import networkx as nx
import pytest
from support.builders.graphs import routings_of
from support.builders.leaf_spine import LeafSpine

from routing import families
from routing.families import DETOURS, REROUTES, FamilyDetours, detours_of, reroute_maker
from routing.plan.groups import GroupRole, group_number
from routing.plan.model import Bucket, DecrementTtl, Group, GroupKind, Output
from routing.registry import make_plan
from routing.reroute import polarfly
from routing.reroute.base import FastReroute, ProtectedGroups
from routing.reroute.loop_free_alternates import AlternateSearch
from routing.verification.verifier import prove
from topology.errors import UsageError
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.polarfly_detours import NearDetour, RouterDetours
from topology.families.low_diameter.slimfly import SlimFly
from topology.networkx_graphs import from_networkx
from topology.registry import FAMILIES

WITH_DETOURS = ("compact-valiant", "ugal-pf")


def fast_reroute_without_alternates(view):
    """A fast reroute with one group per port, none of which knows an alternate."""
    ports = range(1, int(view.topology.degrees[view.router]) + 1)
    groups = tuple(
        Group(
            group_number(GroupRole.PROTECTED, port),
            GroupKind.INDIRECT,
            (Bucket((DecrementTtl(), Output(port))),),
        )
        for port in ports
    )
    toward = tuple(group_number(GroupRole.PROTECTED, port) if port else 0 for port in view.first_ports)
    protected = ProtectedGroups(groups, toward, 0)
    return FastReroute(protected, lambda: protected)


def test_every_entry_is_that_of_a_family():
    assert set(REROUTES) | set(DETOURS) <= set(FAMILIES)


def test_a_family_is_routed_by_its_own_fast_reroute(monkeypatch):
    monkeypatch.setattr(families, "REROUTES", {"leafspine": fast_reroute_without_alternates})
    plan = make_plan(LeafSpine(), 1, "min")
    assert not [g for s in plan.switches for g in s.groups if g.kind is GroupKind.FAST_FAILOVER]
    assert plan.repair_hops == 0
    assert prove(plan).ok


def test_polarfly_has_alternates_in_closed_form():
    assert reroute_maker(PolarFly(3)) is polarfly.fast_reroute


def test_a_family_without_a_fast_reroute_gets_loop_free_alternates():
    maker = reroute_maker(SlimFly(3))
    assert maker.__func__ is AlternateSearch.fast_reroute


@pytest.mark.parametrize("name", WITH_DETOURS)
def test_a_routing_refuses_a_family_without_detours(name):
    with pytest.raises(UsageError) as refused:
        make_plan(SlimFly(3), 1, name)
    message = str(refused.value)
    assert "\n" not in message
    for word in (name, "polarfly", "slimfly", "on any graph"):
        assert word in message


def test_the_detours_of_a_family_are_used(monkeypatch):
    class OneFarDetour(RouterDetours):
        def far(self, next_hop):
            return super().far(next_hop)[:1]

    own = FamilyDetours(OneFarDetour, max_hops=(0, 4, 3))
    monkeypatch.setattr(families, "DETOURS", {"polarfly": own})
    plan = make_plan(PolarFly(3), 1, "compact-valiant")
    far = [g for s in plan.switches for g in s.groups if g.number >> 12 == GroupRole.CHOICE_FAR]
    assert {len(group.buckets) for group in far} == {1}
    assert prove(plan).ok


def test_detours_of_polarfly_are_named():
    detours = detours_of(PolarFly(3), "ugal-pf").of_router(PolarFly(3), 0)
    neighbour = int(PolarFly(3).neighbours(0)[0])
    assert neighbour not in detours.far(neighbour)
    assert all(isinstance(detour, NearDetour) for bundle in detours.near(neighbour) for detour in bundle)


@pytest.mark.parametrize("name", routings_of("slimfly"))
def test_all_other_routings_take_any_family(name):
    assert make_plan(SlimFly(3), 1, name).routing == name


@pytest.mark.parametrize(
    ("name", "other"),
    [("ugal-pf", "ugal, which adapts"), ("ugal-pf:threshold=0.5", "ugal, "), ("compact-valiant", "valiant")],
)
def test_a_graph_without_detours_of_its_family_is_told_of_a_routing_for_any(name, other):
    ring = from_networkx(nx.cycle_graph(5))
    with pytest.raises(UsageError, match=f"polarfly, got graph; .* {other}"):
        detours_of(ring, name)
