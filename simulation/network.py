"""Arrays of a network at the begin of a simulation, from its tables and settings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from simulation.kernels import state as of
from simulation.kernels.latency import CLASSES
from simulation.kernels.random import seeded
from simulation.kernels.state import NONE, Int32, Int64, State
from simulation.settings import Decision, RouterSettings
from simulation.sources import Sources, make_sources, scheduled_births
from simulation.tables.model import ForwardingTables
from simulation.workload import Workload
from topology.addressing import INITIAL_TTL
from topology.errors import ParameterError

_POLICIES = {"hop": of.BY_HOP, "class": of.BY_CLASS, "any": of.ANY_CHANNEL, "random": of.RANDOM_CHANNEL}
_LAWS = {"minimal": of.MINIMAL_LAW, "threshold": of.THRESHOLD_LAW, "product": of.PRODUCT_LAW}
_LAYERS = {
    of.FROM_HOST: "from_host",
    of.UNTAGGED: "untagged",
    of.TAGGED: "tagged",
    of.MARKED_UNTAGGED: "marked",
    of.MARKED_TAGGED: "marked_tagged",
}
SOURCE_CYCLES = 1  # from a birth to the link of the host
_PATIENCE = 1000  # cycles without any event after which packets that wait are deadlocked
_SOURCE_SLOTS = 4096
_CACHE_LINE = 64  # bytes
_STREAM = 2  # of the routers' generators
_NEVER = 1 << 60


def make_network(
    tables: ForwardingTables, workload: Workload, routers: RouterSettings, decision: Decision, seed: int
) -> State:
    """Returns an empty network.

    Args:
        tables: forwarding tables.
        workload: who sends to whom, and how much.
        routers: settings of routers and links.
        decision: law of adaptive choices.
        seed: seed of the run, at least 0.

    Raises:
        ParameterError: the law looks at whole paths, which queues that drop do not tell, or lossless routers
            are given a schedule.
    """
    _check(workload, routers, decision)
    sources = make_sources(workload, routers.packet_flits, seed)
    settings = _settings(routers, decision, sources)
    places = _places(tables, routers)
    queues = _queues(len(places), routers, settings)
    most = _most_packets(queues, routers, settings)
    counts = np.zeros(of.COUNTS, np.int64)
    counts[[of.WINDOW_BEGIN, of.WINDOW_END]] = _NEVER
    counts[of.UNUSED] = most
    credits, rings = _credits(places, routers, most)
    return State(
        settings=settings,
        counts=counts,
        places=places,
        ports=_ports(len(places)),
        queues=queues,
        hosts=_hosts(tables, places, sources),
        packets=_aligned((most, of.PACKET_COLUMNS)),
        unused=np.arange(most, dtype=np.int32)[::-1].copy(),
        random=seeded(seed, _STREAM, tables.routers),
        host_random=sources.random,
        wheel=_wheel(routers),
        source_wheel=np.full(_SOURCE_SLOTS, NONE, np.int32),
        credits=credits,
        credit_rings=rings,
        asked=np.zeros(len(places), np.int32),
        new_heads=np.zeros(len(queues), np.int32),
        **_forwarding(tables, settings),
        gaps=sources.gaps,
        guide=sources.guide,
        shares=sources.shares,
        hot_hosts=sources.hot_hosts,
        schedule=scheduled_births(workload, routers),
        latencies=np.zeros(CLASSES, np.int64),
        hops=np.zeros(INITIAL_TTL, np.int64),
        host_packets=np.zeros(tables.hosts, np.int64),
    )


def _check(workload: Workload, routers: RouterSettings, decision: Decision) -> None:
    """Raises ParameterError if a law or a workload is not for the flow control."""
    if decision.whole_path and routers.flow_control == "drop":
        raise ParameterError(
            "decision product:whole-path=true must be taken with flow control credit, got drop"
        )
    if workload.schedule is not None and routers.flow_control != "drop":
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
        of.PATIENCE: _PATIENCE + 2 * event_cycles(routers),
        of.BUFFER: channels * buffer,
        of.LEAST_GAP: sources.least_gap,
        of.CONSTANT_GAP: sources.constant_gap,
        of.HOT_SHARE: sources.hot_share,
        of.WHOLE_PATH: int(decision.whole_path),
        of.BURST: round((routers.burst_packets - 1) * flits * routers.ticks),
    }
    settings = np.zeros(of.SETTINGS, np.int64)
    for index, value in values.items():
        settings[index] = value
    return settings


def _places(tables: ForwardingTables, routers: RouterSettings) -> Int32:
    degrees = np.diff(tables.link_starts)
    hosts = np.bincount(tables.host_routers, minlength=tables.routers)
    sizes = degrees + hosts
    starts = np.concatenate([[0], np.cumsum(sizes)])
    owners = np.repeat(np.arange(tables.routers), sizes)
    places = np.zeros((len(owners), of.PLACE_COLUMNS), np.int32)
    places[:, of.OWNER] = owners
    places[:, of.FIRST_PORT] = starts[owners]
    places[:, of.PORT_COUNT] = sizes[owners]
    links = link_ports(tables)
    places[links, of.PEER] = starts[tables.link_targets] + tables.link_target_ports - 1
    places[links, of.DELAY] = routers.link_cycles
    first_host = np.concatenate([[0], np.cumsum(hosts)])
    index = np.arange(tables.hosts) - first_host[tables.host_routers]
    ports = starts[tables.host_routers] + degrees[tables.host_routers] + index
    places[ports, of.PEER] = -1 - np.arange(tables.hosts)
    places[ports, of.DELAY] = routers.host_link_cycles
    places[ports, of.OF_HOST] = 1
    return places


def link_ports(tables: ForwardingTables) -> npt.NDArray[np.int64]:
    """Returns the port of each directed link.

    Args:
        tables: forwarding tables.

    Returns:
        int64 array, (links,).
    """
    hosts = np.bincount(tables.host_routers, minlength=tables.routers)
    before = np.concatenate([[0], np.cumsum(hosts)[:-1]])
    links = np.arange(tables.link_starts[-1], dtype=np.int64)
    return np.asarray(links + np.repeat(before, np.diff(tables.link_starts)))


def _hosts(tables: ForwardingTables, places: Int32, sources: Sources) -> Int64:
    hosts = np.zeros((tables.hosts, of.HOST_COLUMNS), np.int64)
    ports = np.flatnonzero(places[:, of.OF_HOST])
    hosts[-1 - places[ports, of.PEER], of.HOST_PORT] = ports
    hosts[:, of.HOST_ROUTER] = tables.host_routers
    hosts[:, of.IS_DELIVERED] = tables.delivered
    hosts[:, of.KIND] = sources.kinds
    hosts[:, of.PARTNER_HOST] = sources.partners
    hosts[:, of.FIRST_SHARE] = sources.share_starts[:-1]
    hosts[:, of.LAST_SHARE] = sources.share_starts[1:] - 1
    hosts[:, of.NEXT_HOST] = NONE
    return hosts


def _forwarding(tables: ForwardingTables, settings: Int64) -> dict[str, Any]:
    """Returns the arrays of the forwarding tables by their names in `State`."""
    outcomes, choices = _choices(tables)
    adaptive, bundles, detours = _adaptive(tables)
    return {
        "lookups": _lookups(tables, settings),
        "outcomes": outcomes,
        "choices": choices,
        "adaptive": adaptive,
        "bundles": bundles,
        "detours": detours,
    }


def _lookups(tables: ForwardingTables, settings: Int64) -> Int32:
    """Returns the different look-up arrays in layers, and writes their numbers to the settings."""
    layers: list[Int32] = []
    for setting, name in _LAYERS.items():
        one: Int32 = getattr(tables, name)
        if not one.size:
            continue
        same = [number for number, other in enumerate(layers) if np.array_equal(one, other)]
        settings[setting] = same[0] if same else len(layers)
        if not same:
            layers.append(one)
    return np.ascontiguousarray(np.stack(layers))


def _choices(tables: ForwardingTables) -> tuple[Int32, Int32]:
    """Returns `State.outcomes` and `State.choices`."""
    choices = tables.choices
    of_link = np.append(link_ports(tables), NONE)
    columns = (of_link[choices.links], choices.tags, choices.marks, choices.weights)
    outcomes = np.stack(columns, axis=1).astype(np.int32)
    sums = np.concatenate([[0], np.cumsum(choices.weights)])
    rows = np.zeros((len(choices.starts), of.CHOICE_COLUMNS), np.int32)
    rows[:, of.CHOICE_START] = choices.starts
    rows[:-1, of.CHOICE_WEIGHT] = np.diff(sums[choices.starts])
    return outcomes, rows


def _adaptive(tables: ForwardingTables) -> tuple[Int32, Int32, Int32]:
    """Returns `State.adaptive`, `State.bundles` and `State.detours`."""
    one = tables.adaptive
    adaptive = np.zeros((len(one.bundle_starts), of.ADAPTIVE_COLUMNS), np.int32)
    adaptive[:-1, of.MINIMAL] = one.minimal
    adaptive[:-1, of.MINIMAL_HOPS] = one.minimal_hops
    adaptive[:, of.BUNDLE_START] = one.bundle_starts
    bundles = np.zeros((len(one.detour_starts), of.BUNDLE_COLUMNS), np.int32)
    bundles[:-1, of.BUNDLE_CHOICE] = one.bundle_choices
    bundles[:, of.DETOUR_START] = one.detour_starts
    return adaptive, bundles, np.stack((one.detours, one.detour_hops), axis=1).astype(np.int32)


def _queues(ports: int, routers: RouterSettings, settings: Int64) -> Int32:
    places = int(settings[of.QUEUE_PLACES])
    shift = int(settings[of.CHANNEL_SHIFT])
    queues = _aligned((ports << shift, of.PACKETS + places))
    queues[:, of.ROOM] = places * routers.packet_flits
    # Numbers beyond the channels of a port stand for no queue.
    queues[:, of.ROOM].reshape(ports, -1)[:, int(settings[of.CHANNELS]) :] = 0
    queues[:, of.NEXT_BLOCKED] = of.FREE
    queues[:, of.SHORT] = NONE
    return queues


def _aligned(shape: tuple[int, int]) -> Int32:
    """Returns an array of zeros that begins with a line of the processor's cache."""
    entries, line = shape[0] * shape[1], _CACHE_LINE // 4
    raw = np.zeros(entries + line, np.int32)
    first = (-raw.ctypes.data % _CACHE_LINE) // 4
    return raw[first : first + entries].reshape(shape)


