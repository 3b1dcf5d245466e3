"""Ways around what is dead, searched for in any graph, and several shortest paths used at once."""

import random

import networkx as nx
import numpy as np
import pytest

from routing.plan.model import GroupKind
from routing.registry import make_plan
from routing.replan.replan import surviving_plan
from routing.replan.update_order import update_rounds
from routing.reroute.base import without_local_repair
from routing.verification.traffic_split import traffic_split
from routing.verification.verifier import prove
from topology.errors import ParameterError
from topology.failures import NO_FAILURE, Failure, failure_of, link_failures, switch_failures
from topology.families.polarstar import PolarStar
from topology.families.slimfly import SlimFly
from topology.faults import ElementKind
from topology.shortest_paths import SearchedTopology, adjacency_from_links


class Drawn(SearchedTopology):
    name = "drawn"

    def __init__(self, links):
        links = np.array(sorted(tuple(sorted(link)) for link in links))
        super().__init__(adjacency_from_links(int(links.max()) + 1, links))
        self.params = {}


def graph(of):
    return Drawn(nx.convert_node_labels_to_integers(of).edges)


RING = list(nx.cycle_graph(4).edges)
FABRICS = {
    "polarstar 2 iq 0": lambda: PolarStar(2, "iq", 0),
    "polarstar 2 iq 3": lambda: PolarStar(2, "iq", 3),
    "polarstar 3 paley 2": lambda: PolarStar(3, "paley", 2),
    "slimfly 3": lambda: SlimFly(3),
    "slimfly 4": lambda: SlimFly(4),
    "slimfly 5": lambda: SlimFly(5),
    "torus": lambda: graph(nx.grid_2d_graph(3, 3, periodic=True)),
    "grid": lambda: graph(nx.grid_2d_graph(4, 4)),
    "hypercube": lambda: graph(nx.hypercube_graph(4)),
    "petersen": lambda: graph(nx.petersen_graph()),
    "ring of 9": lambda: graph(nx.cycle_graph(9)),
    "line": lambda: graph(nx.path_graph(5)),
    "barbell": lambda: graph(nx.barbell_graph(4, 0)),
    "a ring with every link twice": lambda: Drawn(RING + RING),
    "two links and no more": lambda: Drawn([(0, 1), (0, 1)]),
    "a ring with one link twice": lambda: Drawn([*RING, (0, 1)]),
}
# Half a ring with a chord: to go around the chord's end takes more than one tag.
CHORD = [*nx.cycle_graph(10).edges, (0, 5)]


def everything_that_breaks(topology):
    return [NO_FAILURE, *link_failures(topology), *switch_failures(topology)]


@pytest.mark.parametrize("name", ["min", "ugal", "valiant"])
@pytest.mark.parametrize("fabric", FABRICS)
def test_every_pair_is_delivered_whatever_single_link_or_switch_dies(fabric, name):
    topology = FABRICS[fabric]()
    if name != "min" and topology.routers > 20:
        pytest.skip("many detours: tens of seconds")
    plan = make_plan(topology, 1, name)
    assert plan.unprotected == ()
    proof = prove(plan, everything_that_breaks(topology))
    assert proof.ok, proof.faults
    assert (proof.cut_off > 0) == (fabric in ("line", "barbell"))


