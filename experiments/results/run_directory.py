"""Output directories and files of experiments; files are written atomically and results never overwritten."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.codec import plain
from experiments.events.base import OnEvent
from experiments.events.notices import Notice
from experiments.spec.files.inputs import digests_by_path, kept_digests
from topology.base import Params, Topology
from topology.errors import DISK_FULL, MachineError, ParameterError, UsageError
from topology.files.reading import (
    GRAPH_BYTES,
    RESULT_BYTES,
    expecting,
    read_bytes,
    read_lines,
    read_text,
)
from topology.files.writing import LOCK, make_folder, open_folder
from topology.networkx_graphs import NetworkxTopology, from_graphml
from topology.registry import make_topology

MANIFEST = "manifest.json"
SUMMARY = "summary.json"
FAULTS = "faults.txt"
# Free space required to start a run, whose series may take some MB.
NEEDED_BYTES = 16 << 20


def seed_folder(seed: int) -> str:
    """Returns the name of the folder of a replication."""
    return f"seed-{seed}"


def local_time() -> str:
    """Returns the local time with UTC offset, ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


class RunDirectory:
    """The output directory of a run or a sweep; it is removed if no result is written to it."""

    def __init__(self, path: Path, *, resume: bool = False) -> None:
        """Creates the directory, or opens an existing one.

        Args:
            path: the directory.
            resume: whether it may already contain files.

        Raises:
            ParameterError: it is not empty, or is not a directory.
            MachineError: it cannot be created or written.
        """
        self.path, self.opened = path, local_time()
        try:
            self.folder = make_folder(path)
        except (FileExistsError, NotADirectoryError):
            raise ParameterError(f"{path} is not a directory; give a new --out") from None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise ParameterError(f"the name {path} is too long; give a new --out") from None
            raise MachineError(f"{path} cannot be written ({error.strerror})") from error
        self._unwritten: list[str] | None = None
        self._headers: dict[str, Sequence[str]] = {}  # table -> its columns
        self._kept = False
        self.check(resume=resume)
        if not self.folder.is_writable():
            raise MachineError(f"{path} cannot be written (it is read-only or belongs to another user)")

    def check(self, *, resume: bool) -> None:
        """Checks the content of the directory; if it already contains files, it is not removed at the end.

        Args:
            resume: whether it may already contain files.

        Raises:
            ParameterError: it is not empty, and `resume` is false.
        """
        try:
            self._kept = any(name != LOCK for name in self.folder.names())
        except OSError as error:
            raise MachineError(f"{self.path} cannot be written ({error.strerror})") from error
        if self._kept and not resume:
            raise ParameterError(f"{self.path} is not empty; give a new --out, nothing is overwritten")

    def require_room(self) -> None:
        """Raises MachineError if the disk is too full for a run."""
        free = self.folder.free_bytes()
        if free < NEEDED_BYTES:
            raise MachineError(
                f"no room on the disk for {self.path}: {free >> 20} MiB free, {NEEDED_BYTES >> 20} MiB needed"
            )

    def keep(self) -> None:
        """Prevents the removal of the directory at the end, even if no result is written to it."""
        self._kept = True

    def discard(self) -> None:
        """Removes the files of a run without results; otherwise does nothing."""
        if not self._kept:
            self.folder.remove_all()

    @contextlib.contextmanager
    def storing(self, summary: Any, on_event: OnEvent) -> Iterator[None]:
        """Runs a block that writes a measurement, with both `reporting_loss` and `keeping_what_fits`."""
        with self.reporting_loss(summary, on_event), self.keeping_what_fits():
            yield

    @contextlib.contextmanager
    def reporting_loss(self, summary: Any, on_event: OnEvent) -> Iterator[None]:
        """Reports a measurement's summary if the block cannot write it.

        Args:
            summary: summary of the measurement, a dataclass.
            on_event: called with the summary if anything could not be written.

        Yields:
            Nothing.

        Raises:
            MachineError: the disk has too little room.
            OSError: writing failed.
        """
        self._kept = True
        try:
            yield
        except (OSError, MachineError) as error:
            text = json.dumps(plain(summary))
            error.add_note(f"its summary: {text}")  # for programs, which need not listen to events
            on_event(Notice("results-not-written", summary=text))
            raise

    @contextlib.contextmanager
    def keeping_what_fits(self) -> Iterator[None]:
        """Makes the block skip files that do not fit on the disk, and write the others.

        Yields:
            Nothing.

        Raises:
            MachineError: at the end of the block, if files were skipped; it names them and the directory.
        """
        self._kept = True
        unwritten = self._unwritten = []
        try:
            yield
        finally:
            self._unwritten = None
        if unwritten:
            raise MachineError(
                f"no room left to write {', '.join(unwritten)}; {self.path} holds all other results"
            )

    def write_record(self, name: str, record: Any) -> None:
        """Writes a dataclass atomically as one JSON object."""
        self._kept |= name != MANIFEST
        self._write(name, (json.dumps(plain(record), indent=2) + "\n").encode())

    def write_text(self, name: str, text: str) -> None:
        """Writes a text file atomically."""
        self._write(name, text.encode(errors="replace"))

    def _write(self, name: str, content: bytes) -> None:
        with self._skip_if_disk_full(name):
            self.folder.write(name, content)

    def append_row(self, name: str, header: Sequence[str], row: Mapping[str, Any]) -> None:
        """Appends a row to a table and flushes it to the disk; see `drop_torn_row`."""
        self._kept = True
        path = self.path / name
        if self.folder.is_at_its_path():
            self._headers.pop(name, None)
            if path.exists() and path.stat().st_size:  # an older version may have written fewer columns
                self._headers[name] = next(csv.reader(read_lines(path, RESULT_BYTES)))
        text = io.StringIO()
        known = self._headers.get(name)
        writer = csv.DictWriter(text, known or header, extrasaction="ignore", lineterminator="\n")
        if known is None:
            writer.writeheader()
        writer.writerow(row)
        self.folder.append(name, text.getvalue().encode())
        self._headers[name] = known or header

    def drop_torn_row(self, name: str) -> None:
        """Removes an incomplete last row, left by a writer that was killed."""
        path = self.path / name
        if path.is_file():
            content = read_bytes(path, RESULT_BYTES)
            if not content.endswith(b"\n"):
                self.folder.truncate(name, content.rfind(b"\n") + 1)
            if b"\n" not in content:
                self.folder.remove(name)

    def write_csv(self, name: str, header: Iterable[str], rows: Iterable[Sequence[Any]]) -> None:
        """Writes a table with a header row atomically."""
        self._kept = True
        with (
            self._skip_if_disk_full(name),
            self.folder.replacing(name) as file,
            io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True) as text,
        ):
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)

    @contextlib.contextmanager
    def _skip_if_disk_full(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self._unwritten is None or error.errno not in DISK_FULL:
                raise
            self._unwritten.append(name)


@contextlib.contextmanager
def kept_directory(path: Path, *, resume: bool = False) -> Iterator[RunDirectory]:
    """Opens and locks the output directory of a measurement; removes it at the end if it has no results.

    Args:
        path: the directory.
        resume: whether it may already contain files.

    Raises:
        ParameterError: the directory is not empty, the path is not a directory, or another process is writing
            into it.
        MachineError: the directory cannot be created or written, or the disk is too full.
    """
    directory = RunDirectory(path, resume=resume)
    with contextlib.ExitStack() as lock:
        try:
            lock.enter_context(directory.folder.locked())
        except BlockingIOError:
            raise ParameterError(
                f"another process is writing to {path}; wait until it ends, or give a new --out"
            ) from None
        except OSError as error:
            raise MachineError(f"{path} cannot be written ({error.strerror})") from error
        directory.check(resume=resume)  # another process may have written before the lock was acquired
        try:
            directory.require_room()
            yield directory
        finally:
            directory.discard()


def holds_graph(name: str) -> bool:
    """Returns whether a file of this name in a folder of results holds a networkx graph.

    Args:
        name: the name of the file, without a folder.
    """
    return re.fullmatch(r"graph-[0-9a-f]+\.graphml", name) is not None


def read_graph(path: Path) -> NetworkxTopology:
    """Returns the networkx graph of a file in a folder of results.

    Args:
        path: the file.

    Raises:
        ParameterError: the file cannot be read, or is damaged.
    """
    text = read_text(path, GRAPH_BYTES)
    try:
        return from_graphml(text)
    except (ValueError, TypeError, AttributeError, RecursionError):  # includes ParameterError
        raise ParameterError(f"{path} is damaged or not from PolarLab") from None


def graph_of_results(
    folder: Path, name: str, params: Params, experiment: Mapping[str, Any] | None
) -> Topology:
    """Returns the graph of routers of some results.

    Args:
        folder: folder of the results.
        name: family of the topology.
        params: its parameters, from the results.
        experiment: the experiment, from the manifest of the results.

    Raises:
        ParameterError: the graph's file is missing or unreadable, or has changed since the results were
            written.
    """
    file, table = str(params.get("from", "")), (experiment or {}).get("topology")
    measured = str(table.get("from", "")) if isinstance(table, Mapping) else ""  # its absolute path
    if file and measured.endswith(f"/{file}"):
        params = {**params, "from": measured}
    try:
        # The owner of the results chose the file name, so read it with that user's rights.
        with open_folder(folder).rights():
            if holds_graph(file):
                return read_graph(folder / file)
            kept = digests_by_path(kept_digests(experiment), map(str, params.values()))
            with expecting(kept, f"{folder} was written", "measure again"):
                return make_topology(name, params)
    except (UsageError, OSError) as error:
        raise ParameterError(f"the graph of {folder} cannot be rebuilt: {error}") from None
