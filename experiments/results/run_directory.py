"""Output directories and files of experiments: written whole or not at all, never overwritten."""

from __future__ import annotations

import contextlib
import csv
import errno
import fcntl
import io
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.codec import plain
from topology.base import Params, Topology
from topology.errors import MachineError, ParameterError, UsageError
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


def give_to_caller(paths: Iterable[Path]) -> None:
    """Makes the user who called sudo the owner of some files."""
    user, group = os.environ.get("SUDO_UID"), os.environ.get("SUDO_GID")
    if os.geteuid() == 0 and user and group:
        for path in paths:
            with contextlib.suppress(OSError):  # a convenience, no more
                os.chown(path, int(user), int(group), follow_symlinks=False)


class RunDirectory:
    """The output directory of a run or a sweep. Until a result is in it, it is not worth keeping."""

    def __init__(self, path: Path, *, go_on: bool = False) -> None:
        """Makes the directory, or takes one that exists.

        Args:
            path: the directory.
            go_on: whether it may hold files already.

        Raises:
            ParameterError: it holds files already, or is not a directory.
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
            raise ParameterError(f"{path} is not a directory; choose another --out") from None
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

    def keep(self) -> None:
        """Makes what is written from now on worth keeping, even if nothing else follows."""
        self._kept = True

    def discard(self) -> None:
        """Removes all files of a run of which nothing was measured; otherwise does nothing."""
        if self._kept:
            return
        if self.path.is_dir():
            for entry in self.path.iterdir():
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for folder in self._made:
            with contextlib.suppress(OSError):  # it never came to be, or somebody else uses it by now
                folder.rmdir()

    def give_to_caller(self) -> None:
        """Makes the user who called sudo the owner of all written files."""
        written = self._written if self._found_occupied else self.path.rglob("*")
        give_to_caller((*self._made, *written))

    def write_record(self, name: str, record: Any) -> None:
        """Writes a dataclass as one JSON object, all of it or nothing."""
        file = self.path / name
        file.parent.mkdir(exist_ok=True)
        partial = file.with_name(f".{file.name}.partial")
        try:
            partial.write_text(json.dumps(plain(record), indent=2) + "\n")
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        partial.replace(file)
        self._written |= {file, file.parent}
        self._kept |= name == SUMMARY

    def write_text(self, name: str, text: str) -> None:
        """Writes a text that the results come with."""
        file = self.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self._written |= {file, file.parent}

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
        """Removes the last row of a table if its writer was ended in the middle of it."""
        path = self.path / name
        if path.is_file():
            content = path.read_bytes()
            if not content.endswith(b"\n"):
                os.truncate(path, content.rfind(b"\n") + 1)
            if b"\n" not in content:
                path.unlink()

    def write_csv(self, name: str, header: Iterable[str], rows: Iterable[Sequence[Any]]) -> None:
        """Writes a table with a header row, all of it or nothing."""
        file = self.path / name
        file.parent.mkdir(exist_ok=True)
        partial = file.with_name(f".{file.name}.partial")
        try:
            with open(partial, "w", newline="") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerow(header)
                writer.writerows(rows)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        partial.replace(file)
        self._written |= {file, file.parent}


@contextlib.contextmanager
def kept_directory(path: Path, *, go_on: bool = False) -> Iterator[RunDirectory]:
    """Gives the output directory of a measurement; at the end, its files belong to the caller.

    Args:
        path: the directory.
        go_on: whether it may hold files already.

    Raises:
        ParameterError: it holds files already, is not a directory, or another process writes into it.
        MachineError: it cannot be made or written, or the disk has no room.
    """
    directory = RunDirectory(path, go_on=go_on)
    with _locked(path):
        try:
            yield directory
        finally:
            directory.discard()
            directory.give_to_caller()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds the lock of a directory, which ends with the process at the latest and leaves no file.

    Raises:
        ParameterError: another process holds it.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ParameterError(
                f"{path} is being written by another process; wait for its end, or choose another --out"
            ) from None
        except OSError:  # of a file system without locks
            pass
        yield
    finally:
        os.close(descriptor)


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
    try:
        return from_graphml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(f"{path} cannot be read ({error.strerror})") from None
    except ValueError:  # a ParameterError, and those of UTF-8
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
        return read_graph(folder / file) if holds_graph(file) else make_topology(name, params)
    except UsageError:
        return None


def check_new(path: Path) -> None:
    """Raises UsageError if a file exists, or its folder does not."""
    if os.path.lexists(path):
        raise UsageError(f"{path} exists already; choose another file")
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is not a directory to write {path.name} into")


def write_new(path: Path, content: bytes) -> None:
    """Writes a file that does not exist yet, whole or not at all.

    Args:
        path: the new file.
        content: its bytes.

    Raises:
        UsageError: it exists, or its folder does not.
        OSError: it cannot be written.
    """
    try:
        with path.open("xb") as file:
            try:
                file.write(content)
                file.flush()
            except BaseException:  # the disk is full, or Ctrl-C: no half file stays
                path.unlink()
                raise
    except FileExistsError:
        raise UsageError(f"{path} exists already; choose another file") from None
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise UsageError(f"{path.parent} is not a directory to write {path.name} into") from None
