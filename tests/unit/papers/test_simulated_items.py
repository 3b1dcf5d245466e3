"""Simulated items of papers: their curves, and the values that they take from curves made up here."""

import math

import pytest

from experiments.papers.beyond import fair
from experiments.papers.claims import BEYOND, claims_of_item
from experiments.papers.model import Scale, Value
from experiments.papers.networks import network
from experiments.papers.performance.digests import digest_of
from experiments.papers.performance.model import (
    Curve,
    CurvePoint,
    MeasuredCurve,
    SimulatedItem,
    divided_port,
    shared_port,
    simulated,
)
from experiments.papers.performance.series import OVERLOAD, by_name, latency_ratio, latency_ratios, ratio
from experiments.papers.polarfly import performance as polarfly
from experiments.papers.polarstar import performance as polarstar
from experiments.papers.polarstar.motifs import motif_networks
from experiments.papers.registry import ITEMS
from experiments.papers.slimfly import performance as slimfly
from experiments.spec.simulation.model import SimulatedTraffic
from topology.shortest_paths import host_pairs_by_distance

SIMULATED = [
    (paper, name)
    for paper, items in ITEMS.items()
    if paper != BEYOND
    for name, item in items.items()
    if isinstance(item, SimulatedItem) and paper != "polarfly"
]
FULL, QUICK = Scale(), Scale(quick=True)


def point(load, accepted, stable=True, latency=10.0):
    return CurvePoint(load, load, accepted, 0.0, latency, None, stable, False)


def made_up(curves, accepted, least=0.1):
    """Returns curves that carry a load by a function of each, and accept it at full load, too."""
    return {
        curve: MeasuredCurve(
            curve, [point(least, least), point(accepted(curve), accepted(curve)), point(1.0, 0.05, False)]
        )
        for curve in curves
    }


def values(paper, name, accepted):
    item = ITEMS[paper][name]
    return item.find(made_up(item.curves(FULL), accepted), FULL).values


@pytest.mark.parametrize(("paper", "name"), SIMULATED)
def test_curves_have_names_of_their_own_and_small_networks_no_values(paper, name):
    item = ITEMS[paper][name]
    quick, full = item.curves(QUICK), item.curves(FULL)
    for curves in (quick, full):
        assert len(set(curves)) == len(curves)
        shown = [curve for curve in curves if curve.loads != OVERLOAD]
        assert len({(curve.label, curve.pattern) for curve in shown}) == len(shown)
    found = item.find(made_up(quick, lambda _curve: 0.5), QUICK)
    assert not found.values
    # A curve that goes on at full load is one with its own below.
    places = [(row["curve"], row["pattern"], row["load"]) for row in found.rows]
    assert len(set(places)) == len(places) == 3 * len({curve.choices for curve in quick})
    assert {item.plot.x, item.plot.y, item.plot.by, item.plot.panels} <= found.rows[0].keys()


@pytest.mark.parametrize(("paper", "name"), SIMULATED)
def test_every_claim_on_performance_has_a_value(paper, name):
    claims = {claim.key for claim in claims_of_item(paper, name) if claim.kind == "performance"}
    assert set(values(paper, name, lambda _curve: 0.5)) == claims


def test_a_law_of_decisions_is_part_of_the_fabric_and_of_a_point():
    er_3 = network("PF", "polarfly", q=3)
    local, whole = (
        Curve("UGAL", simulated(er_3, 2, "ugal", decision=law), "uniform")
        for law in (None, "product:whole-path=true")
    )
    assert whole.fabric.packet_decision().whole_path
    assert not local.fabric.packet_decision().whole_path
    traffic = SimulatedTraffic("uniform", 0.5)
    assert digest_of(local, traffic) != digest_of(whole, traffic)


def test_virtual_channels_divide_the_buffer_of_a_port():
    assert divided_port(4).buffer_flits == 32
    three = divided_port(3, packet_flits=1, port_flits=64)
    assert (three.channels, three.buffer_flits, three.packet_flits) == (3, 21, 1)


def test_a_ratio_has_the_interval_of_both():
    assert ratio(Value(0.4, (0.3, 0.5)), Value(0.8, (0.6, 1.0))) == (0.5, pytest.approx((0.3, 0.5 / 0.6)))
    assert ratio(Value(0.4), Value(0.8, (0.6, 1.0))) == (0.5, None)
    assert ratio(Value(0.4, (0.25, 0.5)), Value(0.0, (0.0, 0.125))) == (math.inf, (2.0, math.inf))


