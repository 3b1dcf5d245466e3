"""Points of a sweep: the row of each in `points.csv`, and what a folder holds of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from experiments.codec import omitted, read_record
from experiments.results.link_loads import LINK_LOADS
from experiments.results.manifest import SweepManifest, SweepSettings
from experiments.results.model import Summary
from experiments.results.parts.sweep_rows import (
    POINTS,
    POINTS_FOLDER,
    SweptRow,
    columns_with,
    own_columns,
    read_rows,
    varied_at,
)
from experiments.results.run_directory import MANIFEST, seed_folder
from experiments.spec.options import SWEEP
from experiments.spec.sweep import Point
from topology.errors import ParameterError
from topology.parameters import Value


def point_links(point: Point, seed: int | None = None) -> str:
    """Returns the name of the table of a point's link loads, in the folder of its sweep.

    Args:
        point: the point.
        seed: seed of one of its replications; None for all of them.
    """
    return f"{_stem(point, seed)}-{LINK_LOADS}"


def point_summary(point: Point, seed: int | None = None) -> str:
    """Returns the name of the summary of a point, as of `point_links`."""
    return f"{_stem(point, seed)}.json"


def _stem(point: Point, seed: int | None) -> str:
    return f"{POINTS_FOLDER}/{point.name}" + ("" if seed is None else f"-{seed_folder(seed)}")


@dataclass(frozen=True)
class PointRow(SweptRow):
    """Result of a point, as a row of `points.csv`; a value that does not apply is None, an empty cell.

    Attributes:
        routing: name of the routing, with its parameters.
        pattern: traffic pattern, with its parameters.
        load: load that hosts were asked to send, 0 to 1 of the injection capacity.
        offered, accepted, loss: fractions, as in the summary of a run; of replications the means.
        accepted_ci95: half the width of the 95 % confidence interval of `accepted` over replications.
        latency_mean_ms, latency_p50_ms, latency_p99_ms: one-way latency in ms, as `latency_ms` of a run.
        latency_mean_ci95_ms: half the width of the 95 % confidence interval of `latency_mean_ms` in ms.
        out_of_order: packets of the window that arrived after a later one of their flow.
        predicted_accepted: `predicted.accepted` of a run: the fluid model's accepted fraction.
        groups_modified: changes of groups by an adaptive routing's controller.
        valid: whether the result can be trusted, `yes` or `no`; `fidelity.reasons` in `points/` says why not.
        cpu_idle, generator_lag_ms_p99, link_rate_error, lost_outside_queues, held_frame_times_max,
            held_frame_times_mean: as `fidelity` of a run.
        seed: seed of the random generator; of replications the first.
        hops_mean: mean number of links between routers that packets took.
        link_load_max, link_load_mean, jain, dropped_packets: as `links` of a run.
        queueing_frame_times: as in the summary of a run.
        varied: key of `--vary` -> its value at this point, if it has one; in the table a column for each key
            (`seed` has its own already). Absent if the sweep varies nothing else than routings, patterns and
            loads.
    """

    words: ClassVar[tuple[str, ...]] = ("valid",)
    later: ClassVar[tuple[str, ...]] = (
        *("accepted_ci95", "latency_mean_ci95_ms", "hops_mean"),
        *("link_load_max", "link_load_mean", "jain", "dropped_packets"),
        *("held_frame_times_max", "held_frame_times_mean", "queueing_frame_times"),
    )

    routing: str
    pattern: str
    load: float
    offered: float | None
    accepted: float | None
    accepted_ci95: float | None
    loss: float | None
    latency_mean_ms: float | None
    latency_mean_ci95_ms: float | None
    latency_p50_ms: float | None
    latency_p99_ms: float | None
    out_of_order: int | None
    predicted_accepted: float | None
    groups_modified: int | None
    valid: bool
    cpu_idle: float | None
    generator_lag_ms_p99: float | None
    link_rate_error: float | None
    lost_outside_queues: float | None
    seed: int | None
    hops_mean: float | None = None
    link_load_max: float | None = None
    link_load_mean: float | None = None
    jain: float | None = None
    dropped_packets: int | None = None
    held_frame_times_max: float | None = None
    held_frame_times_mean: float | None = None
    queueing_frame_times: float | None = None
    varied: Mapping[str, Value] | None = omitted()


COLUMNS = own_columns(PointRow)


def columns_of(keys: Iterable[str]) -> tuple[str, ...]:
    """Returns the columns of the table of a sweep that varies some keys.

    Args:
        keys: the keys, as of `--vary`.
    """
    return columns_with(PointRow, keys)


def row_of(point: Point, summary: Summary, keys: Iterable[str] = ()) -> PointRow:
    """Returns the row of a point.

    Args:
        point: the point.
        summary: its result.
        keys: keys that the sweep varies.
    """
    latency, fidelity, repeat = summary.latency_ms, summary.fidelity, summary.repeat
    links = summary.links
    accepted = repeat.accepted if repeat else None
    mean = repeat.latency_mean_ms if repeat else None
    return PointRow(
        routing=point.routing,
        pattern=point.pattern,
        load=point.load,
        offered=summary.offered,
        accepted=summary.accepted,
        accepted_ci95=accepted.ci95 if accepted else None,
        loss=summary.loss,
        latency_mean_ms=latency.mean,
        latency_mean_ci95_ms=mean.ci95 if mean else None,
        latency_p50_ms=latency.p50,
        latency_p99_ms=latency.p99,
        out_of_order=summary.out_of_order,
        predicted_accepted=summary.predicted.accepted if summary.predicted else None,
        groups_modified=summary.adaptation.groups_modified if summary.adaptation else None,
        valid=fidelity.valid,
        cpu_idle=fidelity.cpu_idle,
        generator_lag_ms_p99=fidelity.generator_lag_ms_p99,
        link_rate_error=fidelity.link_rate_error,
        lost_outside_queues=fidelity.lost_outside_queues,
        seed=summary.seed,
        hops_mean=summary.hops_mean,
        link_load_max=links.load_max if links else None,
        link_load_mean=links.load_mean if links else None,
        jain=links.jain if links else None,
        dropped_packets=links.dropped_packets if links else None,
        held_frame_times_max=fidelity.held_frame_times_max,
        held_frame_times_mean=fidelity.held_frame_times_mean,
        queueing_frame_times=summary.queueing_frame_times,
        varied=varied_at(point, keys),
    )


def held_settings(folder: Path) -> SweepSettings | None:
    """Returns the settings of the sweep that a folder holds, None if it is empty.

    Raises:
        ParameterError: the folder holds something else, or a damaged sweep.
    """
    # A manifest whose writer was ended before its last byte does not count.
    if all(path.name.endswith(".partial") for path in folder.iterdir()):
        return None
    try:
        return read_sweep_manifest(folder).sweep
    except ParameterError as error:
        raise ParameterError(f"{error}; choose another --out") from None


def read_sweep_manifest(folder: Path) -> SweepManifest:
    """Returns the manifest of a sweep.

    Raises:
        ParameterError: the folder does not hold a sweep, or its manifest is damaged.
    """
    path = folder / MANIFEST
    content = read_record(path, dict[str, object])
    if "sweep" not in content:
        raise ParameterError(f"{folder} does not hold a sweep")
    return read_record(path, SweepManifest)


def point_rows(folder: Path) -> dict[Point, PointRow]:
    """Returns the points of a folder, in their order.

    Raises:
        ParameterError: the table is missing or damaged.
    """
    return read_rows(folder, PointRow, _varied_keys(folder), SWEEP)


def _varied_keys(folder: Path) -> tuple[str, ...]:
    """Returns the keys that the sweep of a folder varies; none where it has no manifest."""
    return tuple(read_sweep_manifest(folder).sweep.varied) if (folder / MANIFEST).exists() else ()


def measured_points(folder: Path) -> frozenset[Point]:
    """Returns the points that a folder holds; none if it has no table yet.

    Raises:
        ParameterError: the table is damaged.
    """
    return frozenset(point_rows(folder)) if (folder / POINTS).exists() else frozenset()


def rows_of(folder: Path, points: Iterable[Point]) -> list[PointRow]:
    """Returns the rows of some points of a folder, in their order.

    Args:
        folder: folder of the sweep.
        points: points that it holds.

    Raises:
        ParameterError: the table is missing or damaged.
    """
    held = point_rows(folder)
    return [held[point] for point in points]
