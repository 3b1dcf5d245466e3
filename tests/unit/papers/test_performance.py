"""Performance of papers' networks: the search for saturation, simulated points that are kept, and curves."""

import csv
import json
import math
import os
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

import polarlab
from experiments.papers import registry, reproduction
from experiments.papers.model import Scale
from experiments.papers.networks import network
from experiments.papers.performance import curves as simulations
from experiments.papers.performance.curves import measured
from experiments.papers.performance.digests import digest_of
from experiments.papers.performance.model import (
    ComputeSettings,
    Curve,
    CurveNotMeasuredError,
    CurvePoint,
    MeasuredCurve,
    divided_port,
    simulated,
)
from experiments.papers.performance.series import OVERLOAD
from experiments.papers.registry import ITEMS
from experiments.papers.reproduction import reproduce_item
from experiments.points.loads import LoadSteps, next_loads, tried_in_order
from experiments.results.run_directory import kept_directory
from experiments.simulation import code_version
from experiments.simulation.code_version import logic_of, module_digest
from experiments.simulation.task import Task
from experiments.spec.simulation.model import SimulatedTraffic
from polarlab.cli.main import main
from routing.registry import ROUTINGS

ER_3 = network("PF", "polarfly", q=3)
MINIMAL = simulated(ER_3, 2, "min")
TORNADO = Curve("PF-MIN", MINIMAL, "tornado", LoadSteps(precision=0.05, steps=2, max_load=0.6))
UNIFORM = Curve("PF-MIN", MINIMAL, "uniform", LoadSteps(precision=0.1, steps=5))
QUICK = Scale(quick=True)
ALONE = ("--quick", "--workers", "1")  # in this process: others would have to load everything first


@pytest.mark.parametrize("ahead", [1, 2, 8])
@pytest.mark.parametrize("limit", [0.0, 0.013, 0.1, 0.49, 0.5, 0.99, 1.0])
def test_the_search_ends_beside_the_greatest_load_that_is_carried(limit, ahead):
    loads, tried = LoadSteps(precision=0.01, steps=7), {}
    while found := next_loads(loads, tried, ahead):
        assert not set(found) & set(tried)
        tried |= {load: load <= limit for load in found}
    carried = max((load for load, is_carried in tried.items() if is_carried), default=0.0)
    assert math.isclose(carried, math.floor(limit * 100 + 1e-9) / 100)
    assert len(tried) <= limit / 0.07 + 2 * ahead + 4


@pytest.mark.parametrize("ahead", [2, 8])
@pytest.mark.parametrize("limit", [0.0, 0.1, 0.49, 1.0])
def test_loads_that_were_tried_at_once_are_those_of_one_after_the_other(limit, ahead):
    loads, one, several = LoadSteps(precision=0.02, steps=5), {}, {}
    while found := next_loads(loads, one):
        one |= {load: load <= limit for load in found}
    while found := next_loads(loads, tried_in_order(loads, several), ahead):
        several |= {load: load <= limit for load in found}
    assert tried_in_order(loads, several) == one
    assert ahead == 2 or limit == 1.0 or len(several) > len(one)


def test_points_of_a_curve_do_not_depend_on_the_workers(tmp_path):
    def loads(name, workers):
        with kept_directory(tmp_path / name) as directory:
            [found] = measured([TORNADO], QUICK, ComputeSettings(directory, workers=workers)).values()
        return [point.load for point in found.points]

    assert loads("one", 1) == loads("two", 2)
    assert "0.4" in {
        row["load"] for row in csv.DictReader((tmp_path / "two" / "points.csv").read_text().splitlines())
    }


