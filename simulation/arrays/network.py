"""Arrays of a network at the begin of a simulation, from its tables and settings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from simulation.arrays.forwarding import forwarding_arrays
from simulation.arrays.ports import global_ports, make_ports, make_queues, ports_of_hosts
from simulation.kernels import state as of
from simulation.kernels.latency import CLASSES
from simulation.kernels.random import seeded
from simulation.kernels.state import NONE, Int32, Int64, State
from simulation.settings import Decision, RouterSettings, Workload
from simulation.sources import Sources, make_sources, scheduled_births
from simulation.tables.model import ForwardingTables
from simulation.timing import SOURCE_CYCLES
from topology.addressing import INITIAL_TTL
from topology.errors import ParameterError

_POLICIES = {"hop": of.BY_HOP, "class": of.BY_CLASS, "any": of.ANY_CHANNEL, "random": of.RANDOM_CHANNEL}
_LAWS = {
    "minimal": of.MINIMAL_LAW,
    "threshold": of.THRESHOLD_LAW,
    "product": of.PRODUCT_LAW,
    "buckets": of.BUCKET_LAW,
    "piggyback": of.PIGGYBACK_LAW,
}
_SOURCE_SLOTS = 4096
_STREAM = 2  # of the routers' generators
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
        workload: who sends to whom, and how much; None where hosts send nothing but messages.
        routers: settings of routers and links.
        decision: law of adaptive choices.
        seed: seed of the run, at least 0.

    Raises:
        ParameterError: the law looks at queues of other routers, which queues that drop do not tell, lossless
            routers are given a schedule, or queues that drop are given messages.
    """
    _check(workload, routers, decision)
    sources = make_sources(workload, tables.hosts, routers.packet_flits, seed)
    settings = _settings(routers, decision, sources)
    first_ports, inputs, outputs = make_ports(tables, routers)
    host_ports = ports_of_hosts(inputs, outputs)
    queues = make_queues(outputs, routers, settings)
    most = _most_packets(queues, routers, settings)
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
        packets=np.zeros((most, of.PACKET_COLUMNS), np.int32),
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
        schedule=scheduled_births(workload, routers),
        host_routers=tables.host_routers,
        host_ports=np.where(tables.delivered, host_ports, NONE).astype(np.int32),
        **_measures(tables.hosts, len(inputs)),
        buckets=np.zeros((0, 0), np.int32),
        messages=np.zeros((0, of.MESSAGE_COLUMNS), np.int64),
        **_message_lists(tables.hosts, most),
    )
    return packed(network)


def _measures(hosts: int, ports: int) -> dict[str, Any]:
    """Returns the arrays of measures, all of them 0, by their names in `State`."""
    return {
        "latencies": np.zeros(CLASSES, np.int64),
        "hops": np.zeros(INITIAL_TTL, np.int64),
        "host_packets": np.zeros(hosts, np.int64),
        "port_drops": np.zeros(ports, np.int64),
    }


def _counts(most_packets: int) -> Int64:
    counts = np.zeros(of.COUNTS, np.int64)
    counts[[of.WINDOW_BEGIN, of.WINDOW_END]] = _NEVER
    counts[of.UNUSED] = most_packets
    return counts


def _message_lists(hosts: int, most_packets: int) -> dict[str, Any]:
    """Returns the arrays that lists of messages are made of by their names in `State`."""
    return {
        "successors": np.zeros(0, np.int32),
        "message_wheel": np.full(_SOURCE_SLOTS, NONE, np.int32),
        "message_queues": np.full((hosts, of.MESSAGE_QUEUE_COLUMNS), NONE, np.int32),
        "message_hosts": np.zeros(hosts, np.int32),
        "packet_messages": np.zeros(most_packets, np.int32),
    }


def _check(workload: Workload | None, routers: RouterSettings, decision: Decision) -> None:
    """Raises ParameterError if a law or a workload is not for the flow control."""
    if workload is None and routers.flow_control == "drop":
        raise ParameterError("messages must be sent with flow control credit, which loses nothing, got drop")
    far_sighted = decision.whole_path or decision.law == "piggyback"
    if far_sighted and routers.flow_control == "drop":
        name = "product:whole-path=true" if decision.whole_path else decision.law
        raise ParameterError(
            f"decision {name} must be taken with flow control credit, got drop; or take --decision product"
        )
    if workload and workload.schedule is not None and routers.flow_control != "drop":
        raise ParameterError(f"a schedule must be for flow control drop, got {routers.flow_control}")


