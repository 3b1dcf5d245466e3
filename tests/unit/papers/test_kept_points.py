"""Points of papers that were kept are valid as long as the code gives the same numbers."""

import csv
from dataclasses import replace

import pytest
from support.fixtures.documents import ROOT

from experiments.papers.model import Scale
from experiments.papers.performance import digests
from experiments.papers.performance.curves import replications
from experiments.papers.performance.digests import code_today, digest_of, kept_code
from experiments.papers.performance.model import SimulatedItem
from experiments.papers.registry import ITEMS

KEPT = ROOT / "docs" / "figures" / "papers"


def full_curves(paper):
    """Returns the curves of a paper's simulated items, in full."""
    items = [item for item in ITEMS[paper].values() if isinstance(item, SimulatedItem)]
    return [curve for item in items for curve in item.curves(Scale())]


def test_the_table_of_kept_code_is_of_today():
    stale = [part for part, row in kept_code().items() if row.today != code_today(part)]
    assert not stale, f"code of {', '.join(stale)} has changed: run `make digests`"


def test_each_routing_of_simulated_figures_has_a_row():
    items = [item for of_paper in ITEMS.values() for item in of_paper.values()]
    curves = [c for item in items if isinstance(item, SimulatedItem) for c in item.curves(Scale(quick=True))]
    assert {curve.fabric.routing.partition(":")[0] for curve in curves} <= kept_code().keys()


def test_every_kept_point_of_a_paper_is_found():
    with (KEPT / "dragonfly-points.csv").open(newline="") as file:
        kept = {row["digest"] for row in csv.DictReader(file)}
    found = set()
    for curve in full_curves("dragonfly"):
        steps = curve.loads
        for number in range(1, round(steps.max_load / steps.precision) + 1):
            load = round(number * steps.precision, 9)
            found |= {digest_of(curve, traffic) for traffic in replications(curve, load, Scale())}
    assert not kept - found


@pytest.mark.parametrize("part", ["simulator", "min"])
def test_code_that_changes_has_other_points_until_its_numbers_are_found_to_be_the_same(part, monkeypatch):
    curve = next(one for one in full_curves("polarfly") if one.fabric.routing == "min")
    [traffic] = replications(curve, 0.2, Scale())

    def digest(row):
        digests.code_when_kept.cache_clear()
        monkeypatch.setattr(digests, "kept_code", lambda: {**kept_code(), part: row})
        return digest_of(curve, traffic)

    moved = replace(kept_code()[part], kept="another")
    found = digest(moved), digest(replace(moved, today="changed"))
    monkeypatch.undo()
    digests.code_when_kept.cache_clear()
    assert found[0] not in (found[1], digest_of(curve, traffic))
