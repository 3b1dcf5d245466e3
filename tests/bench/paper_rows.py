"""The papers, reproduced: times of analytic and of quick items, and what became of the claims."""

from __future__ import annotations

import math
import tempfile
import time
from collections import Counter
from collections.abc import Iterator

from rows import Row

import polarlab
from experiments.papers.claims import claims_of_item
from experiments.papers.findings import NOT_COMPUTED, WITHIN, outcome
from experiments.papers.model import Item
from experiments.papers.registry import ITEMS
from topology.analysis.bisection import METIS, bisect
from topology.analysis.resilience import resilience
from topology.families.low_diameter.polarfly import PolarFly

_NONE = "none does it"
_RUNS = 100


def analytic() -> list[Row]:
    """All items without simulations, in full, one after the other."""
    seconds, outcomes, slowest = 0.0, Counter[str](), ("", 0.0)
    for paper, name in _items(analytic_only=True):
        took, own = _reproduced(paper, name, quick=False)
        seconds += took
        outcomes += own
        slowest = max(slowest, (f"{paper} {name}", took), key=lambda one: one[1])
    computed = outcomes.total() - outcomes[NOT_COMPUTED]
    agreeing = outcomes[WITHIN] + outcomes["slip"]
    counted = ", ".join(f"{count} {one}" for one, count in sorted(outcomes.items()))
    return [
        Row(
            "figures and tables without simulations, in full, one after the other",
            _NONE,
            f"{seconds:.0f} s; longest: {slowest[0]}, {slowest[1]:.0f} s",
            "under 300 s",
            seconds < 300,
        ),
        Row(
            "their claims with a computed number, within the tolerance or the paper's slip",
            "the papers' numbers",
            f"{agreeing} of {computed}, {agreeing / computed:.1%} ({counted})",
            "at least 90 %",
            agreeing >= 0.9 * computed,
        ),
    ]


def quick() -> list[Row]:
    """All items with `--quick`, one after the other."""
    took = {f"{paper} {name}": _reproduced(paper, name, quick=True)[0] for paper, name in _items()}
    longest = max(took, key=lambda name: took[name])
    return [
        Row(
            f"the longest of {len(took)} figures and tables with --quick",
            _NONE,
            f"{longest}, {took[longest]:.0f} s; all together {sum(took.values()):.0f} s",
            "at most 300 s",
            took[longest] <= 300,
        )
    ]


def er31() -> list[Row]:
    """The bisection of ER_31, and its failures of links."""
    graph = PolarFly(31)
    halves = bisect(graph, seeds=8, method=METIS)
    began = time.perf_counter()
    found = resilience(graph, _RUNS)
    seconds = time.perf_counter() - began
    low, high = found.interval or (math.nan, math.nan)
    return [
        Row(
            "links between halves of ER_31, METIS, best of 8",
            "a separate program with METIS: 42.0 %",
            f"{halves.share:.2%}, halves of {halves.halves[0]} and {halves.halves[1]}",
            "42.0 % +- 0.5, halves of 497 and 496",
            abs(halves.share - 0.42) <= 0.005 and halves.halves == (497, 496),
        ),
        Row(
            f"share of failed links that disconnects ER_31, median of {_RUNS} runs",
            "a separate program: 0.78 for 20 runs",
            f"{found.median:.3f} ({low:.3f} to {high:.3f}), {seconds:.1f} s",
            "0.78 +- 0.02, under 30 s",
            abs(found.median - 0.78) <= 0.02 and seconds < 30,
        ),
    ]


def _items(*, analytic_only: bool = False) -> Iterator[tuple[str, str]]:
    """Yields the papers' items, or those without simulations and packets."""
    for paper, items in ITEMS.items():
        for name, item in items.items():
            if isinstance(item, Item) or not analytic_only:
                yield paper, name


def _reproduced(paper: str, name: str, *, quick: bool) -> tuple[float, Counter[str]]:
    """Computes an item; returns the seconds, and the number of claims by what became of them."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        found = polarlab.reproduce(paper, name, quick=quick, out=folder)
        seconds = time.perf_counter() - began
    checked = zip(claims_of_item(paper, name), found.claims, strict=True)
    return seconds, Counter(outcome(claim, one.value, one.within) for claim, one in checked)
