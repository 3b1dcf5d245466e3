"""The fluid model against counts, limits by hand and figures computed by a separate program."""

import json

import numpy as np
import pytest
from support.builders.leaf_spine import LeafSpine

from experiments.theory.fluid_model import predict, predict_pattern, router_demand
from polarlab.cli.main import main
from routing.plan.model import Bucket, DecrementTtl, Group, GroupKind, Output
from routing.registry import make_plan
from routing.reroute.base import without_local_repair
from routing.verification.traffic_split import traffic_split
from topology.families.dragonflies.dragonfly import Dragonfly
from topology.families.low_diameter.polarfly import PolarFly
from traffic.workload.patterns import make_pattern


def min_prediction(q, hosts, name, load, seed=1):
    topology = PolarFly(q)
    plan = make_plan(topology, hosts, "min")
    return predict_pattern(plan, make_pattern(name, topology, hosts, seed), load)


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7])
def test_uniform_loads_are_the_router_pairs_over_each_link(q):
    """2 q - 1 pairs share a directed link, 2 q where one of its ends is a quadric."""
    topology = PolarFly(q)
    prediction = min_prediction(q, 1, "uniform", 0.5)
    pairs = prediction.offered_loads / 0.5 * (topology.routers - 1)
    quadric = topology.degrees == q
    tails = np.repeat(np.arange(topology.routers), topology.degrees)
    at_quadric = quadric[tails] | quadric[topology.adjacency.neighbours]
    assert pairs == pytest.approx(np.where(at_quadric, 2 * q, 2 * q - 1))
    assert prediction.accepted == pytest.approx(0.5)


def test_tornado_at_full_load_accepts_what_a_separate_program_computed():
    assert min_prediction(5, 3, "tornado", 1.0).accepted == pytest.approx(0.282, abs=0.0005)


def test_random_permutations_at_full_load_accept_what_a_separate_program_computed():
    """0.292 on average over five, with a standard deviation of 0.016: here over forty."""
    accepted = [min_prediction(5, 3, "random-permutation", 1.0, seed).accepted for seed in range(40)]
    assert np.mean(accepted) == pytest.approx(0.292, abs=3 * 0.016 / 5**0.5)
    assert np.std(accepted) == pytest.approx(0.016, abs=0.006)


@pytest.mark.parametrize("hosts", [1, 2, 3, 4])
def test_neighbours_get_one_link_for_all_their_hosts(hosts):
    prediction = min_prediction(5, hosts, "perm1hop", 1.0)
    assert prediction.accepted == pytest.approx(1 / hosts)
    assert prediction.carried_loads.max() <= 1 + 1e-6


@pytest.mark.parametrize(("load", "accepted"), [(1 / 24, 1 / 24), (1.0, (1 + 12 * 1 / 12) / 13)])
def test_a_hot_host_accepts_the_capacity_of_its_own_link(load, accepted):
    """12 of 13 hosts send all to the hot one, which sends to all of them; its router has links enough."""
    prediction = min_prediction(3, 1, "hotspot:share=1", load)
    assert prediction.accepted == pytest.approx(accepted)


def test_the_rest_of_a_hot_spots_traffic_arrives_as_uniform_traffic_does():
    """No link is full at this load: the hot host gets all of its share, and the others theirs."""
    prediction = min_prediction(5, 1, "hotspot:hosts=4,share=0.1", 0.2)
    assert prediction.accepted == pytest.approx(0.2)
    assert prediction.offered_loads.max() < 1


@pytest.mark.parametrize("by", [1, 3, 15])
def test_shifts_load_the_links_of_their_paths(by):
    topology = PolarFly(5)
    prediction = min_prediction(5, 1, f"shift:{by}", 0.25)
    distances = topology.distances(np.arange(31), (np.arange(31) + by) % 31)
    assert prediction.offered_loads.sum() == pytest.approx(0.25 * distances.sum())


def test_below_saturation_everything_is_accepted():
    prediction = min_prediction(5, 3, "tornado", 0.08)
    assert prediction.accepted == pytest.approx(0.08)
    assert prediction.offered_loads == pytest.approx(prediction.carried_loads)


