"""Reproductions: figures and tables of papers, computed, compared with the claims, and kept in a folder.

For each item the folder has `ITEM.csv` (data), `ITEM.png` and `ITEM.svg`, `ITEM.json` (record) and
`ITEM-claims.csv`. An item is complete if it has its record, its data and its figure, and its record lists no
curves that are still to be simulated. The same code does not compute a complete item again.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from experiments.codec import read_record
from experiments.figures.style import save_figures
from experiments.papers.claims import Claim, claims_of_item
from experiments.papers.figure import draw_item
from experiments.papers.findings import NOT_COMPUTED, finding_on
from experiments.papers.model import Item, ItemResult, Scale, Value
from experiments.papers.options import NONE, OTHER_PRICES
from experiments.papers.performance.model import AnyItem, ComputeSettings, PlacedItem, SimulatedItem
from experiments.papers.prices import are_of_paper, paper_prices, prices_digest
from experiments.papers.registry import is_priced, item_of
from experiments.results.open import CLAIMS
from experiments.results.run_directory import RunDirectory
from experiments.simulation.code_version import code_digest
from topology.analysis.bisection import search_remark
from topology.errors import ParameterError, UsageError
from topology.files.reading import RESULT_BYTES, read_bytes
from topology.parameters import hint

# Packages whose code determines the numbers.
_PACKAGES = ("topology", "experiments/papers")
# Bytes that a completely written figure contains among its last _END_BYTES bytes.
_ENDS, _END_BYTES = {".png": b"IEND", ".svg": b"</svg>"}, 16


class NoPointsError(UsageError):
    """No curve of a figure or table has been simulated, and none is selected for simulation."""


@dataclass(frozen=True)
class ComputedItem:
    """Record of a computed figure or table, kept in its folder as `ITEM.json`.

    Attributes:
        paper: the paper.
        item: the figure, table or section.
        quick: whether it was computed with fewer sizes and runs.
        seeds: the requested number of searches or runs; None for the item's default.
        version: version of the code that computed it.
        seconds: duration of the computation.
        values: key of a claim -> the computed number.
        prices: digest of the user's prices; empty for the paper's prices.
        core_seconds: time of the simulations of its points, each on one core, including earlier ones; None
            for an item without simulations.
        missing: curves whose simulation is not complete, such as `PF-UGAL, tornado`.
        remark: note for the user on the method; empty for none.
        data: digest of the rows' file and of the values; empty in records of versions without digests.
    """

    paper: str
    item: str
    quick: bool
    seeds: int | None
    version: str
    seconds: float
    values: dict[str, Value]
    prices: str = ""
    core_seconds: float | None = None
    missing: tuple[str, ...] = ()
    remark: str = ""
    data: str = ""


@dataclass(frozen=True)
class CheckedClaim:
    """A claim and the computed number.

    Attributes:
        item: the figure, table or section.
        claim: the quantity, in a phrase.
        section: the place in the paper.
        paper: the paper's number.
        value: the computed number; None if it is not computed.
        interval: its 95 % confidence interval; None if it does not depend on chance.
        bound: `equal`, `at-least` or `at-most`.
        tolerance: largest difference that still agrees.
        within: whether the number agrees; None if it is not computed, or computed from prices other than the
            paper's.
        note: why it does not agree or is not compared; empty if it agrees, or if no reason is known.
    """

    item: str
    claim: str
    section: str
    paper: float
    value: float | None
    interval: tuple[float, float] | None
    bound: str
    tolerance: float
    within: bool | None
    note: str

    @property
    def unexplained(self) -> bool:
        """Whether the number is outside the tolerance and no note explains it."""
        return self.within is False and not self.note


# Columns of the table of claims: the fields of CheckedClaim, with one column per end of the interval.
_CLAIM_COLUMNS = [
    column
    for entry in fields(CheckedClaim)
    for column in (("interval_low", "interval_high") if entry.name == "interval" else (entry.name,))
]


def _cells(claim: CheckedClaim) -> list[Any]:
    """Returns the cells of a claim's row in `ITEM-claims.csv`, in the order of _CLAIM_COLUMNS."""
    low, high = claim.interval or (None, None)
    own = {**vars(claim), "interval_low": low, "interval_high": high}
    return [own[column] for column in _CLAIM_COLUMNS]


@dataclass(frozen=True)
class ReproducedItem:
    """A computed figure or table, and its claims compared with the computed numbers.

    Attributes:
        item: the figure, table or section.
        title: its content, in a phrase.
        seconds: duration of the computation.
        resumed: whether it was already complete in the folder and not computed again.
        claims: its claims, in the order of their file.
        core_seconds: time of its simulations, each on one core, including earlier ones; None if it has none.
        missing: curves whose simulation is not complete; claims on them are not computed.
        remark: note for the user on the method; empty for none.
    """

    item: str
    title: str
    seconds: float
    resumed: bool
    claims: tuple[CheckedClaim, ...]
    core_seconds: float | None = None
    missing: tuple[str, ...] = ()
    remark: str = ""


