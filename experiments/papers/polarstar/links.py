"""Bisections and failures of links of PolarStar beside the other networks of Table 3 (Figs 12 and 14)."""

from __future__ import annotations

from experiments.papers.links import bisection_row, failures
from experiments.papers.model import Effort, Found
from experiments.papers.networks import network
from experiments.papers.polarstar.sizes import TABLE_3
from topology.analysis.bisection import search_remark

_BASE = "PS-IQ"
_FAILED = 0.4  # share of links with which growths are compared
_JELLYFISH = network("JF", "jellyfish", routers=1064, degree=15)
_NAMES = {
    "JF": "jellyfish",
    "SF": "spectralfly",
    "BF": "bundlefly",
    "DF": "dragonfly",
    "HX": "hyperx",
    "MF": "megafly",
    "FT": "fat tree",
}


def bisections(effort: Effort) -> Found:
    """Returns the shares of links in bisections of the networks of Table 3 (Fig 12)."""
    networks = [*(one for one, _ in TABLE_3), _JELLYFISH]
    rows = [bisection_row(one.label, one, effort) for one in networks]
    shares = {row["family"]: row["share"] for row in rows}
    compared = {label: name for label, name in _NAMES.items() if label != "FT"}
    values = {name: shares[label] / shares[_BASE] for label, name in compared.items()}
    return Found(values, rows, search_remark())


def link_failures(effort: Effort) -> Found:
    """Returns the distances of the networks of Table 3 while their links fail (Fig 14)."""
    found = failures((one for one, _ in TABLE_3), effort)
    compared = {label: name for label, name in _NAMES.items() if label != "JF"}
    grown = {label: found.growth(label, _FAILED) for label in ("DF", _BASE)}
    values = {
        **{name: found.ratio(label, _BASE) for label, name in compared.items()},
        "dragonfly diameter": grown["DF"].diameter / grown[_BASE].diameter,
        "dragonfly path": grown["DF"].path / grown[_BASE].path,
    }
    return Found(values, found.rows)
