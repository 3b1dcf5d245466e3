"""PolarFly's adaptive laws as the paper writes them: random neighbours, own lengths, detours of four hops."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from support.builders.simulated_networks import polarfly_tables

from routing.algorithms.bucket_control import SwitchAdapter
from routing.plan.groups import GroupRole, pushed_tags, tags_pushed_by
from routing.plan.model import GroupKind
from routing.registry import make_plan, routing
from routing.verification.verifier import prove
from simulation.arrays.network import make_network
from simulation.arrays.ports import link_ports
from simulation.kernels import state as of
from simulation.kernels.credit import run
from simulation.settings import Decision, RouterSettings, Workload
from topology.failures import NO_FAILURE, link_failures
from topology.families.low_diameter.expanded_polarfly import make_polarfly
from topology.families.low_diameter.polarfly import PolarFly
from traffic.workload.patterns import Pattern

ER_5 = PolarFly(5)
SOURCE = 7


def select_groups(plan, router):
    return [group for group in plan.switches[router].groups if group.kind is GroupKind.SELECT]


# ---- adjacent pairs without the detour of two hops ----


@pytest.mark.parametrize("name", ["compact-valiant", "ugal-pf"])
@pytest.mark.parametrize(
    ("q", "expand"), [(3, None), (4, None), (5, None), (3, "quadric:1"), (3, "nonquadric:2")]
)
def test_detours_of_adjacent_pairs_can_all_have_four_hops(name, q, expand):
    topology = make_polarfly(q, expand)
    failures = [NO_FAILURE, *link_failures(topology)] if q == 3 else [NO_FAILURE]
    proof = prove(make_plan(topology, 1, f"{name}:triangle=false"), failures)
    assert proof.ok
    assert proof.delivered == proof.pairs * proof.scenarios


@pytest.mark.parametrize("triangle", [True, False])
def test_without_triangles_every_detour_of_an_adjacent_pair_is_tagged(triangle):
    plan = make_plan(ER_5, 1, f"ugal-pf:triangle={str(triangle).lower()}")
    graph = ER_5.to_networkx()
    near = [g for g in select_groups(plan, SOURCE) if g.number >> 12 == GroupRole.CHOICE_NEAR]
    assert len(near) == len(graph[SOURCE])
    for neighbour, group in zip(sorted(graph[SOURCE]), near, strict=True):
        tags = [tags_pushed_by(bucket.actions) for bucket in group.candidates[1:]]
        common = list(nx.common_neighbors(graph, SOURCE, neighbour))
        assert tags.count([]) == len(common) * triangle
        # Routers two hops from both, not through the third router of the triangle.
        four = {
            r
            for r in graph
            if r not in {*graph[SOURCE], *graph[neighbour], SOURCE, neighbour}
            and not any(r in graph[third] for third in common)
        }
        assert {tag for one in tags for tag in one} == four


# ---- UGAL ----


def test_ugal_can_compare_the_length_of_each_path():
    plan, graph = make_plan(ER_5, 1, "ugal:lengths=own"), ER_5.to_networkx()
    length = dict(nx.all_pairs_shortest_path_length(graph))
    groups = select_groups(plan, SOURCE)
    assert len(groups) == ER_5.routers - 1
    for destination, group in zip(sorted(set(graph) - {SOURCE}), groups, strict=True):
        tags = pushed_tags([group])
        wanted = [length[SOURCE][r] + length[r][destination] for r in tags]
        assert group.hops == (length[SOURCE][destination], *wanted)
    assert prove(plan).ok
    shared = select_groups(make_plan(ER_5, 1, "ugal"), SOURCE)
    assert len(shared) < len(groups) / 2
    assert any(hops % 1 for group in shared for hops in group.hops)


# ---- the law of switches ----


def test_buckets_can_move_to_random_detours_of_a_switch():
    plan = make_plan(ER_5, 1, "ugal-pf")
    readings = {1: 1.0, 2: 0.0, **dict.fromkeys(range(3, 7), 0.3)}

    def ports(text, router=SOURCE):
        chosen = routing(text)
        adapter = SwitchAdapter(plan.switches[SOURCE], chosen.make_law(router + 1), chosen.control())
        found = Counter()
        for group in adapter.update(readings):
            pointing = [group.ports[group.candidates.index(bucket)][0] for bucket in group.buckets]
            found += Counter(port for port in pointing if port != 1)
        return found

    assert set(ports("ugal-pf")) == {2}
    drawn = ports("ugal-pf:neighbour=random")
    assert set(drawn) == {2, 3, 4, 5, 6}
    assert drawn == ports("ugal-pf:neighbour=random") != ports("ugal-pf:neighbour=random", router=8)


def test_a_random_detour_that_is_too_occupied_is_not_taken():
    plan, chosen = make_plan(ER_5, 1, "ugal-pf"), routing("ugal-pf:neighbour=random")
    adapter = SwitchAdapter(plan.switches[SOURCE], chosen.make_law(SOURCE + 1), chosen.control())
    assert adapter.update({1: 0.7, **dict.fromkeys(range(2, 7), 0.6)}) == []


# ---- the law of simulated sources ----


def first_links(occupied, **decision):
    """Returns the share of packets that take detours, and the packets on each link of the source.

    The ports of this only source are told that flits wait beyond them.
    """
    tables = polarfly_tables(5, 1, "ugal-pf")
    destination = next(
        d for d in range(ER_5.routers) if int(ER_5.next_hops(SOURCE, d)) == ER_5.neighbours(SOURCE)[0] != d
    )
    pattern = Pattern("one", ER_5.routers, matrix=((SOURCE, destination, 1.0),))
    network = make_network(
        tables,
        Workload(pattern=pattern, load=0.05),
        RouterSettings(),
        Decision(law="threshold", **decision),
        1,
    )
    network.counts[of.WINDOW_BEGIN] = 0
    own = slice(*tables.link_starts[SOURCE : SOURCE + 2])
    network.used[link_ports(tables)[own]] = occupied
    run(network, 2 * 20_000, False)
    sent = network.outputs[link_ports(tables)[own], of.FLITS_SENT] / 4
    return network.counts[of.DETOURED_COUNT] / network.counts[of.DELIVERED], sent


@pytest.mark.usefixtures("compiled_kernels")
@pytest.mark.parametrize(
    ("decision", "flits", "detours"),
    [
        ({}, 21, False),  # 2/3 of 32 flits
        ({}, 22, True),
        ({"buffer": "port"}, 85, False),  # 2/3 of four times 32 flits
        ({"buffer": "port"}, 86, True),
    ],
)
def test_the_threshold_is_a_share_of_a_channel_or_of_a_port(decision, flits, detours):
    share, _ = first_links([flits, 0, 0, 0, 0, 0], **decision)
    # Own packets add up to 4 flits at a time.
    assert share == 1 if detours else share < 0.5


@pytest.mark.usefixtures("compiled_kernels")
def test_detours_start_at_the_least_occupied_or_at_a_random_neighbour():
    occupied = [120, 0, 40, 40, 40, 40]
    _, sent = first_links(occupied)
    assert sent[1] == sent.sum() > 200
    _, sent = first_links(occupied, neighbour="random")
    assert sent[0] == 0
    assert np.all(np.abs(sent[1:] - sent.sum() / 5) < 4 * sent.sum() ** 0.5)