def papers_version() -> str:
    """Returns PolarLab's version, with digests of the code that computes figures and of default prices."""
    digests = f"papers {code_digest(_PACKAGES)}, prices {prices_digest(paper_prices())}"
    return f"polarlab {importlib.metadata.version('polarlab')} ({digests})"


def reproduce_item(
    paper: str,
    name: str,
    scale: Scale,
    settings: ComputeSettings,
    clock: Callable[[], float] = time.monotonic,
) -> ReproducedItem:
    """Computes a figure or table unless it is complete in the folder, and compares it with its claims.

    Args:
        paper: the paper, one of PAPERS.
        name: the figure, table or section, such as `fig12`.
        scale: the scale.
        settings: the folder, which may have other items, and the processes that simulate.
        clock: () -> seconds, to measure the duration.

    Raises:
        UsageError: the paper or the item is unknown, or the item is not computed.
        NoPointsError: the folder has none of the item's simulated points, and none are to be simulated.
        ParameterError: the folder has the item at another scale, or a damaged record.
        MachineError: a network does not fit into the memory, or a cluster does not answer.
        KeyboardInterrupt: Ctrl-C; the folder holds the points that were simulated until then.
    """
    item, directory = item_of(paper, name), settings.directory
    done = _complete(item, paper, name, scale, directory.path)
    resumed = done is not None
    if done is None:
        begun = clock()
        found, core_seconds, missing = _found(item, scale, settings)
        done = ComputedItem(
            paper,
            name,
            scale.quick,
            scale.seeds,
            papers_version(),
            round(clock() - begun, 3),
            _checked_values(found),
            _digest(scale),
            core_seconds,
            missing,
            found.remark,
        )
        _write(item, done, found, directory)
    compared = not (is_priced(item) and scale.prices and not are_of_paper(scale.prices))
    claims = tuple(
        checked(claim, done.values.get(claim.key), compared=compared) for claim in claims_of_item(paper, name)
    )
    # Written even if the item was complete, because notes may be newer than its numbers.
    directory.write_csv(f"{name}{CLAIMS}", _CLAIM_COLUMNS, [_cells(claim) for claim in claims])
    return ReproducedItem(
        name, item.title, done.seconds, resumed, claims, done.core_seconds, tuple(done.missing), done.remark
    )


def check_labels(items: Iterable[tuple[str, AnyItem]], scale: Scale, labels: Iterable[str]) -> None:
    """Raises UsageError if a label matches no curve of the given figures and tables.

    Args:
        items: names and items.
        scale: the scale.
        labels: labels of curves, such as `PF-UGAL`, optionally with a pattern: `PF-UGAL:tornado`.
    """
    listed = [*items]
    simulated = [one for _, one in listed if isinstance(one, SimulatedItem)]
    known: dict[str, list[str]] = {}
    for curve in (curve for one in simulated for curve in one.curves(scale)):
        known.setdefault(curve.label, []).append(curve.pattern)
    names = ", ".join(name for name, _ in listed)
    if not known:
        raise UsageError(f"--curves needs a simulated figure or table, got {names}")
    for given in labels:
        # Labels and patterns contain colons themselves, such as `ugal:over=hierarchical` and `adv:1`.
        label = max((one for one in known if f"{given}:".startswith(f"{one}:")), key=len, default=None)
        if label is None:
            near = hint(given.partition(":")[0], known)
            raise UsageError(f"curves must be {NONE} or among {', '.join(known)}, got {given!r}{near}")
        pattern = given.removeprefix(label).removeprefix(":")
        patterns = dict.fromkeys(known[label])
        if given != label and pattern not in patterns:
            near = hint(pattern, patterns)
            raise UsageError(
                f"patterns of {label} must be among {', '.join(patterns)}, got {pattern!r}{near}"
            )


def _found(
    item: AnyItem, scale: Scale, settings: ComputeSettings
) -> tuple[ItemResult, float | None, tuple[str, ...]]:
    """Computes a figure or table.

    Returns:
        The result; the time of its simulations in s, each on one core, or None if it needs none; the names of
        curves whose simulation is not complete.
    """
    if isinstance(item, Item):
        return item.compute(scale), None, ()
    if isinstance(item, PlacedItem):
        return item.compute(scale, settings), None, ()
    from experiments.papers.performance.curves import measured  # importing it compiles the simulator

    curves = measured(item.curves(scale), scale, settings)
    found = item.find(curves, scale)
    if not found.rows:
        raise NoPointsError(
            f"{settings.directory.path} has no points of these curves yet; simulate one of them"
        )
    missing = tuple(dict.fromkeys(curve.name for curve, one in curves.items() if not one.complete))
    return found, round(sum(one.seconds for one in curves.values()), 1), missing