def test_points_of_several_networks_are_simulated_at_once(tmp_path, monkeypatch):
    ran = Task.run

    def meet(task, planned):
        """Waits for a simulation in another process."""
        (tmp_path / f"begun-{os.getpid()}").touch()
        end_s = time.monotonic() + 10
        while len([*tmp_path.glob("begun-*")]) < 2:
            assert time.monotonic() < end_s
            time.sleep(0.01)
        return ran(task, planned)

    monkeypatch.setattr(Task, "run", meet)
    fabrics = {"PF-MIN": MINIMAL, "PF-VAL": replace(MINIMAL, routing="valiant")}
    curves = [Curve(*one, "uniform", OVERLOAD) for one in fabrics.items()]
    with kept_directory(tmp_path, resume=True) as directory:
        found = measured(curves, QUICK, ComputeSettings(directory, workers=2))
    assert [len(one.points) for one in found.values()] == [1, 1]


def test_a_load_beyond_one_that_is_not_carried_ends_nothing_by_being_carried():
    """Near saturation chance decides: the least load that is not carried counts."""
    loads = LoadSteps(precision=0.1, steps=1)
    tried = {0.1: True, 0.2: True, 0.3: False, 0.4: True}
    assert next_loads(loads, tried) == []


def points(*rows):
    return [
        CurvePoint(load, load, accepted, 0.01, 10.0, None, stable, False) for load, accepted, stable in rows
    ]


def test_saturation_is_the_last_load_before_the_first_that_is_not_carried():
    found = MeasuredCurve(
        TORNADO, points((0.1, 0.1, True), (0.2, 0.199, True), (0.3, 0.22, False), (0.4, 0.4, True))
    )
    assert found.saturation.value == 0.199
    assert found.saturation.interval == pytest.approx((0.189, 0.3))
    assert found.throughput.value == 0.4
    assert MeasuredCurve(TORNADO, points((0.1, 0.05, False))).saturation == (0.0, (0.0, 0.1))
    assert MeasuredCurve(TORNADO, points((1.0, 0.99, True))).saturation == (0.99, (0.98, 1.0))


def test_minimal_paths_of_a_tornado_saturate_where_theory_has_it(tmp_path):
    with kept_directory(tmp_path) as directory:
        [found] = measured([TORNADO], QUICK, ComputeSettings(directory, workers=1)).values()
    plan = polarlab.plan(polarlab.topology("polarfly", q=3), hosts=2)
    bound = 0.1 / polarlab.predict(plan, "tornado", 0.1).link_load_max
    low, high = found.saturation.interval
    assert low <= bound <= high
    assert [point.load for point in found.points] == [0.1, 0.2, 0.25, 0.3]
    assert found.points[0].latency_cycles < found.points[-1].latency_cycles


def test_points_are_kept_and_what_is_missing_is_simulated(tmp_path):
    told = []

    def interrupt(event):
        told.append(event)
        if len(told) == 2:
            raise KeyboardInterrupt

    def simulate(effort, on_event=told.append):
        with kept_directory(tmp_path, resume=True) as directory:
            return measured(
                [TORNADO, UNIFORM], effort, ComputeSettings(directory, workers=1, on_event=on_event)
            )

    with pytest.raises(KeyboardInterrupt):
        simulate(QUICK, interrupt)
    assert len(told) == 2
    with (tmp_path / "points.csv").open("a") as file:
        file.write("a row that was cut")
    whole = simulate(QUICK)
    count = sum(len(found.points) for found in whole.values())
    assert len(told) == count
    assert simulate(QUICK) == whole
    assert len(told) == count
    twice = simulate(Scale(quick=True, seeds=2))  # the first of them is there
    assert len(told) <= 2 * count + 2
    assert all(point.accepted_ci95 is not None for found in twice.values() for point in found.points)
    rows = list(csv.DictReader((tmp_path / "points.csv").read_text().splitlines()))
    assert len({row["digest"] for row in rows}) == len(rows) == len(told)


def test_points_of_another_network_routing_or_router_are_others():
    traffic = SimulatedTraffic("tornado", 0.1)
    others = [
        simulated(network("PF", "polarfly", q=4), 2, "min"),
        simulated(ER_3, 3, "min"),
        simulated(ER_3, 2, "valiant"),
        simulated(ER_3, 2, "valiant:intermediates=4"),
        simulated(ER_3, 2, "min", divided_port(6)),
    ]
    digests = {digest_of(Curve("PF-MIN", one, "tornado"), traffic) for one in (MINIMAL, *others)}
    digests |= {digest_of(TORNADO, replace(traffic, **one)) for one in ({"seed": 2}, {"load": 0.2})}
    assert len(digests) == 8
    renamed = Curve("another", simulated(network("another", "polarfly", q=3), 2, "min"), "uniform")
    assert digest_of(renamed, traffic) in digests


