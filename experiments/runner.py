"""One experiment: prove, launch, install, check every pair, run traffic, and write it all down."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from emulation.capture import capture
from emulation.commands import run as run_program
from emulation.machine import available_memory_bytes, require_emulation
from experiments.fabric import LiveFabric, live_fabric
from experiments.fidelity import CpuSampler, CpuSamples, judge
from experiments.options import FabricOptions, TrafficOptions
from experiments.progress import Progress
from experiments.records import MANIFEST, SUMMARY, RunDirectory
from experiments.traffic_jobs import (
    PairCheck,
    check_all_pairs,
    host_distances,
    run_measured_traffic,
)
from topology.errors import NegativeResult, ParameterError
from traffic.engine import TrafficInterrupted, TrafficResult
from traffic.histogram import bin_middles_ms

_PACKAGES = ("polarlab", "numpy", "ryu", "eventlet", "scapy")


def run_experiment(
    fabric_options: FabricOptions,
    traffic_options: TrafficOptions,
    out: Path,
    pcap_host: str | None,
    progress: Progress,
) -> dict[str, Any]:
    """Runs one experiment and returns its summary, which is in `out` by then, with the series.

    Raises:
        UsageError: an option makes no sense for this fabric.
        MachineError: the machine lacks something.
        NegativeResult: a proof failed, or packets took other ways than planned.
        KeyboardInterrupt: Ctrl-C; what was measured until then is in `out`.
    """
    require_emulation()
    endpoints = fabric_options.topology.routers * fabric_options.hosts
    with _run_directory(out) as directory, live_fabric(fabric_options, progress) as fabric:
        _check_pcap_host(fabric, pcap_host)
        directory.write_json(MANIFEST, _manifest(fabric, traffic_options))
        started = time.monotonic()
        progress(f"sending one probe for each of {endpoints * (endpoints - 1)} pairs of hosts")
        check = check_all_pairs(fabric, progress.live)
        fabric.bringup_s["verify"] = time.monotonic() - started
        progress(f"all arrived, over exactly the graph's distances (at most {check.longest} hops)")
        with capture(fabric.network, pcap_host, directory.path), CpuSampler() as cpu:
            result = _traffic(fabric, traffic_options, progress)
        summary = _summarise(fabric, traffic_options, check, result, cpu.samples)
        try:
            directory.write_json(SUMMARY, summary)
            _write_series(directory, fabric, result, cpu.samples)
        except OSError:
            progress(f"the result could not be written in full; it was {json.dumps(summary)}")
            raise
    progress(f"written to {out}")
    if result.interrupted:
        raise KeyboardInterrupt
    _check_paths(summary)
    return summary


@contextlib.contextmanager
def _run_directory(out: Path) -> Iterator[RunDirectory]:
    directory = RunDirectory(out)
    try:
        yield directory
    finally:
        directory.discard_if_empty()


def _check_pcap_host(fabric: LiveFabric, name: str | None) -> None:
    if name is not None and name not in fabric.network:
        raise ParameterError(f"no host {name!r} to capture at; the first is {fabric.hosts[0].name}")


def _traffic(fabric: LiveFabric, options: TrafficOptions, progress: Progress) -> TrafficResult:
    total_s = options.warmup_s + options.duration_s
    progress(
        f"{options.pattern} traffic at {options.load:g} of the injection capacity, {total_s:g} s"
    )
    try:
        return run_measured_traffic(
            fabric,
            options,
            lambda seconds: progress.live(f"traffic: {max(0.0, seconds):.1f} of {total_s:g} s"),
        )
    except TrafficInterrupted as interruption:
        progress("interrupted; keeping what was measured")
        return interruption.result


def _summarise(
    fabric: LiveFabric,
    options: TrafficOptions,
    check: PairCheck,
    result: TrafficResult,
    cpu: CpuSamples,
) -> dict[str, Any]:
    sent, received = result.sent, result.received
    rate_bps = fabric.options.shape.rate_bps
    capacity_bits = len(fabric.hosts) * rate_bps * options.duration_s
    frames_sent, frames_received = int(sent.frames.sum()), int(received.frames.sum())
    begin_s = result.clock.monotonic_ns / 1e9 + options.warmup_s
    idle = cpu.between(begin_s, begin_s + options.duration_s)
    packet_ms = options.frame_bytes * 8 / rate_bps * 1e3
    size = fabric.controller.installation.planned
    summary = {
        "name": fabric.options.name,
        "params": dict(fabric.options.params),
        "routing": fabric.options.routing,
        "pattern": options.pattern,
        "load": options.load,
        "hosts": fabric.options.hosts,
        "endpoints": len(fabric.hosts),
        "link_rate_bps": rate_bps,
        "queue_packets": fabric.options.shape.queue_packets,
        "frame_bytes": options.frame_bytes,
        "duration_s": options.duration_s,
        "offered": round(frames_sent * options.frame_bytes * 8 / capacity_bits, 6),
        "accepted": round(int(received.window_bytes.sum()) * 8 / capacity_bits, 6),
        "loss": round(1 - frames_received / frames_sent, 6) if frames_sent else None,
        "packets": {
            "sent": frames_sent,
            "received": frames_received,
            "refused_by_host_queue": sent.refused,
            "misdelivered": received.misdelivered,
            "damaged": received.damaged,
        },
        "latency_ms": {
            "mean": _rounded(received.latency.mean_ms()),
            "p50": _rounded(received.latency.quantile_ms(0.5)),
            "p99": _rounded(received.latency.quantile_ms(0.99)),
        },
        "hops": {str(n): int(received.hops[n]) for n in np.flatnonzero(received.hops)},
        "hops_as_distances": _hops_match(fabric, result),
        "out_of_order": int(received.out_of_order.sum()),
        "bringup_s": {name: round(value, 3) for name, value in fabric.bringup_s.items()},
        "rules": {"flows": size["flows"], "groups": size["groups"]},
        "verified": asdict(check),
        "fidelity": judge(idle, sent.lag.quantile_ms(0.99), packet_ms),
        "seed": options.seed,
        "versions": versions(),
    }
    if result.interrupted:
        summary["interrupted"] = True
    return summary


def _hops_match(fabric: LiveFabric, result: TrafficResult) -> bool:
    """Returns whether every packet took exactly as many hops as its routers are apart."""
    expected = host_distances(fabric)
    seen = result.received.hops_min != 255
    low, high = result.received.hops_min[seen], result.received.hops_max[seen]
    return bool((low == expected[seen]).all() and (high == expected[seen]).all())


def _check_paths(summary: dict[str, Any]) -> None:
    """Raises NegativeResult if packets went where they should not."""
    packets = summary["packets"]
    if packets["misdelivered"] or packets["damaged"]:
        raise NegativeResult(
            f"{packets['misdelivered']} packets reached a wrong host, {packets['damaged']} were damaged"
        )
    if summary["routing"] == "min" and not summary["hops_as_distances"]:
        raise NegativeResult(f"packets took other paths than planned: hops {summary['hops']}")


def _write_series(
    directory: RunDirectory, fabric: LiveFabric, result: TrafficResult, cpu: CpuSamples
) -> None:
    sent, received = result.sent, result.received
    names = [host.name for host in fabric.hosts]
    span_s = result.interval_ns / 1e9
    steps = max(len(sent.bytes), len(received.bytes))
    tx = np.zeros((steps, len(names)), np.int64)
    rx = tx.copy()
    tx[: len(sent.bytes)], rx[: len(received.bytes)] = sent.bytes, received.bytes
    directory.write_csv(
        "throughput.csv",
        ("time_s", "host", "tx_bytes", "rx_bytes"),
        (
            (round((step + 1) * span_s, 6), name, tx[step, index], rx[step, index])
            for step in range(steps)
            for index, name in enumerate(names)
        ),
    )
    distances = host_distances(fabric)
    frames = received.frames
    mean_ms = received.latency_sum_ns / np.maximum(frames, 1) / 1e6
    directory.write_csv(
        "pairs.csv",
        (
            "source,destination,distance,sent_frames,received_frames,"
            "latency_mean_ms,hops_min,hops_max,out_of_order_frames"
        ).split(","),
        (
            (
                names[s],
                names[d],
                distances[s, d],
                sent.frames[s, d],
                frames[s, d],
                round(mean_ms[s, d], 6) if frames[s, d] else "",
                received.hops_min[s, d] if received.hops_max[s, d] or frames[s, d] else "",
                received.hops_max[s, d] if received.hops_max[s, d] or frames[s, d] else "",
                received.out_of_order[s, d],
            )
            for s, d in np.argwhere(sent.frames > 0).tolist()
        ),
    )
    directory.write_csv(
        "hops.csv",
        ("hops", "packets"),
        ((n, received.hops[n]) for n in np.flatnonzero(received.hops).tolist()),
    )
    counts = received.latency.counts
    directory.write_csv(
        "latency.csv",
        ("latency_ms", "packets"),
        ((f"{bin_middles_ms()[n]:.6g}", counts[n]) for n in np.flatnonzero(counts).tolist()),
    )
    start_s = result.clock.monotonic_ns / 1e9
    directory.write_csv(
        "cpu.csv",
        ("time_s", "idle"),
        (
            (round(time_s - start_s, 3), round(idle, 4))
            for time_s, idle in zip(cpu.times_s, cpu.idle, strict=True)
        ),
    )


def _manifest(fabric: LiveFabric, options: TrafficOptions) -> dict[str, Any]:
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "name": fabric.options.name,
        "params": dict(fabric.options.params),
        "hosts": fabric.options.hosts,
        "routing": fabric.options.routing,
        "link_rate_bps": fabric.options.shape.rate_bps,
        "queue_packets": fabric.options.shape.queue_packets,
        "traffic": asdict(options),
        "seed": options.seed,
        "datapath": fabric.datapath,
        "datapath_asked": fabric.options.datapath,
        "versions": versions(),
        "kernel": platform.release(),
        "machine": {
            "architecture": platform.machine(),
            "cores": os.cpu_count(),
            "memory_available_mib": available_memory_bytes() >> 20,
        },
    }


def versions() -> dict[str, str]:
    """Returns the versions of what produces a result."""
    from mininet.net import VERSION

    found = {name: importlib.metadata.version(name) for name in _PACKAGES}
    found["mininet"] = VERSION
    found["python"] = platform.python_version()
    found["openvswitch"] = run_program(["ovs-vswitchd", "--version"]).split()[3]
    return found


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
