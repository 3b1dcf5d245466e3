"""Reproductions of items: computed, compared with the paper's claims, drawn, and kept in a folder.

The folder has for each item `ITEM.csv` (data), `ITEM.png` and `.svg`, `ITEM.json`, and
`ITEM-claims.csv`. An item with its record, `ITEM.json`, its data and its figure is complete, and is not
computed again by the same code. Its record tells the curves that were still to be simulated; with them it is
not complete.
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

# Packages whose code decides about the numbers.
_PACKAGES = ("topology", "experiments/papers")
_ENDS, _END_BYTES = {".png": b"IEND", ".svg": b"</svg>"}, 16  # of figures


class NoPointsError(UsageError):
    """None of an item's curves has been simulated, and none is to be."""


@dataclass(frozen=True)
class ComputedItem:
    """Record of an item that is computed.

    Attributes:
        paper: the paper.
        item: the figure, table or section.
        quick: whether it was computed with fewer sizes and runs.
        seeds: the number of searches or runs that was asked for; None for that of the item.
        version: the code that computed it.
        seconds: duration of the computation.
        values: key of a claim -> the computed number.
        prices: digest of the user's prices; empty of those of the paper.
        core_seconds: time that the simulations of its points took, each on one core, also when they were
            done earlier; None of an item without simulations.
        missing: curves that have not been simulated to their end, as `PF-UGAL, tornado`.
        remark: what the user should know about the way that was taken; empty for nothing.
        data: digest of the file of the rows and of the values; empty of items from before there was one.
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
    """A claim beside the computed number.

    Attributes:
        item: the figure, table or section.
        claim: the quantity, in a phrase.
        section: the place in the paper.
        paper: the paper's number.
        value: the computed number; None where it is not computed.
        interval: its 95 % confidence interval; None where it is not a matter of chance.
        bound: `equal`, `at-least` or `at-most`.
        tolerance: largest difference that still agrees.
        within: whether the number agrees; None where it is not computed, or follows from other prices than
            the paper's.
        note: the reason why it does not agree, or is not compared; empty where there is none.
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
        """Whether the number is outside the tolerance without a note."""
        return self.within is False and not self.note


# Columns of the table of claims: those of CheckedClaim, with two for the ends of the interval.
_CLAIM_COLUMNS = [
    column
    for entry in fields(CheckedClaim)
    for column in (("interval_low", "interval_high") if entry.name == "interval" else (entry.name,))
]


def _cells(claim: CheckedClaim) -> list[Any]:
    """Returns the row of a claim in the table of claims."""
    low, high = claim.interval or (None, None)
    own = {**vars(claim), "interval_low": low, "interval_high": high}
    return [own[column] for column in _CLAIM_COLUMNS]


@dataclass(frozen=True)
class ReproducedItem:
    """An item beside its claims.

    Attributes:
        item: the figure, table or section.
        title: its content, in a phrase.
        seconds: duration of the computation.
        resumed: whether it was complete in the folder, and not computed again.
        claims: its claims, in the order of their file.
        core_seconds: time that its simulations took, each on one core, also when they were done earlier; None
            without any.
        missing: curves that have not been simulated to their end; claims on them are not computed.
        remark: what the user should know about the way that was taken; empty for nothing.
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
    """Returns PolarLab's version and a digest of the code that computes items, in words."""
    digests = f"papers {code_digest(_PACKAGES)}, prices {prices_digest(paper_prices())}"
    return f"polarlab {importlib.metadata.version('polarlab')} ({digests})"


def reproduce_item(
    paper: str,
    name: str,
    scale: Scale,
    settings: ComputeSettings,
    clock: Callable[[], float] = time.monotonic,
) -> ReproducedItem:
    """Computes an item of a paper unless it is complete in a folder, and compares it with its claims.

    Args:
        paper: the paper, one of PAPERS.
        name: the figure, table or section, as `fig12`.
        scale: the scale.
        settings: the folder, which may hold other items, and the processes that simulate.
        clock: () -> seconds, for the duration.

    Raises:
        UsageError: the paper or the item is unknown, or the item is not computed.
        NoPointsError: the folder lacks curves without which nothing can be shown.
        ParameterError: the folder has the item with another scale, or a damaged record.
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
    # Again where the item was complete, too: notes may be newer than its numbers.
    directory.write_csv(f"{name}{CLAIMS}", _CLAIM_COLUMNS, [_cells(claim) for claim in claims])
    return ReproducedItem(
        name, item.title, done.seconds, resumed, claims, done.core_seconds, tuple(done.missing), done.remark
    )


def check_labels(items: Iterable[tuple[str, AnyItem]], scale: Scale, labels: Iterable[str]) -> None:
    """Raises UsageError unless items have curves of all of some labels.

    Args:
        items: names and items.
        scale: the scale.
        labels: labels of curves, as `PF-UGAL`, or with a pattern, as `PF-UGAL:tornado`.
    """
    listed = [*items]
    simulated = [one for _, one in listed if isinstance(one, SimulatedItem)]
    known: dict[str, list[str]] = {}
    for curve in (curve for one in simulated for curve in one.curves(scale)):
        known.setdefault(curve.label, []).append(curve.pattern)
    names = ", ".join(name for name, _ in listed)
    if not known:
        raise UsageError(f"--curves must be given with an item that is simulated, got {names}")
    for given in labels:
        # Labels and patterns have colons of their own, as `ugal:over=hierarchical` and `adv:1`.
        label = max((one for one in known if f"{given}:".startswith(f"{one}:")), key=len, default=None)
        if label is None:
            near = hint(given.partition(":")[0], known)
            raise UsageError(f"curves must be {NONE} or of {', '.join(known)}, got {given!r}{near}")
        pattern = given.removeprefix(label).removeprefix(":")
        patterns = dict.fromkeys(known[label])
        if given != label and pattern not in patterns:
            near = hint(pattern, patterns)
            raise UsageError(f"patterns of {label} must be of {', '.join(patterns)}, got {pattern!r}{near}")


def _found(
    item: AnyItem, scale: Scale, settings: ComputeSettings
) -> tuple[ItemResult, float | None, tuple[str, ...]]:
    """Computes an item; returns it with the time of its simulations and its curves that lack points."""
    if isinstance(item, Item):
        return item.compute(scale), None, ()
    if isinstance(item, PlacedItem):
        return item.compute(scale, settings), None, ()
    from experiments.papers.performance.curves import measured  # has the simulator compiled

    curves = measured(item.curves(scale), scale, settings)
    found = item.find(curves, scale)
    if not found.rows:
        raise NoPointsError(
            f"{settings.directory.path} has no points of these curves yet: simulate one of them"
        )
    missing = tuple(dict.fromkeys(curve.name for curve, one in curves.items() if not one.complete))
    return found, round(sum(one.seconds for one in curves.values()), 1), missing


def checked(claim: Claim, found: Value | None, *, compared: bool = True) -> CheckedClaim:
    """Returns a claim beside the computed number.

    Args:
        claim: the claim.
        found: the number; None where it is not computed.
        compared: whether the number is of the paper's own assumptions, so that it can agree.
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
    """Returns the digest of the user's prices; empty without them."""
    return prices_digest(scale.prices) if scale.prices else ""


