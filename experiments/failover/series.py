"""Series of failovers, one after another on the same fabric, and the distribution of their results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from emulation.requirements import require_emulation
from experiments.events.base import Event, OnEvent, Ongoing
from experiments.events.marks import Interrupted, ResultsWritten
from experiments.events.notices import Notice
from experiments.failover.course import final_headline
from experiments.failover.demonstration import Observation, observe_failure, write_observation
from experiments.live_fabric import LiveFabric, Watching, live_fabric, unwatched
from experiments.pair_check import check_all_pairs
from experiments.points.engine import ListedGroup, do_points
from experiments.points.in_turn import InTurn
from experiments.results.failover import (
    FAILOVER_COLUMNS,
    FAILOVERS,
    Distribution,
    FailoverSeries,
    FailoverSummary,
    Repetition,
)
from experiments.results.manifest import run_manifest, write_manifest
from experiments.results.replications import interval
from experiments.results.run_directory import SUMMARY, RunDirectory, kept_directory, seed_folder
from experiments.spec.fabric import FabricOptions
from experiments.spec.failover import FailoverOptions, FailoverSeriesOptions
from topology.errors import Terminated
from topology.faults import CONTROLLER


def run_failover_series(
    fabric_options: FabricOptions,
    options: FailoverSeriesOptions,
    folder: Path,
    on_event: OnEvent,
    watching: Watching = unwatched,
    ready: Callable[[], object] = lambda: None,
) -> FailoverSeries:
    """Runs failovers one after another, writes their results, and returns the combined result.

    Each failover has its own folder, named by its seed. The next one starts when all pairs reach each other
    by their initial paths again; if they do not, the series ends early.

    Args:
        fabric_options: specification of the fabric.
        options: specification of the failovers.
        folder: output directory, new or empty.
        on_event: called with each event.
        watching: lets viewers watch the fabric meanwhile.
        ready: called once all pairs reach each other, before the first failover; it may wait.

    Raises:
        MachineError: the machine lacks a requirement.
        NegativeResult: a proof failed, or not all pairs reached each other at the start.
        KeyboardInterrupt: Ctrl-C; the folder has the failovers so far.
    """
    require_emulation()
    with kept_directory(folder) as directory:
        failovers = _Failovers(fabric_options, options, directory, on_event, watching, ready)
        with InTurn(on_event) as in_turn:
            do_points([failovers], in_turn)
        series = failovers.series()
    on_event(ResultsWritten(folder, interrupted=series.interrupted))
    if series.interrupted:
        raise KeyboardInterrupt
    return series


class _Failovers(ListedGroup[LiveFabric, FailoverOptions, FailoverSummary]):
    """The failovers of a series; each is written as it ends, with the combined result so far."""

    def __init__(
        self,
        fabric: FabricOptions,
        options: FailoverSeriesOptions,
        directory: RunDirectory,
        on_event: OnEvent,
        watching: Watching,
        ready: Callable[[], object],
    ) -> None:
        super().__init__(options.repetitions)
        self.measured: list[tuple[int, FailoverSummary]] = []
        self._fabric, self._options, self._directory = fabric, options, directory
        self._on_event, self._watching, self._ready = on_event, watching, ready
        self._interrupted = False
        self._seconds_left: float | None = None

    @contextmanager
    def fabric_up(self, on_event: OnEvent) -> Iterator[LiveFabric]:
        """Brings the fabric up and checks all pairs; an interrupted series keeps its results so far."""
        with live_fabric(self._fabric, on_event, self._watching) as fabric:
            check_all_pairs(fabric, on_event)
            first, settings = self._options.repetitions[0].seed, self._options.settings()
            write_manifest(self._directory, run_manifest(fabric, settings, first), fabric)
            self._ready()
            try:
                yield fabric
            except (KeyboardInterrupt, Terminated):
                if not self.measured:
                    raise
                on_event(Interrupted())
                self._interrupted = True
                self._directory.write_record(SUMMARY, self.series())

    def do(self, fabric: LiveFabric, point: FailoverOptions) -> FailoverSummary:
        """Measures a failover and writes it."""

        def keep(observed: Observation) -> None:
            self._directory.keep()
            self.measured.append((point.seed, observed.summary))
            _write(fabric, point, observed, self.series(), self._directory, self._on_event)

        self._on_event(
            Notice(
                "failover-repeated",
                seed=point.seed,
                number=len(self.measured) + 1,
                failovers=len(self._options.repetitions),
                seconds_left=self._seconds_left,
            )
        )
        return observe_failure(fabric, point, _only_progress(self._on_event), keep=keep).summary

    def keep(self, point: FailoverOptions, outcome: FailoverSummary, seconds_left: float | None) -> None:
        """Reports the end of a failover, which is the last if some pairs no longer reach each other."""
        super().keep(point, outcome, seconds_left)
        self._seconds_left = seconds_left
        self._on_event(failover_ended(point, outcome))
        if outcome.interrupted or outcome.restored is False:
            self.missing.clear()

    def series(self) -> FailoverSeries:
        """Returns the combined result of all failovers so far."""
        series = combine_failovers(self._fabric, self._options, self.measured)
        return replace(series, interrupted=True) if self._interrupted else series


def failover_ended(repetition: FailoverOptions, summary: FailoverSummary) -> Event:
    """Returns the event of a failover's end; it names the drawn components if the failover ended early.

    Args:
        repetition: its specification.
        summary: its result.
    """
    if summary.interrupted and not summary.failed:
        controller = [CONTROLLER] if repetition.kill_controller else []
        drawn = ", ".join(component.name for component in [*repetition.elements, *controller])
        return Notice("failover-interrupted", failed=drawn)
    return final_headline(summary)


def _only_progress(on_event: OnEvent) -> OnEvent:
    """Returns a callback that passes on progress only: many failovers would print too many lines."""

    def pass_on(event: Event) -> None:
        if isinstance(event, Ongoing | Interrupted):
            on_event(event)

    return pass_on


def _write(
    fabric: LiveFabric,
    repetition: FailoverOptions,
    observed: Observation,
    series: FailoverSeries,
    directory: RunDirectory,
    on_event: OnEvent,
) -> None:
    """Writes a failover's own folder, its row of the series, and the combined result so far."""
    row = repetition_of(repetition.seed, observed.summary)
    with directory.storing(observed.summary, on_event):
        directory.write_record(SUMMARY, series)
        own = RunDirectory(directory.path / seed_folder(repetition.seed))
        with own.keeping_what_fits():
            write_observation(own, observed)
            manifest = run_manifest(fabric, repetition.settings(), repetition.seed, one_of_many=True)
            write_manifest(own, manifest, fabric)
        directory.append_row(FAILOVERS, FAILOVER_COLUMNS, row.cells())