CODE = '''"""Half of a number."""


def half(number):
    """Returns the half."""
    if number < 0:
        raise ValueError(f"number must be 0 or more, got {number}")
    return number // 2  # rounded down
'''


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("rounded down", "downward", True),
        ("Returns the half.", "Returns half of it.", True),
        ("number must be 0", "it must be 0", True),
        ("\n\n\ndef", "\n\ndef", True),
        ("number // 2", "number // 3", False),
        ("number < 0", "number <= 0", False),
    ],
)
def test_points_are_those_of_the_logic_of_the_code_not_of_its_words(old, new, same):
    assert old in CODE
    assert (logic_of(CODE.replace(old, new)) == logic_of(CODE)) == same


def test_a_simulated_item_has_data_a_figure_and_claims(tmp_path, capfd, monkeypatch):
    item = ITEMS["polarfly"]["fig9"]
    small = replace(item, curves=lambda _effort: [TORNADO, UNIFORM])
    monkeypatch.setitem(registry.ITEMS["polarfly"], "fig9", small)
    with kept_directory(tmp_path, resume=True) as directory:
        done = reproduce_item("polarfly", "fig9", QUICK, ComputeSettings(directory, workers=1))
    assert {claim.within for claim in done.claims} == {None}
    rows = list(csv.DictReader((tmp_path / "fig9.csv").read_text().splitlines()))
    assert {row["pattern"] for row in rows} == {"tornado", "uniform"}
    assert (tmp_path / "fig9.png").stat().st_size > 10_000
    assert main(["paper", "polarfly", "fig9", "--quick", "--out", str(tmp_path)]) == 0
    printed = " ".join(capfd.readouterr().out.split())
    assert "already complete" in printed
    # Why the rows have no numbers, and those of the smaller network.
    assert "--quick simulates smaller ones, of 13 routers" in printed
    assert re.search(r"saturation there: \S+ 0\.\d+ under tornado", printed)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "0"], "workers"),
        (["--workers", "2", "--scheduler", "tcp://127.0.0.1:1"], "cannot be combined"),
        (["--scheduler", "here"], "scheduler must be tcp://"),
        (["--curves", "PF-MIN,PF-UGLA"], "got 'PF-UGLA'; did you mean 'PF-UGAL'?"),
        (["--curves", "PF-MIN,"], "curves must be none or among PF-MIN, PF-UGAL, PF-UGAL_PF, got ''"),
        (
            ["--curves", "PF-MIN:tornado"],
            "patterns of PF-MIN must be among perm2hop, perm1hop, got 'tornado'",
        ),
        (["--curves", "PF-MIN:"], "patterns of PF-MIN must be among perm2hop, perm1hop, got ''"),
        (["--curves", "none"], "has no points of these curves yet"),
    ],
)
def test_wrong_places_are_one_line_and_leave_nothing(tmp_path, capfd, options, message):
    out = tmp_path / "out"
    assert main(["paper", "polarfly", "fig9", "--quick", "--out", str(out), *options]) == 2
    assert message in capfd.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [("workers", "2"), ("workers", True), ("scheduler", "here"), ("scheduler", 8786), ("quick", 3)],
)
def test_wrong_places_are_refused_where_nothing_is_simulated_too(tmp_path, name, value):
    with pytest.raises(polarlab.ParameterError, match=rf"{name} must be .*, got {value!r}"):
        polarlab.reproduce("polarfly", "fig2", out=tmp_path / "out", **{name: value})
    assert not (tmp_path / "out").exists()


