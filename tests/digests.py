"""`make digests`: experiments/papers/kept_code.csv anew, if simulations still give the numbers that it has.

Points of papers that were kept stay valid while the code is moved or rewritten: this notes the digests of
today's code beside those under which they were kept. Where numbers have changed on purpose, remove the rows
of those parts first: their points are then simulated again.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import astuple, fields
from functools import cache
from pathlib import Path

import numpy as np
from support.builders.simulated_networks import digest
from support.fixtures.documents import ROOT
from support.oracles import kernel_cases

from experiments.events.base import ignore
from experiments.papers.model import Scale
from experiments.papers.performance.digests import (
    APPLICATIONS,
    FAILURES,
    KEPT_CODE,
    SIMULATOR,
    KeptCode,
    code_today,
    kept_code,
)
from experiments.papers.performance.failures import LinkFailures
from experiments.papers.performance.model import SimulatedItem
from experiments.papers.registry import ITEMS
from experiments.simulation.applications import simulate_messages
from experiments.simulation.fabric import prepare_fabric
from experiments.simulation.task import task_of
from experiments.spec.fabric import FabricOptions
from experiments.spec.simulation.applications import SimulatedApplication
from experiments.spec.simulation.model import SimulatedTraffic
from simulation.settings import Times

FILE = ROOT / "experiments" / "papers" / KEPT_CODE
_TIMES = Times(warmup=200, window=300, most_drain=300, period=50)
_PATTERN, _LOAD = "random-permutation", 0.9  # under which adaptive routings take detours
_MOTIFS = ("allreduce:tree", "sweep3d")


@cache
def smallest_fabrics() -> Mapping[str, FabricOptions]:
    """Returns the smallest network of papers' quick items for each routing, by the routing's name."""
    items = [item for of_paper in ITEMS.values() for item in of_paper.values()]
    simulated = [item for item in items if isinstance(item, SimulatedItem)]
    curves = [curve for item in simulated for curve in item.curves(Scale(quick=True))]
    found: dict[str, FabricOptions] = {}
    for one in sorted(curves, key=lambda one: (one.fabric.topology.routers, one.fabric.routing, one.label)):
        found.setdefault(one.fabric.routing.partition(":")[0], one.fabric)
    return dict(sorted(found.items()))


def numbers() -> dict[str, str]:
    """Returns digests of the numbers of small simulations by the parts of the code that they depend on."""
    cases = kernel_cases.digests()
    of_faults = [one for name, one in cases.items() if name.startswith("faults")]
    fabrics = smallest_fabrics()
    return {
        SIMULATOR: _digest(cases.values()),
        FAILURES: _digest(
            [*of_faults, *(_packets(fabrics["min"], replanned) for replanned in (False, True))]
        ),
        APPLICATIONS: _digest(_messages(fabrics["min"], motif) for motif in _MOTIFS),
        **{name: _packets(fabric) for name, fabric in fabrics.items()},
    }


def _packets(options: FabricOptions, replanned: bool | None = None) -> str:
    """Returns the digest of simulated packets; with failed links, unless `replanned` is None."""
    traffic = SimulatedTraffic(_PATTERN, _LOAD, times=_TIMES)
    if replanned is not None:
        failures = LinkFailures(0.1, replanned)
        faults = failures.faults(options.topology, seed=1)
        traffic = SimulatedTraffic(
            _PATTERN, _LOAD, times=_TIMES, faults=faults, replan_cycles=failures.replan_cycles
        )
    fabric = prepare_fabric(options, ignore)
    return digest(task_of(fabric.options, traffic).run(fabric).result)


def _messages(options: FabricOptions, motif: str) -> str:
    """Returns the digest of a simulated motif."""
    fabric = prepare_fabric(options, ignore)
    traffic = SimulatedApplication(motif, 16, "linear", (256,), 1, 1, 0, 8, 1)
    record = simulate_messages(fabric, traffic, ignore)
    assert record.application is not None
    return _digest([digest(record.result), np.asarray(record.application.done).tolist()])


def _digest(found: Iterable[object]) -> str:
    return hashlib.sha256(repr([*found]).encode()).hexdigest()[:16]


def main() -> int:
    """Writes the table; returns 1, without writing it, if numbers differ from those that it has."""
    before, found = kept_code(), numbers()
    different = [part for part, one in found.items() if part in before and before[part].numbers != one]
    if different:
        print(
            f"other numbers than those of the kept points: {', '.join(different)}; find out why, or remove "
            f"these rows of {FILE.name}, and the points are simulated again",
            file=sys.stderr,
        )
        return 1
    today = {part: code_today(part) for part in found}
    rows = [
        KeptCode(part, code, before[part].kept if part in before else code, found[part])
        for part, code in today.items()
    ]
    with Path(FILE).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(KeptCode)])
        writer.writerows(astuple(row) for row in rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