def _ports(count: int) -> Int32:
    ports = _aligned((count, of.PORT_COLUMNS))
    ports[:, [of.ASKED, of.ASKING, of.BUSY, of.FOLLOWING, of.NEXT_RELEASED]] = NONE
    return ports


def event_cycles(routers: RouterSettings) -> int:
    """Returns the most cycles by which the kernel plans an event ahead.

    Args:
        routers: settings of routers and links.
    """
    # All that waits for a link, and then the link.
    buffers = routers.channels * routers.buffer_flits
    if routers.flow_control == "drop":
        buffers = math.ceil((routers.queue_packets + routers.burst_packets) * routers.packet_flits)
    delay = max(routers.link_cycles, routers.host_link_cycles)
    return buffers + 3 * routers.packet_flits + routers.router_cycles + SOURCE_CYCLES + 4 + delay


def _wheel(routers: RouterSettings) -> Int32:
    ticks = event_cycles(routers) * routers.ticks
    return np.full((1 << ticks.bit_length(), of.WHEEL_COLUMNS), NONE, np.int32)


def _credits(places: Int32, routers: RouterSettings, most: int) -> tuple[Int32, Int64]:
    """Returns rings for the most credits, a row for each delay of links, and writes the ports' classes."""
    links, classes = np.unique(places[:, of.DELAY], return_inverse=True)
    places[:, of.CREDIT_CLASS] = classes
    # A packet has gone when its last flit has, which comes in as many cycles as there are flits.
    cycles = routers.packet_flits + routers.credit_cycles + links.astype(np.int64) - 1
    delays = cycles * routers.ticks
    rings = np.zeros((len(delays), of.RING_ENDS + int(delays.max())), np.int64)
    rings[:, of.RING_DELAY] = delays
    return np.zeros((len(delays), most + 1), np.int32), rings