def test_a_keyword_that_is_unknown_is_refused(tmp_path):
    with pytest.raises(TypeError, match="'worker'"):
        polarlab.reproduce("polarfly", "fig2", out=tmp_path / "out", worker=1)
    assert not (tmp_path / "out").exists()


def test_all_items_leave_out_those_without_points(tmp_path, capfd, monkeypatch):
    items = {name: ITEMS["polarfly"][name] for name in ("table5", "fig9", "fig11")}
    monkeypatch.setitem(ITEMS, "polarfly", items)
    options = [*ALONE, "--curves", "PF-MIN:perm1hop", "--out", str(tmp_path)]
    assert main(["paper", "polarfly", "all", *options]) == 0
    assert "curves: fig11" in capfd.readouterr().out
    assert {"table5.json", "fig9.json", "report.html"} <= {one.name for one in tmp_path.iterdir()}


def test_points_are_those_of_the_code_of_their_own_routing(tmp_path, monkeypatch):
    """A change to one routing voids the points of those that need its code, and no others."""
    package, root = "routing.algorithms", Path(code_version.__file__).parents[2]
    shutil.copytree(root / "routing" / "algorithms", tmp_path / "routing" / "algorithms")
    monkeypatch.setattr(code_version, "__file__", str(tmp_path / "experiments" / "simulation" / "code.py"))

    def digests():
        module_digest.cache_clear()
        return {name: module_digest(one.module, package) for name, one in ROUTINGS.items()}

    before = digests()
    ugal = tmp_path / "routing" / "algorithms" / "ugal.py"
    ugal.write_text(ugal.read_text().replace("default=64", "default=65"))
    after = digests()
    module_digest.cache_clear()
    voided = {name for name, digest in after.items() if digest != before[name]}
    assert {"ugal", "ugal-group", "four-color-adaptive"} <= voided
    assert not voided & {"min", "valiant", "compact-valiant", "ugal-pf", "hierarchical", "nca"}
    assert len(set(before.values())) > 5


@pytest.mark.parametrize("item", ["fig2", "table5"])
def test_curves_are_of_items_that_are_simulated(tmp_path, capfd, item):
    assert main(["paper", "polarfly", item, "--curves", "none", "--out", str(tmp_path / "out")]) == 2
    assert f"got {item}" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_part_of_a_figure_is_told_as_such(tmp_path, capfd):
    words = ["paper", "polarfly", "fig9", *ALONE, "--out", str(tmp_path), "--curves"]
    assert main([*words, "PF-MIN"]) == 0
    assert ": PF-UGAL, perm2hop; PF-UGAL, perm1hop;" in capfd.readouterr().out
    assert main([*words, "none", "--json"]) == 0
    [item] = json.loads(capfd.readouterr().out)["items"]
    assert len(item["missing"]) == 4
    assert item["core_seconds"] > 0
    rows = list(csv.DictReader((tmp_path / "fig9.csv").read_text().splitlines()))
    assert {row["curve"] for row in rows} == {"PF-MIN"}


def test_a_curve_is_simulated_under_one_pattern_alone(tmp_path, capfd):
    words = ["paper", "polarfly", "fig9", *ALONE, "--out", str(tmp_path), "--curves", "PF-MIN:perm1hop"]
    assert main(words) == 0
    assert ": PF-MIN, perm2hop; PF-UGAL, perm2hop;" in capfd.readouterr().out
    rows = list(csv.DictReader((tmp_path / "fig9.csv").read_text().splitlines()))
    assert {(row["curve"], row["pattern"]) for row in rows} == {("PF-MIN", "perm1hop")}


