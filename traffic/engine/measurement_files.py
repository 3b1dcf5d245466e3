"""Files by which the traffic processes hand their measurements over (.npz)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from traffic.metrics.histogram import LogHistogram, histogram_from_counts
from traffic.metrics.measurements import CollectiveOutcome, FlowOutcome, Received, Sent

_NESTED = {"sent": Sent, "received": Received}


def store(measurement: Sent | Received | FlowOutcome, path: Path) -> None:
    """Writes the measurement of a sender, of a collector or of TCP flows to `path`."""
    np.savez(path, **_arrays_of(measurement))


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
    """Writes a collective's outcome to `path`."""
    arrays: dict[str, Any] = {}
    for name, value in vars(outcome).items():
        if name in _NESTED:
            arrays |= {f"{name}/{key}": array for key, array in _arrays_of(value).items()}
        else:
            arrays[name] = value
    np.savez(path, **arrays)


def load_outcome(path: Path) -> CollectiveOutcome:
    """Returns the outcome that `store_outcome` wrote."""
    arrays = _load_arrays(path)
    values: dict[str, Any] = {}
    for name, kind in _NESTED.items():
        nested = {key.partition("/")[2]: array for key, array in arrays.items() if key.startswith(f"{name}/")}
        values[name] = kind(**_values_of(nested))
    flat = {key: array for key, array in arrays.items() if "/" not in key}
    return CollectiveOutcome(**values, **_values_of(flat))


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
