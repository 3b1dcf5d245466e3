"""Networks of the papers with real packets: all pairs over the promised hops, a failed link, a valid run."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import QUIET, eventually, eventually_missing, fabric_options, probe_all_pairs

from emulation.fault_injection import FaultInjector
from experiments.live_fabric import live_fabric
from experiments.measurement import measure
from experiments.pair_check import check_all_pairs
from experiments.spec.traffic import TrafficOptions
from experiments.theory.fluid_model import predict_pattern
from routing.verification.verifier import prove
from topology.failures import failure_of
from topology.faults import link_component
from topology.links import LinkSpec

pytestmark = pytest.mark.usefixtures("no_leftovers")

FABRICS = [
    pytest.param("dragonfly", {"a": 4, "h": 2, "trunking": 2}, "hierarchical", marks=pytest.mark.slow),
    ("dragonfly", {"a": 4, "h": 2, "trunking": 2}, "two-color"),
    pytest.param("hyperx", {"shape": "4x4"}, "dor", marks=pytest.mark.slow),
    pytest.param("fat-tree", {"arity": 4, "levels": 2}, "nca", marks=pytest.mark.slow),
    pytest.param("megafly", {"rho": 1, "a": 4}, "nca", marks=pytest.mark.slow),
    pytest.param("jellyfish", {"routers": 20, "degree": 4}, "up-down", marks=pytest.mark.slow),
    pytest.param("polarfly", {"q": 3, "expand": "quadric:1"}, "min", marks=pytest.mark.slow),
    ("polarfly", {"q": 3, "expand": "quadric,nonquadric"}, "ugal-pf"),
]


@pytest.mark.tried_again
@pytest.mark.parametrize(("name", "params", "routing"), FABRICS, ids=str)
def test_a_network_delivers_repairs_and_carries_traffic(name, params, routing):
    # So slow that a machine with other work still forwards frames in time.
    options = replace(fabric_options(name, params, routing=routing), links=LinkSpec(500_000, 64))
    with live_fabric(options, QUIET) as fabric:
        routers = np.array(sorted({host.router for host in fabric.hosts}))
        longest = int(fabric.plan.topology.distances(routers[:, None], routers).max())
        assert probe_all_pairs(fabric) == ([], longest)
        check = check_all_pairs(fabric, QUIET)
        assert check.pairs == check.delivered == len(routers) * (len(routers) - 1)
        traffic = TrafficOptions("uniform", 0.1, 1000, 64, 0.2, 1.0, seed=1)
        summary = measure(fabric, traffic, check, QUIET).summary
        assert summary.fidelity.valid, summary.fidelity.reasons
        assert summary.loss == 0
        fabric.controller.stop()
        link = options.topology.link_list[0]
        faults = FaultInjector(fabric.network)
        faults.fail(link_component(link))
        proof = prove(fabric.plan, [failure_of(options.topology, [link_component(link)])])
        assert proof.ok
        assert eventually_missing(fabric) <= proof.max_hops
        faults.restore(link_component(link))
        eventually(lambda: probe_all_pairs(fabric) == ([], longest))


@pytest.mark.tried_again
def test_two_choices_on_a_way_are_independent():
    """In a tree of three levels with one hash, switches of the middle use half of their links upward."""
    options = fabric_options("fat-tree", {"arity": 2, "levels": 3}, hosts=2, routing="nca")
    with live_fabric(replace(options, links=LinkSpec(500_000, 64)), QUIET) as fabric:
        check = check_all_pairs(fabric, QUIET)
        traffic = TrafficOptions("tornado", 0.8, 1000, 64, 1.0, 3.0, seed=1)
        summary = measure(fabric, traffic, check, QUIET).summary
        assert summary.accepted > 0.65  # 0.5 with one hash


@pytest.mark.slow
@pytest.mark.tried_again
def test_two_choices_at_one_switch_are_independent():
    """Of an intermediate router and a link toward it: otherwise links have 0.5 to 1.5 times their load."""
    topology = {"a": 4, "h": 2, "groups": 3, "trunking": 4}
    options = fabric_options("dragonfly", topology, hosts=2, routing="valiant-group")
    with live_fabric(replace(options, links=LinkSpec(1_000_000, 64)), QUIET) as fabric:
        check = check_all_pairs(fabric, QUIET)
        traffic = TrafficOptions("tornado", 0.25, 1000, 4000, 1.0, 8.0, seed=1)
        loads = measure(fabric, traffic, check, QUIET).record.link_loads().loads
    expected = predict_pattern(fabric.plan, fabric.options.pattern("tornado", 1), 0.25).carried_loads
    used = expected > 0.02
    assert np.std(loads[used] / expected[used]) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("routing", ["four-color-valiant", "four-color-adaptive"])
def test_detours_over_colours_deliver_all_pairs_within_their_hops(routing):
    """72 switches, whose packets visit a third group and need a table after the tag."""
    options = fabric_options("dragonfly", {"a": 8, "h": 4, "groups": 9, "trunking": 4}, routing=routing)
    with live_fabric(replace(options, links=LinkSpec(500_000, 64)), QUIET) as fabric:
        plan = fabric.plan
        missing, longest = probe_all_pairs(fabric)
        assert missing == []
        between = plan.topology.distances(range(72), 0)
        assert longest <= plan.hop_bound(np.array([between.max()], np.int16)).max()
        if routing == "four-color-valiant":
            assert longest > between.max()  # by way of third groups
        check = check_all_pairs(fabric, QUIET)
        assert check.pairs == check.delivered == 72 * 71
