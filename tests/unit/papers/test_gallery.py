"""Gallery of the papers: made of the kept figures and data, which are complete."""

import csv

import pytest
from papers_page import KEPT, PAGE, papers_page

from experiments.papers.claims import claims_of_item
from experiments.papers.registry import ITEMS

COMPUTED = [(paper, item) for paper, items in ITEMS.items() for item in items]


def test_the_page_is_made_of_what_is_kept():
    assert PAGE.read_text() == papers_page()


@pytest.mark.parametrize(("paper", "item"), COMPUTED)
def test_every_computed_item_is_kept_with_its_claims(paper, item):
    rows = list(csv.DictReader((KEPT / f"{paper}-{item}-claims.csv").read_text().splitlines()))
    claims = claims_of_item(paper, item)
    assert [row["claim"] for row in rows] == [claim.claim for claim in claims]
    for row, claim in zip(rows, claims, strict=True):
        assert float(row["tolerance"]) == claim.tolerance
        assert row["value"] == "" or claim.holds(float(row["value"])) == (row["within"] == "True")
    assert (KEPT / f"{paper}-{item}.csv").exists()
    assert (KEPT / f"{paper}-{item}.png").exists() == (ITEMS[paper][item].plot is not None)