def test_slim_fly_s_saturations_are_those_of_its_curves():
    loads = {
        ("SF-MIN", slimfly.WORST): 0.0325,
        ("SF-VAL", slimfly.WORST): 0.4,
        ("SF-UGAL-L", slimfly.WORST): 0.44,
        ("SF-VAL", "uniform"): 0.48,
        ("SF-UGAL-L", "uniform"): 0.78,
    }
    item = ITEMS["slimfly"]["fig6"]
    curves = made_up(item.curves(FULL), lambda c: loads.get((c.label, c.pattern), 0.9), least=0.01)
    found = {key: value.value for key, value in item.find(curves, FULL).values.items()}
    names = ("VAL uniform", "UGAL-L uniform", "MIN worst", "VAL worst", "UGAL-L worst")
    assert [found[name] for name in names] == [0.48, 0.78, 0.0325, 0.4, 0.44]


def test_slim_fly_s_orderings():
    loads = {"SF-MIN": 0.84, "SF-UGAL-G": 0.82, "SF-UGAL-L": 0.8, "SF-VAL": 0.5, "DF-UGAL-L": 0.6}
    patterns = {"uniform": 1.0, "bit-reverse": 0.5, slimfly.HALF_SHIFT: 0.25}
    found = values("slimfly", "fig6", lambda c: patterns.get(c.pattern, 0.2) * loads.get(c.label, 0.9))
    assert found["MIN best"].value == pytest.approx(0.84 / 0.8)
    assert found["UGAL-G best"].value == pytest.approx(0.82 / 0.8)
    assert found["fat tree uniform"].value == pytest.approx(0.9 / 0.84)
    for name in ("uniform", "bit reverse", "shift"):
        assert found[f"dragonfly {name}"].value == pytest.approx(0.6 / 0.8)
    for name in ("bit reverse", "shift"):
        assert found[f"fat tree {name}"].value == pytest.approx(0.9 / 0.8)


def test_buffers_of_slim_fly_are_compared():
    curves = slimfly.accepted_curves(FULL)
    measured = made_up(curves, lambda curve: 0.4 + curve.fabric.routers.buffer_flits / 1000)
    for curve in measured:
        if curve.label == "8 flits UGAL-L":
            points = [point(0.1, 0.1, latency=9.0), point(0.402, 0.402), point(1.0, 0.05, False)]
            measured[curve] = MeasuredCurve(curve, points)
    found = slimfly.accepted(measured, FULL).values
    assert found["latency of buffers"] == pytest.approx(0.9)
    assert found["bandwidth of buffers"].value == pytest.approx(0.464 / 0.402)


def test_slim_fly_accepts_most_under_its_best_routing_and_at_any_load():
    curves = slimfly.accepted_curves(FULL)
    measured = made_up(curves, lambda curve: 0.6 if curve.fabric.routing == "min" else 0.5)
    for curve in measured:
        if curve.loads == OVERLOAD:
            measured[curve] = MeasuredCurve(curve, [point(1.0, 1 - curve.fabric.hosts / 100, False)])
    found = slimfly.accepted(measured, FULL).values
    accepted = {key: round(found[key].value, 2) for key in ("p=15", "p=16", "p=18")}
    assert accepted == {"p=15": 0.85, "p=16": 0.84, "p=18": 0.82}
    without = {curve: one for curve, one in measured.items() if curve.loads != OVERLOAD}
    assert slimfly.accepted(without, FULL).values["p=15"].value == 0.6


def test_buffers_of_slim_fly_are_those_of_a_port():
    routers = {one.label: one.fabric.routers for one in slimfly.accepted_curves(FULL)}
    assert routers["8 flits UGAL-L"].buffer_flits == 2
    assert routers["256 flits UGAL-L"].buffer_flits == 64
    assert routers["p=15 UGAL-L"].buffer_flits == 16
    assert routers["p=15 MIN"].buffer_flits == 32


