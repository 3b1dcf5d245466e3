"""Traffic on a live fabric: creates and runs the jobs of patterns and collectives."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from emulation.subprocesses import marked_environment
from experiments.live_fabric import LiveFabric
from experiments.programs.running import RunningPrograms
from experiments.spec.collective import CollectiveOptions
from experiments.spec.traffic import TrafficOptions
from experiments.spec.warmup import settling_s, steady_span_s
from routing.registry import routing
from topology.errors import NegativeResult
from traffic.engine.collective_worker import ACKNOWLEDGE_EVERY
from traffic.engine.engine import run_collective, run_traffic
from traffic.engine.jobs import CollectiveJob, HostSocket, TrafficJob
from traffic.engine.processes import TrafficError
from traffic.engine.telemetry import LiveCounts, TrafficSnapshot
from traffic.engine.wall_clock import clock_in
from traffic.metrics.measurements import Clock, TrafficResult, no_packets_received, no_packets_sent
from traffic.metrics.steady_state import SteadyState
from traffic.wire.probe_frame import build_probe, build_segment_head
from traffic.workload.collectives.registry import split_collective
from traffic.workload.placement import place_ranks
from traffic.workload.schedule import PatternSchedule, Schedule

_NS = 1_000_000_000
_TRAFFIC_RUN_ID = 100
_INTERVALS = 240
_MAX_ACKNOWLEDGE_AFTER_NS = 100_000_000
# A rank counts as dead if it has not answered another one for 5 s, or for the time of 12 full queues if that
# is longer: queues on the way there and back may be full. Repairs take only milliseconds.
_SILENCE_NS, _SILENCE_QUEUES = 5_000_000_000, 12
_MIN_INTERVAL_NS = 250_000_000


@contextlib.contextmanager
def naming_ended_process(fabric: LiveFabric) -> Iterator[None]:
    """Turns a traffic process's failure into a NegativeResult that names the fabric's process that exited.

    Args:
        fabric: the fabric; if all its processes run, the failure is passed on unchanged.
    """
    try:
        yield
    except TrafficError:
        for process in fabric.ended_processes():
            raise NegativeResult(f"{process} ended") from None
        raise


def run_measured_traffic(
    fabric: LiveFabric,
    options: TrafficOptions,
    progress: Callable[[TrafficSnapshot], None],
    starts: Callable[[Clock], None] = lambda _clock: None,
    ends: Callable[[], bool] = lambda: False,
) -> TrafficResult:
    """Runs warm-up and measured traffic.

    Args:
        fabric: the fabric, up.
        options: specification of the traffic.
        progress: called several times a second with the counts so far.
        starts: called once with the clock, just before the first packet.
        ends: returns whether to end the traffic now, ahead of schedule.

    Raises:
        TrafficError: a traffic process failed.
        TrafficInterrupted: Ctrl-C; the exception has the measurements so far.
    """
    spec = fabric.options.links
    max_packets_per_s = spec.rate_bps / (options.frame_bytes * 8)
    duration_ns = round(options.duration_s * _NS)
    begin_ns = round(options.warmup_s * _NS)
    window_ns: tuple[int, int] | None = (begin_ns, begin_ns + duration_ns)
    steady, end_ns = None, begin_ns + duration_ns
    # Throughput is a steady 0 until the first packet arrives: the span must exceed the paths' delay.
    adaptive = not routing(fabric.options.routing).oblivious
    span_s = steady_span_s(spec, options.frame_bytes, adaptive=adaptive)
    span_s = max(span_s, path_delay_ns(fabric) / _NS)
    if options.steady:
        steady, window_ns = SteadyState(span_s, options.warmup_s, duration_ns), None
        end_ns += _NS  # the window starts a moment after steady state was detected
    pattern = fabric.options.pattern(options.pattern, options.seed)
    schedule = PatternSchedule(
        pattern,
        options.load * max_packets_per_s,
        end_ns,
        options.flows,
        options.seed,
        options.arrivals,
        max_packets_per_s,
    )
    job = make_job(fabric, schedule, options.frame_bytes, _TRAFFIC_RUN_ID, options.flows, window_ns)
    job = replace(job, settling_ns=round(settling_s(spec, options.frame_bytes, options.load, span_s) * _NS))
    return run_traffic(job, marked_environment(), fabric.network.run_dir, progress, starts, steady, ends)


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
        hosts=host_sockets(fabric),
        schedule=schedule.to_dict(),
        template=build_probe(fabric.hosts[0], fabric.hosts[1], frame_bytes=frame_bytes, run=run),
        run=run,
        flows=flows,
        window_ns=window_ns,
        # The fabric is quiet if no packet arrives within the time to empty a full queue, plus a path's delay,
        # which the first packets need.
        quiet_ns=min(full_queue_ns, 20 * _NS) + path_delay_ns(fabric) + _NS // 4,
        interval_ns=interval_ns(schedule.end_ns),
        keep_log=keep_log,
    )


def interval_ns(end_ns: int) -> int:
    """Returns the time step of a traffic series in ns, given the end of the traffic in ns."""
    return max(_MIN_INTERVAL_NS, end_ns // _INTERVALS)


def path_delay_ns(fabric: LiveFabric) -> int:
    """Returns the longest sum of link delays on a packet's path, in ns."""
    if not fabric.options.links.delay_ms:  # usual case, which saves computing all distances
        return 0
    hops = int(fabric.plan.hop_bound(fabric.host_distances()).max()) + fabric.plan.repair_hops
    return round(hops * fabric.options.links.delay_ms * 1e6)