def checked(claim: Claim, found: Value | None, *, compared: bool = True) -> CheckedClaim:
    """Compares a claim with the computed number.

    Args:
        claim: the claim.
        found: the number; None if it is not computed.
        compared: whether to apply the tolerance; False if the number rests on other prices than the paper's.
    """
    quoted = claim.item, claim.claim, claim.section, claim.value
    if found is None:
        return CheckedClaim(*quoted, None, None, claim.bound, claim.tolerance, None, NOT_COMPUTED)
    if not compared:
        return CheckedClaim(
            *quoted, found.value, found.interval, claim.bound, claim.tolerance, None, OTHER_PRICES
        )
    within = claim.holds(found.value)
    finding = None if within else finding_on(claim, found.value)
    note = finding.note if finding else ""
    return CheckedClaim(*quoted, found.value, found.interval, claim.bound, claim.tolerance, within, note)


def _digest(scale: Scale) -> str:
    """Returns the digest of the user's prices, or an empty string for the paper's prices."""
    return prices_digest(scale.prices) if scale.prices else ""


def _checked_values(found: ItemResult) -> dict[str, Value]:
    """Returns key of a claim -> computed number as a Value; plain numbers get no interval."""
    return {key: one if isinstance(one, Value) else Value(float(one)) for key, one in found.values.items()}


def _complete(item: AnyItem, paper: str, name: str, scale: Scale, folder: Path) -> ComputedItem | None:
    """Returns a folder's record of a figure or table; None if the item must be computed again.

    Raises:
        ParameterError: the record is damaged, or was computed with other options.
    """
    file = folder / f"{name}.json"
    if not file.exists():
        return None
    try:
        record = read_record(file, ComputedItem)
    except ParameterError as error:
        raise ParameterError(f"{error}; remove the file to compute {name} again") from None
    other_seeds = record.seeds != scale.seeds
    resumes = isinstance(item, SimulatedItem)  # stored points have their own seeds
    others = (record.paper, record.quick, record.prices) != (paper, scale.quick, _digest(scale))
    if others or (other_seeds and not resumes):
        raise ParameterError(f"{folder} has {name} with other options; give a new --out")
    # The record was computed without METIS, which is installed now.
    searched_less = "METIS" in record.remark and not search_remark()
    complete = record.version == papers_version() and not record.missing and not searched_less
    if other_seeds or not complete or not all(map(_is_complete, _files(item, name, folder))):
        return None
    return record if is_as_computed(folder / f"{name}.csv", record) else None


def _check_own(data: Path, columns: Sequence[str], record: Path) -> None:
    """Raises ParameterError if writing a data file would overwrite another table.

    Args:
        data: the data file.
        columns: columns of the table to write.
        record: the record that accompanies data written earlier.
    """
    if record.exists() or not _has_content(data):
        return
    line = read_bytes(data, RESULT_BYTES).partition(b"\n")[0]
    header = line.decode(errors="replace").rstrip("\r")
    if header != ",".join(columns):
        raise ParameterError(f"{data} is a different table and would be overwritten; give a new --out")


def _digest_of_data(file: Path, values: Mapping[str, Value]) -> str:
    """Returns a digest of a data file and of the numbers of its claims, 16 hexadecimal digits."""
    named = sorted((key, *map(float, (one.value, *(one.interval or ())))) for key, one in values.items())
    return hashlib.sha256(read_bytes(file, RESULT_BYTES) + repr(named).encode()).hexdigest()[:16]


def is_as_computed(data: Path, record: ComputedItem) -> bool:
    """Returns whether a data file and its record match the record's digest; True for a record without one.

    Args:
        data: the file.
        record: the item's record.
    """
    return not record.data or (data.is_file() and record.data == _digest_of_data(data, record.values))


def _files(item: AnyItem, name: str, folder: Path) -> list[Path]:
    """Returns the paths of the data and, for a figure, of the drawings in a folder."""
    kinds = (".csv",) if item.plot is None else (".csv", ".png", ".svg")
    return [folder / f"{name}{kind}" for kind in kinds]


def _has_content(file: Path) -> bool:
    """Returns whether a file exists and is not empty."""
    return file.is_file() and file.stat().st_size > 0


def _is_complete(file: Path) -> bool:
    """Returns whether a file exists and, if it is a figure, ends as its format requires."""
    return _has_content(file) and _ENDS.get(file.suffix, b"") in read_bytes(file, RESULT_BYTES)[-_END_BYTES:]


def _write(item: AnyItem, done: ComputedItem, found: ItemResult, directory: RunDirectory) -> None:
    """Writes the data, the figure and, last, the record of a computed item into a folder."""
    name = done.item
    columns = list(found.rows[0])
    _check_own(directory.path / f"{name}.csv", columns, directory.path / f"{name}.json")
    directory.keep()
    directory.write_csv(f"{name}.csv", columns, [[row[column] for column in columns] for row in found.rows])
    if item.plot is not None:
        save_figures({name: draw_item(item.title, item.plot, found.rows)}, directory.path)
    data = _digest_of_data(directory.path / f"{name}.csv", done.values)
    directory.write_record(f"{name}.json", replace(done, data=data))
