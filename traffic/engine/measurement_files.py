"""Files (.npz) of traffic processes with their measurements, which the parent process reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from traffic.metrics.histogram import LogHistogram, histogram_from_counts
from traffic.metrics.measurements import CollectiveOutcome, FlowOutcome, Received, Sent

_NESTED = {"sent": Sent, "received": Received}
Measurement = TypeVar("Measurement")

# Interval between checkpoints, and the maximum share of the time spent on storing them.
CHECKPOINT_EVERY_S, _MAX_SHARE = 1.0, 1 / 200
# With more host pairs than this, storing the counts takes too long while packets arrive: no checkpoints.
_MAX_PAIRS = 250_000


class Checkpoints:
    """Periodically stores the measurements so far in a file, in case the process is killed."""

    def __init__(self, path: Path, pairs: int) -> None:
        """Schedules the first checkpoint.

        Args:
            path: the file.
            pairs: number of host pairs.
        """
        self._path = path
        self._next_s = time.monotonic() + CHECKPOINT_EVERY_S if pairs <= _MAX_PAIRS else float("inf")

    def keep(self, measured: Callable[[], Received | FlowOutcome | CollectiveOutcome]) -> None:
        """Stores the measurements so far if the next checkpoint is due."""
        started_s = time.monotonic()
        if started_s >= self._next_s:
            outcome = measured()
            if isinstance(outcome, CollectiveOutcome):
                store_outcome(outcome, self._path)
            else:
                store(outcome, self._path)
            ended_s = time.monotonic()
            self._next_s = ended_s + max(CHECKPOINT_EVERY_S, (ended_s - started_s) / _MAX_SHARE)


def loaded_or(instead: Measurement | None, load: Callable[[Path], Measurement], path: Path) -> Measurement:
    """Returns the measurements that a process stored, or a substitute.

    Args:
        instead: substitute if the process failed before it stored any; None if it did not fail.
        load: function that reads the file.
        path: the file.
    """
    try:
        return load(path)
    except FileNotFoundError:  # files are written atomically: a file that exists is complete
        if instead is None:
            raise
        return instead


def store(measurement: Sent | Received | FlowOutcome, path: Path) -> None:
    """Writes the measurements of a sender, a collector or TCP flows to `path` atomically."""
    _write(_arrays_of(measurement), path)


def load_sent(path: Path) -> Sent:
    """Loads the measurements of a sender."""
    return Sent(**_values_of(_load_arrays(path)))


def load_received(path: Path) -> Received:
    """Loads the measurements of a collector."""
    return Received(**_values_of(_load_arrays(path)))


def load_flows(path: Path) -> FlowOutcome:
    """Loads the outcome of TCP flows."""
    return FlowOutcome(**_values_of(_load_arrays(path)))


def store_outcome(outcome: CollectiveOutcome, path: Path) -> None:
    """Writes a collective's outcome to `path` atomically."""
    arrays: dict[str, Any] = {}
    for name, value in vars(outcome).items():
        if name in _NESTED:
            arrays |= {f"{name}/{key}": array for key, array in _arrays_of(value).items()}
        else:
            arrays[name] = value
    _write(arrays, path)


def load_outcome(path: Path) -> CollectiveOutcome:
    """Loads the outcome of a collective."""
    arrays = _load_arrays(path)
    values: dict[str, Any] = {}
    for name, kind in _NESTED.items():
        nested = {key.partition("/")[2]: array for key, array in arrays.items() if key.startswith(f"{name}/")}
        values[name] = kind(**_values_of(nested))
    flat = {key: array for key, array in arrays.items() if "/" not in key}
    return CollectiveOutcome(**values, **_values_of(flat))


def _write(arrays: Mapping[str, Any], path: Path) -> None:
    partial = path.with_name(f"partial-{path.name}")
    np.savez(partial, **arrays)
    partial.replace(path)


def _arrays_of(measurement: Sent | Received | FlowOutcome) -> dict[str, Any]:
    """Converts measurements to attribute name -> array, for np.savez; a histogram becomes two arrays."""
    arrays: dict[str, Any] = {}
    for name, value in vars(measurement).items():
        if isinstance(value, LogHistogram):
            arrays[f"{name}.counts"] = value.counts
            arrays[f"{name}.total_ns"] = value.total_ns
        else:
            arrays[name] = value
    return arrays


def _values_of(arrays: dict[str, Any]) -> dict[str, Any]:
    """Converts the arrays of a file to attribute name -> value, the inverse of `_arrays_of`."""
    values: dict[str, Any] = {}
    for name, array in arrays.items():
        if name.endswith(".counts"):
            base = name.removesuffix(".counts")
            values[base] = histogram_from_counts(array, float(arrays[f"{base}.total_ns"]))
        elif not name.endswith(".total_ns"):
            values[name] = array.item() if array.ndim == 0 else array
    return values


def _load_arrays(path: Path) -> dict[str, Any]:
    """Returns the arrays of an .npz file: name -> array."""
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}