def _most_packets(queues: Int32, routers: RouterSettings, settings: Int64) -> int:
    """Returns the most packets that may be on their way."""
    most = int(queues[:, of.ROOM].sum() // routers.packet_flits)
    if routers.flow_control == "drop":  # and those that links have let go
        ports = len(queues) >> int(settings[of.CHANNEL_SHIFT])
        most += ports * (math.ceil(routers.burst_packets) + 1 + int(settings[of.ROUTER_TICKS]))
    return most


def _settings(routers: RouterSettings, decision: Decision, sources: Sources) -> Int64:
    credit = routers.flow_control == "credit"
    channels = routers.channels if credit else 1
    flits, queue_flits = routers.packet_flits, routers.queue_packets * routers.packet_flits
    buffer = routers.buffer_flits if credit else queue_flits
    # A head that waits for nothing spends the last of these cycles in the crossbar.
    router_cycles = routers.router_cycles - 1 if credit else routers.router_cycles
    values = {
        of.SPEEDUP: routers.ticks,
        of.FLITS: flits,
        of.CHANNELS: channels,
        of.CHANNEL_SHIFT: (channels - 1).bit_length(),
        of.QUEUE_PLACES: buffer // flits,
        of.POLICY: _POLICIES[routers.channel_policy] if credit else of.BY_HOP,
        of.ROUTER_TICKS: router_cycles * routers.ticks,
        of.SOURCE_CYCLES: SOURCE_CYCLES,
        of.LAW: _LAWS[decision.law],
        of.THRESHOLD: round(decision.threshold * buffer * 256),
        of.CANDIDATES: decision.candidates,
        of.RANDOM_ARBITER: int(routers.arbitration == "random"),
        of.BUFFER: channels * buffer,
        of.LEAST_GAP: sources.least_gap,
        of.CONSTANT_GAP: sources.constant_gap,
        of.HOT_SHARE: sources.hot_share,
        of.WHOLE_PATH: int(decision.whole_path),
        of.FLOWS: decision.flows,
        of.MARGIN: round(decision.margin * buffer * 256),
        of.TWO_DELAYS: int(routers.global_link_cycles is not None),
        of.BURST: round((routers.burst_packets - 1) * flits * routers.ticks),
    }
    settings = np.zeros(of.SETTINGS, np.int64)
    for index, value in values.items():
        settings[index] = value
    return settings


def _hosts(ports: Int32, routers: RouterSettings, sources: Sources) -> Int64:
    hosts = np.zeros((len(ports), of.HOST_COLUMNS), np.int64)
    hosts[:, of.HOST_PORT] = ports
    hosts[:, of.HOST_DELAY] = routers.host_link_cycles
    hosts[:, of.KIND] = sources.kinds
    hosts[:, of.PARTNER_HOST] = sources.partners
    hosts[:, of.FIRST_SHARE] = sources.share_starts[:-1]
    hosts[:, of.LAST_SHARE] = sources.share_starts[1:] - 1
    return hosts


def event_cycles(routers: RouterSettings) -> int:
    """Returns the most cycles by which the kernel plans an event ahead.

    Args:
        routers: settings of routers and links.
    """
    # All that waits for a link, and then the link.
    buffers = routers.channels * routers.buffer_flits
    if routers.flow_control == "drop":
        buffers = math.ceil((routers.queue_packets + routers.burst_packets) * routers.packet_flits)
    delay = max(routers.longest_link_cycles, routers.host_link_cycles)
    return buffers + 3 * routers.packet_flits + routers.router_cycles + SOURCE_CYCLES + 4 + delay


def _events(routers: RouterSettings, packets: int, ports: int, hosts: int, queues: int) -> dict[str, Any]:
    """Returns wheels and lists of events, all of them empty, by their names in `State`."""
    return {
        "wheel": _wheel(routers),
        "next_packet": np.full(packets, NONE, np.int32),
        "next_input": np.full(ports, NONE, np.int32),
        "next_output": np.full(ports, NONE, np.int32),
        "events": np.zeros(ports, np.int32),
        "source_wheel": np.full(_SOURCE_SLOTS, NONE, np.int32),
        "next_host": np.full(hosts, NONE, np.int32),
        "asked": np.zeros(ports, np.int32),
        "new_heads": np.zeros(queues, np.int32),
    }


def _wheel(routers: RouterSettings) -> Int32:
    ticks = event_cycles(routers) * routers.ticks
    return np.full((1 << ticks.bit_length(), of.WHEEL_COLUMNS), NONE, np.int32)


def _credits(inputs: Int32, outputs: Int32, routers: RouterSettings, most: int) -> tuple[Int32, Int64]:
    """Returns rings for the most credits, a row for each delay of links, and writes the inputs' classes."""
    links, classes = np.unique(outputs[:, of.DELAY], return_inverse=True)
    inputs[:, of.CREDIT_CLASS] = classes
    # A packet has gone when its last flit has, which comes in as many cycles as there are flits.
    cycles = routers.packet_flits + routers.credit_cycles + links.astype(np.int64) - 1
    delays = cycles * routers.ticks
    rings = np.zeros((len(delays), of.RING_ENDS + int(delays.max())), np.int64)
    rings[:, of.RING_DELAY] = delays
    return np.zeros((len(delays), most + 1), np.int32), rings


CACHE_BYTES = 1 << 22  # of a processor; the rows of larger arrays are prefetched
_CACHE_LINE = 64  # bytes
_LARGE_PAGE = 1 << 21  # bytes
_LARGE_ARRAY = 1 << 26  # bytes


def packed(network: State) -> State:
    """Returns a network whose arrays lie in one piece of memory, each from the begin of a cache line on.

    NumPy asks for large pages for large pieces. With small pages, the processor looks for the pages longer
    than for the data. The largest arrays do not change and are left where they are.

    Args:
        network: the network; its settings then tell whether its arrays are large.
    """
    arrays: dict[str, Any] = network._asdict()
    small = {name: array for name, array in arrays.items() if array.nbytes < _LARGE_ARRAY}
    size = sum(_lines(array) for array in small.values())
    network.settings[of.LARGE] = size > CACHE_BYTES
    memory = np.empty(size + _LARGE_PAGE, np.uint8)
    begin = -memory.ctypes.data % _LARGE_PAGE
    for name, array in small.items():
        place = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
        place[...] = array
        arrays[name] = place
        begin += _lines(array)
    return State(**arrays)


def _lines(array: npt.NDArray[Any]) -> int:
    """Returns the bytes of the lines of the processor's cache that an array needs."""
    return -(-array.nbytes // _CACHE_LINE) * _CACHE_LINE