def test_the_worst_network_is_compared_with_the_least_of_the_others():
    curves = polarstar.compared_curves(QUICK)
    loads = {"DF": 0.3, "MF": 0.4, "HX": 0.5, "PS-IQ": 0.6, "FT": 0.1}
    named = by_name(made_up(curves, lambda curve: loads[curve.label.rpartition("-")[0]]))
    worst = polarstar.worst_of
    assert worst(named, ("DF",), "UGAL", "uniform").value == pytest.approx(0.75)
    assert worst(named, ("DF", "MF"), "MIN", "bit-reverse").value == pytest.approx(0.8)
    assert worst(named, ("HX",), "MIN", "uniform").value == pytest.approx(0.5 / 0.3)


def test_loads_are_compared_where_not_all_hosts_send():
    """Half of the hosts of a bit pattern may be idle: then half of the load is accepted of all hosts."""
    one = polarstar.compared_curves(QUICK)[0]
    half = MeasuredCurve(one, [point(0.2, 0.1), point(0.4, 0.2), point(0.5, 0.24, False), point(0.6, 0.3)])
    assert half.saturation_load == (0.4, (0.4, 0.5))
    assert half.saturation.value == 0.2
    assert MeasuredCurve(one, [point(0.2, 0.1, False)]).saturation_load == (0.0, (0.0, 0.2))
    assert MeasuredCurve(one, [point(1.0, 0.5)]).saturation_load == (1.0, (1.0, 1.0))


@pytest.mark.parametrize("name", ["PS-IQ", "PS-Pal", "BF", "HX", "SF", "MF"])
def test_networks_of_table_3_have_a_channel_for_each_hop(name):
    """UGAL's bound is twice the diameter of all routers, also of those without hosts; 6 on dragonflies."""
    curves = polarstar.compared_curves(FULL)
    fabrics = {curve.fabric for curve in curves if curve.label.rpartition("-")[0] == name}
    graph = next(iter(fabrics)).topology
    longest = max(host_pairs_by_distance(graph))
    assert {one.routers.channels for one in fabrics} == {longest, 2 * graph.diameter}
    assert {one.routers.channel_policy for one in fabrics} == {"hop"}


@pytest.mark.parametrize(
    "curves",
    [polarfly.compared_curves, polarfly.near_curves, polarfly.size_curves, polarfly.grown_curves],
)
def test_routers_of_polarfly_s_figures_are_those_of_its_authors_simulator(curves):
    """Of four channels packets take any, but on the networks of diameter 3 beside PolarFly."""
    for fabric in {curve.fabric for curve in curves(FULL)}:
        if fabric.name in ("dragonfly", "jellyfish"):
            assert fabric.routers.channel_policy == "hop"
        else:
            assert fabric.routers == shared_port()
            assert (fabric.routers.channels, fabric.routers.buffer_flits) == (4, 32)


def test_motifs_run_where_no_deadlock_can_end_them():
    policies = {one.name: one.routers.channel_policy for one in motif_networks(FULL).values()}
    assert policies.pop("fat-tree") == "any"  # paths up and down have no circles
    assert set(policies.values()) == {"hop"}


def test_a_load_that_ends_in_a_deadlock_shows_no_latency():
    curve = polarfly.near_curves(QUICK)[0]
    stuck = CurvePoint(0.6, 0.6, 0.004, None, 30.2, None, False, True)
    rows = MeasuredCurve(curve, [point(0.4, 0.4), stuck]).rows()
    assert [row["latency_cycles"] for row in rows] == [10.0, None]
    assert [row["deadlock"] for row in rows] == [False, True]


def test_a_grown_polarfly_has_the_throughput_of_the_better_of_its_routings():
    """As fixed before the first computation; 6 and 9 copies have minimal paths alone, and no claim."""
    loads = {
        "+0 MIN": 0.9,
        "+0 UGAL": 0.8,
        "+3 nonquadric UGAL": 0.7,
        "+12 nonquadric UGAL": 0.6,
        "+12 quadric MIN": 0.3,
        "+12 quadric UGAL": 0.2,
    }
    found = values("polarfly", "fig11", lambda curve: loads.get(curve.label, 0.5))
    assert found["quadric"].value == pytest.approx(0.3 / 0.9 - 1)
    assert found["other"].value == pytest.approx(0.6 / 0.9 - 1)
    assert (found["other at 10 %"].value, found["other at 39 %"].value) == (0.7, 0.6)


