"""Writes the table of links during a run, so that its rows are kept if the run is killed."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TextIO

from controller.occupancy.queues import QueueState
from experiments.results.link_loads import DirectedLink
from experiments.results.tables import LINK_COLUMNS, LINKS
from topology.files.writing import make_folder

_EVERY_S = 1.0


class LiveLinkSeries:
    """Writes rows of `links.csv` once per second; the complete table replaces them at the end of the run."""

    def __init__(self, folder: Path, links: Iterable[DirectedLink]) -> None:
        """Starts the table.

        Args:
            folder: folder of the run.
            links: the links between routers.
        """
        self._names = {(link.source + 1, link.port): link.name for link in links}
        self._start_s = time.monotonic()
        self._last: dict[int, tuple[float, Mapping[int, QueueState]]] = {}
        self._file: TextIO | None = None
        try:
            file = make_folder(folder).begin(LINKS)
            self._file = io.TextIOWrapper(file, encoding="utf-8", newline="")
        except OSError:  # the disk is full; writing the results will raise the error
            return
        self._write([tuple(LINK_COLUMNS)])

    def note(self, switch: int, now_s: float, queues: Mapping[int, QueueState]) -> None:
        """Writes a row for each link of a switch, unless the switch's last rows are less than a second old.

        Args:
            switch: the switch's datapath id.
            now_s: time of the reading on time.monotonic's clock.
            queues: port -> state of its queue.
        """
        then_s, before = self._last.get(switch, (now_s, queues))
        if switch in self._last and now_s < then_s + _EVERY_S:
            return
        self._last[switch] = (now_s, queues)
        time_s = round(now_s - self._start_s, 3)
        rows: list[tuple[object, ...]] = []
        for port in sorted(queues.keys() & before.keys()) if before is not queues else ():
            if (switch, port) in self._names:
                new, old = queues[port], before[port]
                sent, dropped = new.sent_bytes - old.sent_bytes, new.dropped_packets - old.dropped_packets
                rows.append((time_s, self._names[switch, port], port, sent, dropped, new.packets))
        self._write(rows)

    def close(self) -> None:
        """Closes the table."""
        if self._file:
            self._file.close()
            self._file = None

    def _write(self, rows: Iterable[tuple[object, ...]]) -> None:
        if self._file:
            try:
                csv.writer(self._file, lineterminator="\n").writerows(rows)
                self._file.flush()
            except OSError:
                self._file = None
