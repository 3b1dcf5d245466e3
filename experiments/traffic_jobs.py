"""Traffic on a live fabric: the check of all pairs, and a run's measured traffic."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from emulation.subprocesses import marked_environment
from experiments.events.base import Notify
from experiments.events.bringup import PairsDelivered
from experiments.live_fabric import LiveFabric
from experiments.spec.collective import CollectiveOptions
from experiments.spec.traffic import TrafficOptions
from routing.registry import routing
from topology.addressing import Host
from topology.errors import NegativeResult
from traffic.engine.collective_worker import ACKNOWLEDGE_EVERY
from traffic.engine.engine import TrafficResult, run_collective, run_traffic
from traffic.engine.jobs import Clock, CollectiveJob, HostSocket, TrafficJob
from traffic.engine.telemetry import LiveCounts, TrafficSnapshot
from traffic.metrics.steady_state import SteadyState
from traffic.wire.layout import HEADER_BYTES
from traffic.wire.probe_frame import build_probe, build_segment_head
from traffic.workload.collectives.operations import split_collective
from traffic.workload.patterns import make_pattern
from traffic.workload.placement import place_ranks
from traffic.workload.schedule import AllPairsSchedule, PatternSchedule, Schedule

_NS = 1_000_000_000
_CHECK_ATTEMPTS, _MOST_FALSE_ALARMS = 3, 1e-6
# On a slow machine switches take long to decide about many probes: who is missing is waited for longer.
_LATER_WAITS_NS = (0, _NS, 4 * _NS)
_FOREVER_NS = 1 << 62
_CHECK_PROBES_PER_S = 2500  # every probe is the first of its kind in some switch, and costs accordingly
_TRAFFIC_RUN_ID = 100
_INTERVALS = 240
_MOST_ACKNOWLEDGE_AFTER_NS = 100_000_000
# A rank that does not answer another one for so long is dead: repairs take milliseconds, full queues on the
# way and back so many times their own time.
_SILENCE_NS, _SILENCE_QUEUES = 5_000_000_000, 12
_LEAST_INTERVAL_NS = 250_000_000
# Throughput is compared over spans of this length, and in which a full queue drains so often.
_LEAST_STEADY_S, _STEADY_QUEUES = 2.0, 3


@dataclass(frozen=True)
class PairCheck:
    """What one probe for every ordered pair of hosts told.

    Attributes:
        pairs: how many pairs there are.
        delivered: how many probes arrived.
        repeated: how many had to be sent more than once.
        wrong_hops: pairs whose probe took other numbers of hops than the routing promises.
        longest: the most hops that a probe took.
    """

    pairs: int
    delivered: int
    repeated: int
    wrong_hops: int
    longest: int


def check_all_pairs(fabric: LiveFabric, notify: Notify) -> PairCheck:
    """Sends a probe for every ordered pair of hosts and compares its hops with the graph's distances.

    Raises:
        NegativeResult: a probe does not arrive, or takes more hops than the routing promises, or, where
            that is the shortest path, fewer; names a pair.
    """
    hosts = fabric.hosts
    count = len(hosts)
    expected = fabric.plan.hop_bound(host_distances(fabric))
    hops = np.zeros((count, count), np.uint8)
    arrived = np.eye(count, dtype=bool)
    repeated = 0
    packet_ns = _NS * HEADER_BYTES * 8 // fabric.options.links.rate_bps
    round_ns = max(count * _NS // _CHECK_PROBES_PER_S, 4 * packet_ns)
    for attempt in range(_attempts(fabric.options.links.loss, int(expected.max()), count * count)):
        skip = tuple(np.flatnonzero(arrived).tolist())
        if attempt:
            repeated += count * count - len(skip)
        schedule = AllPairsSchedule(count, round_ns, skip)
        # However late a probe is sent or arrives, it counts: here it is the switches that are looked at.
        job = make_job(fabric, schedule, HEADER_BYTES, attempt, 1, (0, _FOREVER_NS))
        job = replace(job, quiet_ns=job.quiet_ns + _LATER_WAITS_NS[min(attempt, 2)])
        result = run_traffic(job, marked_environment(), fabric.network.run_dir)
        new = result.received.frames > 0
        hops[new] = result.received.hops_max[new]
        arrived |= new
        notify(PairsDelivered(int(arrived.sum()) - count, count * (count - 1)))
        if arrived.all():
            break
    shortest = routing(fabric.options.routing).shortest
    wrong = arrived & ((hops != expected) if shortest else (hops > expected))
    _raise_if_negative(hosts, arrived, wrong, hops, expected)
    pairs = count * (count - 1)
    return PairCheck(pairs, pairs, repeated, 0, int(hops.max()))


def _attempts(loss: float, hops: int, pairs: int) -> int:
    """Returns how often to try, so that links that lose packets by chance hardly ever cut a pair off."""
    missed = 1 - (1 - loss) ** hops
    if not missed:
        return _CHECK_ATTEMPTS
    return max(_CHECK_ATTEMPTS, math.ceil(math.log(_MOST_FALSE_ALARMS / pairs) / math.log(missed)))


def _raise_if_negative(
    hosts: tuple[Host, ...],
    arrived: npt.NDArray[np.bool_],
    wrong: npt.NDArray[np.bool_],
    hops: npt.NDArray[np.uint8],
    expected: npt.NDArray[np.int16],
) -> None:
    if not arrived.all():
        source, destination = np.argwhere(~arrived)[0]
        raise NegativeResult(
            f"{int((~arrived).sum())} pairs of hosts do not reach each other, "
            f"{hosts[source].name} to {hosts[destination].name} among them"
        )
    if wrong.any():
        source, destination = np.argwhere(wrong)[0]
        raise NegativeResult(
            f"{int(wrong.sum())} pairs take other paths than planned: {hosts[source].name} to "
            f"{hosts[destination].name} {hops[source, destination]} hops, not "
            f"{expected[source, destination]}"
        )


def run_measured_traffic(
    fabric: LiveFabric,
    options: TrafficOptions,
    progress: Callable[[TrafficSnapshot], None],
    starts: Callable[[Clock], None] = lambda _clock: None,
) -> TrafficResult:
    """Runs warm-up and measured traffic; `progress`, `starts` and errors as `run_traffic`."""
    spec = fabric.options.links
    most_packets_per_s = spec.rate_bps / (options.frame_bytes * 8)
    duration_ns = round(options.duration_s * _NS)
    begin_ns = round(options.warmup_s * _NS)
    window_ns: tuple[int, int] | None = (begin_ns, begin_ns + duration_ns)
    steady, end_ns = None, begin_ns + duration_ns
    if options.steady:
        queues_s = _STEADY_QUEUES * spec.queue_packets / most_packets_per_s
        # Until the first packet arrives, throughput is as steady as can be.
        span_s = max(_LEAST_STEADY_S, queues_s, path_delay_ns(fabric) / _NS)
        steady, window_ns = SteadyState(span_s, options.warmup_s, duration_ns), None
        end_ns += _NS  # the window begins a moment after that was decided
    pattern = make_pattern(options.pattern, fabric.options.topology, fabric.options.hosts, options.seed)
    schedule = PatternSchedule(
        pattern,
        options.load * most_packets_per_s,
        end_ns,
        options.flows,
        options.seed,
        options.arrivals,
        most_packets_per_s,
    )
    job = make_job(fabric, schedule, options.frame_bytes, _TRAFFIC_RUN_ID, options.flows, window_ns)
    return run_traffic(job, marked_environment(), fabric.network.run_dir, progress, starts, steady)


def make_job(
    fabric: LiveFabric,
    schedule: Schedule,
    frame_bytes: int,
    run: int,
    flows: int,
    window_ns: tuple[int, int] | None,
    *,
    keep_log: bool = False,
) -> TrafficJob:
    """Returns the job that runs a schedule on a fabric's hosts; see TrafficJob."""
    spec = fabric.options.links
    full_queue_ns = _NS * (spec.queue_packets + 1) * frame_bytes * 8 // spec.rate_bps
    return TrafficJob(
        hosts=_host_sockets(fabric),
        schedule=schedule.to_dict(),
        template=build_probe(fabric.hosts[0], fabric.hosts[1], frame_bytes=frame_bytes, run=run),
        run=run,
        flows=flows,
        window_ns=window_ns,
        # While any packet is on its way, one arrives somewhere within the time of one full queue, but for the
        # first ones, which are a whole path's delay away.
        quiet_ns=min(full_queue_ns, 20 * _NS) + path_delay_ns(fabric) + _NS // 4,
        interval_ns=max(_LEAST_INTERVAL_NS, schedule.end_ns // _INTERVALS),
        keep_log=keep_log,
    )


def path_delay_ns(fabric: LiveFabric) -> int:
    """Returns how long packets are on their way on links alone, at most."""
    if not fabric.options.links.delay_ms:  # nearly always, and distances of all pairs are many
        return 0
    hops = int(fabric.plan.hop_bound(host_distances(fabric)).max()) + fabric.plan.repair_hops
    return round(hops * fabric.options.links.delay_ms * 1e6)


def host_distances(fabric: LiveFabric) -> npt.NDArray[np.int16]:
    """Returns the distance of every ordered pair of hosts in router links: int16 array, hosts x hosts."""
    routers = np.array([host.router for host in fabric.hosts])
    return fabric.options.topology.distances(routers[:, None], routers[None, :])


def run_collective_traffic(
    fabric: LiveFabric,
    options: CollectiveOptions,
    progress: Callable[[float, LiveCounts], None],
    starts: Callable[[Clock], None],
) -> TrafficResult:
    """Runs a collective; `progress`, `starts` and errors as `run_collective`."""
    name, algorithm = split_collective(options.pattern)
    topology, hosts, spec = fabric.options.topology, fabric.options.hosts, fabric.options.links
    packet_ns = _NS * options.frame_bytes * 8 // spec.rate_bps
    full_queue_ns = (spec.queue_packets + 1) * packet_ns
    job = CollectiveJob(
        hosts=_host_sockets(fabric),
        ranks=place_ranks(options.placement, options.ranks, topology, hosts, options.seed),
        name=name,
        algorithm=algorithm,
        message_bytes=options.message_bytes,
        iterations=options.iterations,
        warmup_iterations=options.warmup_iterations,
        slices=options.slices,
        template=build_segment_head(fabric.hosts[0], fabric.hosts[1], _TRAFFIC_RUN_ID),
        frame_bytes=options.frame_bytes,
        run=_TRAFFIC_RUN_ID,
        flows=options.flows,
        seed=options.seed,
        # A host's own queue has to take its acknowledgements, too.
        most_in_flight=max(4, spec.queue_packets * 3 // 4),
        acknowledge_after_ns=min(ACKNOWLEDGE_EVERY * packet_ns, _MOST_ACKNOWLEDGE_AFTER_NS),
        silence_ns=max(_SILENCE_NS, _SILENCE_QUEUES * (full_queue_ns + path_delay_ns(fabric))),
        interval_ns=_LEAST_INTERVAL_NS,
    )
    return run_collective(job, marked_environment(), fabric.network.run_dir, progress, starts)


def _host_sockets(fabric: LiveFabric) -> tuple[HostSocket, ...]:
    pids = fabric.network.namespace_pids()
    return tuple(
        HostSocket(host.name, host.ip, f"{host.name}-eth0", pids[host.name]) for host in fabric.hosts
    )
