"""Builds the arrays of a simulated network from forwarding tables and settings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from simulation.arrays.forwarding import forwarding_arrays
from simulation.arrays.ports import global_ports, make_ports, make_queues, ports_of_hosts
from simulation.kernels import state as const
from simulation.kernels.latency import BINS
from simulation.kernels.random import seeded
from simulation.kernels.state import NONE, Int32, Int64, State
from simulation.settings import Decision, RouterSettings, Workload
from simulation.sources import Sources, make_sources, scheduled_packets
from simulation.tables.model import ForwardingTables
from simulation.timing import SOURCE_CYCLES
from topology.addressing import INITIAL_TTL
from topology.errors import ParameterError

_POLICIES = {
    "hop": const.BY_HOP,
    "class": const.BY_CLASS,
    "any": const.ANY_CHANNEL,
    "random": const.RANDOM_CHANNEL,
    "free": const.FREE_CHANNEL,
    "level": const.BY_LEVEL,
}
_LAWS = {
    "minimal": const.MINIMAL_LAW,
    "threshold": const.THRESHOLD_LAW,
    "product": const.PRODUCT_LAW,
    "buckets": const.BUCKET_LAW,
    "piggyback": const.PIGGYBACK_LAW,
}
_SOURCE_SLOTS = 4096  # range of the source wheel in cycles; sources that are due later are planned again
_STREAM = 2  # stream of the routers' random generators
_NEVER = 1 << 60


def make_network(
    tables: ForwardingTables,
    workload: Workload | None,
    routers: RouterSettings,
    decision: Decision,
    seed: int,
) -> State:
    """Returns an empty network.

    Args:
        tables: forwarding tables.
        workload: the workload; None if hosts send only messages of an application.
        routers: settings of routers and links.
        decision: decision law of adaptive routing.
        seed: seed of the run, at least 0.

    Raises:
        ParameterError: with flow control `drop`, the decision law needs queues of other routers or the
            workload is an application; with flow control `credit`, the workload has a schedule.
    """
    _check(workload, routers, decision)
    sources = make_sources(workload, tables.hosts, routers.packet_flits, seed)
    settings = _settings(routers, decision, sources)
    first_ports, inputs, outputs = make_ports(tables, routers)
    host_ports = ports_of_hosts(inputs, outputs)
    queues = make_queues(outputs, routers, settings)
    most = _max_packets(queues, routers, settings)
    credits, rings = _credits(inputs, outputs, routers, most)
    network = State(
        settings=settings,
        counts=_counts(most),
        first_ports=first_ports,
        inputs=inputs,
        outputs=outputs,
        used=np.zeros(len(inputs), np.int32),
        global_ports=global_ports(tables),
        queues=queues,
        hosts=_hosts(host_ports, routers, sources),
        packets=np.zeros((most, const.PACKET_COLUMNS), np.int32),
        unused=np.arange(most, dtype=np.int32)[::-1].copy(),
        random=seeded(seed, _STREAM, tables.routers),
        host_random=sources.random,
        **_events(routers, most, len(inputs), tables.hosts, len(queues)),
        credits=credits,
        credit_rings=rings,
        **forwarding_arrays(tables, settings),
        gaps=sources.gaps,
        guide=sources.guide,
        shares=sources.shares,
        hot_hosts=sources.hot_hosts,
        schedule=scheduled_packets(workload, routers),
        host_routers=tables.host_routers,
        host_ports=np.where(tables.delivered, host_ports, NONE).astype(np.int32),
        **_measures(tables.hosts, len(inputs)),
        buckets=np.zeros((0, 0), np.int32),
        messages=np.zeros((0, const.MESSAGE_COLUMNS), np.int64),
        **_message_lists(tables.hosts, most),
    )
    return packed(network)


def _measures(hosts: int, ports: int) -> dict[str, Any]:
    """Returns the measurement arrays of `State`, filled with 0, by name."""
    return {
        "latencies": np.zeros(BINS, np.int64),
        "hops": np.zeros(INITIAL_TTL, np.int64),
        "host_packets": np.zeros(hosts, np.int64),
        "port_drops": np.zeros(ports, np.int64),
    }


def _counts(max_packets: int) -> Int64:
    counts = np.zeros(const.COUNTS, np.int64)
    counts[[const.WINDOW_BEGIN, const.WINDOW_END]] = _NEVER
    counts[const.UNUSED] = max_packets
    return counts


def _message_lists(hosts: int, max_packets: int) -> dict[str, Any]:
    """Returns the arrays of `State` that link messages in lists, by name."""
    return {
        "successors": np.zeros(0, np.int32),
        "message_wheel": np.full(_SOURCE_SLOTS, NONE, np.int32),
        "message_queues": np.full((hosts, const.MESSAGE_QUEUE_COLUMNS), NONE, np.int32),
        "message_hosts": np.zeros(hosts, np.int32),
        "packet_messages": np.zeros(max_packets, np.int32),
    }


def _check(workload: Workload | None, routers: RouterSettings, decision: Decision) -> None:
    """Raises ParameterError if the decision law or the workload does not fit the flow control."""
    if workload is None and routers.flow_control == "drop":
        raise ParameterError("applications require flow control credit, which is lossless, got drop")
    reads_remote_queues = decision.whole_path or decision.law == "piggyback"
    if reads_remote_queues and routers.flow_control == "drop":
        name = "product:whole-path=true" if decision.whole_path else decision.law
        raise ParameterError(
            f"decision {name} requires flow control credit, got drop; use credit or --decision product"
        )
    if workload and workload.schedule is not None and routers.flow_control != "drop":
        raise ParameterError(f"a schedule requires flow control drop, got {routers.flow_control}")


def _max_packets(queues: Int32, routers: RouterSettings, settings: Int64) -> int:
    """Returns the maximum number of packets in the network."""
    limit = int(queues[:, const.ROOM].sum() // routers.packet_flits)
    if routers.flow_control == "drop":  # besides queued packets, those that links have already sent
        ports = len(queues) >> int(settings[const.CHANNEL_SHIFT])
        limit += ports * (math.ceil(routers.burst_packets) + 1 + int(settings[const.ROUTER_TICKS]))
    return limit


def _settings(routers: RouterSettings, decision: Decision, sources: Sources) -> Int64:
    credit = routers.flow_control == "credit"
    channels = routers.channels if credit else 1
    flits, queue_flits = routers.packet_flits, routers.queue_packets * routers.packet_flits
    buffer = routers.buffer_flits if credit else queue_flits
    # A head that does not wait spends the last of these cycles in the crossbar.
    router_cycles = routers.router_cycles - 1 if credit else routers.router_cycles
    compared = channels * buffer if decision.buffer == "port" else buffer
    values = {
        const.SPEEDUP: routers.ticks,
        const.FLITS: flits,
        const.CHANNELS: channels,
        const.CHANNEL_SHIFT: (channels - 1).bit_length(),
        const.QUEUE_PLACES: buffer // flits,
        const.POLICY: _POLICIES[routers.channel_policy] if credit else const.BY_HOP,
        const.ROUTER_TICKS: router_cycles * routers.ticks,
        const.SOURCE_CYCLES: SOURCE_CYCLES,
        const.LAW: _LAWS[decision.law],
        const.THRESHOLD: round(decision.threshold * compared * 256),
        const.RANDOM_NEIGHBOUR: int(decision.neighbour == "random"),
        const.CANDIDATES: decision.candidates,
        const.RANDOM_ARBITER: int(routers.arbitration == "random"),
        const.BUFFER: channels * buffer,
        const.MIN_GAP: sources.min_gap,
        const.CONSTANT_GAP: sources.constant_gap,
        const.HOT_SHARE: sources.hot_share,
        const.WHOLE_PATH: int(decision.whole_path),
        const.FLOWS: decision.flows,
        const.MARGIN: round(decision.margin * buffer * 256),
        const.TWO_DELAYS: int(routers.global_link_cycles is not None),
        const.BURST: round((routers.burst_packets - 1) * flits * routers.ticks),
    }
    settings = np.zeros(const.SETTINGS, np.int64)
    for index, value in values.items():
        settings[index] = value
    return settings


def _hosts(ports: Int32, routers: RouterSettings, sources: Sources) -> Int64:
    hosts = np.zeros((len(ports), const.HOST_COLUMNS), np.int64)
    hosts[:, const.HOST_PORT] = ports
    hosts[:, const.HOST_DELAY] = routers.host_link_cycles
    hosts[:, const.KIND] = sources.kinds
    hosts[:, const.PARTNER_HOST] = sources.partners
    hosts[:, const.FIRST_SHARE] = sources.share_starts[:-1]
    hosts[:, const.LAST_SHARE] = sources.share_starts[1:] - 1
    return hosts


def event_cycles(routers: RouterSettings) -> int:
    """Returns the maximum number of cycles by which the kernel plans an event ahead.

    Args:
        routers: settings of routers and links.
    """
    # The longest wait: a packet waits for all packets that may queue for a link, then for the link's delay.
    buffers = routers.channels * routers.buffer_flits
    if routers.flow_control == "drop":
        buffers = math.ceil((routers.queue_packets + routers.burst_packets) * routers.packet_flits)
    delay = max(routers.longest_link_cycles, routers.host_link_cycles)
    return buffers + 3 * routers.packet_flits + routers.router_cycles + SOURCE_CYCLES + 4 + delay


def _events(routers: RouterSettings, packets: int, ports: int, hosts: int, queues: int) -> dict[str, Any]:
    """Returns the empty timing wheels and event lists of `State`, by name."""
    return {
        "wheel": _wheel(routers),
        "next_packet": np.full(packets, NONE, np.int32),
        "next_input": np.full(ports, NONE, np.int32),
        "next_output": np.full(ports, NONE, np.int32),
        "events": np.zeros(ports, np.int32),
        "source_wheel": np.full(_SOURCE_SLOTS, NONE, np.int32),
        "next_host": np.full(hosts, NONE, np.int32),
        "requested": np.zeros(ports, np.int32),
        "new_heads": np.zeros(queues, np.int32),
    }


def _wheel(routers: RouterSettings) -> Int32:
    ticks = event_cycles(routers) * routers.ticks
    return np.full((1 << ticks.bit_length(), const.WHEEL_COLUMNS), NONE, np.int32)


def _credits(inputs: Int32, outputs: Int32, routers: RouterSettings, packets: int) -> tuple[Int32, Int64]:
    """Returns `State.credits` and `State.credit_rings`, and writes CREDIT_CLASS of the inputs."""
    links, classes = np.unique(outputs[:, const.DELAY], return_inverse=True)
    inputs[:, const.CREDIT_CLASS] = classes
    # The room of a packet is free when its last flit has left, `packet_flits` - 1 cycles after the first.
    cycles = routers.packet_flits + routers.credit_cycles + links.astype(np.int64) - 1
    delays = cycles * routers.ticks
    rings = np.zeros((len(delays), const.RING_ENDS + int(delays.max())), np.int64)
    rings[:, const.RING_DELAY] = delays
    return np.zeros((len(delays), packets + 1), np.int32), rings


CACHE_BYTES = 1 << 22  # size of a typical processor cache; kernels prefetch rows if the arrays are larger
_CACHE_LINE = 64  # bytes
_LARGE_PAGE = 1 << 21  # bytes
_LARGE_ARRAY = 1 << 26  # bytes


def packed(network: State) -> State:
    """Returns a network whose arrays lie in one block of memory, each aligned to a cache line.

    NumPy requests huge pages for large blocks. With small pages, address translation (TLB misses) takes
    longer than the access to the data. The largest arrays are read-only and stay where they are.

    Args:
        network: the network; LARGE is written to its settings.
    """
    arrays: dict[str, Any] = network._asdict()
    small = {name: array for name, array in arrays.items() if array.nbytes < _LARGE_ARRAY}
    size = sum(_lines(array) for array in small.values())
    network.settings[const.LARGE] = size > CACHE_BYTES
    memory = np.empty(size + _LARGE_PAGE, np.uint8)
    start = -memory.ctypes.data % _LARGE_PAGE
    for name, array in small.items():
        copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
        copy[...] = array
        arrays[name] = copy
        start += _lines(array)
    return State(**arrays)


def _lines(array: npt.NDArray[Any]) -> int:
    """Returns the size of an array in bytes, rounded up to whole cache lines."""
    return -(-array.nbytes // _CACHE_LINE) * _CACHE_LINE
