"""Specification of TCP flows: sizes, starts, congestion control and duration."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from experiments.spec.fabric import FabricOptions
from experiments.spec.settings import TrafficSettings
from topology.errors import MachineError, ParameterError, UsageError
from topology.faults import Fault
from topology.files.escaping import quoted
from traffic.engine.flows.tcp import available_congestion_controls, default_congestion_control
from traffic.wire.layout import ETHERNET_BYTES
from traffic.workload.collectives.registry import is_collective
from traffic.workload.flows.flow_list import FlowList, draw_flows, read_flows
from traffic.workload.flows.frames import FRAME_HEADER_BYTES
from traffic.workload.flows.sizes import FlowSizes, make_sizes

REPLAY = "flow-file"  # replaces the name of a pattern
# Congestion control algorithms of Linux; a kernel may lack some.
_OF_LINUX = (
    *("bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "reno"),
    *("scalable", "vegas", "veno", "westwood", "yeah"),
)


@dataclass(frozen=True)
class FlowOptions:
    """The TCP flows to run.

    Attributes:
        pattern: canonical name of a pattern, or REPLAY.
        load: offered load in frames without retransmissions, as a fraction of the hosts' injection capacity,
            over 0 and at most 1; None for a flow file.
        flow_sizes: name of the size distribution; None for a flow file.
        flow_size_limit: size in bytes to which larger flows are truncated; None for no limit.
        flow_file: file of flows to replay; None for random flows.
        tcp: congestion control algorithm of the kernel.
        warmup_s, duration_s: length of warm-up and measurement window in s; flows start in both.
        drain_s: seconds after the window, in which flows can complete but none starts.
        frame_bytes: length of the longest frame in bytes, without FCS.
        seed: seed of the random generator.
        faults: failures and restorations during the traffic.
        faults_asked: requested random failures, from which `faults` was drawn; None if it was not drawn.
    """

    pattern: str
    load: float | None = None
    flow_sizes: str | None = None
    flow_size_limit: int | None = None
    flow_file: str | None = None
    _: KW_ONLY
    tcp: str
    warmup_s: float
    duration_s: float
    drain_s: float
    frame_bytes: int
    seed: int
    faults: tuple[Fault, ...] = ()
    faults_asked: str | None = None

    @property
    def end_s(self) -> float:
        """The time at which incomplete flows are abandoned, in s since the start."""
        return self.warmup_s + self.duration_s + self.drain_s

    def settings(self) -> TrafficSettings:
        """Returns the settings of the flows in the form that results record."""
        return TrafficSettings(**{**vars(self), "faults": tuple(fault.line for fault in self.faults)})


def _check_congestion_control(name: str) -> None:
    available = available_congestion_controls()
    if name in available:
        return
    text = (
        f"congestion control must be one of {', '.join(sorted(available))} on this kernel, got {quoted(name)}"
    )
    if name in _OF_LINUX:
        raise MachineError(f"{text}; `modprobe tcp_{name}` may load it")
    raise UsageError(text)


def default_tcp(_experiment: object, _values: object) -> str:
    """Returns the default congestion control of the kernel."""
    return default_congestion_control()


def flow_frame_bytes(fabric: FabricOptions) -> int:
    """Returns the length in bytes of a flow's longest frame on a fabric, without FCS."""
    return fabric.links.mtu + ETHERNET_BYTES


def check_flows(flows: FlowOptions, fabric: FabricOptions) -> None:
    """Checks that flows can run on a fabric.

    Raises:
        UsageError: the flows cannot run on the fabric.
        MachineError: the kernel lacks their congestion control.
    """
    _check_congestion_control(flows.tcp)
    if is_collective(flows.pattern):
        raise UsageError(f"pattern of flows must not be a collective, got {flows.pattern}")
    list_flows(flows, fabric)


def list_flows(flows: FlowOptions, fabric: FabricOptions) -> FlowList:
    """Returns all flows of a run by start time.

    Args:
        flows: specification of the flows.
        fabric: specification of the fabric.

    Raises:
        UsageError: the sizes, the pattern or the file are invalid, or there are too many flows.
    """
    if flows.flow_file is not None:
        with fabric.reading_inputs():
            found = read_flows(flows.flow_file, fabric.topology, fabric.hosts)
        return _limited(found, flows.flow_size_limit)
    assert flows.flow_sizes is not None
    with fabric.reading_inputs():
        sizes = make_sizes(flows.flow_sizes)
    if flows.flow_size_limit is not None:
        sizes = sizes.limited(flows.flow_size_limit)
    duration_ns = round((flows.warmup_s + flows.duration_s) * 1e9)
    pattern = fabric.pattern(flows.pattern, flows.seed)
    listed = draw_flows(pattern, sizes, flows_per_s(flows, fabric, sizes), duration_ns, flows.seed)
    if not len(listed.bytes):
        raise ParameterError(
            f"flows must be at least 1, got none in {duration_ns / 1e9:g} s at load {flows.load:g}; choose a "
            "longer --duration"
        )
    return listed


def flows_per_s(flows: FlowOptions, fabric: FabricOptions, sizes: FlowSizes) -> float:
    """Returns the mean rate in flows per s at which a host must start flows to offer the load.

    Args:
        flows: specification of the flows.
        fabric: specification of the fabric.
        sizes: distribution of the sizes.

    Returns:
        load x link rate in bit/s / (8 x mean bytes of a flow's frames, each with 66 bytes of headers).
    """
    assert flows.load is not None
    frames_bytes = sizes.mean_bytes() + FRAME_HEADER_BYTES * sizes.mean_segments(fabric.links.mtu)
    return flows.load * fabric.links.rate_bps / (8 * frames_bytes)


def _limited(listed: FlowList, max_bytes: int | None) -> FlowList:
    if max_bytes is None:
        return listed
    return FlowList(listed.time_ns, listed.source, listed.destination, listed.bytes.clip(max=max_bytes))
