"""Check of outcomes that other machines have computed, before anything is derived from them."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import Any

import msgspec
import numpy as np

from experiments.simulation.task import Outcome, Task
from simulation.kernels.latency import BINS
from simulation.tables.model import ForwardingTables
from topology.files.escaping import quoted

_MOST = 2**53  # limit of all numbers, so that sums of them are exact or at least finite
_SIGNED = "queueing_sum"  # a difference of two sums


def check_outcome(outcome: object, task: Task, tables: ForwardingTables) -> Outcome:
    """Returns an outcome if its values have the declared types and possible sizes.

    Args:
        outcome: the value returned by the process that ran the task.
        task: the task.
        tables: forwarding tables of the fabric.

    Raises:
        ValueError: a value is impossible; the message names the first one in one line.
    """
    if not isinstance(outcome, Outcome) or not is_dataclass(outcome.result):
        raise ValueError(f"it must be an Outcome, got {quoted(type(outcome).__name__)}")
    values = asdict(outcome)
    msgspec.convert(values, Outcome, dec_hook=lambda _kind, value: value)  # its errors are ValueErrors
    _check_numbers("", values)
    result = outcome.result
    periods = result.batches.shape[:1]
    shapes = {
        "latency_counts": (BINS,),
        "hops": (result.hops.size,),
        "link_flits": tables.link_targets.shape,
        "link_drops": tables.link_targets.shape,
        "host_packets": tables.host_routers.shape,
        "batches": (*periods, 3),
        **dict.fromkeys(("batch_hops", "batch_paths", "batch_drops"), periods),
    }
    for name, shape in shapes.items():
        if (found := getattr(result, name).shape) != shape:
            raise ValueError(f"{name} must have the shape {shape}, got {found}")
    if not result.batches[:, 0].all():
        raise ValueError("batches must have lengths of at least 1")
    if result.deadlock and any(
        link >= len(tables.link_targets) for link, _ in result.deadlock.cyclic_dependency
    ):
        raise ValueError("deadlock must name links of the fabric")
    if bool(task.faults) != (outcome.faults is not None):
        raise ValueError("faults must be those of the schedule")
    return outcome


def _check_numbers(name: str, value: Any) -> None:
    """Raises ValueError if a number in nested values is out of range, or a text is not printable."""
    if isinstance(value, dict | list | tuple):
        for key, inner in value.items() if isinstance(value, dict) else ((name, one) for one in value):
            _check_numbers(key, inner)
    elif isinstance(value, np.ndarray):
        if value.dtype != np.int64:
            raise ValueError(f"{name} must be an array of int64, got {value.dtype}")
        for extreme in (value.min(initial=0), value.max(initial=0)):
            _check_numbers(name, int(extreme))
    elif isinstance(value, str):
        if not value.isprintable():
            raise ValueError(f"{name} must be printable, got {quoted(value)}")
    elif isinstance(value, int | float) and not (-_MOST if name == _SIGNED else 0) <= value <= _MOST:
        raise ValueError(f"{name} must be 0 to {_MOST}, got {quoted(value)}")
