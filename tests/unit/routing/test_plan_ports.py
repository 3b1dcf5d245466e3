"""Plans for given port numbers: those for default numbers, but for the numbers."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from support.builders.graphs import FABRICS
from support.builders.port_tables import with_shuffled_ports

from routing.deadlock.channels import Channels
from routing.plan.model import PORT_INGRESS, Output
from routing.registry import make_plan
from routing.replan.replan import surviving_plan
from routing.verification.forwarding_states import StateSpace
from routing.verification.paths import packet_paths
from routing.verification.verifier import prove
from simulation.tables.check import check_against_walk
from simulation.tables.compiler import PlanCompiler
from topology.drains import NO_DRAIN, drain_named
from topology.failures import NO_FAILURE, link_failures
from topology.families.low_diameter.polarfly import PolarFly
from topology.registry import make_topology

CASES = [
    ("polarfly", {"q": 3}, "min"),
    ("polarfly", {"q": 3}, "valiant"),
    ("polarfly", {"q": 3}, "compact-valiant"),
    ("polarfly", {"q": 3}, "ugal-pf"),
    ("polarfly", {"q": 3}, "up-down"),
    ("hyperx", {"shape": "2x3"}, "ugal"),
    ("hyperx", {"shape": "2x3"}, "dor"),
    ("fat-tree", {"arity": 2, "levels": 3}, "min"),
    ("fat-tree", {"arity": 2, "levels": 3}, "valiant"),
    ("dragonfly", {"a": 4, "h": 2, "trunking": 2}, "two-color"),
    ("a ring with one link twice", None, "ugal"),
]


def plans_of(family, params, routing, hosts=2, **options):
    """Returns a plan with default ports, and one with given ports."""
    topology = FABRICS[family]() if params is None else make_topology(family, params)
    return [
        make_plan(one, hosts, routing, **options) for one in (topology, with_shuffled_ports(topology, hosts))
    ]


def content(tables, skip=("groups",)):
    """Returns forwarding tables as lists, but for the numbers of groups, which may be those of ports."""
    return {
        field.name: content(value) if is_dataclass(value) else value.tolist()
        for field in fields(tables)
        if field.name not in skip
        for value in [getattr(tables, field.name)]
    }


@pytest.mark.parametrize(("family", "params", "routing"), CASES)
def test_packets_are_treated_alike_whatever_the_numbers_of_ports_are(family, params, routing):
    plain, given = plans_of(family, params, routing)
    expected = with_shuffled_ports(plain.topology, 2)
    for switch in given.switches:
        actions = {action for rule in switch.rules for action in rule.actions if isinstance(action, Output)}
        _, hosts = expected.router_ports(switch.router, 2)
        assert {action.port for action in actions} - {PORT_INGRESS} == {*hosts}
    of_plain, of_given = PlanCompiler(plain), PlanCompiler(given)
    failures = [NO_FAILURE, *link_failures(plain.topology)][:3]
    for before, failure in zip(failures, [NO_FAILURE, *link_failures(given.topology)], strict=False):
        tables = of_given.tables(failure)
        if routing != "ugal-pf":  # whose groups have the numbers of ports, which number the choices
            assert content(tables) == content(of_plain.tables(before))
        check_against_walk(given, tables, failure=failure)


@pytest.mark.parametrize(("family", "params", "routing"), CASES[::3])
def test_proofs_are_the_same(family, params, routing):
    plain, given = (
        prove(plan, [NO_FAILURE, *link_failures(plan.topology)])
        for plan in plans_of(family, params, routing, hosts=1)
    )
    assert given.ok
    assert given == plain


@pytest.mark.parametrize("routing", ["min", "valiant", "ugal-pf"])
def test_packets_take_the_same_paths(routing):
    plain, given = map(StateSpace, plans_of("polarfly", {"q": 3}, routing))
    for source in plain.hosts[:4]:
        for destination in plain.hosts:
            if destination != source:
                assert packet_paths(given, source, destination) == packet_paths(plain, source, destination)


@pytest.mark.parametrize(
    ("family", "params", "routing"),
    [("polarfly", {"q": 3}, "ugal-pf"), ("hyperx", {"shape": "2x3"}, "ugal")],
)
def test_plans_around_failures_and_drains_are_found(family, params, routing):
    plain, given = plans_of(family, params, routing, hosts=1)
    link = plain.topology.link_list[0]
    for drained in ((), ("s3",), (f"link:s{link.a + 1}-s{link.b + 1}",)):
        around = []
        for plan in (plain, given):
            topology = plan.topology
            failure = list(link_failures(topology))[5]
            drain = drain_named(topology, drained) if drained else NO_DRAIN
            planned = surviving_plan(plan, failure, drain)  # which is proven
            around.append(content(PlanCompiler(planned).tables(failure)))
        if family != "polarfly":  # whose groups have the numbers of ports, by which equal ones are chosen
            assert around[0] == around[1]


def test_channels_are_numbered_by_links_and_know_their_ports():
    topology = with_shuffled_ports(PolarFly(3), 1)
    channels = Channels(topology, 2)
    for (router, port), link in topology.link_numbers.items():
        assert channels.link(router, port) == link
        assert channels.port(2 * link + 1) == port
        head = int(channels.heads[link])
        assert channels.links_to(router, np.array([head])).tolist() == [link]


@pytest.mark.parametrize(
    ("family", "params", "routing"), [("hyperx", {"shape": "2x3"}, "dor"), ("polarfly", {"q": 3}, "up-down")]
)
def test_ordered_repairs_are_the_same(family, params, routing):
    plain, given = plans_of(family, params, routing, ordered_repair=True)
    assert len(given.unprotected) == len(plain.unprotected)
    assert content(PlanCompiler(given).tables()) == content(PlanCompiler(plain).tables())
