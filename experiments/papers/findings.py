"""Notes on claims of papers that a computation does not confirm, each with its reason and evidence."""

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
_REACH = 0.1  # a finding also explains numbers that differ from the finding's number by up to this share
_ROUNDING = 1e-9
WITHIN, NOT_COMPUTED = "within", "not computed"
OUTCOMES = (WITHIN, *get_args(Kind), NOT_COMPUTED)


@dataclass(frozen=True)
class Finding:
    """The known reason why a computed number is outside the tolerance of a claim.

    Attributes:
        paper: the paper, one of PAPERS.
        item: the figure, table or section.
        key: name of the claim within its item.
        value: the computed number that this finding explains.
        kind: `slip` if a count or counterexample shows that the paper's number is wrong; `reading` if the
            number depends on something that the text leaves open, and another reading agrees; `unconfirmed`
            if no reading agrees.
        note: the reason, in a phrase.
        evidence: an independent count, a counterexample or a derivation.
    """

    paper: str
    item: str
    key: str
    value: float
    kind: Kind
    note: str
    evidence: str


@cache
def findings() -> tuple[Finding, ...]:
    """Returns all findings, in the order of their file."""
    with files("experiments.papers").joinpath("findings.csv").open(encoding="utf-8") as lines:
        return msgspec.convert(list(csv.DictReader(lines)), tuple[Finding, ...], strict=False)


@cache
def _by_claim() -> Mapping[tuple[str, str, str], Finding]:
    """Returns (paper, figure or table, key of the claim) -> finding."""
    return {(one.paper, one.item, one.key): one for one in findings()}


def finding_on(claim: Claim, value: float) -> Finding | None:
    """Returns the finding that explains why a number is outside a claim's tolerance; None if there is none.

    A finding explains one number, and others that differ from it by no more than the tolerance of the claim
    or a tenth of the number. For counts it explains that number alone. So a finding does not excuse an error
    that a later change of the code introduces.

    Args:
        claim: the claim.
        value: the computed number.
    """
    found = _by_claim().get((claim.paper, claim.item, claim.key))
    counted = claim.bound == "equal" and not claim.tolerance
    if found is None:
        return None
    reach = 0.0 if counted else max(claim.tolerance, _REACH * abs(found.value))
    return found if abs(value - found.value) <= reach + _ROUNDING else None


def outcome(claim: Claim, value: float | None, within: bool | None) -> str:
    """Returns the outcome of a claim: one of OUTCOMES, or `unexplained`.

    Args:
        claim: the claim.
        value: the computed number; None if it is not computed.
        within: whether it is within the tolerance; None if it is not compared.
    """
    if within is None or value is None:
        return NOT_COMPUTED
    if within:
        return WITHIN
    found = finding_on(claim, value)
    return found.kind if found else "unexplained"
