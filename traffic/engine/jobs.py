"""Jobs of the traffic processes: plain data, passed to them as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from traffic.metrics.measurements import FLOW
from traffic.wire.tags import new_key


@dataclass(frozen=True)
class HostSocket:
    """Interfaces at which a host's packets are sent and observed.

    Attributes:
        name, ip: the host's name, and its IPv4 address as an integer.
        interface: the host's own interface, from which its packets are sent.
        namespace_pid: a process in the host's network namespace.
        switch_interface: the switch's interface to the host. Arrivals are observed there: every frame that
            this interface sends reaches the host, and root on the host cannot affect the observation.
        switch_pid: a process in the switch's network namespace.
    """

    name: str
    ip: int
    interface: str
    namespace_pid: int
    switch_interface: str
    switch_pid: int

    @property
    def sending_place(self) -> tuple[int, str]:
        """Where the host's packets are sent: a process in the network namespace, and the interface."""
        return self.namespace_pid, self.interface

    @property
    def arrival_place(self) -> tuple[int, str]:
        """Where the host's arrivals are observed: a process in the network namespace, and the interface."""
        return self.switch_pid, self.switch_interface


@dataclass(frozen=True)
class TrafficJob:
    """One run of a schedule.

    Attributes:
        hosts: all hosts, in the order of the schedule.
        schedule: settings of the schedule (`traffic.workload.schedule.schedule_from_dict`).
        template: a probe of this run; all frames have its length.
        run: the run's id in the probes.
        flows: number of source ports per host pair.
        window_ns: start and end of the measurement window, since the schedule's start; None if it is set
            while traffic is running.
        quiet_ns: the collector ends if nothing arrives for this long after the end of sending.
        interval_ns: time step of the series.
        keep_log: whether the collector also logs every packet.
        watched_flow: the flow, sent at constant intervals, whose outages are reported live; None if no
            flow is watched.
        settling_ns: how long before the window a late departure still affects the window.
        key: secret key of the probes' tags, which hosts must not learn.
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
    watched_flow: int | None = None
    settling_ns: int = 0
    key: bytes = field(default_factory=new_key, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns the job as JSON-compatible data."""
        return {**asdict(self), "template": self.template.hex(), "key": self.key.hex()}


@dataclass(frozen=True)
class CollectiveJob:
    """One collective, with several message sizes and iterations.

    Attributes:
        hosts: all hosts of the fabric, in order.
        ranks: index of each rank's host.
        name, algorithm: names of the collective and its algorithm.
        message_bytes: message sizes, in the order in which they are run.
        iterations: measured iterations per size.
        warmup_iterations: iterations per size before the measured ones.
        slices: number of slices of a vector that are processed concurrently.
        template: the first bytes of a frame of this run.
        frame_bytes: maximum frame length.
        run: the run's id in the frames.
        flows: number of source ports per host pair.
        seed: seed of the data and of the packets' flows.
        max_in_flight: maximum number of unacknowledged packets from one rank to another.
        acknowledge_after_ns: maximum delay of an acknowledgement, which waits for more packets.
        silence_ns: time after which a rank that does not acknowledge is considered unreachable.
        interval_ns: time step of the series.
        key: secret key of the frames' tags, which hosts must not learn.
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
    max_in_flight: int
    acknowledge_after_ns: int
    silence_ns: int
    interval_ns: int
    key: bytes = field(default_factory=new_key, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Returns the job as JSON-compatible data."""
        return {**asdict(self), "template": self.template.hex(), "key": self.key.hex()}


@dataclass(frozen=True)
class FlowJob:
    """TCP flows between hosts.

    Attributes:
        hosts: all hosts of the fabric, in order.
        time_ns, source, destination, bytes: start time, hosts and size of each flow, in the order of the
            start times (`FlowList`).
        congestion_control: congestion control algorithm of the kernel, for all flows.
        window_ns: start and end of the measurement window, since the start of the traffic.
        end_ns: time at which incomplete flows are aborted.
        interval_ns: time step of the series.
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
        """Returns the job as JSON-compatible data."""
        return asdict(self)

    def records(self) -> npt.NDArray[np.void]:
        """Returns the flows as FLOW records, marked as not started."""
        flows = np.zeros(len(self.bytes), FLOW)
        for name in ("time_ns", "source", "destination", "bytes"):
            flows[name] = getattr(self, name)
        flows["started_ns"] = flows["finished_ns"] = -1
        return flows


def flow_job_from_dict(settings: dict[str, Any]) -> FlowJob:
    """Recreates a job from the result of `FlowJob.to_dict`."""
    lists = ("time_ns", "source", "destination", "bytes", "window_ns")
    arguments = {**settings, **{name: tuple(settings[name]) for name in lists}}
    return FlowJob(**{**arguments, "hosts": _hosts(settings)})


def job_from_dict(settings: dict[str, Any]) -> TrafficJob:
    """Recreates a job from the result of `TrafficJob.to_dict`."""
    arguments = _common_arguments(settings)
    window_ns = arguments["window_ns"]
    arguments["window_ns"] = None if window_ns is None else tuple(window_ns)
    return TrafficJob(**arguments)


def collective_job_from_dict(settings: dict[str, Any]) -> CollectiveJob:
    """Recreates a job from the result of `CollectiveJob.to_dict`."""
    arguments = _common_arguments(settings)
    for name in ("ranks", "message_bytes"):
        arguments[name] = tuple(arguments[name])
    return CollectiveJob(**arguments)


def _common_arguments(settings: dict[str, Any]) -> dict[str, Any]:
    binary = {name: bytes.fromhex(settings[name]) for name in ("template", "key")}
    return {**settings, "hosts": _hosts(settings), **binary}


def _hosts(settings: dict[str, Any]) -> tuple[HostSocket, ...]:
    return tuple(HostSocket(**host) for host in settings["hosts"])
