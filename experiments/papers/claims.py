"""Claims of papers: numbers that a figure, a table or a sentence states, with tolerances.

The claims are data: `claims.csv` in the folder of each paper. Values and tolerances were committed before
anything was computed, and a paper's number is never changed to agree with a computation.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import msgspec

BEYOND = "beyond"  # not a paper: PolarLab's own figures, without claims
PAPERS = ("polarfly", "polarstar", "slimfly", "dragonfly", BEYOND)
BOUNDS = ("equal", "at-least", "at-most")
KINDS = ("structure", "performance")
# Decimal differences must compare equal: 0.9 - 0.87 is 0.03.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Claim:
    """A number of a paper.

    Attributes:
        paper: the paper, one of PAPERS.
        item: the figure, table or section, such as `fig12`.
        key: name of the claim within its item; computations refer to it by this name.
        claim: the quantity, in a phrase.
        section: the place in the paper.
        value: the paper's number.
        bound: `equal`, or `at-least` or `at-most` if the paper states a limit.
        tolerance: largest difference from the paper's number, or beyond its limit, that still agrees.
        kind: `structure` if the number follows from graphs, `performance` if it needs simulations.
    """

    paper: str
    item: str
    key: str
    claim: str
    section: str
    value: float
    bound: str
    tolerance: float
    kind: str

    def holds(self, value: float) -> bool:
        """Returns whether a computed number agrees with the claim.

        Args:
            value: the computed number; one that is not finite never agrees.
        """
        reach = self.tolerance + _ROUNDING
        above, below = value <= self.value + reach, value >= self.value - reach
        return {"equal": above and below, "at-least": below, "at-most": above}[self.bound]


@cache
def claims_of(paper: str) -> tuple[Claim, ...]:
    """Returns the claims of a paper, in the order of its file.

    Args:
        paper: the paper, one of PAPERS.
    """
    with files("experiments.papers").joinpath(paper, "claims.csv").open(encoding="utf-8") as lines:
        return msgspec.convert(list(csv.DictReader(lines)), tuple[Claim, ...], strict=False)


def claims_of_item(paper: str, item: str) -> tuple[Claim, ...]:
    """Returns the claims of a figure, a table or a section.

    Args:
        paper: the paper, one of PAPERS.
        item: the item, such as `fig12`.
    """
    return tuple(claim for claim in claims_of(paper) if claim.item == item)
