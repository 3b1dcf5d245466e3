"""Files by which the traffic processes hand their measurements over (.npz)."""

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

# A checkpoint is stored about so often, and in at most this share of the time.
CHECKPOINT_EVERY_S, _MOST_SHARE = 1.0, 1 / 200
# Counts of more pairs of hosts take too long to be stored while packets arrive.
_MOST_PAIRS = 250_000


class Checkpoints:
    """Measurements so far in a file, so that something is left of them if the process is killed."""

    def __init__(self, path: Path, pairs: int) -> None:
        """Begins with the first checkpoint due a moment later.

        Args:
            path: the file.
            pairs: the number of pairs of hosts.
        """
        self._path = path
        self._next_s = time.monotonic() + CHECKPOINT_EVERY_S if pairs <= _MOST_PAIRS else float("inf")

    def keep(self, measured: Callable[[], Received | FlowOutcome | CollectiveOutcome]) -> None:
        """Stores the measurement so far if the next checkpoint is due."""
        started_s = time.monotonic()
        if started_s >= self._next_s:
            outcome = measured()
            if isinstance(outcome, CollectiveOutcome):
                store_outcome(outcome, self._path)
            else:
                store(outcome, self._path)
            ended_s = time.monotonic()
            self._next_s = ended_s + max(CHECKPOINT_EVERY_S, (ended_s - started_s) / _MOST_SHARE)


def loaded_or(instead: Measurement | None, load: Callable[[Path], Measurement], path: Path) -> Measurement:
    """Returns the measurement that a process stored.

    Args:
        instead: the measurement where the process stored none before it failed; None if it did not fail.
        load: reads a file.
        path: the file.
    """
    try:
        return load(path)
    except FileNotFoundError:  # files are written whole or not at all
        if instead is None:
            raise
        return instead


def store(measurement: Sent | Received | FlowOutcome, path: Path) -> None:
    """Writes the measurement of a sender, of a collector or of TCP flows to `path`, all of it or nothing."""
    _write(_arrays_of(measurement), path)


def load_sent(path: Path) -> Sent:
    """Returns the measurement that a sender stored."""
    return Sent(**_values_of(_load_arrays(path)))


def load_received(path: Path) -> Received:
    """Returns the measurement that a collector stored."""
    return Received(**_values_of(_load_arrays(path)))


def load_flows(path: Path) -> FlowOutcome:
    """Returns the outcome of TCP flows that was stored."""
    return FlowOutcome(**_values_of(_load_arrays(path)))


def store_outcome(outcome: CollectiveOutcome, path: Path) -> None:
    """Writes a collective's outcome to `path`, all of it or nothing."""
    arrays: dict[str, Any] = {}
    for name, value in vars(outcome).items():
        if name in _NESTED:
            arrays |= {f"{name}/{key}": array for key, array in _arrays_of(value).items()}
        else:
            arrays[name] = value
    _write(arrays, path)


def load_outcome(path: Path) -> CollectiveOutcome:
    """Returns the outcome that `store_outcome` wrote."""
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
    """Returns a measurement as arrays by name."""
    arrays: dict[str, Any] = {}
    for name, value in vars(measurement).items():
        if isinstance(value, LogHistogram):
            arrays[f"{name}.counts"] = value.counts
            arrays[f"{name}.total_ns"] = value.total_ns
        else:
            arrays[name] = value
    return arrays


def _values_of(arrays: dict[str, Any]) -> dict[str, Any]:
    """Returns a measurement's values by name, the inverse of `_arrays_of`."""
    values: dict[str, Any] = {}
    for name, array in arrays.items():
        if name.endswith(".counts"):
            base = name.removesuffix(".counts")
            values[base] = histogram_from_counts(array, float(arrays[f"{base}.total_ns"]))
        elif not name.endswith(".total_ns"):
            values[name] = array.item() if array.ndim == 0 else array
    return values


def _load_arrays(path: Path) -> dict[str, Any]:
    """Returns the arrays of a file by name."""
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}