def test_all_items_of_a_paper_take_the_curves_that_they_have(tmp_path, monkeypatch):
    items = {name: ITEMS["polarfly"][name] for name in ("table5", "fig9", "fig8")}
    monkeypatch.setitem(registry.ITEMS, "polarfly", items)
    found = polarlab.reproduce(
        "polarfly", "all", quick=True, workers=1, curves=["PF-MIN:perm1hop", "PF-MIN"], out=tmp_path
    )
    assert [len(item.missing) for item in found.items] == [0, 4, 33]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paper", "name"),
    [
        *(("polarfly", name) for name in ("fig8", "fig9", "fig10", "fig11", "fig15")),
        *(("polarstar", name) for name in ("fig9", "fig10")),
        *(("slimfly", name) for name in ("fig6", "fig8")),
        *(("dragonfly", name) for name in ("fig9", "fig10")),
    ],
)
def test_a_quick_figure_is_complete(tmp_path, paper, name):
    found = polarlab.reproduce(paper, name, quick=True, out=tmp_path)
    assert found.agrees
    rows = list(csv.DictReader((tmp_path / f"{name}.csv").read_text().splitlines()))
    assert len(rows) > 7
    assert (tmp_path / f"{name}.png").exists()
    stuck = [row for row in rows if row.get("deadlock") == "True"]
    # Where packets take any channel, as in the simulator of PolarFly's authors, and the load is not carried.
    assert not stuck or paper == "polarfly"
    assert all(row["stable"] == "False" for row in stuck)


def test_curves_that_are_not_asked_for_are_taken_as_far_as_the_folder_has_them(tmp_path):
    detoured = replace(UNIFORM, fabric=replace(MINIMAL, routing="valiant"), label="PF-VAL")
    with kept_directory(tmp_path, resume=True) as directory:
        place = ComputeSettings(directory, workers=1)
        first = measured([UNIFORM, detoured], QUICK, replace(place, labels=frozenset({"PF-MIN"})))
        none = measured([UNIFORM, detoured], QUICK, replace(place, labels=frozenset()))
        whole = measured([UNIFORM, detoured], QUICK, place)
    assert (first[UNIFORM].complete, first[detoured].complete) == (True, False)
    assert none == first
    assert first[UNIFORM].seconds > 0
    assert first[detoured].rows() == []
    with pytest.raises(CurveNotMeasuredError, match="PF-VAL, uniform"):
        _ = first[detoured].saturation
    assert whole[UNIFORM] == first[UNIFORM]
    assert whole[detoured].complete


def test_a_curve_that_was_interrupted_shows_its_points_and_has_no_saturation():
    cut = MeasuredCurve(TORNADO, points((0.1, 0.1, True)), complete=False)
    assert [row["load"] for row in cut.rows()] == [0.1]
    for measure in ("saturation", "saturation_load", "throughput", "points"):
        with pytest.raises(CurveNotMeasuredError, match="PF-MIN, tornado"):
            getattr(cut, measure)


@pytest.fixture
def small_fig9(monkeypatch):
    """Puts a small PolarFly and coarse loads in place of those of Fig 9, in full."""
    item = ITEMS["polarfly"]["fig9"]
    curves = item.curves(QUICK)
    monkeypatch.setattr(simulations, "FULL", simulations.QUICK)
    return replace(item, curves=lambda _effort: curves)


def test_claims_on_curves_that_are_complete_have_values(tmp_path, small_fig9, monkeypatch):
    monkeypatch.setattr(reproduction, "item_of", lambda *_names: small_fig9)

    def reproduced(*labels):
        with kept_directory(tmp_path, resume=True) as directory:
            place = ComputeSettings(directory, workers=1, labels=frozenset(labels) if labels else None)
            return reproduce_item("polarfly", "fig9", Scale(), place)

    part = reproduced("PF-MIN")
    assert [claim.value is None for claim in part.claims] == [False, True, False, True, True]
    assert part.missing == tuple(
        f"{label}, {pattern}" for label in ("PF-UGAL", "PF-UGAL_PF") for pattern in ("perm2hop", "perm1hop")
    )
    more = reproduced("PF-UGAL_PF")  # an incomplete item is computed again
    assert not more.resumed
    assert [claim.value is None for claim in more.claims] == [False, False, False, False, True]
    assert more.claims[0] == part.claims[0]
    whole = reproduced()
    assert not whole.missing
    assert not any(claim.value is None for claim in whole.claims)
    assert whole.core_seconds > more.core_seconds > part.core_seconds > 0
    assert reproduced("PF-MIN").resumed  # the whole is there
