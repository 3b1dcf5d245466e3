"""One point of a sweep: stores each replication as it ends, and writes the point's row after the last."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple

from experiments.codec import read_record
from experiments.events.base import OnEvent
from experiments.measurement import Measurement
from experiments.results.link_loads import (
    LINK_LOAD_COLUMNS,
    DirectedLink,
    LinkLoadRow,
    load_rows,
    mean_rows,
    read_link_loads,
)
from experiments.results.manifest import SweepSettings
from experiments.results.model import Summary
from experiments.results.replications import combine
from experiments.results.run_directory import RunDirectory
from experiments.results.sweep_points import append_point, point_links, point_summary
from experiments.spec.sweep import Point


class ReplicatedPoint:
    """A point with one or several replications; an interrupted sweep can be resumed between them."""

    def __init__(
        self,
        point: Point,
        settings: SweepSettings,
        directory: RunDirectory,
        links: Sequence[DirectedLink],
        on_event: OnEvent,
    ) -> None:
        """Creates a point without measured replications.

        Args:
            point: the point.
            settings: settings of the sweep.
            directory: folder of the sweep.
            links: directed links of its fabric.
            on_event: called with the summary of a replication that cannot be written.
        """
        self._point, self._settings, self._directory, self._links = point, settings, directory, links
        self._on_event = on_event
        self._summaries: dict[int, Summary] = {}
        self._loads: dict[int, Sequence[LinkLoadRow]] = {}

    def read(self, first_seed: int) -> Collection[int]:
        """Reads the replications that an interrupted sweep left, and returns their seeds.

        Args:
            first_seed: seed of the first replication.

        Raises:
            ParameterError: a file is damaged.
        """
        folder, repeat = self._directory.path, self._settings.repeat
        for seed in range(first_seed, first_seed + repeat) if repeat > 1 else ():
            path, links = (folder / name(self._point, seed) for name in (point_summary, point_links))
            if path.exists():
                self._summaries[seed] = read_record(path, Summary)
                if links.exists():
                    self._loads[seed] = read_link_loads(links)
        if len(self._summaries) == repeat:  # an earlier process was killed before it wrote the row
            self._write()
        return self._summaries.keys()

    def keep(self, run: Measurement) -> None:
        """Stores a replication; after the last one, the point is complete and gets its row.

        Args:
            run: the replication.

        Raises:
            KeyboardInterrupt: it was interrupted, and does not count as a replication.
            NegativeResult: the run failed.
        """
        run.raise_if_negative()
        seed, observed = run.record.traffic.seed, run.record.link_loads()
        if observed is not None:
            self._loads[seed] = load_rows(self._links, observed.loads, observed.dropped)
        with self._directory.reporting_loss(run.summary, self._on_event):
            if self._settings.repeat > 1:
                if seed in self._loads:
                    self._write_loads(self._loads[seed], seed)
                self._directory.write_record(point_summary(self._point, seed), run.summary)
            self._summaries[seed] = run.summary
            if len(self._summaries) == self._settings.repeat:
                self._write()

    def _write(self) -> None:
        """Writes the summary of all replications, their mean link loads, and the row of `points.csv`."""
        summaries = [summary for _, summary in sorted(self._summaries.items())]
        repeat = self._settings.repeat
        summary = combine(summaries, repeat) if repeat > 1 else summaries[0]
        self._directory.write_record(point_summary(self._point), summary)
        if self._loads:
            self._write_loads(mean_rows([rows for _, rows in sorted(self._loads.items())]))
        append_point(self._directory, self._point, summary, self._settings.varied)

    def _write_loads(self, rows: Sequence[LinkLoadRow], seed: int | None = None) -> None:
        self._directory.write_csv(point_links(self._point, seed), LINK_LOAD_COLUMNS, map(astuple, rows))
