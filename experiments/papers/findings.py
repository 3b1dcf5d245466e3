"""Findings about papers: claims that a computation does not confirm, each with its reason and evidence."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

Kind = Literal["slip", "reading", "unconfirmed"]


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


def note_on(paper: str, item: str, key: str) -> str:
    """Returns the note on a claim; empty if there is none.

    Args:
        paper: the paper, one of PAPERS.
        item: the figure, table or section.
        key: name of the claim within its item.
    """
    found = finding_on(paper, item, key)
    return found.note if found else ""


def finding_on(paper: str, item: str, key: str) -> Finding | None:
    """Returns the finding about a claim; None if there is none.

    Args:
        paper: the paper, one of PAPERS.
        item: the figure, table or section.
        key: name of the claim within its item.
    """
    by_claim = {(one.paper, one.item, one.key): one for one in findings()}
    return by_claim.get((paper, item, key))
