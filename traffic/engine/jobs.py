"""Jobs of the traffic processes: plain data that goes to them as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from traffic.metrics.measurements import FLOW
from traffic.wire.tags import new_key


@dataclass(frozen=True)
class HostSocket:
    """The place of a host's packet sockets: its interface, in the namespaces of a process."""

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
        schedule: its settings (`traffic.workload.schedule.from_dict`).
        template: a probe of this run; its length is the frames'.
        run: the run's id in the probes.
        flows: source ports per host pair.
        window_ns: begin and end of the measured window, since the schedule's start; None if it is set while
            traffic flows.
        quiet_ns: silence after the last packet was sent, upon which the collector ends.
        interval_ns: the time step of the series.
        keep_log: whether the collector logs every packet, beside counting it.
        key: of the probes' tags; hosts must not come to know it.
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
    key: bytes = field(default_factory=new_key, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns the job in a form that JSON can carry."""
        return {**asdict(self), "template": self.template.hex(), "key": self.key.hex()}


@dataclass(frozen=True)
class CollectiveJob:
    """One collective, over message sizes and iterations.

    Attributes:
        hosts: all hosts of the fabric, in order.
        ranks: the index of each rank's host.
        name, algorithm: of the collective.
        message_bytes: the sizes, in the order in which they are run.
        iterations: measured iterations of each size.
        warmup_iterations: iterations of each size before the measured ones.
        slices: number of parts of a vector that are worked on side by side.
        template: the first bytes of a frame of this run.
        frame_bytes: the longest frame.
        run: the run's id in the frames.
        flows: source ports per host pair.
        seed: of the data and of the packets' flows.
        most_in_flight: most packets that a rank sends to another before any is acknowledged.
        acknowledge_after_ns: longest wait of an acknowledgement for more packets to acknowledge.
        silence_ns: silence after which a rank that owes another an answer is taken for dead.
        interval_ns: the time step of the series.
        key: of the frames' tags; hosts must not come to know it.
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
    key: bytes = field(default_factory=new_key, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns the job in a form that JSON can carry."""
        return {**asdict(self), "template": self.template.hex(), "key": self.key.hex()}


@dataclass(frozen=True)
class FlowJob:
    """TCP flows between hosts.

    Attributes:
        hosts: all hosts of the fabric, in order.
        time_ns, source, destination, bytes: of each flow, in the order of the starts (`FlowList`).
        congestion_control: the kernel's algorithm for all flows.
        window_ns: begin and end of the measured window, since the start of the traffic.
        end_ns: time at which flows that are not complete are given up.
        interval_ns: the time step of the series.
    """

    hosts: tuple[HostSocket, ...]
    time_ns: tuple[int, ...]
    source: tuple[int, ...]
    destination: tuple[int, ...]
    bytes: tuple[int, ...]
    congestion_control: str
    window_ns: tuple[int, int]
    end_ns: int
    interval_ns: int

    def to_dict(self) -> dict[str, Any]:
        """Returns the job in a form that JSON can carry."""
        return asdict(self)

    def records(self) -> npt.NDArray[np.void]:
        """Returns the flows as FLOW records, none of which has started."""
        flows = np.zeros(len(self.bytes), FLOW)
        for name in ("time_ns", "source", "destination", "bytes"):
            flows[name] = getattr(self, name)
        flows["started_ns"] = flows["finished_ns"] = -1
        return flows


def flow_job_from_dict(settings: dict[str, Any]) -> FlowJob:
    """Returns the job that `FlowJob.to_dict` described."""
    lists = ("time_ns", "source", "destination", "bytes", "window_ns")
    arguments = {**settings, **{name: tuple(settings[name]) for name in lists}}
    return FlowJob(**{**arguments, "hosts": _hosts(settings)})


def job_from_dict(settings: dict[str, Any]) -> TrafficJob:
    """Returns the job that `TrafficJob.to_dict` described."""
    arguments = _common_arguments(settings)
    window_ns = arguments["window_ns"]
    arguments["window_ns"] = None if window_ns is None else tuple(window_ns)
    return TrafficJob(**arguments)


def collective_job_from_dict(settings: dict[str, Any]) -> CollectiveJob:
    """Returns the job that `CollectiveJob.to_dict` described."""
    arguments = _common_arguments(settings)
    for name in ("ranks", "message_bytes"):
        arguments[name] = tuple(arguments[name])
    return CollectiveJob(**arguments)


def _common_arguments(settings: dict[str, Any]) -> dict[str, Any]:
    binary = {name: bytes.fromhex(settings[name]) for name in ("template", "key")}
    return {**settings, "hosts": _hosts(settings), **binary}


def _hosts(settings: dict[str, Any]) -> tuple[HostSocket, ...]:
    return tuple(HostSocket(**host) for host in settings["hosts"])