def test_grown_polarflies_have_hosts_for_half_of_their_radix():
    """Of the authors' generator: q + 1 + 2 r0 + r1 network ports, half as many endpoints."""
    hosts = {curve.label: curve.fabric.hosts for curve in polarfly.grown_curves(FULL)}
    assert (hosts["+0 MIN"], hosts["+3 quadric MIN"], hosts["+12 quadric UGAL"]) == (16, 19, 28)
    assert [hosts[f"+{copies} nonquadric MIN"] for copies in (3, 9, 12)] == [17, 20, 22]


@pytest.mark.parametrize(
    ("curves", "flits"),
    [
        (polarfly.compared_curves, 128),
        (slimfly.compared_curves, 64),
        (polarstar.compared_curves, 128),
        (polarstar.adversarial_curves, 128),
        (fair.fair_curves, 128),
    ],
)
def test_packets_of_fat_trees_take_any_channel(curves, flits):
    """BookSim's do; with a channel for each hop, the packets of a link would all be in the same one."""
    trees = [one.fabric for one in curves(FULL) if one.fabric.name == "fat-tree"]
    assert trees
    for tree in trees:
        assert (tree.routing, tree.routers.channel_policy) == ("nca", "any")
        assert tree.routers.channels * tree.routers.buffer_flits == flits


def test_polarstar_s_orderings():
    loads = {"PS-IQ": 0.6, "BF": 0.5, "PS-Pal": 0.4, "DF": 0.2, "MF": 0.3, "HX": 0.7, "SF": 0.8, "FT": 0.9}
    found = values("polarstar", "fig10", lambda curve: loads[curve.label.rpartition("-")[0]])
    assert found["lowest"].value == pytest.approx(0.75)
    assert found["bundlefly"].value == pytest.approx(1.2)
    assert found["paley"].value == pytest.approx(1.5)
    found = values("polarstar", "fig9", lambda curve: loads[curve.label.rpartition("-")[0]])
    assert found["spectralfly"].value == pytest.approx(0.8 / 0.6)
    assert found["dragonfly UGAL"].value == pytest.approx(0.2 / 0.6)
    assert found["highest"].value == pytest.approx(0.7 / 0.6)


def test_detours_of_ugal_pf_are_compared_at_all_loads():
    item, slow = ITEMS["polarfly"]["fig9"], {"PF-UGAL": 1.0, "PF-UGAL_PF": 1.2, "PF-MIN": 0.8}
    measured = {
        curve: MeasuredCurve(
            curve,
            [
                point(0.2, 0.2, latency=20 * slow[curve.label]),
                point(0.4, 0.4, latency=40.0),
                point(0.6, 0.5, False),
            ],
        )
        for curve in item.curves(FULL)
    }
    found = item.find(measured, FULL).values
    assert found["latency"] == pytest.approx(1.0)  # at 0.4; 1.2 at 0.2
    assert (found["minimal 2"].value, found["adaptive 2"].value) == (0.4, 0.4)


def test_a_dragonfly_s_accepted_loads_are_the_greatest_of_its_routings():
    loads = {"4-color": 0.7, "2-color": 0.6, "Valiant": 0.4, "4-color adaptive": 0.75}

    def accepted(curve):
        return loads.get(curve.label, 0.3) if curve.pattern == "uniform" else 0.45

    found = values("dragonfly", "fig9", accepted)
    assert found["uniform"].value == 0.75
    assert found["adversarial"].value == 0.45
    assert found["colours"].value == pytest.approx(0.7 / 0.6)
    assert found["minimal adversarial"].value == 0.45


def test_latencies_are_compared_at_the_greatest_load_that_both_carry():
    one = Curve("PF-MIN", simulated(network("PF", "polarfly", q=3), 2, "min"), "uniform")
    below = MeasuredCurve(
        one, [point(0.1, 0.1), point(0.2, 0.2, latency=20.0), point(0.3, 0.3, latency=90.0)]
    )
    above = MeasuredCurve(
        one, [point(0.1, 0.1, latency=11.0), point(0.2, 0.2, latency=50.0), point(0.3, 0.2, False, 900.0)]
    )
    assert latency_ratio(below, above) == 2.5
    assert latency_ratios(below, above) == pytest.approx({0.1: 1.1, 0.2: 2.5})
    assert latency_ratio(above, MeasuredCurve(one, [point(0.3, 0.2, False)])) is None
