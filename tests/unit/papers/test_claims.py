"""Claims of papers: their files, and agreement within tolerances."""

import math
from collections import Counter

import pytest

from experiments.papers.claims import BEYOND, BOUNDS, KINDS, PAPERS, Claim, claims_of, claims_of_item


@pytest.mark.parametrize("paper", PAPERS)
def test_claims_are_complete_and_have_names_of_their_own(paper):
    claims = claims_of(paper)
    assert bool(claims) == (paper != BEYOND)
    assert max(Counter((claim.item, claim.key) for claim in claims).values(), default=1) == 1
    for claim in claims:
        assert claim.paper == paper
        assert claim.bound in BOUNDS
        assert claim.kind in KINDS
        assert claim.tolerance >= 0
        assert all((claim.item, claim.key, claim.claim, claim.section))


def claim(bound: str) -> Claim:
    return Claim("polarfly", "fig1", "key", "claim", "Fig 1", 0.9, bound, 0.03, "structure")


@pytest.mark.parametrize(
    ("bound", "held"),
    [
        ("equal", [False, True, True, True, False]),
        ("at-least", [False, True, True, True, True]),
        ("at-most", [True, True, True, True, False]),
    ],
)
def test_a_claim_holds_up_to_its_tolerance(bound, held):
    assert [claim(bound).holds(value) for value in (0.86, 0.87, 0.9, 0.93, 0.94)] == held
    assert not claim(bound).holds(math.nan)


def test_claims_of_an_item_are_those_of_its_paper():
    assert {one.key for one in claims_of_item("polarfly", "table5")} >= {"PF routers", "FT radix"}
    assert claims_of_item("polarfly", "fig99") == ()