def run_collective_traffic(
    fabric: LiveFabric,
    options: CollectiveOptions,
    progress: Callable[[float, LiveCounts], None],
    starts: Callable[[Clock], None],
) -> TrafficResult:
    """Runs a collective.

    Args:
        fabric: the fabric, up.
        options: specification of the collective.
        progress: called several times a second with the seconds since the start and the counts so far.
        starts: called once with the clock, just before the first message.

    Raises:
        TrafficError: the traffic process failed.
        TrafficInterrupted: Ctrl-C; the exception has the measurements so far.
    """
    name, algorithm = split_collective(options.pattern)
    topology, hosts, spec = fabric.options.topology, fabric.options.hosts, fabric.options.links
    packet_ns = _NS * options.frame_bytes * 8 // spec.rate_bps
    full_queue_ns = (spec.queue_packets + 1) * packet_ns
    job = CollectiveJob(
        hosts=host_sockets(fabric),
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
        # A quarter of the host's own queue is left for its acknowledgements.
        max_in_flight=max(4, spec.queue_packets * 3 // 4),
        acknowledge_after_ns=min(ACKNOWLEDGE_EVERY * packet_ns, _MAX_ACKNOWLEDGE_AFTER_NS),
        silence_ns=max(_SILENCE_NS, _SILENCE_QUEUES * (full_queue_ns + path_delay_ns(fabric))),
        interval_ns=_MIN_INTERVAL_NS,
    )
    return run_collective(job, marked_environment(), fabric.network.run_dir, progress, starts)


def host_sockets(fabric: LiveFabric) -> tuple[HostSocket, ...]:
    """Returns every host's address, and the interfaces at which its packets are sent and received."""
    sockets = []
    for host in fabric.hosts:
        pid, interface = fabric.network.host_interface(host)
        switch_pid, switch_interface = fabric.network.switch_interface(host)
        sockets.append(HostSocket(host.name, host.ip, interface, pid, switch_interface, switch_pid))
    return tuple(sockets)


_INTERVAL_NS = 250_000_000


def run_program_traffic(
    hosts: int, programs: RunningPrograms, starts: Callable[[Clock], None]
) -> TrafficResult:
    """Starts the clock, waits until the programs have ended, and returns the result.

    Args:
        hosts: number of hosts of the fabric.
        programs: the programs.
        starts: called once with the clock, at the start.
    """
    clock = clock_in()
    starts(clock)
    interrupted = programs.wait()
    elapsed_ns = time.monotonic_ns() - clock.monotonic_ns
    seconds = elapsed_ns / 1e9 if interrupted else programs.ended_s
    return result_without_packets(hosts, clock, seconds, interrupted=interrupted)


def result_without_packets(hosts: int, clock: Clock, seconds: float, *, interrupted: bool) -> TrafficResult:
    """Returns the result of a run without generated packets; its measurement window is the whole duration.

    Args:
        hosts: number of hosts of the fabric.
        clock: clock of the run, which started with it.
        seconds: duration of the run.
        interrupted: whether it was stopped early.
    """
    return TrafficResult(
        sent=no_packets_sent(hosts, seconds),
        received=no_packets_received(hosts),
        clock=clock,
        interval_ns=_INTERVAL_NS,
        window_ns=(0, round(seconds * 1e9)),
        interrupted=interrupted,
    )
