"""Points that were simulated, in a table in the folder of a paper's items; items share them.

A point is known by a digest of everything that decides about its numbers: the network, the routing, the
routers, the decision and the failed links where there are any, the traffic and the code, of routings that of
the point's own.
"""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import msgspec

from experiments.papers.networks import Network
from experiments.papers.performance.model import Curve, CurvePoint, RoutedNetwork
from experiments.results.run_directory import RunDirectory
from experiments.simulation.code_version import logic_digest, module_digest
from experiments.spec.simulation.applications import SimulatedApplication
from experiments.spec.simulation.model import SimulatedTraffic
from routing.registry import routing as routing_of
from topology.errors import ParameterError
from topology.files.reading import RESULT_BYTES, read_bytes, read_lines

POINTS = "points.csv"
_OF_ONE_RUN = ("curve", "seconds")  # what may differ between rows of the same simulation
_MOST_SHARE = 1.5  # of a full load; in a short window chance may give some more than one
_PACKAGES = ("simulation", "traffic/workload", "routing")
_ALGORITHMS = "routing/algorithms"
_JUDGING = ("routing/deadlock", "routing/verification")  # proofs of plans, on which no plan depends
# On these only points with failures depend.
_FAILURES = ("simulation/faults.py", "simulation/kernels/failures.py", "routing/replan")
_APPLICATIONS = ("traffic/workload/collectives", "traffic/workload/motifs.py")  # on which no pattern depends


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

    def __post_init__(self) -> None:
        """Raises ValueError of a row that no simulation can have written."""
        measured = (self.seconds, self.latency_cycles, self.accepted_ci95, self.latency_ci95_cycles)
        if any(number is not None and number < 0 for number in measured):
            raise ValueError(f"times and intervals must not be below 0, got {measured}")
        shares = (self.offered, self.accepted)
        if not 0 < self.load <= 1 or not all(0 <= share <= _MOST_SHARE for share in shares):
            raise ValueError(f"loads must be shares of a full one, got {self.load}, {shares}")

    @property
    def point(self) -> CurvePoint:
        """The point of the curve, under this seed alone."""
        return CurvePoint(**{entry.name: getattr(self, entry.name) for entry in fields(CurvePoint)})


