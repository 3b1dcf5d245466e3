"""The runs of the PolarFly authors' simulator, and the same ones simulated here."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from support.builders.simulated_networks import (
    DATA,
    mean_hops,
    mean_latency,
    polarfly_pattern,
    polarfly_tables,
    simulated,
)

from simulation.settings import Decision
from traffic.workload.patterns import Pattern

Q, HOSTS = 5, 3
DECISIONS = {
    "min": Decision(),
    "ugal": Decision(law="product"),
    "ugal-pf": Decision(law="threshold"),
}


@dataclass(frozen=True)
class BookSimRow:
    """A run of theirs: accepted load; if it was stable, mean latency and routers on the path, else NaN."""

    pattern: str
    routing: str
    load: float
    accepted: float
    latency: float
    routers: float


@cache
def booksim_rows() -> tuple[BookSimRow, ...]:
    """Returns all rows."""
    with (DATA / "booksim_er5_p3.csv").open() as file:
        return tuple(
            BookSimRow(
                row["pattern"],
                row["routing"],
                float(row["offered"]),
                float(row["accepted"]),
                float(row["packet_latency_cycles"] or "nan"),
                float(row["routers_on_path"] or "nan"),
            )
            for row in csv.DictReader(file)
        )


def rows_below_saturation(share: float = 0.8) -> list[BookSimRow]:
    """Returns the stable rows whose load is at most a share of that of the last stable one."""
    last: dict[tuple[str, str], float] = {}
    ended = set()
    for row in booksim_rows():
        key = row.pattern, row.routing
        if math.isnan(row.latency):
            ended.add(key)
        elif key not in ended:
            last[key] = row.load
    return [row for row in booksim_rows() if row.load <= share * last[row.pattern, row.routing] + 1e-9]


@cache
def booksim_pattern(name: str) -> Pattern:
    """Returns a pattern of theirs; their uniform traffic includes each host itself."""
    routers = Q * Q + Q + 1
    hosts = routers * HOSTS
    if name == "uniform":
        matrix = tuple((a, b, 1 / hosts) for a in range(hosts) for b in range(hosts))
        return Pattern(name, hosts, matrix=matrix)
    with (DATA / "booksim_permutations.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["pattern"] == name]
    target = {int(row["router"]): int(row["destination_router"]) for row in rows}
    partners = tuple(target[router] * HOSTS + k for router in range(routers) for k in range(HOSTS))
    return Pattern(name, hosts, partners=partners)


@dataclass(frozen=True)
class Simulated:
    """Means over seeds."""

    accepted: float
    latency: float
    routers: float


def simulated_row(row: BookSimRow, seeds: int, window: int, **settings: Any) -> Simulated:
    """Returns our figures for a row."""
    tables, pattern = polarfly_tables(Q, HOSTS, row.routing), booksim_pattern(row.pattern)
    runs = [
        simulated(
            tables,
            pattern,
            row.load,
            decision=DECISIONS[row.routing],
            warmup=3000,
            window=window,
            seed=seed,
            **settings,
        )
        for seed in range(1, seeds + 1)
    ]
    accepted = np.mean([one.accepted * 4 / (one.window * pattern.hosts) for one in runs])
    return Simulated(
        float(accepted),
        float(np.mean([mean_latency(one) for one in runs])),
        float(np.mean([mean_hops(one) for one in runs])) + 1,
    )


@cache
def detour_latencies() -> dict[tuple[str, float], float]:
    """Returns the latency of UGAL_PF over that of UGAL in their ER_13: pattern, load -> ratio."""
    with (DATA / "booksim_er13_p7.csv").open() as file:
        rows = list(csv.DictReader(file))
    cycles = {
        (row["routing"], row["pattern"], float(row["offered"])): float(row["packet_latency_cycles"])
        for row in rows
    }
    return {
        (pattern, load): cycles["ugal-pf", pattern, load] / cycles["ugal", pattern, load]
        for _, pattern, load in cycles
    }


def our_detour_latency(pattern: str, load: float, **settings: Any) -> float:
    """Returns the same ratio in our ER_13, with settings of its routers."""
    latency = {
        name: mean_latency(
            simulated(
                polarfly_tables(13, 7, routing),
                polarfly_pattern(13, 7, pattern),
                load,
                decision=DECISIONS[name],
                warmup=3000,
                window=4000,
                **settings,
            )
        )
        for name, routing in {"ugal": "ugal:intermediates=4094", "ugal-pf": "ugal-pf"}.items()
    }
    return latency["ugal-pf"] / latency["ugal"]
