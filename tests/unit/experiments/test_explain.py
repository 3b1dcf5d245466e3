"""Ways of packets one by one, and what is said of them."""

import itertools
import json

import numpy as np
import pytest
from support.builders.leaf_spine import LeafSpine
from support.fixtures.documents import ROOT

from experiments.theory.explain import explain, lines_of
from polarlab.cli import main as entry
from routing.registry import make_plan
from routing.replan.replan import surviving_plan
from routing.verification.forwarding_states import StateSpace
from routing.verification.paths import packet_paths
from topology.addressing import hosts_of
from topology.errors import ParameterError, Status
from topology.failures import link_failures
from topology.families.low_diameter.polarfly import PolarFly
from topology.registry import make_topology


def connected(topology, routers):
    return all(b in topology.neighbours(a) for a, b in itertools.pairwise(routers))


@pytest.mark.parametrize("routing", ["min", "compact-valiant", "ugal-pf"])
def test_all_ways_lead_there_over_links_and_share_all_packets(routing):
    topology = PolarFly(3)
    space = StateSpace(make_plan(topology, 1, routing))
    hosts = hosts_of(topology, 1)
    for source, destination in itertools.permutations(range(13), 2):
        found = packet_paths(space, hosts[source], hosts[destination])
        assert sum(way.share for way in found) == pytest.approx(1)
        for way in found:
            assert (way.routers[0], way.routers[-1], way.fault) == (source, destination, "")
            assert connected(topology, way.routers)
        if routing == "min":
            assert [way.hops for way in found] == [topology.distances(source, destination)]


def test_a_compact_valiant_pair_has_a_way_by_every_other_neighbour():
    topology = PolarFly(5)
    space = StateSpace(make_plan(topology, 1, "compact-valiant"))
    hosts = hosts_of(topology, 1)
    source = 7
    destination = next(d for d in range(31) if topology.distances(source, d) == 2)
    found = packet_paths(space, hosts[source], hosts[destination])
    direct = int(topology.next_hops(source, destination))
    seconds = {way.routers[1] for way in found if way.share > 0}
    assert seconds >= set(topology.neighbours(source).tolist()) - {direct}


def test_without_repair_a_broken_link_ends_a_way_and_says_where():
    topology = PolarFly(2)
    space = StateSpace(make_plan(topology, 1, "min", local_repair=False))
    hosts = hosts_of(topology, 1)
    source, neighbour = 0, int(topology.neighbours(0)[0])
    failure = next(
        failure
        for failure, link in zip(link_failures(topology), topology.link_list, strict=True)
        if {link.a, link.b} == {source, neighbour}
    )
    (way,) = packet_paths(space, hosts[source], hosts[neighbour], failure)
    assert way.fault == "blackhole at s1"


def test_the_vectors_and_the_cross_product_are_told():
    topology = PolarFly(7)
    explanation = explain(topology, "min", 2, 16)
    text = "\n".join(explanation.geometry)
    assert "s3 is the point (1, 0, 2)" in text
    assert "s17 the point (1, 2, 2)" in text
    # By hand: (1, 0, 2) x (1, 2, 2) = (0*2 - 2*2, 2*1 - 1*2, 1*2 - 0*1) = (-4, 0, 2) = (3, 0, 2) in GF(7).
    assert "(3, 0, 2), which is the point (1, 0, 3): s4" in text
    assert explanation.ways[0].switches == ("s3", "s4", "s17")


def test_each_links_death_is_told_and_packets_arrive():
    topology = PolarFly(5)
    for destination in (1, 8, 30):
        explanation = explain(topology, "min", 3, destination)
        links = len(explanation.ways[0].switches) - 1
        assert len(explanation.failures) == links
        for failure in explanation.failures:
            for way in failure.switches_alone + failure.planned_again:
                assert way.ends is None
                routers = [int(name[1:]) - 1 for name in way.switches]
                assert connected(topology, routers)
                a, b = (int(end[1:]) - 1 for end in failure.failed.removeprefix("link:").split("-"))
                assert (a, b) not in itertools.pairwise(routers)
                assert (b, a) not in itertools.pairwise(routers)


