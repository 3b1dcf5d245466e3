"""Failures of links of PolarStar beside the other networks of Table 3 (Fig 14)."""

from __future__ import annotations

from experiments.papers.links import failures
from experiments.papers.model import Effort, Found
from experiments.papers.polarstar.sizes import TABLE_3

_BASE = "PS-IQ"
_FAILED = 0.4  # share of links with which growths are compared
_NAMES = {
    "SF": "spectralfly",
    "BF": "bundlefly",
    "DF": "dragonfly",
    "HX": "hyperx",
    "MF": "megafly",
    "FT": "fat tree",
}


def link_failures(effort: Effort) -> Found:
    """Returns the distances of the networks of Table 3 while their links fail (Fig 14)."""
    found = failures((one for one, _ in TABLE_3), effort)
    grown = {label: found.growth(label, _FAILED) for label in ("DF", _BASE)}
    values = {
        **{name: found.ratio(label, _BASE) for label, name in _NAMES.items()},
        "dragonfly diameter": grown["DF"].diameter / grown[_BASE].diameter,
        "dragonfly path": grown["DF"].path / grown[_BASE].path,
    }
    return Found(values, found.rows)
