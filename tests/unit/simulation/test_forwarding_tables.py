"""Forwarding tables: the same treatment of every packet as by the walk, under every single failure."""

import os
import subprocess
import sys
from dataclasses import fields, replace
from itertools import chain, pairwise

import networkx as nx
import numpy as np
import pytest
from support.builders.graphs import FABRICS, single_failures, together
from support.builders.leaf_spine import LeafSpine
from support.builders.repeats import repeats
from support.fixtures.documents import ROOT
from support.oracles.forwarding_walk import compare_with_walk

from routing.plan.model import Bucket, Group, GroupKind, ToGroup
from routing.registry import make_plan
from routing.verification.proof import PlanError
from simulation.tables.check import check_against_walk
from simulation.tables.compiler import PlanCompiler, compile_tables
from simulation.tables.model import NO_CHOICE, NO_TAG, AdaptiveChoices, Choices, ForwardingTables
from topology.failures import NO_FAILURE, link_failures, switch_failures
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.families.graph_file import GraphFile
from topology.families.low_diameter.polarfly import PolarFly

ROUTINGS = ("min", "valiant", "compact-valiant", "ugal", "ugal-pf")
ANYWHERE = ("min", "valiant", "ugal")  # routings that need no detours of the family


def some_failures(topology, links=4, switches=2):
    """No failure, and some links and switches."""
    every = [NO_FAILURE]
    for count, failures in ((links, link_failures), (switches, switch_failures)):
        found = list(failures(topology))
        every += found[:: max(1, len(found) // count)]
    return every


@pytest.mark.parametrize("local_repair", [True, False])
@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("q", [2, 3])
def test_every_state_of_a_small_polarfly_is_treated_as_by_the_walk(q, routing, local_repair):
    topology = PolarFly(q)
    plan = make_plan(topology, 1, routing, local_repair=local_repair)
    failures = single_failures(topology) if q == 2 else some_failures(topology, 8, 4)
    assert compare_with_walk(plan, failures) > len(failures) * topology.routers**2 // 2


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("q", [4, *repeats(5)])
def test_every_state_of_a_polarfly_with_several_hosts_a_router_is_treated_as_by_the_walk(q, routing):
    topology = PolarFly(q)
    plan = make_plan(topology, 2, routing)
    assert compare_with_walk(plan, some_failures(topology, 2, 1))


# Detours of `valiant` are those among which `ugal` chooses.
@pytest.mark.parametrize("routing", ["min", "ugal", *repeats("valiant")])
@pytest.mark.parametrize(
    "fabric", ["polarstar 2 iq 0", "slimfly 3", "petersen", "a ring with one link twice", "line"]
)
def test_every_state_of_other_families_is_treated_as_by_the_walk(fabric, routing):
    topology = FABRICS[fabric]()
    for local_repair in (True, False):
        plan = make_plan(topology, 1, routing, local_repair=local_repair)
        assert compare_with_walk(plan, some_failures(topology, 3, 2))


@pytest.mark.slow
@pytest.mark.parametrize("routing", ANYWHERE)
@pytest.mark.parametrize("fabric", FABRICS)
def test_every_state_of_all_sample_fabrics_is_treated_as_by_the_walk(fabric, routing):
    topology = FABRICS[fabric]()
    assert compare_with_walk(make_plan(topology, 1, routing), some_failures(topology, 8, 8))


@pytest.mark.parametrize("routing", ANYWHERE)
def test_a_graph_file_is_treated_as_by_the_walk(tmp_path, routing):
    nx.write_graphml(nx.wheel_graph(7), tmp_path / "wheel.graphml")
    topology = GraphFile(**{"from": str(tmp_path / "wheel.graphml")})
    assert compare_with_walk(make_plan(topology, 2, routing), single_failures(topology))


@pytest.mark.parametrize("routing", ANYWHERE)
def test_routers_without_hosts_are_treated_as_by_the_walk(routing):
    topology = LeafSpine(4, 2)
    plan = make_plan(topology, 2, routing)
    assert compare_with_walk(plan, single_failures(topology))
    tables = compile_tables(plan)
    assert tables.host_routers.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert (tables.from_host[4:] == NO_CHOICE).all()


def test_several_failures_at_once_are_treated_as_by_the_walk():
    topology = PolarFly(3)
    links = list(link_failures(topology))
    failures = [together(links[first : first + 3]) for first in range(0, len(links), 5)]
    for routing in ROUTINGS:
        assert compare_with_walk(make_plan(topology, 1, routing), failures)


@pytest.mark.parametrize(
    "routing",
    ["four-color-valiant:order=own", pytest.param("four-color-adaptive:order=own", marks=pytest.mark.slow)],
)
def test_packets_whose_tag_was_removed_are_treated_as_by_the_walk(routing):
    plan = make_plan(Dragonfly(a=8, h=4, trunking=4), 1, routing)
    assert compare_with_walk(plan, [NO_FAILURE]) > 17_000
    tables = compile_tables(plan)
    assert tables.after_tag.shape == (72, 72)
    assert (tables.without_routers([3]).after_tag[3] == NO_CHOICE).all()
    check_against_walk(plan, tables)
    with pytest.raises(PlanError, match="its rules"):
        check_against_walk(plan, replace(tables, after_tag=tables.untagged))


@pytest.mark.slow
@pytest.mark.parametrize("routing", ["four-color-valiant", "four-color-adaptive"])
def test_packets_whose_tag_was_removed_are_treated_as_by_the_walk_under_failures(routing):
    topology = Dragonfly(a=8, h=4, trunking=4)
    assert compare_with_walk(make_plan(topology, 1, routing), some_failures(topology, 8, 4))


# ---- arrays ----


def arrays(tables):
    parts = (tables, tables.choices, tables.adaptive)
    return {
        field.name: getattr(part, field.name)
        for part in parts
        for field in fields(part)
        if isinstance(getattr(part, field.name), np.ndarray)
    }


@pytest.mark.parametrize("routing", ROUTINGS)
def test_arrays_have_the_shapes_and_the_type_of_the_model(routing):
    topology = PolarFly(3)
    tables = compile_tables(make_plan(topology, 2, routing))
    assert isinstance(tables, ForwardingTables)
    assert isinstance(tables.choices, Choices)
    assert isinstance(tables.adaptive, AdaptiveChoices)
    every = arrays(tables)
    assert {array.dtype for array in every.values()} == {np.dtype(np.int32)}
    assert all(array.flags.c_contiguous for array in every.values())
    n, links = topology.routers, 2 * topology.links
    assert (tables.routers, tables.hosts) == (n, 2 * n)
    assert len(tables.link_targets) == len(tables.reverse_links) == len(tables.links_up) == links
    assert tables.from_host.shape == tables.untagged.shape == (n, n)
    assert tables.tagged.shape == ((0, 0) if routing == "min" else (n, n))
    assert tables.after_tag.shape == tables.marked.shape == tables.marked_tagged.shape == (0, 0)
    choices, adaptive = tables.choices, tables.adaptive
    assert choices.starts[0] == 0
    assert choices.starts[-1] == len(choices.links) == len(choices.tags) == len(choices.marks)
    assert (np.diff(choices.starts) > 0).all()
    assert (choices.weights > 0).all()
    assert adaptive.bundle_starts[0] == 0
    assert adaptive.bundle_starts[-1] == len(adaptive.bundle_choices)
    assert (np.diff(adaptive.bundle_starts) > 0).all()
    assert (adaptive.bundle_sizes > 0).all()
    ends = (adaptive.bundle_detours + adaptive.bundle_sizes).tolist()
    assert {0, *ends} == {*adaptive.bundle_detours.tolist(), len(adaptive.detours)}  # no gap, no overlap
    assert len(adaptive.bundle_starts) == len(adaptive.minimal) + 1 == len(adaptive.minimal_hops) + 1
    assert len(adaptive.bundle_detours) == len(adaptive.bundle_sizes) == len(adaptive.bundle_choices)
    assert len(adaptive.detour_hops) == len(adaptive.detours)
    assert (len(adaptive.minimal) > 0) == routing.startswith("ugal")


def test_links_are_numbered_by_the_ports_that_they_leave_by():
    topology = FABRICS["a ring with one link twice"]()
    tables = compile_tables(make_plan(topology, 1, "min"))
    for link in topology.link_list:
        (a, port_a), (b, port_b) = link.ends
        there, back = tables.link_starts[a] + port_a - 1, tables.link_starts[b] + port_b - 1
        assert (tables.link_targets[there], tables.link_targets[back]) == (b, a)
        assert (tables.reverse_links[there], tables.reverse_links[back]) == (back, there)


@pytest.mark.parametrize("routing", ROUTINGS)
def test_choices_of_a_switch_differ(routing):
    tables = compile_tables(make_plan(PolarFly(3), 1, routing))
    choices = tables.choices
    columns = np.stack([choices.links, choices.tags, choices.marks, choices.weights])
    bounds = choices.starts.tolist()
    seen = {tuple(columns[:, a:b].T.ravel().tolist()) for a, b in pairwise(bounds)}
    assert len(seen) == len(bounds) - 1


@pytest.mark.parametrize("fabric", ["petersen", "grid", "slimfly 3"])
def test_choices_are_numbered_by_their_outcomes(fabric):
    topology = FABRICS[fabric]()
    [failure, *_] = link_failures(topology)
    tables = compile_tables(make_plan(topology, 1, "ugal"), failure)
    choices = tables.choices
    by_switch: dict[int, list[tuple[int, int, int]]] = {}
    for first, last in pairwise(choices.starts.tolist()):
        link, tag, mark = (int(array[first]) for array in (choices.links, choices.tags, choices.marks))
        if last == first + 1:
            router = int(np.searchsorted(tables.link_starts, link, side="right")) - 1
            by_switch.setdefault(router, []).append((link, tag, mark))
    assert list(by_switch) == list(range(tables.routers))
    assert all(outcomes == sorted(outcomes) for outcomes in by_switch.values())


def weights_by_choice(tables):
    choices = tables.choices
    return [sorted(choices.weights[a:b].tolist()) for a, b in pairwise(choices.starts.tolist())]


def with_groups(plan, router, groups):
    switches = list(plan.switches)
    switches[router] = replace(switches[router], groups=tuple(groups))
    return replace(plan, switches=tuple(switches))


def test_weights_are_those_of_select_groups():
    plan = make_plan(PolarFly(2), 1, "valiant")
    groups = plan.switches[0].groups
    [chosen] = [group for group in groups if group.kind is GroupKind.SELECT]
    weights = [6 + 3 * index for index in range(len(chosen.buckets))]
    buckets = tuple(replace(bucket, weight=w) for bucket, w in zip(chosen.buckets, weights, strict=True))
    # A bucket of weight 0 is never taken.
    other = replace(chosen, buckets=(*buckets, replace(buckets[0], weight=0), replace(buckets[1], weight=3)))
    changed = with_groups(plan, 0, [other if g is chosen else g for g in groups])
    assert compare_with_walk(changed, [NO_FAILURE])
    weights[1] += 3
    assert sorted(weight // 3 for weight in weights) in weights_by_choice(compile_tables(changed))


def test_nested_select_groups_multiply_their_shares():
    plan = make_plan(PolarFly(2), 1, "valiant")
    groups = plan.switches[0].groups
    [outer] = [group for group in groups if group.kind is GroupKind.SELECT]
    inner = Group(1 << 24, GroupKind.SELECT, outer.buckets[1:4])
    nested = replace(outer, buckets=(outer.buckets[0], Bucket((ToGroup(inner.number),), weight=2)))
    changed = with_groups(plan, 0, [*(nested if g is outer else g for g in groups), inner])
    assert compare_with_walk(changed, [NO_FAILURE])
    assert [2, 2, 2, 3] in weights_by_choice(compile_tables(changed))


# ---- adaptive choices ----


@pytest.mark.parametrize("routing", ["ugal", "ugal-pf"])
def test_a_bundle_has_the_detours_that_leave_by_one_port(routing):
    topology = PolarFly(5)
    tables = compile_tables(make_plan(topology, 1, routing))
    choices, adaptive = tables.choices, tables.adaptive

    def links(choice):
        return set(choices.links[slice(*choices.starts[choice : choice + 2])].tolist())

    for number in range(len(adaptive.minimal)):
        ports = []
        for bundle in range(*adaptive.bundle_starts[number : number + 2].tolist()):
            own = links(adaptive.bundle_choices[bundle])
            detour = int(adaptive.bundle_detours[bundle])
            detours = adaptive.detours[detour : detour + adaptive.bundle_sizes[bundle]]
            assert all(links(detour) == own for detour in detours.tolist())
            ports.append(frozenset(own))
        assert len(set(ports)) == len(ports)
        assert len(frozenset().union(*ports)) == len(ports)  # one port each
    assert (choices.tags[adaptive.bundle_choices] == NO_TAG).any()


def test_an_adaptive_group_is_one_choice_that_its_destinations_share():
    topology = PolarFly(5)
    plan = make_plan(topology, 1, "ugal-pf")
    tables = compile_tables(plan)
    for router, switch in enumerate(plan.switches):
        with_detours = [group for group in switch.groups if len(group.candidates) > 1]
        others = np.delete(tables.from_host[router], router)
        assert (others <= -2).all()
        assert len(set(others.tolist())) == len(with_detours)
    assert tables.adaptive.bundle_sizes.sum() == sum(
        len(g.candidates) - 1 for s in plan.switches for g in s.groups if g.candidates
    )


def test_groups_of_a_switch_share_equal_bundles():
    adaptive = compile_tables(make_plan(PolarFly(7), 1, "ugal-pf")).adaptive
    assert len(adaptive.detours) < adaptive.bundle_sizes.sum() / 3
    bundles = {
        (int(first), int(size))
        for first, size in zip(adaptive.bundle_detours, adaptive.bundle_sizes, strict=True)
    }
    assert sum(size for _, size in bundles) == len(adaptive.detours)


@pytest.mark.parametrize("routing", ["ugal", "ugal-pf"])
def test_hops_are_told_in_parts_of_a_hop_where_the_law_needs_them(routing):
    plan = make_plan(PolarFly(3), 1, routing)
    adaptive = compile_tables(plan).adaptive
    groups = [g for s in plan.switches for g in s.groups if len(g.candidates) > 1]
    minimal = sorted(round(256 * g.hops[0]) if g.hops else 0 for g in groups)
    detours = sorted(round(256 * hops) for g in groups for hops in (g.hops or (0,) * len(g.candidates))[1:])
    assert sorted(adaptive.minimal_hops.tolist()) == minimal
    rows = zip(adaptive.bundle_detours.tolist(), adaptive.bundle_sizes.tolist(), strict=True)
    told = [adaptive.detour_hops[first : first + size].tolist() for first, size in rows]
    assert sorted(chain.from_iterable(told)) == detours
    assert (max(detours) > 0) == (routing == "ugal")


def test_dead_detours_are_left_out():
    topology = PolarFly(3)
    plan = make_plan(topology, 1, "ugal-pf", local_repair=False)
    compiler = PlanCompiler(plan)
    whole = compiler.tables()
    [*failures] = link_failures(topology)
    tables = compiler.tables(failures[0])
    assert tables.adaptive.bundle_sizes.sum() < whole.adaptive.bundle_sizes.sum()
    dead = np.flatnonzero(tables.links_up == 0)
    assert not np.isin(tables.choices.links[tables.choices.starts[tables.adaptive.detours]], dead).any()
    # A minimal path that is dead stays: packets that take it are lost.
    assert (tables.adaptive.minimal == NO_CHOICE).any()


def test_detours_that_watch_a_dead_port_are_left_out():
    topology = PolarFly(3)
    plan = make_plan(topology, 1, "ugal-pf")
    [failure, *_] = link_failures(topology)
    [router, port], _ = sorted(failure.failed_ends)
    adaptive = next(g for g in plan.switches[router].groups if len(g.candidates) > 1)
    # Its last detour has an alternate, but watches the port itself.
    candidates = (*adaptive.candidates[:-1], replace(adaptive.candidates[-1], watch_port=port))
    watching = replace(adaptive, candidates=candidates)
    changed = with_groups(
        plan, router, [watching if g is adaptive else g for g in plan.switches[router].groups]
    )
    assert compare_with_walk(changed, [NO_FAILURE])
    count = compile_tables(plan, failure).adaptive.bundle_sizes.sum()
    assert compile_tables(changed, failure).adaptive.bundle_sizes.sum() == count - 1


# ---- failures ----


@pytest.mark.parametrize("routing", ROUTINGS)
def test_links_of_dead_elements_are_down(routing):
    topology = PolarFly(2)
    compiler = PlanCompiler(make_plan(topology, 1, routing))
    for failure in single_failures(topology):
        tables = compiler.tables(failure)
        down = {int(tables.link_starts[router]) + port - 1 for router, port in failure.failed_ends}
        assert set(np.flatnonzero(tables.links_up == 0).tolist()) == down
        assert set(np.flatnonzero(tables.delivered == 0).tolist()) == failure.failed_routers


@pytest.mark.parametrize("routing", ROUTINGS)
def test_a_compiler_that_knows_the_plan_gives_the_same_tables_as_one_that_does_not(routing):
    topology = PolarFly(2)
    plan = make_plan(topology, 2, routing)
    compiler = PlanCompiler(plan)
    every = some_failures(topology)
    for failure in [*every, *reversed(every)]:
        known, anew = arrays(compiler.tables(failure)), arrays(compile_tables(plan, failure))
        assert all(np.array_equal(known[name], array) for name, array in anew.items())


def test_packets_are_lost_at_a_dead_port_without_local_repair():
    topology = PolarFly(3)
    [failure, *_] = link_failures(topology)
    tables = compile_tables(make_plan(topology, 1, "min", local_repair=False), failure)
    for router, port in failure.failed_ends:
        assert tables.untagged[router, topology.neighbours(router)[port - 1]] == NO_CHOICE


def test_ports_that_share_packets_take_those_of_a_dead_one_or_lose_their_share():
    topology = FABRICS["torus"]()
    [failure, *_] = link_failures(topology)
    plan = make_plan(topology, 1, "min")
    assert compare_with_walk(plan, [failure])
    tables = compile_tables(make_plan(topology, 1, "min", local_repair=False), failure)
    assert compare_with_walk(make_plan(topology, 1, "min", local_repair=False), [failure])
    assert tables.choices.links.min() >= -1


# ---- other processes ----

DIGEST = """
import hashlib, sys
from dataclasses import astuple
from routing.registry import make_plan
from simulation.tables.compiler import compile_tables
from topology.failures import link_failures
from topology.families.low_diameter.polarfly import PolarFly
topology = PolarFly(3)
plan = make_plan(topology, 2, sys.argv[1])
tables = compile_tables(plan, next(link_failures(topology)))
print(hashlib.sha256(repr(astuple(tables)).encode()).hexdigest())
"""


@pytest.mark.parametrize("routing", ["min", "ugal-pf"])
def test_tables_are_the_same_in_every_process(routing):
    found = set()
    for seed in ("1", "2"):
        command = [
            sys.executable,
            "-c",
            "import numpy; numpy.set_printoptions(threshold=10**9)\n" + DIGEST,
            routing,
        ]
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, env=environment, timeout=100
        )
        found.add(done.stdout)
    assert len(found) == 1