def test_adaptive_routings_have_alternatives_and_others_none():
    topology = PolarFly(3)
    assert explain(topology, "min", 2, 8).alternatives == ()
    detours = explain(topology, "ugal-pf", 2, 8).alternatives
    assert len(detours) == 3
    assert np.all([len(way.switches) == 4 for way in detours])


def test_a_graph_without_vectors_is_told_by_its_shortest_paths():
    explanation = explain(make_topology("slimfly", {"q": 3}), "min", 0, 8)
    assert explanation.geometry == ("They are 2 links apart, with one shortest path.",)
    assert lines_of(explanation)[2] == "Under min: the shortest path"
    torus = make_topology("graph", {"from": str(ROOT / "examples" / "torus-3x3.edges")})
    explanation = explain(torus, "min", 0, 8)
    assert explanation.geometry[-1] == "They are 2 links apart, with 2 shortest paths."
    assert "minimally until" not in "\n".join(lines_of(explanation))
    assert explain(torus, "min", 0, 1).geometry[-1] == "They are adjacent, with one shortest path."


def test_routers_of_polarstar_are_told_by_their_supernodes():
    """Between two supernodes that are not adjacent packets go through that at their cross product."""
    topology = make_topology("polarstar", {"q": 2, "supernode": "iq", "degree": 3})
    structure = PolarFly(2)
    far = next(v for v in range(7) if structure.distances(0, v) == 2)
    text = "\n".join(explain(topology, "min", 3, far * 8).geometry)
    assert "s4 is vertex 3 of the supernode at the point (" in text
    first = int(structure.next_hops(0, far)) * 8 + 1
    assert "adjacent to both is at the cross product of their points, " in text
    assert f"(s{first} to s{first + 7})" in text
    assert "the same supernode" in explain(topology, "min", 0, 5).geometry[1]
    near = int(structure.neighbours(0)[0])
    assert "supernodes are adjacent" in explain(topology, "min", 0, near * 8).geometry[1]


def test_the_plan_after_a_failure_is_the_same_for_one_destination_as_for_all():
    topology = PolarFly(3)
    hosts = hosts_of(topology, 1)
    for name in ("min", "ugal-pf", "compact-valiant"):
        plan = make_plan(topology, 1, name)
        for failure in list(link_failures(topology))[::8]:
            whole = StateSpace(surviving_plan(plan, failure))
            for destination in (2, 7, 12):
                alone = StateSpace(surviving_plan(plan, failure, toward=[destination]))
                for source in (0, 5, 9):
                    ends = hosts[source], hosts[destination], failure
                    assert packet_paths(alone, *ends) == packet_paths(whole, *ends)


def test_the_command(capsys):
    assert entry.main(["explain", "polarfly", "--q", "3", "s3", "s9", "--routing", "ugal-pf"]) == Status.DONE
    said = capsys.readouterr().out
    assert "s3 -> s2 -> s9 (2 hops)" in said
    assert "link:s2-s3" in said
    assert entry.main(["explain", "polarfly", "--q", "3", "s3", "s9", "--json"]) == Status.DONE
    assert json.loads(capsys.readouterr().out)["ways"][0]["share"] == 1.0
    assert entry.main(["explain", "polarfly", "--q", "3", "s3", "s3"]) == Status.USAGE
    assert "s3 is both ends" in capsys.readouterr().err
    assert entry.main(["explain", "polarfly", "--q", "3", "s3", "s99"]) == Status.USAGE


def test_routers_without_hosts_have_no_paths_to_explain():
    topology = LeafSpine(leaves=3, spines=2)
    explanation = explain(topology, "min", 0, 2)
    assert [path.switches for path in explanation.ways] == [("s1", "s4", "s3"), ("s1", "s5", "s3")]
    with pytest.raises(ParameterError, match="s4"):
        explain(topology, "min", 0, 3)


def test_detours_by_group_also_start_at_the_router_of_the_link_that_they_avoid():
    """Its own link is the one that fills under adversarial traffic."""
    dragonfly = make_topology("dragonfly", {"a": 4, "h": 2})
    for near, far in dragonfly.global_links.tolist():
        detours = explain(dragonfly, "ugal-group", near, far).alternatives
        assert detours
        assert not [way for way in detours if near in way.switches[1:]]