class _Digested(Protocol):
    """A row that is known by a digest; a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def digest(self) -> str: ...


RowT = TypeVar("RowT", bound=_Digested)


class RowStore(Generic[RowT]):
    """A table in a folder whose rows are known by digests."""

    def __init__(self, directory: RunDirectory, name: str, kind: type[RowT]) -> None:
        """Reads the table, if there is one.

        Args:
            directory: the folder.
            name: name of the file.
            kind: dataclass of a row.

        Raises:
            ParameterError: a row is damaged, or the file is another table.
        """
        self._directory, self._name = directory, name
        self._columns = tuple(kind.__dataclass_fields__)
        file, self._known = directory.path / name, {}
        if file.exists():
            _check_header(file, self._columns)
        directory.drop_torn_row(name)
        if file.exists():
            self._known = _by_digest(_read_rows(file, kind), file)

    def get(self, digest: str) -> RowT | None:
        """Returns the row of a digest; None if it was not simulated.

        Args:
            digest: the digest.
        """
        return self._known.get(digest)

    def add(self, row: RowT) -> None:
        """Adds a row, on the disk as well.

        Args:
            row: the row.
        """
        self._known[row.digest] = row
        values = {name: getattr(row, name) for name in self._columns}
        written = {name: "" if value is None else value for name, value in values.items()}
        self._directory.append_row(self._name, self._columns, written)


def _check_header(file: Path, columns: Sequence[str]) -> None:
    """Raises ParameterError unless a file begins with the names of columns, or with a torn part of them.

    It is asked before anything is written: a torn row is dropped, and rows are added below the header.
    """
    line, end, _ = read_bytes(file, RESULT_BYTES).partition(b"\n")
    first = line.decode("utf-8-sig", errors="replace").rstrip("\r")
    torn = not end and ",".join(columns).startswith(first)
    if not torn and {*first.split(",")} != {*columns}:
        raise ParameterError(
            f"{file} is damaged at line 1, or another table: its columns must be {', '.join(columns)}; "
            "put the line right, or the file elsewhere"
        )


def _by_digest(rows: Iterable[RowT], file: Path) -> dict[str, RowT]:
    """Returns rows by their digests; raises ParameterError if two of one digest have other numbers."""
    found: dict[str, RowT] = {}
    for row in rows:
        first = found.setdefault(row.digest, row)
        if _numbers(first) != _numbers(row):
            raise ParameterError(
                f"{file} has two rows of the digest {row.digest} with other numbers; "
                "remove what is wrong, and only that is simulated again"
            )
    return found


def _numbers(row: _Digested) -> list[object]:
    """Returns the numbers of a row, without the time of its simulation and the name of its curve."""
    return [value for name, value in vars(row).items() if name not in _OF_ONE_RUN]


def _read_rows(file: Path, kind: type[RowT]) -> list[RowT]:
    """Returns the rows of a table; raises ParameterError, with the line, if one is damaged."""
    stored: list[RowT] = []
    line = 1
    try:
        reader = csv.DictReader(read_lines(file, RESULT_BYTES), strict=True)
        for row in reader:
            line = reader.line_num
            present = {key: value or None for key, value in row.items()}
            stored.append(msgspec.convert(present, kind, strict=False))
            if not all(math.isfinite(one) for one in vars(stored[-1]).values() if isinstance(one, float)):
                raise ValueError
    except (csv.Error, TypeError, ValueError):  # a FileError among them
        raise ParameterError(
            f"{file} is damaged at line {line} or the next; "
            "remove what is wrong, and only that is simulated again"
        ) from None
    return stored


class PointStore(RowStore[StoredPoint]):
    """The table of points of a folder."""

    def __init__(self, directory: RunDirectory) -> None:
        """Reads the table, if there is one."""
        super().__init__(directory, POINTS, StoredPoint)


def digest_of(curve: Curve, traffic: SimulatedTraffic) -> str:
    """Returns a digest of everything on which a simulation's numbers depend, 16 hexadecimal digits.

    Args:
        curve: the curve.
        traffic: the traffic at one load, with its seed.
    """
    failures: list[object] = []
    if traffic.faults:  # points without failures keep their digests
        lines = [fault.line for fault in traffic.faults]
        failures = [lines, traffic.replan_cycles, logic_digest(_FAILURES)]
    parts = (
        *_fabric_parts(curve.routed),
        *failures,
        traffic.pattern,
        traffic.load,
        traffic.arrivals,
        traffic.seed,
        sorted(vars(traffic.times).items()),
    )
    return _digest(parts)


def digest_of_application(routed: RoutedNetwork, traffic: SimulatedApplication) -> str:
    """Returns a digest of everything on which the time of an application depends, 16 hexadecimal digits.

    Args:
        routed: the network and its routing.
        traffic: the application.
    """
    own = logic_digest(_APPLICATIONS)
    return _digest((*_fabric_parts(routed), own, sorted(vars(traffic).items())))


def _digest(parts: tuple[object, ...]) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _fabric_parts(routed: RoutedNetwork) -> tuple[object, ...]:
    """Returns the parts of a digest that follow from the code, the network and its routing."""
    return (
        logic_digest(_PACKAGES, (*_JUDGING, *_APPLICATIONS, *_FAILURES, _ALGORITHMS)),
        module_digest(routing_of(routed.routing).module, _ALGORITHMS.replace("/", ".")),
        _graph_digest(routed.network),
        routed.hosts,
        routed.routing,
        sorted(vars(routed.routers).items()),
        # Only where there is one: points of routings' own decisions keep their digests.
        *([routed.decision] if routed.decision is not None else []),
    )


@cache
def _graph_digest(network: Network) -> str:
    """Returns a digest of a network's ports, minimal paths and groups, and of its routers with hosts."""
    graph = network.graph()
    digest = hashlib.sha256(network.family.encode())
    digest.update(repr([link.ends for link in graph.link_list]).encode())
    digest.update(repr((graph.clusters().members, graph.host_counts(1).tolist())).encode())
    digest.update(graph.all_next_hops().tobytes())
    return digest.hexdigest()[:16]
