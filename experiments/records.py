"""What a run leaves on the disk: its configuration, its result and its series, never overwritten."""

from __future__ import annotations

import contextlib
import csv
import errno
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
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

# Less than this free, and a run is not started: its series may take some MB.
NEEDED_BYTES = 16 << 20


class RunDirectory:
    """The output directory of one run. Until a summary is in it, it is not worth keeping."""

    def __init__(self, path: Path) -> None:
        """Makes the directory, or takes an empty one that is there.

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
        if occupied:
            self._kept = True
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
            for file in self.path.iterdir():
                file.unlink()
        for folder in self._made:
            with contextlib.suppress(OSError):  # it never came to be, or somebody else uses it by now
                folder.rmdir()

    def give_to_caller(self) -> None:
        """Makes whoever used sudo the owner of what was written."""
        user, group = os.environ.get("SUDO_UID"), os.environ.get("SUDO_GID")
        if os.geteuid() == 0 and user and group:
            for path in (*self._made, *self.path.glob("*")):
                with contextlib.suppress(OSError):  # a convenience, no more
                    os.chown(path, int(user), int(group))

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """Writes one JSON object, all of it or nothing."""
        partial = self.path / f".{name}.partial"
        try:
            partial.write_text(json.dumps(content, indent=2) + "\n")
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        partial.replace(self.path / name)
        self._kept |= name == SUMMARY

    def write_csv(self, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Writes a table with a header row."""
        with open(self.path / name, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)


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


def read_csv(path: Path, header: Sequence[str]) -> dict[str, list[str]]:
    """Returns a table's columns by name.

    Raises:
        ParameterError: there is no such file, or it lacks one of the columns in `header`.
    """
    try:
        with open(path, newline="") as file:
            reader = csv.DictReader(file, strict=True)
            rows = list(reader)
            names = reader.fieldnames or ()
    except FileNotFoundError:
        raise ParameterError(f"{path.parent} is no complete run: {path.name} is missing") from None
    except (csv.Error, UnicodeDecodeError, IsADirectoryError):
        raise ParameterError(f"{path} is damaged") from None
    # A row that is too long has a column without a name, one that is too short a value that is None.
    uneven = any(None in row or None in row.values() for row in rows)
    if uneven or not set(header) <= set(names):
        raise ParameterError(f"{path} is damaged: it should have the columns {', '.join(header)}")
    return {name: [row[name] for row in rows] for name in header}
