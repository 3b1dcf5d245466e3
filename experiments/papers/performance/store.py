"""Points that were simulated, in a table in the folder of a paper's items; items share them.

A point is known by a digest of everything that decides about its numbers: the network, the routing, the
routers, the decision and the failed links where there are any, the traffic and the code.
"""

from __future__ import annotations

import csv
import hashlib
from dataclasses import asdict, dataclass, fields
from functools import cache

import msgspec

from experiments.papers.networks import Network
from experiments.papers.performance.model import Curve, CurvePoint
from experiments.results.run_directory import RunDirectory
from experiments.simulation.code_version import logic_digest
from experiments.spec.simulation.model import SimulatedTraffic

POINTS = "points.csv"
_PACKAGES = ("simulation", "traffic/workload", "routing")
_JUDGING = ("routing/deadlock", "routing/verification")  # proofs of plans, on which no plan depends


@dataclass(frozen=True)
class StoredPoint(CurvePoint):
    """A row of the table: a point of a curve under one seed.

    Attributes:
        digest: digest of what decides about the numbers.
        curve: name of the curve.
        pattern: name of the pattern.
        seed: seed of the simulation.
        seconds: time of the simulation's cycles.
    """

    digest: str
    curve: str
    pattern: str
    seed: int
    seconds: float

    @property
    def point(self) -> CurvePoint:
        """The point of the curve, under this seed alone."""
        return CurvePoint(**{entry.name: getattr(self, entry.name) for entry in fields(CurvePoint)})


_COLUMNS = tuple(entry.name for entry in fields(StoredPoint))


class PointStore:
    """The table of points of a folder."""

    def __init__(self, directory: RunDirectory) -> None:
        """Reads the table, if there is one."""
        self._directory = directory
        directory.drop_torn_row(POINTS)
        file, self._known = directory.path / POINTS, {}
        if file.exists():
            with file.open(encoding="utf-8", newline="") as lines:
                rows = [{key: value or None for key, value in row.items()} for row in csv.DictReader(lines)]
            stored = msgspec.convert(rows, list[StoredPoint], strict=False)
            self._known = {row.digest: row for row in stored}

    def get(self, digest: str) -> StoredPoint | None:
        """Returns the point of a digest; None if it was not simulated.

        Args:
            digest: the digest.
        """
        return self._known.get(digest)

    def add(self, point: StoredPoint) -> None:
        """Adds a point, on the disk as well.

        Args:
            point: the point.
        """
        self._known[point.digest] = point
        row = {name: "" if value is None else value for name, value in asdict(point).items()}
        self._directory.append_row(POINTS, _COLUMNS, row)


def digest_of(curve: Curve, traffic: SimulatedTraffic) -> str:
    """Returns a digest of everything on which a simulation's numbers depend, 16 hexadecimal digits.

    Args:
        curve: the curve.
        traffic: the traffic at one load, with its seed.
    """
    routed = curve.routed
    parts = (
        logic_digest(_PACKAGES, _JUDGING),
        _graph_digest(routed.network),
        routed.hosts,
        routed.routing,
        sorted(vars(routed.routers).items()),
        # Only where there are any: points of routings' own decisions, without failures, keep their digests.
        *([routed.decision] if routed.decision is not None else []),
        *([[fault.line for fault in traffic.faults], traffic.replan_cycles] if traffic.faults else []),
        traffic.pattern,
        traffic.load,
        traffic.arrivals,
        traffic.seed,
        sorted(vars(traffic.times).items()),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


@cache
def _graph_digest(network: Network) -> str:
    """Returns a digest of a network's ports, minimal paths and groups, and of its routers with hosts."""
    graph = network.graph()
    digest = hashlib.sha256(network.family.encode())
    digest.update(repr([link.ends for link in graph.link_list]).encode())
    digest.update(repr((graph.clusters().members, graph.host_counts(1).tolist())).encode())
    digest.update(graph.all_next_hops().tobytes())
    return digest.hexdigest()[:16]
