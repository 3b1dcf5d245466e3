"""Bisections and link failures of Slim Fly and other networks (Fig 5c, Table III, section III-D)."""

from __future__ import annotations

import math

from experiments.papers.claims import claims_of_item
from experiments.papers.links import QUICK_RUNS, RUNS, bisection_row, failures
from experiments.papers.model import ItemResult, Row, Scale, Value
from experiments.papers.networks import network
from experiments.papers.slimfly.networks import FAMILIES, nearest
from experiments.papers.slimfly.readings import (
    NO_DISTANCES,
    disconnection_readings,
    interval_in_steps,
    isolating_share,
    small_distances,
)
from topology.analysis.bisection import search_remark
from topology.analysis.resilience import resilience

_SIZE = 8192  # endpoints of the networks whose distances are computed
_COMPARED_SIZE, _HYPERCUBE_SIZE = 10_000, 1024
_MEDIAN_RUNS, _QUICK_MEDIAN_RUNS = 30, 5  # orders of failures of large networks
# A dragonfly with 8320 endpoints, nearer to 2^13 than the canonical one, with random global links.
_TRUNKED = network("DF, 2 random links", "dragonfly", a=16, h=8, trunking=2, arrangement="random")
_GROWING = ("SF", "DF", "DLN", _TRUNKED.label)  # networks with distances for every order of failure
# Abbreviation of a family in Table III -> its abbreviation elsewhere in the paper.
_ELSEWHERE = {"LH": "LH-HC", "FT": "FT-3", "FBF": "FBF-3"}
# Claims of Table III: (name of the family there, number of endpoints).
_CLAIMED = (
    *(("SF", size) for size in (256, 512, 2048, 4096, 8192)),
    *(("T3D", 1024), ("T5D", 1024), ("HC", 1024), ("LH", 1024), ("FT", 1024), ("FT", 4096)),
    *(("DF", size) for size in (1024, 2048, 4096, 8192)),
    ("FBF", 1024),
    *(("DLN", size) for size in (2048, 8192)),
)


def bisections(scale: Scale) -> ItemResult:
    """Returns the number of links that a bisection cuts, divided by the number of endpoints (Fig 5c)."""
    rows: list[Row] = []
    per_endpoint: dict[str, float] = {}
    over_formula: dict[str, float] = {}
    for family in FAMILIES:
        one = nearest(family, _HYPERCUBE_SIZE if family in ("HC", "LH-HC") else _COMPARED_SIZE)
        row = _with_endpoints(bisection_row(family, one.network, scale), one.endpoints)
        per_endpoint[family] = row["per_endpoint"]
        over_formula[family] = _over_torus_formula(row)
        rows.append(row)
    torus = network("T3D", "torus", shape="10x10x10")
    row = bisection_row("T3D, side 10", torus, scale)
    rows.append(_with_endpoints(row, row["routers"]))
    values = {
        "hypercube": per_endpoint["HC"],
        "long hop": per_endpoint["LH-HC"],
        "fat tree": per_endpoint["FT-3"],
        "5-D torus": over_formula["T5D"],
        "torus": _over_torus_formula(row),
        "dragonfly": per_endpoint["DF"],
        "flattened butterfly": per_endpoint["FBF-3"],
        "over the others": per_endpoint["SF"]
        / max(per_endpoint[family] for family in ("DF", "FBF-3", "T3D", "T5D")),
    }
    return ItemResult(values, rows, search_remark())


def _with_endpoints(row: Row, endpoints: int) -> Row:
    """Returns a bisection's row with added columns: endpoints, cut links per endpoint, and a longer label."""
    network = f"{row['family']}, N = {endpoints:,}"
    return {**row, "network": network, "endpoints": endpoints, "per_endpoint": row["cut"] / endpoints}


def _over_torus_formula(row: Row) -> float:
    """Returns the cut links of a bisection divided by 2 N / k', the paper's formula for a torus."""
    return float(row["cut"] / (2 * row["routers"] / row["radix"]))


def disconnections(scale: Scale) -> ItemResult:
    """Returns the shares of failed links that disconnect networks, by several readings (Table III).

    The paper removes links in steps of 5 %, so a share is the last step that half of the runs survive.
    """
    values: dict[str, Value | float] = {}
    rows: list[Row] = []
    paper = {claim.key: claim.value for claim in claims_of_item("slimfly", "table3")}
    for name, size in _CLAIMED:
        one, key = nearest(_ELSEWHERE.get(name, name), size), f"{name} {size}"
        graph = one.network.graph()
        found = resilience(graph, scale.seeds or RUNS)  # takes two seconds, even at quick scale
        readings = disconnection_readings(found)
        values[key] = Value(readings["connected_half"], interval_in_steps(found))
        rows.append(
            {
                "network": name,
                "endpoints": one.endpoints,
                "routers": graph.routers,
                "disconnection": found.median,
                "router_without_links": round(isolating_share(graph), 4),
                "paper": paper[key],
                "connected_there": found.connected(paper[key]),
                **readings,
            }
        )
    return ItemResult(values, rows)


def distances(scale: Scale) -> ItemResult:
    """Returns the shares of failed links up to which distances stay small (sections III-D2, III-D3)."""
    networks = [*(nearest(family, _SIZE).network for family in ("SF", "DF", "T3D", "T5D", "DLN")), _TRUNKED]
    found = failures(networks, Scale(scale.quick, scale.number(_MEDIAN_RUNS, _QUICK_MEDIAN_RUNS)))

    def last(label: str, column: str, most: float) -> float:
        """Returns the share of failed links before a network's value in a column first exceeds a limit."""
        reached = math.nan
        for row in found.rows:
            if row["network"] == label:
                if row[column] > most:
                    break
                reached = row["failed"]
        return reached

    intact = {row["network"]: row["average_path_length"] for row in found.rows if row["failed"] == 0}
    values = {
        "SF diameter": last("SF", "diameter", 4),
        "DF diameter": last("DF", "diameter", 4),
        "DLN diameter": last("DLN", "diameter", 4),
        "torus path": last("T3D", "average_path_length", intact["T3D"] + 1),
        "DF path": last("DF", "average_path_length", intact["DF"] + 1),
        "DLN path": last("DLN", "average_path_length", intact["DLN"] + 1),
        "SF path": last("SF", "average_path_length", intact["SF"] + 1),
    }
    orders = scale.number(RUNS, QUICK_RUNS)
    shares = {one.label: small_distances(one.graph(), orders) for one in networks if one.label in _GROWING}
    rows = [
        {**row, **(shares[row["network"]][row["failed"]] if row["network"] in shares else NO_DISTANCES)}
        for row in found.rows
    ]
    return ItemResult(values, rows)
