"""Gallery of the papers: made of the kept figures and data, which are complete."""

import csv

import pytest
from papers_page import FOUND, KEPT, PAGE, papers_page

from experiments.papers.claims import claims_of, claims_of_item
from experiments.papers.registry import ITEMS

ORDERS = {("at-least", "1.0"), ("at-most", "1.0")}
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


def test_what_was_found_is_told_of_every_item_and_of_no_other():
    assert {(paper, item) for paper, items in FOUND.items() for item in items} == set(COMPUTED)
    assert all(10 < len(text.split()) <= 70 for items in FOUND.values() for text in items.values())


def test_the_table_of_claims_counts_every_claim_once():
    section = PAGE.read_text().partition("## Claims")[2].partition("##")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
    counts = {name: [int(count) for count in own] for name, *own in rows}
    papers = {paper: len(claims_of(paper)) for paper in ITEMS}
    for paper, (claims, *outcomes) in counts.items():
        assert sum(outcomes) == claims == papers.get(paper, sum(papers.values()))
    assert [sum(column) for column in zip(*list(counts.values())[:-1], strict=True)] == counts["all"]


def test_orders_without_a_number_are_counted_apart():
    """Of the computed claims those remain that compare a number, and not one network with another."""
    computed, numbers = 0, 0
    for paper, item in COMPUTED:
        rows = csv.DictReader((KEPT / f"{paper}-{item}-claims.csv").read_text().splitlines())
        for row in rows:
            computed += row["within"] != ""
            numbers += row["within"] != "" and (row["bound"], row["paper"]) not in ORDERS
    assert f"Of the {computed} computed claims " in PAGE.read_text()
    assert f"of the {numbers} for which the paper states a number" in PAGE.read_text()