def test_losses_at_the_first_hop_spare_the_second():
    """At 1/4 of the injection capacity four hosts' flow fills one link, whatever is offered."""
    prediction = min_prediction(7, 4, "perm2hop", 1.0)
    assert prediction.carried_loads.max() <= 1 + 1e-6
    assert prediction.offered_loads.max() < 7


def test_what_stays_at_its_router_needs_no_link():
    demand = router_demand(np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros(2, int), 1)
    assert demand.tolist() == [[2.0]]


def test_shares_follow_a_groups_buckets():
    """A group with three buckets to one port and one to another sends a quarter of its packets there."""
    topology = PolarFly(2)
    plan = without_local_repair(make_plan(topology, 1, "min"))
    first, second = (Bucket((DecrementTtl(), Output(port))) for port in (1, 2))
    split = Group(1, GroupKind.SELECT, (first, first, first, second))
    changed = plan.switches[3].groups[1:]
    switches = list(plan.switches)
    switches[3] = type(switches[3])(3, switches[3].rules, (split, *changed))
    paths = traffic_split(type(plan)(topology, 1, "test", tuple(switches), plan.hop_bound))
    neighbour = int(topology.neighbours(3)[0])
    leaving = paths.origins == paths.starts[3, neighbour]
    assert sorted(paths.shares[leaving]) == [0.25, 0.75]
    ports = paths.links[leaving] - topology.adjacency.starts[3] + 1
    assert ports[paths.shares[leaving].argmax()] == 1
    assert sorted(ports) == [1, 2]
    prediction = predict(paths, 2 * topology.links, np.zeros((7, 7)), np.arange(7), 1.0)
    assert prediction.accepted == 0


def test_the_command_prints_the_prediction(capsys):
    words = ["predict", "polarfly", "--q", "5", "--hosts", "3", "--pattern", "tornado", "--load", "1"]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["accepted"] == pytest.approx(0.282258)
    assert len(told["links"]) == 180
    assert max(link["carried"] for link in told["links"]) == pytest.approx(1)
    assert main(words) == 0
    assert "accepted" in capsys.readouterr().out


def test_a_load_that_cannot_be_is_refused(capsys):
    assert main(["predict", "polarfly", "--q", "3", "--load", "2"]) == 2
    assert "at most 1" in capsys.readouterr().err


def test_idle_hosts_offer_nothing(capsys):
    """8 of 13 hosts: the largest power of two."""
    words = ["predict", "polarfly", "--q", "3", "--pattern", "bit-complement", "--load", "0.5", "--json"]
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["load"] == 0.5
    assert told["offered"] == told["accepted"] == pytest.approx(0.5 * 8 / 13)


@pytest.mark.parametrize("name", ["ugal", "ugal-pf"])
def test_what_adapts_is_not_predicted(name, capsys):
    assert main(["predict", "polarfly", "--q", "3", "--routing", name]) == 2
    assert f"{name}, which adapts" in capsys.readouterr().err


def test_routers_without_hosts_send_nothing_and_carry_the_rest():
    """Two leaves send all of their traffic to each other over two spines: every link carries half of it."""
    topology = LeafSpine(leaves=2, spines=2)
    plan = make_plan(topology, 1, "min")
    prediction = predict_pattern(plan, make_pattern("neighbour", topology, 1, 1), 1.0)
    assert prediction.offered == prediction.accepted == pytest.approx(1.0)
    assert prediction.offered_loads.tolist() == pytest.approx([0.5] * 8)


@pytest.mark.parametrize(
    ("routing", "saturation"),
    [("valiant-group", (1 / 2, 1 / 3)), ("valiant:over=hierarchical", (0.515, 0.515))],
)
def test_detours_by_group_share_a_local_link_under_adv_h(routing, saturation):
    """Palmtree of h = 2: under adv:2 all that a router's two global links bring leaves by the next router."""
    plan = make_plan(Dragonfly(a=4, h=2), 2, routing)
    for by, expected in enumerate(saturation, 1):
        pattern = make_pattern(f"adv:{by}", plan.topology, 2, 1)
        busiest = predict_pattern(plan, pattern, 0.05).offered_loads.max()
        assert 0.05 / busiest == pytest.approx(expected, abs=1e-3)