def test_without_local_repair_dead_links_lose_packets():
    topology = SlimFly(3)
    proof = prove(without_local_repair(make_plan(topology, 1, "min")), [*link_failures(topology)])
    assert proof.blackholes > 0
    assert (proof.loops, proof.misdelivered) == (0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_in_random_graphs_only_what_is_listed_is_lost(seed):
    rng = random.Random(seed)
    of = nx.gnm_random_graph(rng.randrange(6, 16), rng.randrange(14, 24), seed=seed)
    topology = graph(of.subgraph(max(nx.connected_components(of), key=len)))
    plan = make_plan(topology, 1, "min")
    listed = {(element, router, destination) for router, destination, element in plan.unprotected}
    for failure in everything_that_breaks(topology):
        proof = prove(plan, [failure])
        assert (proof.loops, proof.misdelivered, proof.over_bound) == (0, 0, 0), proof.faults
        here = {
            entry for entry in listed if failure_of(topology, [entry[0]]).failed_ends == failure.failed_ends
        }
        lost = {
            (r, d) for _, r, d in here if r not in failure.failed_routers and d not in failure.failed_routers
        }
        assert lost <= proof.undelivered, (seed, failure.name)
        assert bool(lost) == bool(proof.undelivered)
        assert {d for _, d in proof.undelivered} == {d for _, d in lost}


def test_pairs_that_nothing_protects_are_listed_with_what_must_not_die():
    plan = make_plan(Drawn(CHORD), 1, "min")
    assert plan.unprotected
    assert {element.kind for _, _, element in plan.unprotected} == {ElementKind.SWITCH}
    router, destination, element = plan.unprotected[0]
    proof = prove(plan, [failure_of(plan.topology, [element])])
    assert (router, destination) in proof.undelivered


# ---- several shortest paths ----


def select_groups(switch):
    return [g for g in switch.groups if g.kind is GroupKind.SELECT]


def test_all_shortest_paths_share_the_traffic_of_a_torus():
    topology = FABRICS["torus"]()
    plan = make_plan(topology, 1, "min")
    for switch in plan.switches:
        distances = topology.distances(switch.router, np.arange(9))
        for other in np.flatnonzero(distances == 2).tolist():
            group = next(g for g in switch.groups if g.number == switch.untagged_groups[other])
            assert group.kind is GroupKind.SELECT
            first = {topology.neighbours(switch.router)[b.watch_port - 1] for b in group.buckets}
            assert len(group.buckets) == len(first) == 2
            assert {int(topology.distances(n, other)) for n in first} == {1}
            assert {b.weight for b in group.buckets} == {1}
    shares = traffic_split(plan)
    assert set(np.unique(shares.shares).tolist()) == {0.5, 1.0}


def test_destinations_with_equal_buckets_share_a_group():
    topology = FABRICS["hypercube"]()
    for switch in make_plan(topology, 1, "min").switches:
        buckets = [(g.kind, g.buckets) for g in switch.groups]
        assert len(set(buckets)) == len(buckets)


def test_parallel_links_share_the_traffic_and_stand_in_for_each_other():
    topology = Drawn([(0, 1), (0, 1), (0, 1), (1, 2)])
    plan = make_plan(topology, 1, "min")
    switch = plan.switches[0]
    group = next(g for g in switch.groups if g.number == switch.untagged_groups[2])
    assert group.kind is GroupKind.SELECT
    assert len(group.buckets) == 3
    assert prove(plan, [*link_failures(topology)]).ok
    two = frozenset(end for f in list(link_failures(topology))[:2] for end in f.failed_ends)
    assert prove(plan, [Failure("two of three", two)]).ok


def test_polarstar_keeps_its_one_path_and_its_few_rules():
    topology = PolarStar(3, "iq", 3)
    for switch in make_plan(topology, 1, "min").switches:
        assert not select_groups(switch)
        rules = sum(rule.table == 3 and rule.priority <= 100 for rule in switch.rules) - 1
        assert rules < topology.routers - 1


# ---- plans for what is left ----


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["min", "ugal"])
@pytest.mark.parametrize(
    "fabric", ["polarstar 2 iq 0", "slimfly 3", "torus", "hypercube", "a ring with every link twice", "grid"]
)
def test_a_plan_for_what_is_left_delivers_every_pair_that_can_be(fabric, name, seed):
    topology = FABRICS[fabric]()
    rng = random.Random(seed)
    broken = rng.sample(everything_that_breaks(topology)[1:], rng.choice([1, 2, 4]))
    failure = Failure(
        "some",
        frozenset().union(*(one.failed_ends for one in broken)),
        frozenset().union(*(one.failed_routers for one in broken)),
    )
    whole = make_plan(topology, 1, name)
    plan = surviving_plan(whole, failure)
    proof = prove(plan, [failure])
    assert (proof.loops, proof.blackholes, proof.misdelivered) == (0, 0, 0), proof.faults
    assert [s.groups for s in plan.switches] == [s.groups for s in whole.switches]
    assert update_rounds(plan, plan, failure) == []


def test_what_is_left_goes_by_the_link_beside_a_dead_one():
    topology = FABRICS["a ring with every link twice"]()
    whole = make_plan(topology, 1, "min")
    first = next(link_failures(topology))
    assert surviving_plan(whole, first).switches[0].untagged_groups == whole.switches[0].untagged_groups
    both = Failure("both", frozenset((r, p) for r, p in ((0, 1), (0, 2), (1, 1), (1, 2))))
    plan = surviving_plan(whole, both)
    assert plan.switches[0].untagged_groups != whole.switches[0].untagged_groups
    proof = prove(plan, [both])
    assert (proof.delivered, proof.max_hops) == (proof.pairs, 3)


# ---- what is too long ----


def test_routes_longer_than_packets_live_are_refused_and_the_graph_is_not():
    topology = Drawn([(n, n + 1) for n in range(200)])
    assert topology.diameter == 200
    with pytest.raises(ParameterError, match=r"63 hops.*200"):
        make_plan(topology, 1, "min")
