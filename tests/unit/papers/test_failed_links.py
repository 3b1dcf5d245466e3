"""Networks with failed links: their orders, the digests of their points, and what they deliver."""

from dataclasses import replace

import pytest

import polarlab
from experiments.papers.model import Scale
from experiments.papers.networks import network
from experiments.papers.performance.curves import measured, replications
from experiments.papers.performance.digests import digest_of
from experiments.papers.performance.failures import MAX_SHARE, LinkFailures, failing_order
from experiments.papers.performance.model import ComputeSettings, Curve, simulated
from experiments.points.loads import LoadSteps
from experiments.results.run_directory import kept_directory
from topology.analysis.resilience import link_ends, survived_failures

GRAPH = polarlab.topology("polarfly", q=3)
QUICK = Scale(quick=True)
WHOLE = simulated(network("PF", "polarfly", q=3), 2, "ugal-pf")
CURVE = Curve("PF", WHOLE, "uniform", LoadSteps(precision=0.1, steps=1, max_load=0.1))


@pytest.mark.parametrize("family", ["torus", "polarfly"])
def test_an_order_leaves_the_graph_connected(family):
    graph = polarlab.topology(family, **({"shape": "5"} if family == "torus" else {"q": 2}))
    for seed in range(1, 6):
        order = failing_order(graph, seed)
        assert sorted(order) == list(range(graph.links))
        assert survived_failures(graph.routers, link_ends(graph), order) >= round(MAX_SHARE * graph.links)


def test_links_fail_at_once_and_more_of_them_with_a_greater_share():
    few, many = (LinkFailures(share, replanned=False).faults(GRAPH, 1) for share in (0.05, 0.2))
    assert (len(few), len(many)) == (round(0.05 * GRAPH.links), round(0.2 * GRAPH.links))
    assert set(few) < set(many)
    assert {fault.time_s for fault in many} == {0.0}
    assert LinkFailures(0.2, replanned=True).faults(GRAPH, 1) == many
    assert LinkFailures(0.2, replanned=False).faults(GRAPH, 2) != many
    assert LinkFailures(0.0, replanned=False).faults(GRAPH, 1) == ()


def test_digests_have_the_decision_and_the_failures():
    def digests(curve):
        return [digest_of(curve, traffic) for traffic in replications(curve, 0.1, Scale(seeds=2))]

    variants = [
        CURVE,
        replace(CURVE, fabric=replace(WHOLE, decision="threshold:threshold=0.5")),
        *(
            replace(CURVE, failures=LinkFailures(share, replanned))
            for share in (0.1, 0.2)
            for replanned in (False, True)
        ),
    ]
    found = [digest for curve in variants for digest in digests(curve)]
    assert len(set(found)) == len(found) == 2 * len(variants)
    assert digests(replace(CURVE, label="another")) == digests(CURVE)
    assert digests(replace(CURVE, failures=LinkFailures(0.0, replanned=False))) == digests(CURVE)


def test_a_new_plan_delivers_what_fast_reroute_alone_loses(tmp_path):
    curves = [
        replace(CURVE, label=str(replanned), failures=LinkFailures(0.2, replanned))
        for replanned in (False, True)
    ]
    with kept_directory(tmp_path) as directory:
        found = measured(curves, QUICK, ComputeSettings(directory, workers=1))
    alone, anew = (found[curve].points[0] for curve in curves)
    assert alone.accepted < 0.97 * alone.offered
    assert anew.accepted > 0.99 * anew.offered
    assert (alone.stable, anew.stable) == (False, True)
    assert anew.accepted_ci95 is not None
    assert anew.latency_cycles > 0


def test_a_decision_of_its_own_decides(tmp_path):
    tornado = Curve("PF", WHOLE, "tornado", LoadSteps(0.4, 1, 0.4))
    never = replace(tornado, label="never", fabric=replace(WHOLE, decision="minimal"))
    with kept_directory(tmp_path) as directory:
        found = measured([tornado, never], QUICK, ComputeSettings(directory, workers=1))
    assert found[tornado].points[0].stable
    assert not found[never].points[0].stable


def test_a_longer_warmup_is_that_of_the_curve():
    [usual], [longer] = (list(replications(curve, 0.1, QUICK)) for curve in (CURVE, replace(CURVE, warmup=7)))
    assert (longer.times.warmup, longer.times.window) == (7, usual.times.window)
    assert usual.times.warmup != 7
