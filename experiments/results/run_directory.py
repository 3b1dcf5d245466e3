"""Output directories and files of experiments: written whole or not at all, never overwritten."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.codec import plain
from topology.base import Params, Topology
from topology.errors import DISK_FULL, MachineError, ParameterError, UsageError
from topology.files.reading import GRAPH_BYTES, RESULT_BYTES, read_bytes, read_lines, read_text
from topology.files.writing import LOCK, make_folder, open_folder
from topology.networkx_graphs import NetworkxTopology, from_graphml
from topology.registry import make_topology

MANIFEST = "manifest.json"
SUMMARY = "summary.json"
FAULTS = "faults.txt"
# Less than this free, and a run is not started: its series may take some MB.
NEEDED_BYTES = 16 << 20


def seed_folder(seed: int) -> str:
    """Returns the name of the folder of one of several runs that differ in their seeds."""
    return f"seed-{seed}"


class RunDirectory:
    """The output directory of a run or a sweep. Until a result is in it, it is not worth keeping."""

    def __init__(self, path: Path, *, go_on: bool = False) -> None:
        """Makes the directory, or takes one that exists.

        Args:
            path: the directory.
            go_on: whether it may hold files already.

        Raises:
            ParameterError: it holds files already, or is not a directory.
            MachineError: it cannot be made or written.
        """
        self.path = path
        try:
            self.folder = make_folder(path)
        except (FileExistsError, NotADirectoryError):
            raise ParameterError(f"{path} is not a directory; choose another --out") from None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise ParameterError(f"{path} is too long a name; choose another --out") from None
            raise MachineError(f"{path} cannot be written ({error.strerror})") from error
        self._unwritten: list[str] | None = None
        self._kept = False
        self.look(go_on=go_on)
        if not self.folder.is_writable():
            raise MachineError(f"{path} cannot be written (it is read-only, or another user's)")

    def look(self, *, go_on: bool) -> None:
        """Looks at what the directory holds now, which is kept.

        Args:
            go_on: whether it may hold files already.

        Raises:
            ParameterError: it holds files already, and must not.
        """
        try:
            self._kept = any(name != LOCK for name in self.folder.names())
        except OSError as error:
            raise MachineError(f"{self.path} cannot be written ({error.strerror})") from error
        if self._kept and not go_on:
            raise ParameterError(f"{self.path} is not empty; choose another --out, nothing is overwritten")

    def require_room(self) -> None:
        """Raises MachineError if the disk has no room for the series of a run."""
        free = self.folder.free_bytes()
        if free < NEEDED_BYTES:
            raise MachineError(
                f"no room on the disk for {self.path}: {free >> 20} MiB are free, "
                f"{NEEDED_BYTES >> 20} MiB needed"
            )

    def keep(self) -> None:
        """Makes what is written from now on worth keeping, even if nothing else follows."""
        self._kept = True

    def discard(self) -> None:
        """Removes all files of a run of which nothing was measured; otherwise does nothing."""
        if not self._kept:
            self.folder.remove_all()

    @contextlib.contextmanager
    def keeping_what_fits(self) -> Iterator[None]:
        """Writes those files of the block that the disk has room for.

        Yields:
            Nothing.

        Raises:
            MachineError: at the end of the block, if some had no room; it names them and the directory.
        """
        self._kept = True
        unwritten = self._unwritten = []
        try:
            yield
        finally:
            self._unwritten = None
        if unwritten:
            raise MachineError(
                f"no room left to write {', '.join(unwritten)}; {self.path} holds all else that was measured"
            )

    def write_record(self, name: str, record: Any) -> None:
        """Writes a dataclass as one JSON object, all of it or nothing."""
        self._kept |= name != MANIFEST
        self._write(name, (json.dumps(plain(record), indent=2) + "\n").encode())

    def write_text(self, name: str, text: str) -> None:
        """Writes a text that the results come with, all of it or nothing."""
        self._write(name, text.encode(errors="replace"))

    def _write(self, name: str, content: bytes) -> None:
        with self._if_it_fits(name):
            self.folder.write(name, content)

    def append_row(self, name: str, header: Sequence[str], row: Mapping[str, Any]) -> None:
        """Adds a row to a table and makes sure that it is on the disk; see `drop_torn_row`."""
        self._kept = True
        path = self.path / name
        begun = path.exists() and path.stat().st_size
        if begun:  # perhaps by an older version, with fewer columns
            header = next(csv.reader(read_lines(path, RESULT_BYTES)))
        text = io.StringIO()
        writer = csv.DictWriter(text, header, extrasaction="ignore", lineterminator="\n")
        if not begun:
            writer.writeheader()
        writer.writerow(row)
        self.folder.append(name, text.getvalue().encode())

    def drop_torn_row(self, name: str) -> None:
        """Removes the last row of a table if its writer was ended in the middle of it."""
        path = self.path / name
        if path.is_file():
            content = read_bytes(path, RESULT_BYTES)
            if not content.endswith(b"\n"):
                self.folder.truncate(name, content.rfind(b"\n") + 1)
            if b"\n" not in content:
                self.folder.remove(name)

    def write_csv(self, name: str, header: Iterable[str], rows: Iterable[Sequence[Any]]) -> None:
        """Writes a table with a header row, all of it or nothing."""
        self._kept = True
        with (
            self._if_it_fits(name),
            self.folder.replacing(name) as file,
            io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True) as text,
        ):
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)

    @contextlib.contextmanager
    def _if_it_fits(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self._unwritten is None or error.errno not in DISK_FULL:
                raise
            self._unwritten.append(name)


@contextlib.contextmanager
def kept_directory(path: Path, *, go_on: bool = False) -> Iterator[RunDirectory]:
    """Gives the output directory of a measurement, which is removed at the end if nothing was measured.

    Args:
        path: the directory.
        go_on: whether it may hold files already.

    Raises:
        ParameterError: it holds files already, is not a directory, or another process writes into it.
        MachineError: it cannot be made or written, or the disk has no room.
    """
    directory = RunDirectory(path, go_on=go_on)
    with contextlib.ExitStack() as lock:
        try:
            lock.enter_context(directory.folder.locked())
        except BlockingIOError:
            raise ParameterError(
                f"{path} is being written by another process; wait for its end, or choose another --out"
            ) from None
        except OSError as error:
            raise MachineError(f"{path} cannot be written ({error.strerror})") from error
        directory.look(go_on=go_on)  # another process may have written until the lock was taken
        try:
            directory.require_room()
            yield directory
        finally:
            directory.discard()


def holds_graph(name: str) -> bool:
    """Returns whether a file has a name of those by which folders hold graphs of networkx.

    Args:
        name: the name of the file, without a folder.
    """
    return re.fullmatch(r"graph-[0-9a-f]+\.graphml", name) is not None


def read_graph(path: Path) -> NetworkxTopology:
    """Returns the graph of networkx that a folder of results holds.

    Args:
        path: the file.

    Raises:
        ParameterError: it cannot be read, or is damaged.
    """
    text = read_text(path, GRAPH_BYTES)
    try:
        return from_graphml(text)
    except (ValueError, TypeError, AttributeError, RecursionError):  # ParameterErrors among them
        raise ParameterError(f"{path} is damaged or not of PolarLab") from None


def graph_of_results(folder: Path, name: str, params: Params) -> Topology | None:
    """Returns the graph of the routers that results are of; None if its file is gone or has changed.

    Args:
        folder: folder of the results.
        name: family of the topology.
        params: its parameters, as the results have them.
    """
    file = str(params.get("from", ""))
    try:
        # Whose results these are chose the name of the file.
        with open_folder(folder).rights():
            return read_graph(folder / file) if holds_graph(file) else make_topology(name, params)
    except (UsageError, OSError):
        return None
