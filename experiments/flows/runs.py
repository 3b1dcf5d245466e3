"""Runs of TCP flows on a live fabric, and flow completion times of the empty fabric."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from emulation.subprocesses import marked_environment
from experiments.live_fabric import LiveFabric
from experiments.spec.flows import FlowOptions
from experiments.traffic_jobs import host_sockets, interval_ns
from traffic.engine.engine import run_flows
from traffic.engine.jobs import FlowJob
from traffic.engine.telemetry import LiveCounts
from traffic.metrics.measurements import Clock, TrafficResult
from traffic.workload.flows.flow_list import FlowList

_NS = 1_000_000_000
# Number of one-byte flows per round and number of hops; they run one at a time in the empty fabric.
_TRIALS = 11
# A busy machine can only lengthen a time, so that the minimum counts. The minima are stable once a round
# lowers none of them by more than this share.
_STABLE = 0.05
_MAX_ROUNDS = 6
_MIN_TRIAL_NS = 20_000_000


def run_flow_traffic(
    fabric: LiveFabric,
    options: FlowOptions,
    listed: FlowList,
    progress: Callable[[float, LiveCounts], None],
    starts: Callable[[Clock], None],
) -> TrafficResult:
    """Runs TCP flows.

    Args:
        fabric: the fabric, up.
        options: specification of the flows.
        listed: the flows.
        progress: called several times a second with the seconds since the start and the counts so far.
        starts: called once with the clock, just before the first flow.

    Raises:
        TrafficError: the traffic process failed.
        TrafficInterrupted: Ctrl-C; the exception has the measurements up to then.
    """
    begin_ns = round(options.warmup_s * _NS)
    window_ns = begin_ns, begin_ns + round(options.duration_s * _NS)
    job = _job(fabric, listed, options.tcp, window_ns, round(options.end_s * _NS))
    return run_flows(job, marked_environment(), fabric.network.run_dir, progress, starts)


def base_times_ms(fabric: LiveFabric, options: FlowOptions) -> dict[int, float]:
    """Measures the completion times of one-byte flows in the empty fabric: handshake and first frame.

    Args:
        fabric: the fabric, up and without traffic.
        options: specification of the flows.

    Returns:
        Hops between two hosts -> minimum time in ms, for all distances that occur.

    Raises:
        TrafficError: the traffic process failed.
    """
    return stable_minimum(lambda: _round_ms(fabric, options))


def stable_minimum(measure: Callable[[], Mapping[int, float]]) -> dict[int, float]:
    """Repeats rounds of measurements until the minima are stable, and returns the minima.

    Args:
        measure: measures one round: key -> value above 0.

    Returns:
        The minimum by key, once a round has lowered none of them by more than 5 %, or after six rounds.
    """
    least = dict(measure())
    for _ in range(_MAX_ROUNDS - 1):
        values = measure()
        lowered = any(value < (1 - _STABLE) * least.get(key, math.inf) for key, value in values.items())
        least |= {key: min(value, least.get(key, math.inf)) for key, value in values.items()}
        if not lowered:
            break
    return least


def _round_ms(fabric: LiveFabric, options: FlowOptions) -> dict[int, float]:
    """Runs one-byte flows over each distance, one at a time; returns hops -> minimum time in ms."""
    distances = fabric.host_distances()
    everyone = np.arange(len(distances))
    pairs = []
    for hops in np.unique(distances[everyone[:, None] != everyone]).tolist():
        chosen = np.argwhere((distances == hops) & (everyone[:, None] != everyone))
        places = np.linspace(0, len(chosen) - 1, _TRIALS).astype(int)
        pairs += [chosen[place] for place in places]
    gap_ns = _MIN_TRIAL_NS + round(8 * fabric.options.links.delay_ms * int(distances.max()) * 1e6)
    source, destination = np.array(pairs, np.int64).T
    listed = FlowList(np.arange(len(pairs)) * gap_ns, source, destination, np.ones(len(pairs), np.int64))
    end_ns = len(pairs) * gap_ns + _NS
    job = _job(fabric, listed, options.tcp, (0, end_ns), end_ns)
    outcome = run_flows(job, marked_environment(), fabric.network.run_dir).flows
    assert outcome is not None
    flows = outcome.flows[outcome.flows["finished_ns"] >= 0]
    hops_of = distances[flows["source"], flows["destination"]]
    times_ms = (flows["finished_ns"] - flows["started_ns"]) / 1e6
    return {int(hops): float(times_ms[hops_of == hops].min()) for hops in np.unique(hops_of)}


def _job(fabric: LiveFabric, listed: FlowList, tcp: str, window_ns: tuple[int, int], end_ns: int) -> FlowJob:
    return FlowJob(
        hosts=host_sockets(fabric),
        time_ns=tuple(listed.time_ns.tolist()),
        source=tuple(listed.source.tolist()),
        destination=tuple(listed.destination.tolist()),
        bytes=tuple(listed.bytes.tolist()),
        congestion_control=tcp,
        window_ns=window_ns,
        end_ns=end_ns,
        interval_ns=interval_ns(end_ns),
    )
