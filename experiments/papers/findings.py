"""Findings about papers: claims that a computation does not confirm, each with its reason and evidence."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

import msgspec

from experiments.papers.claims import Claim

Kind = Literal["slip", "reading", "unconfirmed"]
WITHIN, NOT_COMPUTED = "within", "not computed"
OUTCOMES = (WITHIN, *get_args(Kind), NOT_COMPUTED)


@dataclass(frozen=True)
class Finding:
    """The reason why a computed number is outside the tolerance of a claim.

    Attributes:
        paper: the paper, one of PAPERS.
        item: the figure, table or section.
        key: name of the claim within its item.
        kind: `slip` where the paper's number is wrong, by a count or a counterexample, or where the paper has
            another one itself; `reading` where it depends on something that the text leaves open, so that
            another reading agrees; `unconfirmed` where no reading does.
        note: the reason, in a phrase.
        evidence: an independent count, a counterexample or a derivation.
    """

    paper: str
    item: str
    key: str
    kind: Kind
    note: str
    evidence: str


@cache
def findings() -> tuple[Finding, ...]:
    """Returns all findings, in the order of their file."""
    with files("experiments.papers").joinpath("findings.csv").open(encoding="utf-8") as lines:
        return msgspec.convert(list(csv.DictReader(lines)), tuple[Finding, ...])


@cache
def _by_claim() -> Mapping[tuple[str, str, str], Finding]:
    """Returns the findings by paper, item and key of their claims."""
    return {(one.paper, one.item, one.key): one for one in findings()}


def note_on(paper: str, item: str, key: str) -> str:
    """Returns the note on a claim; empty if there is none.

    Args:
        paper: the paper, one of PAPERS.
        item: the figure, table or section.
        key: name of the claim within its item.
    """
    found = _by_claim().get((paper, item, key))
    return found.note if found else ""


def outcome(claim: Claim, within: bool | None) -> str:
    """Returns the outcome of a claim: one of OUTCOMES, or `unexplained` outside without a finding.

    Args:
        claim: the claim.
        within: whether the computed number is within its tolerance; None where nothing is compared.
    """
    if within is None:
        return NOT_COMPUTED
    if within:
        return WITHIN
    found = _by_claim().get((claim.paper, claim.item, claim.key))
    return found.kind if found else "unexplained"
