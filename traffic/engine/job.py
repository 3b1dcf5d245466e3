"""What a sender and a collector are told to do, and what they bring back."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from traffic.metrics.histogram import LogHistogram, from_counts


@dataclass(frozen=True)
class HostSocket:
    """Where a host's packet sockets are opened: its interface, in the namespaces of a process."""

    name: str
    ip: int
    interface: str
    namespace_pid: int

    @property
    def place(self) -> tuple[int, str]:
        """The process and the interface."""
        return self.namespace_pid, self.interface


@dataclass(frozen=True)
class TrafficJob:
    """One run of a schedule.

    Attributes:
        hosts: all hosts, in the order in which the schedule counts them.
        schedule: its settings (`traffic.schedule.from_dict`).
        template: a probe of this run; its length is the frames'.
        run: the run's id in the probes.
        flows: source ports per host pair.
        window_ns: begin and end of what is measured, since the schedule's start; None if that is told later.
        quiet_ns: the collector ends when, after the last packet was sent, none arrived for so long.
        interval_ns: the time step of the series.
        keep_log: whether the collector is to note every packet, beside counting it.
    """

    hosts: tuple[HostSocket, ...]
    schedule: dict[str, Any]
    template: bytes
    run: int
    flows: int
    window_ns: tuple[int, int] | None
    quiet_ns: int
    interval_ns: int
    keep_log: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Returns the job in a form that JSON can carry."""
        return {**asdict(self), "template": self.template.hex()}


def job_from_dict(settings: dict[str, Any]) -> TrafficJob:
    """Returns the job that `to_dict` described."""
    arguments = dict(settings)
    arguments["hosts"] = tuple(HostSocket(**host) for host in arguments["hosts"])
    arguments["template"] = bytes.fromhex(arguments["template"])
    window_ns = arguments["window_ns"]
    arguments["window_ns"] = None if window_ns is None else tuple(window_ns)
    return TrafficJob(**arguments)


@dataclass(frozen=True)
class Clock:
    """The instant at which a schedule starts, on the two clocks that matter.

    Attributes:
        monotonic_ns: by the clock that paces the sender.
        epoch_ns: the same instant by the clock of the probes' time stamps and of the kernel's.
    """

    monotonic_ns: int
    epoch_ns: int


@dataclass(frozen=True)
class Sent:
    """What the sender did.

    Attributes:
        frames: int64, hosts x hosts: sent per ordered pair, in the window.
        bytes: int64, intervals x hosts: handed to each host's interface, by time.
        refused: packets that the host's own queue or interface did not take.
        lag: how late packets were sent, in the window.
        seconds: how long the sender took from the schedule's start.
    """

    frames: npt.NDArray[np.int64]
    bytes: npt.NDArray[np.int64]
    refused: int
    lag: LogHistogram
    seconds: float


# One packet that arrived: who sent it to whom, its number among its source's packets, its flow, how many
# hops it took, and when it was sent and arrived, since the schedule's start.
ARRIVAL = np.dtype(
    [
        ("source", "u4"),
        ("destination", "u4"),
        ("sequence", "u8"),
        ("flow", "u2"),
        ("hops", "u1"),
        ("sent_ns", "i8"),
        ("arrived_ns", "i8"),
    ]
)


@dataclass(frozen=True)
class Received:
    """What the collector saw.

    Attributes:
        frames: int64, hosts x hosts: received per ordered pair, of those sent in the window.
        latency_sum_ns: float64, hosts x hosts: summed over these.
        out_of_order: int64, hosts x hosts: of these, how many came after a later one of their flow
            (RFC 4737, section 3).
        hops_min, hops_max: uint8, hosts x hosts: fewest and most hops of all packets of a pair; 255 and
            0 where there were none.
        hops: int64, 256: packets of the window by their number of hops.
        bytes: int64, intervals x hosts: received by each host, by time of arrival.
        window_bytes: int64, hosts: received in the window, by time of arrival.
        latency: of the packets sent in the window.
        misdelivered: probes that reached another host than theirs.
        damaged: probes whose checks failed.
        log: ARRIVAL records of all packets in the order of their arrival, if that was asked for.
    """

    frames: npt.NDArray[np.int64]
    latency_sum_ns: npt.NDArray[np.float64]
    out_of_order: npt.NDArray[np.int64]
    hops_min: npt.NDArray[np.uint8]
    hops_max: npt.NDArray[np.uint8]
    hops: npt.NDArray[np.int64]
    bytes: npt.NDArray[np.int64]
    window_bytes: npt.NDArray[np.int64]
    latency: LogHistogram
    misdelivered: int
    damaged: int
    log: npt.NDArray[np.void]


def store(result: Sent | Received, path: Path) -> None:
    """Writes a worker's result to `path` (.npz)."""
    np.savez(path, **arrays_of(result))


def arrays_of(result: Sent | Received) -> dict[str, Any]:
    """Returns a result as arrays by name."""
    arrays: dict[str, Any] = {}
    for name, value in vars(result).items():
        if isinstance(value, LogHistogram):
            arrays[f"{name}.counts"] = value.counts
            arrays[f"{name}.total_ns"] = value.total_ns
        else:
            arrays[name] = value
    return arrays


def load_sent(path: Path) -> Sent:
    """Returns what a sender stored."""
    return Sent(**values_of(load_arrays(path)))


def load_received(path: Path) -> Received:
    """Returns what a collector stored."""
    return Received(**values_of(load_arrays(path)))


def load_arrays(path: Path) -> dict[str, Any]:
    """Returns the arrays of a file by name."""
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def values_of(arrays: dict[str, Any]) -> dict[str, Any]:
    """Returns what `arrays_of` was given, by name."""
    values: dict[str, Any] = {}
    for name, array in arrays.items():
        if name.endswith(".counts"):
            base = name.removesuffix(".counts")
            values[base] = from_counts(array, float(arrays[f"{base}.total_ns"]))
        elif not name.endswith(".total_ns"):
            values[name] = array.item() if array.ndim == 0 else array
    return values
