"""Items that no paper has: their curves, what they find in curves, and the chain of files without claims."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import polarlab
from experiments.papers import registry
from experiments.papers.beyond import deadlock_free, failures, fair, loop, real
from experiments.papers.beyond.deadlock_free import contests
from experiments.papers.beyond.fair import best_routing_of
from experiments.papers.beyond.measures import AT_FULL, AT_HALF, HALF, accepted_at, delivered_at, latency_at
from experiments.papers.beyond.members import (
    COMPARISONS,
    COST,
    ENDPOINTS,
    FAMILIES,
    PRICE,
    RADIX,
    compared_members,
    cost_of_endpoint,
    left_out,
)
from experiments.papers.beyond.real import real_networks
from experiments.papers.figure import draw_item
from experiments.papers.model import BarChart, ItemResult, Scale
from experiments.papers.networks import network
from experiments.papers.performance.model import (
    Curve,
    CurvePoint,
    MeasuredCurve,
    SimulatedItem,
    simulated,
)
from experiments.papers.prices import paper_prices
from experiments.papers.registry import ITEMS, items_of_all
from experiments.papers.reproduction import check_labels
from experiments.points.loads import LoadSteps, next_loads
from experiments.simulation.fabric import check_channels
from polarlab.cli.main import main
from routing.deadlock.proof import prove_deadlock_freedom
from routing.registry import make_plan, routing
from topology.costs.cost import network_cost
from topology.registry import FAMILIES as ALL_FAMILIES

OWN = {name: item for name, item in ITEMS["beyond"].items() if isinstance(item, SimulatedItem)}
QUICK = Scale(quick=True)
EFFORTS = [pytest.param(QUICK, id="quick"), pytest.param(Scale(), id="full")]


def point(load, accepted, *, stable=True, latency=20.0):
    return CurvePoint(load, load, accepted, 0.01, latency, 0.5, stable, False)


def made_up(curves):
    """Returns curves that carry half of their greatest load, and are not carried at it."""
    return {
        curve: MeasuredCurve(
            curve,
            [
                point(curve.loads.max_load / 2, curve.loads.max_load / 2),
                point(curve.loads.max_load, 0.6, stable=False, latency=900.0),
            ],
        )
        for curve in curves
    }


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("name", OWN)
def test_an_item_finds_what_its_drawing_shows(name, effort):
    item = OWN[name]
    if name == "fair":
        effort = QUICK  # the bisections of the full one take minutes
    found = item.find(made_up(item.curves(effort)), effort)
    assert not found.values
    assert len({tuple(row) for row in found.rows}) == 1
    columns = set(found.rows[0])
    if isinstance(item.plot, BarChart):
        assert {*item.plot.names, *item.plot.measures, item.plot.group} <= columns
        assert all(row["uniform"] == HALF for row in found.rows)
        assert all((row["uniform_low"], row["uniform_high"]) == (0.49, 1.0) for row in found.rows)
    else:
        plot = item.plot
        assert {plot.x, plot.y, plot.by, plot.panels, plot.low, plot.high} <= columns
        carried = [row["value"] for row in found.rows if row["measure"].startswith("saturation")]
        assert set(carried) == {HALF}


def test_loads_that_are_measured_alone_are_tried_once():
    for loads, load in ((AT_HALF, 0.5), (AT_FULL, 1.0)):
        assert next_loads(loads, {}, ahead=4) == [load]
        assert next_loads(loads, {load: False}) == next_loads(loads, {load: True}) == []


def test_measures_at_a_load_are_those_of_its_point():
    found = MeasuredCurve(
        Curve("PF", simulated(network("PF", "polarfly", q=3), 2, "min"), "uniform"),
        [point(0.2, 0.15), replace(point(0.5, 0.4, stable=False), accepted_ci95=None)],
    )
    assert accepted_at(found, 0.2) == (0.15, pytest.approx((0.14, 0.16)))
    assert accepted_at(found, 0.5) == (0.4, None)
    assert accepted_at(found, 0.3) is delivered_at(found, 0.3) is latency_at(found, 0.3) is None
    assert delivered_at(found, 0.2).value == pytest.approx(0.75)
    assert latency_at(found, 0.2) == (20.0, (19.5, 20.5))
    assert latency_at(found, 0.5) is None


# ---- members ----


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("q", [5, 7])
def test_members_are_about_equal_to_the_polarfly(q, comparison):
    base, *others = compared_members(q, comparison)
    assert base.network.label == f"polarfly q={q}"
    for one in others:
        if comparison == RADIX:
            assert abs(one.ports - base.ports) <= 1, one
            assert one.endpoints <= 8 * base.endpoints, one
            continue
        value = {ENDPOINTS: "endpoints", COST: "cost", PRICE: "price"}[comparison]
        for name in (value, "endpoints"):
            assert 1 / 2 < getattr(one, name) / getattr(base, name) < 2, one


@pytest.mark.parametrize("effort", EFFORTS)
def test_the_fair_comparison_has_every_family_or_tells_which_it_lacks(effort):
    q = 5 if effort.quick else 7
    every = {name for name, entry in ALL_FAMILIES.items() if entry.members}
    assert set(FAMILIES) == every
    found = fair.fair(made_up(fair.fair_curves(effort)), effort) if effort.quick else None
    somewhere = set()
    for comparison in COMPARISONS:
        compared = [one.network.family for one in compared_members(q, comparison)]
        missing = left_out(q, comparison)
        assert len(compared) == len(set(compared)) >= 16
        assert set(compared) | set(missing) == every
        assert not set(compared) & set(missing)
        somewhere |= set(compared)
        if found:
            assert f"{comparison}: {', '.join(missing)}" in found.remark
    assert every - somewhere == ({"delorme"} if effort.quick else set())


# Where the member that is about equal to ER_5 has over a hundred routers, the one of ER_4.
MEMBERS = {
    one.network.family: one
    for q in (4, 5)
    for one in compared_members(q, ENDPOINTS)
    if one.network.graph().routers <= 100
}


# Predictions for these take a second each; each of the others shows as much of its family.
LONG = ("torus", "long-hop", "hypercube")


@pytest.mark.parametrize(
    "member",
    [
        pytest.param(one, id=family, marks=pytest.mark.slow if family in LONG else ())
        for family, one in MEMBERS.items()
    ],
)
def test_an_adversarial_pattern_is_no_better_for_shortest_paths_than_a_random_one(member):
    plan = polarlab.plan(member.network.graph(), hosts=member.hosts, routing="min")

    def carried(pattern):
        """The load at which shortest paths fill the first link."""
        return 0.01 / polarlab.predict(plan, pattern, 0.01).link_load_max

    own = carried(best_routing_of(member.network.family).adversarial)
    if member.network.family != "fat-tree":  # which carries all permutations
        assert own < 0.6 * carried("uniform")
    assert own <= 1.05 * carried("random-permutation")


@pytest.mark.parametrize(
    ("effort", "smallest"),
    [
        pytest.param(QUICK, True, id="smallest"),
        pytest.param(QUICK, False, id="quick", marks=pytest.mark.slow),
        pytest.param(Scale(), False, id="full", marks=pytest.mark.slow),
    ],
)
def test_every_routing_of_the_fair_comparison_has_a_channel_for_each_hop(effort, smallest):
    found = {curve.fabric for curve in fair.fair_curves(effort)}
    by_size = sorted(found, key=lambda one: -one.topology.routers)
    for fabric in {one.name: one for one in by_size}.values() if smallest else by_size:
        graph = fabric.topology
        if graph.routers > 150:
            continue  # plans of larger ones take seconds each
        assert fabric.routers.channels * fabric.routers.buffer_flits in range(110, 129)
        check_channels(make_plan(graph, 1, fabric.routing), fabric.routers)


def test_the_cost_of_an_endpoint_counts_both_ends_of_links_and_its_own():
    graph = polarlab.topology("polarfly", q=5)
    assert cost_of_endpoint(graph, 3) == pytest.approx((2 * 90 + 93) / 93)
    base = compared_members(5, COMPARISONS[0])[0]
    assert (base.ports, base.endpoints) == (9, 93)


def test_the_price_of_an_endpoint_is_that_of_the_model_of_costs():
    for one in compared_members(5, PRICE):
        cost = network_cost(one.network.graph(), one.hosts, paper_prices())
        assert one.price == pytest.approx(cost.per_endpoint)
    ported, priced = (compared_members(5, one) for one in (COST, PRICE))
    assert ported != priced


def test_a_member_of_several_comparisons_is_simulated_once():
    curves = fair.fair_curves(QUICK)
    assert len(set(curves)) == len(curves) < 3 * len(FAMILIES) * len(COMPARISONS)


# ---- deadlocks ----


@pytest.mark.parametrize("contest", contests(QUICK), ids=lambda one: one.network.label)
def test_routings_with_one_channel_have_no_circle_and_others_a_channel_for_each_hop(contest):
    for fabric in contest.fabrics().values():
        plan = make_plan(fabric.topology, 1, fabric.routing)
        assert fabric.routers.channels * fabric.routers.buffer_flits in range(120, 129)
        if fabric.routing in contest.free and fabric.routers.channels == 1:
            assert fabric.routers.channel_policy == "any"
            assert prove_deadlock_freedom(plan).acyclic
        else:
            check_channels(plan, fabric.routers)


def test_every_contest_has_both_kinds_of_routings():
    for effort in (QUICK, Scale()):
        for contest in contests(effort):
            channels = [deadlock_free.channels_of(one.routers) for one in contest.fabrics().values()]
            assert channels[: len(contest.free)] == ["1 channel"] * len(contest.free)
            assert channels[len(contest.free) :] == [f"{hops} by hop" for _, hops in contest.by_hop]


@pytest.mark.parametrize("effort", [QUICK, Scale()], ids=["quick", "full"])
def test_networks_of_all_contests_are_of_about_equal_cost_and_size(effort):
    base, *others = (contest.with_hosts for contest in contests(effort))
    assert base.network.family == "polarfly"
    for one in others:
        assert one.cost == pytest.approx(base.cost, rel=0.12)
        assert one.endpoints == pytest.approx(base.endpoints, rel=0.4)


def test_both_repairs_have_the_same_failed_links():
    curves = [curve for curve in failures.failure_curves(QUICK) if curve.failures]
    graph = curves[0].fabric.topology
    drawn = {(one.failures.share, one.failures.replanned): one.failures.faults(graph, 3) for one in curves}
    shares = {share for share, _ in drawn}
    assert shares == {0.02, 0.05, 0.1, 0.2}
    assert all(drawn[share, True] == drawn[share, False] for share in shares)


def test_a_loop_is_given_time_to_settle():
    warmups = {curve.fabric.decision: curve.warmup for curve in loop.loop_curves(Scale())}
    assert warmups == {
        None: 8000,
        "buckets:period=20": 8000,
        "buckets:period=100": 10_000,
        "buckets:period=400": 40_000,
    }


# ---- the chain ----


def test_an_item_without_claims_has_files_and_a_result(tmp_path, capfd, monkeypatch):
    fabric = simulated(network("PF", "polarfly", q=3), 2, "min")
    curve = Curve("PF-MIN", fabric, "tornado", LoadSteps(precision=0.1, steps=2, max_load=0.4))
    row = {"family": "polarfly", "network": "PF", "routing": "min", "channels": "4 by hop"}
    row |= {"uniform": 0.5, "uniform_low": 0.4, "uniform_high": 0.6, "adversarial": None, "cost": 3.0}
    row["price"] = 900.0
    item = OWN["deadlock-free"]
    small = replace(item, curves=lambda _effort: [curve], find=lambda *_found: ItemResult({}, [row]))
    monkeypatch.setitem(registry.ITEMS["beyond"], "deadlock-free", small)
    words = ["paper", "beyond", "deadlock-free", "--quick", "--workers", "1", "--out", str(tmp_path)]
    assert main(words) == 0
    text = capfd.readouterr().out
    assert "claims within" not in text
    assert "beyond deadlock-free: Networks of equal cost" in text
    assert len((tmp_path / "deadlock-free-claims.csv").read_text().splitlines()) == 1
    assert (tmp_path / "deadlock-free.png").stat().st_size > 5000
    assert len(list(csv.DictReader((tmp_path / "points.csv").read_text().splitlines()))) == 3
    assert main([*words, "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["claims"], found["items"][0]["resumed"]) == ([], True)


@pytest.mark.parametrize("effort", [QUICK, Scale()], ids=["quick", "full"])
@pytest.mark.parametrize("name", OWN)
def test_every_curve_can_be_chosen_on_a_command_line(name, effort):
    for curve in OWN[name].curves(effort):
        assert not any("," in choice for choice in curve.choices)
        check_labels([(name, OWN[name])], effort, curve.choices)


def test_a_figure_has_the_curves_that_were_chosen(tmp_path):
    chosen = {"quick": True, "out": tmp_path, "workers": 1}
    found = polarlab.reproduce("beyond", "threshold", curves=["threshold 0.3"], **chosen)
    rows = list(csv.DictReader((tmp_path / "threshold.csv").read_text().splitlines()))
    assert {row["threshold"] for row in rows} == {"0.3"}
    assert "threshold 0.5, uniform" in found.items[0].missing
    assert len(set(found.items[0].missing)) == len(found.items[0].missing)
    again = polarlab.reproduce("beyond", "threshold", curves=["none"], **chosen)
    assert again.items[0].missing == found.items[0].missing


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("name", [name for name in OWN if name != "laws"])
def test_packets_have_a_channel_for_each_hop_where_paths_are_not_free_of_circles(name, effort):
    """With any of several channels a deadlock, and not the routing, may bound what is carried.

    The laws of PolarFly are compared under the paper's routers, which have that policy.
    """
    routers = {curve.fabric.routers for curve in OWN[name].curves(effort) if curve.fabric.routing != "nca"}
    assert {one.channel_policy for one in routers if one.channels > 1} == {"hop"}


def test_all_with_named_curves_sends_no_real_packets(tmp_path):
    found = polarlab.reproduce("beyond", "all", quick=True, out=tmp_path, curves=["none"])
    assert set(found.skipped) == {*OWN}
    assert not (tmp_path / "real").exists()


def test_the_list_has_the_items_without_claims():
    listed = [one for one in polarlab.papers() if one.paper == "beyond"]
    assert [one.item for one in listed] == [*OWN, "real"]
    assert all(one.computed and one.claims == 0 for one in listed)


def test_a_sheet_has_a_line_for_each_row_and_a_heading_for_each_group():
    sheet = BarChart(("name",), {"load": "load", "links": "links"}, group="kind")
    rows = [
        {"kind": kind, "name": name, "load": load, "load_low": low, "load_high": 0.7, "links": 4}
        for kind, name, load, low in (("x", "a", 0.5, 0.4), ("x", "b", None, None), ("y", "c", 0.6, None))
    ]
    panels = draw_item("title", sheet, rows).axes
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["x", "a", "b", "y", "c"]
    assert [[bar.get_width() for bar in axes.patches] for axes in panels] == [[0.5, 0.6], [4, 4, 4]]
    assert [np.rint(bar.get_y() + bar.get_height() / 2) for bar in panels[0].patches] == [1, 4]
    assert len(panels[0].containers) == 3  # two bars and one interval


def test_a_sheet_has_the_condition_of_a_measure_at_the_right_end_of_its_lines():
    sheet = BarChart(("name",), {"load": "load"}, group="kind", condition=("pattern", "worst pattern"))
    ends = (("a", "adv"), ("b", "shift"))
    rows = [{"kind": "x", "name": name, "load": 0.5, "pattern": one} for name, one in ends]
    [panel] = draw_item("title", sheet, rows).axes
    [right] = panel.child_axes
    assert [label.get_text() for label in right.get_yticklabels()] == ["worst pattern", "adv", "shift"]


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_a_quick_item_is_complete(tmp_path, name):
    found = polarlab.reproduce("beyond", name, quick=True, out=tmp_path)
    assert found.agrees
    rows = list(csv.DictReader((tmp_path / f"{name}.csv").read_text().splitlines()))
    assert len(rows) > 7
    assert not any(row.get("deadlock") == "True" for row in rows)
    assert (tmp_path / f"{name}.png").exists()


# ---- real packets ----


@pytest.mark.parametrize("effort", EFFORTS)
def test_real_networks_have_the_routings_of_the_fair_comparison_and_fit_one_machine(effort):
    networks = list(real_networks(effort))
    assert [one.member.network.family for one in networks] == list(real.FAMILIES)
    for one in networks:
        assert one.member.network.graph().routers <= 60
        swept = one.sweep().sweep
        assert swept.routings[-1] == routing(best_routing_of(one.member.network.family).routing).name
        assert len(swept.routings) == (1 if one.member.network.family == "fat-tree" else 2)


def test_real_packets_are_refused_without_root_and_left_out_of_all(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert main(["paper", "beyond", "real", "--quick", "--out", str(tmp_path / "real")]) == 3
    assert "root" in capsys.readouterr().err
    assert "real" not in items_of_all("beyond", real=False)
    assert "real" in items_of_all("beyond", real=True)
    assert set(items_of_all("beyond", real=False)) == set(OWN)