def repetition_of(seed: int, summary: FailoverSummary) -> Repetition:
    """Returns the row of a failover.

    Args:
        seed: its seed.
        summary: its result.
    """
    return Repetition(
        seed=seed,
        failed=", ".join(summary.failed),
        gap_ms=summary.gap_ms,
        packets_sent=summary.packets_sent,
        packets_lost=summary.packets_lost,
        lost_at_restore=summary.lost_at_restore,
        silence_before_ms=summary.phases.before.longest_silence_ms,
        repaired_by=summary.repaired_by,
        repaired_ms=summary.repaired_ms,
        controller_converged_ms=summary.controller_converged_ms,
        pairs_watched=summary.pairs_watched,
        pairs_affected=summary.pairs_affected,
        cpu_stolen_ms=summary.cpu_stolen_ms,
        restored=summary.restored,
        negative=summary.negative,
        interrupted=summary.interrupted,
    )


def combine_failovers(
    fabric: FabricOptions, options: FailoverSeriesOptions, measured: Sequence[tuple[int, FailoverSummary]]
) -> FailoverSeries:
    """Combines the results of several failovers; interrupted ones do not count.

    Args:
        fabric: specification of the fabric.
        options: specification of the failovers.
        measured: (seed, result) of each measured failover, at least one.
    """
    failovers = [repetition_of(seed, summary) for seed, summary in measured]
    rows = [row for row in failovers if not row.interrupted]
    return FailoverSeries(
        name=fabric.name,
        params=dict(fabric.params),
        routing=fabric.routing,
        hosts=fabric.hosts,
        local_repair=fabric.local_repair,
        fail=options.fail,
        kill_controller=options.repetitions[0].kill_controller,
        asked=len(options.repetitions),
        seeds=tuple(row.seed for row in rows),
        probe_interval_ms=measured[0][1].probe_interval_ms,
        gap_ms=distribution(row.gap_ms for row in rows),
        silence_before_ms=distribution(row.silence_before_ms for row in rows),
        packets_lost=distribution(row.packets_lost for row in rows),
        lost_at_restore=distribution(row.lost_at_restore for row in rows),
        repaired_ms=distribution(row.repaired_ms for row in rows),
        controller_converged_ms=distribution(row.controller_converged_ms for row in rows),
        packets_sent=sum(row.packets_sent for row in rows),
        repaired_by=dict(Counter(row.repaired_by for row in rows)),
        failovers=tuple(failovers),
        interrupted=any(row.interrupted for row in failovers),
        negative=_negative(rows),
    )


def _negative(rows: Sequence[Repetition]) -> str | None:
    """Returns the seeds of the negative failovers, and the reason of the first one."""
    bad = [row for row in rows if row.negative]
    if not bad:
        return None
    seeds = ", ".join(str(row.seed) for row in bad)
    first = f"seed {bad[0].seed}, {bad[0].failed}: {bad[0].negative}"
    named = f" (seeds {seeds})" if len(bad) > 1 else ""
    return f"{len(bad)} of {len(rows)} failovers{named}: {first}"


def distribution(values: Iterable[float | None]) -> Distribution | None:
    """Returns the distribution of the known values; None if no value is known."""
    given = list(values)
    known = tuple(value for value in given if value is not None)
    if not known:
        return None
    mean, half = interval(known)
    limits = median_limits(known)
    p50, p90, p99 = (round(float(value), 3) for value in np.quantile(known, (0.5, 0.9, 0.99)))
    return Distribution(
        mean=round(mean, 3),
        ci95=None if half is None else round(half, 3),
        values=known,
        missing=len(given) - len(known),
        p50=p50,
        p50_ci95=limits,
        p90=p90,
        p99=p99,
        max=max(known),
    )


def median_limits(values: Sequence[float]) -> tuple[float, float] | None:
    """Returns a 95 % confidence interval of the median from order statistics.

    The number of values below the median is binomial (n, 1/2), whatever the distribution of the values.

    Args:
        values: independent values of one distribution.

    Returns:
        The k-th smallest and the k-th largest value, for the largest k that gives at least 95 %; None for
        fewer than six values, for which no k does.
    """
    ordered, count = sorted(values), len(values)
    beyond, rank = 0, 0  # of 2^count outcomes, those with fewer than `rank` values below the median
    while 40 * (beyond + math.comb(count, rank)) <= 2**count:  # 2.5 % on each side
        beyond += math.comb(count, rank)
        rank += 1
    return (ordered[rank - 1], ordered[count - rank]) if rank else None
