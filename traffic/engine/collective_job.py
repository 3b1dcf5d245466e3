"""What the process that runs a collective is told to do, and what it brings back."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from traffic.engine.job import HostSocket, Received, Sent, arrays_of, load_arrays, values_of


@dataclass(frozen=True)
class CollectiveJob:
    """One collective, over message sizes and iterations.

    Attributes:
        hosts: all hosts of the fabric, in order.
        ranks: the index of each rank's host.
        name, algorithm: of the collective.
        message_bytes: the sizes, in the order in which they are run.
        iterations: that count, of each size.
        warmup_iterations: that come before and do not.
        slices: in how many parts, side by side, a vector is worked on.
        template: the first bytes of a frame of this run.
        frame_bytes: the longest frame.
        run: the run's id in the frames.
        flows: source ports per host pair.
        seed: of the data and of the packets' flows.
        most_in_flight: packets that a rank sends to another before any is acknowledged, at most.
        acknowledge_after_ns: how long an acknowledgement may wait for more to acknowledge.
        silence_ns: a rank that does not answer another for so long is dead.
        interval_ns: the time step of the series.
    """

    hosts: tuple[HostSocket, ...]
    ranks: tuple[int, ...]
    name: str
    algorithm: str
    message_bytes: tuple[int, ...]
    iterations: int
    warmup_iterations: int
    slices: int
    template: bytes
    frame_bytes: int
    run: int
    flows: int
    seed: int
    most_in_flight: int
    acknowledge_after_ns: int
    silence_ns: int
    interval_ns: int

    def to_dict(self) -> dict[str, Any]:
        """Returns the job in a form that JSON can carry."""
        return {**asdict(self), "template": self.template.hex()}


def collective_job_from_dict(settings: dict[str, Any]) -> CollectiveJob:
    """Returns the job that `to_dict` described."""
    arguments = dict(settings)
    arguments["hosts"] = tuple(HostSocket(**host) for host in arguments["hosts"])
    arguments["template"] = bytes.fromhex(arguments["template"])
    for name in ("ranks", "message_bytes"):
        arguments[name] = tuple(arguments[name])
    return CollectiveJob(**arguments)


# One iteration: of which size, its number (negative ones are warm-up), when it began since the run's start,
# how long until the last rank had its result, and how many ranks had a wrong one.
ITERATION = np.dtype(
    [
        ("message_bytes", "i8"),
        ("iteration", "i4"),
        ("start_ns", "i8"),
        ("completion_ns", "i8"),
        ("wrong_ranks", "i4"),
    ]
)


@dataclass(frozen=True)
class CollectiveOutcome:
    """What a collective came to.

    Attributes:
        sent, received: its segments, between all hosts of the fabric; every transmission counts.
        hosts: int64, ranks: the index of each rank's host.
        iterations: ITERATION records of all iterations that were completed.
        finished_ns: int64, iterations x ranks: when each rank had its result, since the iteration's start.
        resent: how many transmissions were of segments sent before.
        acknowledgements_sent, acknowledgements_received: frames that carry no data.
        failed: why it ended before its end, or nothing.
    """

    sent: Sent
    received: Received
    hosts: npt.NDArray[np.int64]
    iterations: npt.NDArray[np.void]
    finished_ns: npt.NDArray[np.int64]
    resent: int
    acknowledgements_sent: int
    acknowledgements_received: int
    failed: str


_PARTS = {"sent": Sent, "received": Received}


def store_outcome(outcome: CollectiveOutcome, path: Path) -> None:
    """Writes an outcome to `path` (.npz)."""
    arrays: dict[str, Any] = {}
    for name, value in vars(outcome).items():
        if name in _PARTS:
            arrays |= {f"{name}/{key}": array for key, array in arrays_of(value).items()}
        else:
            arrays[name] = value
    np.savez(path, **arrays)


def load_outcome(path: Path) -> CollectiveOutcome:
    """Returns what `store_outcome` wrote."""
    arrays = load_arrays(path)
    values: dict[str, Any] = {}
    for name, kind in _PARTS.items():
        own = {key.partition("/")[2]: array for key, array in arrays.items() if key.startswith(f"{name}/")}
        values[name] = kind(**values_of(own))
    others = {key: array for key, array in arrays.items() if "/" not in key}
    return CollectiveOutcome(**values, **values_of(others))
