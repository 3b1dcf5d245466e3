"""Plans for what a failure leaves, of routings whose sources have one rule for all destinations."""

import itertools

import networkx as nx
import numpy as np
import pytest

from routing.algorithms.minimal import minimal_plan
from routing.compiler import SourceTable, compile_plan, detour_bucket
from routing.plan.groups import GroupRole, group_number
from routing.plan.model import Group, GroupKind, Rule, Table, ToGroup
from routing.plan.tables import PRIORITY_ROUTER, TO_ANY_HOST
from routing.replan.replan import surviving_plan
from routing.verification.verifier import prove
from topology.errors import NegativeResult
from topology.failures import failure_of
from topology.families.polarfly import PolarFly
from topology.faults import Element, ElementKind, link_element
from topology.registry import make_topology

GROUP = group_number(GroupRole.CHOICE_ANY)


def by_any_neighbour(topology):
    """The plan in which all of a source's packets go to a random neighbour first, by one rule."""

    def part(view, reroute):
        buckets = tuple(detour_bucket(reroute, n) for n in topology.neighbours(view.router).tolist())
        rule = Rule(Table.SOURCE, PRIORITY_ROUTER, TO_ANY_HOST, (ToGroup(GROUP),))
        return SourceTable((rule,), (Group(GROUP, GroupKind.SELECT, buckets),))

    return compile_plan(
        topology, 1, "any-neighbour", lambda d: np.where(d == 0, 0, d + 2).astype(np.int16), part
    )


def test_one_rule_for_all_destinations_can_be_planned_around():
    topology = PolarFly(2)
    whole = by_any_neighbour(topology)
    elements = [*map(link_element, topology.link_list)]
    elements += [Element(ElementKind.SWITCH, (router,)) for router in range(topology.routers)]
    for pair in itertools.combinations(elements, 2):
        both = failure_of(topology, pair)
        plan = surviving_plan(whole, both)
        assert not prove(plan, [both], every_host=False).undelivered


def test_a_plan_whose_ways_are_longer_than_packets_live_is_none(tmp_path):
    path = tmp_path / "ring.edges"
    path.write_text("\n".join(f"{a} {b}" for a, b in nx.cycle_graph(66).edges))
    topology = make_topology("graph", {"from": str(path)})
    whole = minimal_plan(topology, 1)
    failure = failure_of(topology, [link_element(topology.link_list[0])])
    with pytest.raises(NegativeResult, match="have to take 65 hops, and they live for 63"):
        surviving_plan(whole, failure)
