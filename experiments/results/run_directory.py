"""What a run leaves on the disk: its configuration, its result and its series, never overwritten."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from topology.errors import MachineError, ParameterError

MANIFEST = "manifest.json"
SUMMARY = "summary.json"
# Columns of the series.
THROUGHPUT_COLUMNS = ("time_s", "host", "tx_bytes", "rx_bytes")
PAIR_COLUMNS = (
    "source",
    "destination",
    "distance",
    "sent_frames",
    "received_frames",
    "latency_mean_ms",
    "hops_min",
    "hops_max",
    "out_of_order_frames",
)
HOP_COLUMNS = ("hops", "packets")
LATENCY_COLUMNS = ("latency_ms", "packets")
LINK_LOADS = "link_loads.csv"
LINK_LOAD_COLUMNS = ("link", "port", "load", "dropped_packets")
LINK_COLUMNS = ("time_s", "link", "port", "tx_bytes", "dropped_packets", "waiting_packets")


# Less than this free, and a run is not started: its series may take some MB.
NEEDED_BYTES = 16 << 20


def seed_folder(seed: int) -> str:
    """Returns the name of the folder of one of several runs that differ in their seeds."""
    return f"seed-{seed}"


def give_to_caller(paths: Iterable[Path]) -> None:
    """Makes whoever used sudo the owner of some files."""
    user, group = os.environ.get("SUDO_UID"), os.environ.get("SUDO_GID")
    if os.geteuid() == 0 and user and group:
        for path in paths:
            with contextlib.suppress(OSError):  # a convenience, no more
                os.chown(path, int(user), int(group), follow_symlinks=False)


class RunDirectory:
    """The output directory of a run or a sweep. Until a result is in it, it is not worth keeping."""

    def __init__(self, path: Path, *, go_on: bool = False) -> None:
        """Makes the directory, or takes an empty one that is there, or with `go_on` one that is not empty.

        Raises:
            ParameterError: it holds something already, or is no directory.
            MachineError: it cannot be made or written, or the disk has no room.
        """
        self.path = path
        self._made = [folder for folder in (path, *path.parents) if not folder.exists()]
        self._kept = False
        try:
            path.mkdir(parents=True, exist_ok=True)
            occupied = any(path.iterdir())
            writable = os.access(path, os.W_OK)
        except (FileExistsError, NotADirectoryError):
            raise ParameterError(f"{path} is no directory; choose another --out") from None
        except OSError as error:
            self.discard()
            if error.errno == errno.ENAMETOOLONG:
                raise ParameterError(f"{path} is too long a name; choose another --out") from None
            raise MachineError(f"{path} cannot be written ({error.strerror})") from error
        self._kept = self._found_occupied = occupied
        self._written: set[Path] = set()
        if occupied and not go_on:
            raise ParameterError(f"{path} is not empty; choose another --out, nothing is overwritten")
        if not writable:
            raise MachineError(f"{path} cannot be written (it is read-only)")
        free = shutil.disk_usage(path).free
        if free < NEEDED_BYTES:
            self.discard()
            raise MachineError(
                f"no room on the disk for {path}: {free >> 20} MiB are free, {NEEDED_BYTES >> 20} MiB needed"
            )

    def discard(self) -> None:
        """Removes all that was made for a run of which nothing was measured; else does nothing."""
        if self._kept:
            return
        if self.path.is_dir():
            for entry in self.path.iterdir():
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for folder in self._made:
            with contextlib.suppress(OSError):  # it never came to be, or somebody else uses it by now
                folder.rmdir()

    def give_to_caller(self) -> None:
        """Makes whoever used sudo the owner of what was written."""
        written = self._written if self._found_occupied else self.path.rglob("*")
        give_to_caller((*self._made, *written))

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """Writes one JSON object, all of it or nothing."""
        file = self.path / name
        file.parent.mkdir(exist_ok=True)
        partial = file.with_name(f".{file.name}.partial")
        try:
            partial.write_text(json.dumps(content, indent=2) + "\n")
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        partial.replace(file)
        self._written |= {file, file.parent}
        self._kept |= name == SUMMARY

    def append_row(self, name: str, header: Sequence[str], row: Mapping[str, Any]) -> None:
        """Adds a row to a table and makes sure that it is on the disk; see `drop_torn_row`."""
        path = self.path / name
        text = io.StringIO()
        begun = path.exists() and path.stat().st_size
        if begun:  # perhaps by an older version, with fewer columns
            with path.open() as file:
                header = next(csv.reader(file))
        writer = csv.DictWriter(text, header, extrasaction="ignore", lineterminator="\n")
        if not begun:
            writer.writeheader()
        writer.writerow(row)
        with open(path, "a") as file:
            file.write(text.getvalue())
            file.flush()
            os.fsync(file.fileno())
        self._written.add(path)
        self._kept = True

    def drop_torn_row(self, name: str) -> None:
        """Removes the last row of a table if whoever wrote it was ended in the middle of it."""
        path = self.path / name
        if path.is_file():
            content = path.read_bytes()
            if not content.endswith(b"\n"):
                os.truncate(path, content.rfind(b"\n") + 1)
            if b"\n" not in content:
                path.unlink()

    def write_csv(self, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Writes a table with a header row, all of it or nothing."""
        partial = self.path / f".{name}.partial"
        try:
            with open(partial, "w", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(header)
                writer.writerows(rows)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        partial.replace(self.path / name)


@contextlib.contextmanager
def kept_directory(path: Path, *, go_on: bool = False) -> Iterator[RunDirectory]:
    """Gives the output directory for a measurement; at the end, what is worth keeping is the caller's.

    Arguments and errors as RunDirectory.
    """
    directory = RunDirectory(path, go_on=go_on)
    try:
        yield directory
    finally:
        directory.discard()
        directory.give_to_caller()


def read_json(path: Path) -> dict[str, Any]:
    """Returns the JSON object of a file.

    Raises:
        ParameterError: there is none, or it is damaged.
    """
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        raise ParameterError(f"{path.parent} holds no run: {path.name} is missing") from None
    except (ValueError, UnicodeDecodeError, IsADirectoryError, NotADirectoryError):
        raise ParameterError(f"{path} is damaged or not of PolarLab") from None
    if not isinstance(content, dict):
        raise ParameterError(f"{path} is damaged or not of PolarLab")
    return content


def read_csv(path: Path, header: Sequence[str], later: Sequence[str] = ()) -> dict[str, list[str]]:
    """Returns a table's columns by name.

    Columns in `later` are those that tables of older versions lack; there they are empty.

    Raises:
        ParameterError: there is no such file, or it lacks one of the columns in `header`.
    """
    try:
        return read_csv_text(path.read_text(), header, later)
    except FileNotFoundError:
        raise ParameterError(f"{path.parent} is no complete run: {path.name} is missing") from None
    except (csv.Error, UnicodeDecodeError, IsADirectoryError):
        raise ParameterError(f"{path} is damaged") from None
    except KeyError:
        raise ParameterError(f"{path} is damaged: it should have the columns {', '.join(header)}") from None


def read_csv_text(text: str, header: Sequence[str], later: Sequence[str] = ()) -> dict[str, list[str]]:
    """Returns the columns of a table by name.

    Raises:
        csv.Error: it is no table.
        KeyError: it lacks one of the columns in `header`, or a row is too long or too short.
    """
    reader = csv.DictReader(io.StringIO(text), strict=True)
    rows = list(reader)
    names = reader.fieldnames or ()
    # A row that is too long has a column without a name, one that is too short a value that is None.
    uneven = any(None in row or None in row.values() for row in rows)
    if uneven or not set(header) - set(later) <= set(names):
        raise KeyError(*header)
    return {name: [row.get(name, "") for row in rows] for name in header}


@contextlib.contextmanager
def damage_told(folder: Path) -> Iterator[None]:
    """Says of whatever trips over the content of files that these are damaged: as a ParameterError."""
    try:
        yield
    except ParameterError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise ParameterError(f"{folder} is damaged, or of another version of PolarLab") from error