def _checked_values(found: ItemResult) -> dict[str, Value]:
    """Returns the computed numbers of an item, all of them as values."""
    return {key: one if isinstance(one, Value) else Value(float(one)) for key, one in found.values.items()}


def _complete(item: AnyItem, paper: str, name: str, scale: Scale, folder: Path) -> ComputedItem | None:
    """Returns the record of an item that is complete in a folder; None if it must be computed."""
    file = folder / f"{name}.json"
    if not file.exists():
        return None
    try:
        record = read_record(file, ComputedItem)
    except ParameterError as error:
        raise ParameterError(f"{error}; remove the file, and {name} is computed again") from None
    other_seeds = record.seeds != scale.seeds
    goes_on = isinstance(item, SimulatedItem)  # from its points, which have their seeds
    others = (record.paper, record.quick, record.prices) != (paper, scale.quick, _digest(scale))
    if others or (other_seeds and not goes_on):
        raise ParameterError(f"{folder} has {name} of other options; choose another --out")
    searched_less = record.remark and not search_remark()  # METIS is installed by now
    complete = record.version == papers_version() and not record.missing and not searched_less
    if other_seeds or not complete or not all(map(_is_whole, _files(item, name, folder))):
        return None
    return record if is_as_computed(folder / f"{name}.csv", record) else None


def _check_own(data: Path, columns: Sequence[str], record: Path) -> None:
    """Raises ParameterError if a file that is to be written is there, and is none of this item's."""
    if record.exists() or not _has_content(data):
        return
    line = read_bytes(data, RESULT_BYTES).partition(b"\n")[0]
    header = line.decode(errors="replace").rstrip("\r")
    if header != ",".join(columns):
        raise ParameterError(f"{data} is another table, and would be overwritten; choose another --out")


def _digest_of_data(file: Path, values: Mapping[str, Value]) -> str:
    """Returns the digest of the rows and the values of an item, 16 hexadecimal digits."""
    named = sorted((key, *map(float, (one.value, *(one.interval or ())))) for key, one in values.items())
    return hashlib.sha256(read_bytes(file, RESULT_BYTES) + repr(named).encode()).hexdigest()[:16]


def is_as_computed(data: Path, record: ComputedItem) -> bool:
    """Returns whether the data of an item are those that were computed, as far as its record tells.

    Args:
        data: the file.
        record: the item's record.
    """
    return not record.data or (data.is_file() and record.data == _digest_of_data(data, record.values))


def _files(item: AnyItem, name: str, folder: Path) -> list[Path]:
    """Returns the files of an item with its data and its figure."""
    kinds = (".csv",) if item.plot is None else (".csv", ".png", ".svg")
    return [folder / f"{name}{kind}" for kind in kinds]


def _has_content(file: Path) -> bool:
    """Returns whether a file exists and is not empty."""
    return file.is_file() and file.stat().st_size > 0


def _is_whole(file: Path) -> bool:
    """Returns whether a file exists and, of a figure, ends as figures of its format do."""
    return _has_content(file) and _ENDS.get(file.suffix, b"") in read_bytes(file, RESULT_BYTES)[-_END_BYTES:]


def _write(item: AnyItem, done: ComputedItem, found: ItemResult, directory: RunDirectory) -> None:
    """Writes the files of an item, its record last."""
    name = done.item
    columns = list(found.rows[0])
    _check_own(directory.path / f"{name}.csv", columns, directory.path / f"{name}.json")
    directory.keep()
    directory.write_csv(f"{name}.csv", columns, [[row[column] for column in columns] for row in found.rows])
    if item.plot is not None:
        save_figures({name: draw_item(item.title, item.plot, found.rows)}, directory.path)
    data = _digest_of_data(directory.path / f"{name}.csv", done.values)
    directory.write_record(f"{name}.json", replace(done, data=data))
