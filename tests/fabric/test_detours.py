"""Detours with real packets: tags pushed, followed and popped, taken under load, by what tells of queues."""

from dataclasses import replace

import pytest
from conftest import PATIENCE, QUIET

from controller.occupancy.source import NETLINK, PORT_STATISTICS
from experiments import live_fabric as fabric_module
from experiments.live_fabric import controlled, prepared_network
from experiments.measurement import measure
from experiments.pair_check import check_all_pairs
from experiments.results.manifest import run_manifest
from experiments.results.model import PairCheck
from experiments.spec.fabric import FabricOptions
from experiments.spec.settings import TrafficSettings
from experiments.spec.traffic import TrafficOptions
from topology.links import LinkSpec
from topology.registry import make_topology

pytestmark = pytest.mark.usefixtures("no_leftovers")

TOPOLOGY = make_topology("polarfly", {"q": 3})
# An emulated machine passes fewer packets a second: there links are slower, and queues take longer to fill.
SLOWER = PATIENCE**0.5
LINKS = LinkSpec(round(500_000 / SLOWER), 32)
ADAPTIVE = FabricOptions("polarfly", {"q": 3}, TOPOLOGY, 3, "ugal-pf", LINKS)
PERMUTATION = TrafficOptions("random-permutation", 0.5, 1000, 64, 3.0 * SLOWER, 2.0 * SLOWER, seed=1)
UNCHECKED = PairCheck(0, 0, 0, 0, 0)  # the first test checks all pairs
MIN_ACCEPTED = 0.34  # minimal routing accepts 0.308 of this permutation, fixed splits up to 0.41


@pytest.fixture(scope="module")
def network():
    """A network for one controller after another; no_leftovers looks at what each leaves."""
    with prepared_network(ADAPTIVE, QUIET) as prepared:
        prepared.build()
        prepared.start()
        yield prepared


@pytest.mark.tried_again
@pytest.mark.parametrize("routing", [pytest.param("valiant", marks=pytest.mark.slow), "compact-valiant"])
def test_packets_take_detours_and_all_arrive(network, routing):
    traffic = TrafficOptions("perm1hop", 0.1, 1000, 64, 0.2, 1.0, seed=1)
    with controlled(replace(ADAPTIVE, routing=routing), network, QUIET) as fabric:
        check = check_all_pairs(fabric, QUIET)
        summary = measure(fabric, traffic, check, QUIET).summary
    assert check.pairs == check.delivered == 39 * 38
    assert summary.loss == 0
    assert summary.out_of_order == 0
    hops = set(summary.hops)
    # Neighbours, not by their own link: the triangle's two hops, or four.
    assert hops == {2, 4} if routing == "compact-valiant" else max(hops) == 4
    assert summary.predicted.accepted == pytest.approx(0.1)


@pytest.mark.tried_again
def test_without_congestion_no_group_is_modified_and_under_load_more_gets_through(network):
    with controlled(ADAPTIVE, network, QUIET) as fabric:
        light = replace(PERMUTATION, load=0.1, warmup_s=0.2, duration_s=1.0)
        calm = measure(fabric, light, UNCHECKED, QUIET).summary
        loaded = measure(fabric, PERMUTATION, UNCHECKED, QUIET).summary
    assert calm.adaptation.groups_modified == 0
    assert calm.loss == 0
    assert calm.hops_as_distances
    assert loaded.adaptation.groups_modified > 0
    assert loaded.accepted > MIN_ACCEPTED
    assert set(loaded.hops) > {1, 2}


@pytest.mark.tried_again
def test_detours_of_the_papers_law_start_anywhere_and_take_four_hops_to_neighbours(network):
    law = "ugal-pf:neighbour=random,buffer=port,triangle=false"
    events = []
    with controlled(replace(ADAPTIVE, routing=law), network, events.append) as fabric:
        loaded = measure(fabric, replace(PERMUTATION, pattern="perm1hop"), UNCHECKED, QUIET).summary
    assert loaded.adaptation.groups_modified > 0
    assert set(loaded.hops) == {1, 4}
    # A switch has one queue for each port.
    [told] = [event for event in events if getattr(event, "key", "") == "parameters-simulated"]
    assert told.values["names"] == ("buffer",)


@pytest.mark.tried_again
def test_without_netlink_port_statistics_take_over_move_traffic_to_detours_and_it_is_said(
    network, monkeypatch
):
    def refused(*_arguments):
        raise PermissionError(1, "Operation not permitted")

    assert ADAPTIVE.occupancy == NETLINK
    monkeypatch.setattr(fabric_module, "open_queues", refused)
    notified = []
    with controlled(ADAPTIVE, network, notified.append) as fabric:
        assert fabric.occupancy == PORT_STATISTICS
        written = run_manifest(fabric, TrafficSettings(), PERMUTATION.seed)
        assert (written.occupancy, written.occupancy_asked) == (PORT_STATISTICS, NETLINK)
        short = replace(PERMUTATION, warmup_s=1.0 * SLOWER, duration_s=2.0 * SLOWER)
        summary = measure(fabric, short, UNCHECKED, QUIET).summary
    assert sum(event.key == "queues-unreadable" for event in notified) == 1
    _adapted_by_port_statistics(summary)


@pytest.mark.slow
@pytest.mark.tried_again
def test_port_statistics_that_are_asked_for_move_traffic_to_detours(network):
    with controlled(replace(ADAPTIVE, occupancy=PORT_STATISTICS), network, QUIET) as fabric:
        summary = measure(fabric, PERMUTATION, UNCHECKED, QUIET).summary
    _adapted_by_port_statistics(summary)
    assert summary.accepted > MIN_ACCEPTED


def _adapted_by_port_statistics(summary):
    assert summary.adaptation.occupancy == PORT_STATISTICS
    assert summary.adaptation.groups_modified > 0
    assert summary.adaptation.warnings == ()
