"""The summary and the manifest of a run: its result, and everything that it depended on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from controller.reports import Planned
from emulation.requirements import available_memory_bytes, emulation_versions
from experiments.link_monitor import LinkLog
from experiments.live_fabric import LiveFabric
from experiments.results.collective import collective_summary
from experiments.results.link_loads import LinkLoads, directed_links, jain, link_loads
from experiments.results.validity import CpuSamples, Evidence, judge
from experiments.spec.collective import CollectiveOptions
from experiments.spec.traffic import TrafficOptions
from experiments.theory.fluid_model import predict_pattern
from experiments.traffic_jobs import PairCheck, host_distances
from routing.registry import routing
from traffic.engine.engine import TrafficResult
from traffic.workload.patterns import make_pattern

_PACKAGES = ("polarlab", "numpy", "ryu", "eventlet", "scapy")


def summarise(
    fabric: LiveFabric,
    options: TrafficOptions | CollectiveOptions,
    check: PairCheck,
    result: TrafficResult,
    cpu: CpuSamples,
    links: LinkLog | None,
    adaptation: dict[str, Any],
) -> dict[str, Any]:
    """Returns the result of a run, with the keys of the outside contract and some more.

    `adaptation` is what an adaptive routing's controller did meanwhile.
    """
    sent, received = result.sent, result.received
    rate_bps = fabric.options.links.rate_bps
    begin_s, end_s = _window_s(result)
    measured_s = end_s - begin_s
    capacity_bits = len(fabric.hosts) * rate_bps * measured_s
    frames_sent, frames_received = int(sent.frames.sum()), int(received.frames.sum())
    size = fabric.controller.latest(Planned)
    summary = {
        **fabric.options.settings(),
        "routing": fabric.options.routing,
        "pattern": options.pattern,
        "endpoints": len(fabric.hosts),
        "frame_bytes": options.frame_bytes,
        **_asked(options),
        "warmup_s": round(begin_s, 3),
        "measured_s": round(measured_s, 3),
        "offered": _share(_sent_bytes(options, result) * 8, capacity_bits),
        "accepted": _share(int(received.window_bytes.sum()) * 8, capacity_bits),
        "loss": _share(frames_sent - frames_received, frames_sent),
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
            "p99_9": _rounded(received.latency.quantile_ms(0.999)),
        },
        "hops": {str(n): int(received.hops[n]) for n in np.flatnonzero(received.hops)},
        "hops_as_distances": _hops_match(fabric, result),
        "out_of_order": int(received.out_of_order.sum()),
        "bringup_s": {name: round(value, 3) for name, value in fabric.bringup_s.items()},
        "rules": {"flows": size.flows, "groups": size.groups},
        "verified": asdict(check),
        "links": _link_summary(fabric, result, links),
        "fidelity": judge(_evidence(fabric, options, result, cpu, links)),
        "seed": options.seed,
        "versions": versions(),
    }
    if isinstance(options, CollectiveOptions):
        assert result.outcome
        summary["collective"] = collective_summary(options, result.outcome)
    elif routing(fabric.options.routing).oblivious and not fabric.options.links.loss:
        summary["predicted"] = _predicted(fabric, options)
    if not routing(fabric.options.routing).oblivious:
        summary["adaptation"] = {"occupancy": fabric.occupancy, **adaptation}
    if result.steady is not None:
        summary["steady"] = result.steady
        if not result.steady:
            distrust(summary, "the throughput had not settled when the warm-up had to end")
    if result.interrupted:
        summary["interrupted"] = True
        distrust(summary, "it was interrupted before its end")
    return summary


def _link_summary(fabric: LiveFabric, result: TrafficResult, log: LinkLog | None) -> dict[str, Any] | None:
    """Returns how the links between routers were loaded in the measured window; None if nobody could see."""
    if log is None:
        return None
    loads, dropped, lost = measured_loads(fabric, result, log)
    return {
        "load_max": _rounded(float(loads.max(initial=0))),
        "load_mean": _rounded(float(loads.mean())) if len(loads) else None,
        "jain": _rounded(jain(loads)),
        "dropped_packets": round(float(dropped.sum())),
        "lost_packets": round(float(lost.sum())),
    }


def measured_loads(fabric: LiveFabric, result: TrafficResult, log: LinkLog) -> LinkLoads:
    """Returns `link_loads` of all links between routers in a run's measured window."""
    start_s = result.clock.monotonic_ns / 1e9
    begin_s, end_s = (start_s + time_s for time_s in _window_s(result))
    links = directed_links(fabric.options.topology)
    return link_loads(log.history, links, begin_s, end_s, fabric.options.links.rate_bps)


def _asked(options: TrafficOptions | CollectiveOptions) -> dict[str, Any]:
    """Returns what was asked for, of one kind of traffic only."""
    if isinstance(options, CollectiveOptions):
        return {"ranks": options.ranks, "placement": options.placement, "slices": options.slices}
    return {"load": options.load, "duration_s": options.duration_s, "arrivals": options.arrivals}


def _sent_bytes(options: TrafficOptions | CollectiveOptions, result: TrafficResult) -> int:
    """Returns how many bytes of the measured window were sent; a collective's frames differ in length."""
    if result.outcome:
        return int(result.sent.bytes.sum())
    return int(result.sent.frames.sum()) * options.frame_bytes


def _frames(options: TrafficOptions | CollectiveOptions, result: TrafficResult) -> tuple[int, int]:
    """Returns how many frames were sent and how many arrived in the whole run, whatever was in them."""
    outcome = result.outcome
    if outcome:
        sent = int(outcome.sent.frames.sum()) + outcome.acknowledgements_sent
        return sent, int(outcome.received.frames.sum()) + outcome.acknowledgements_received
    sent_bytes, received_bytes = result.sent.bytes.sum(), result.received.bytes.sum()
    # What the host's own queue refused was sent, and lost at once.
    return int(sent_bytes) // options.frame_bytes - result.sent.refused, int(
        received_bytes
    ) // options.frame_bytes


def _window_s(result: TrafficResult) -> tuple[float, float]:
    """Returns from when to when a run was really measured, in seconds since its start."""
    last_s = result.sent.seconds
    if result.window_ns is None:
        return last_s, last_s
    begin_s, end_s = (time_ns / 1e9 for time_ns in result.window_ns)
    return (min(begin_s, last_s), min(end_s, last_s)) if result.interrupted else (begin_s, end_s)


def distrust(summary: dict[str, Any], *reasons: str) -> None:
    """Adds reasons why a run is not valid to its summary."""
    fidelity = summary["fidelity"]
    fidelity["reasons"] += reasons
    fidelity["valid"] = not fidelity["reasons"]


def _evidence(
    fabric: LiveFabric,
    options: TrafficOptions | CollectiveOptions,
    result: TrafficResult,
    cpu: CpuSamples,
    links: LinkLog | None,
) -> Evidence:
    """Returns what tells whether a run can be trusted; losses are those of the whole run."""
    rate_bps = fabric.options.links.rate_bps
    start_s = result.clock.monotonic_ns / 1e9
    begin_s, end_s = (start_s + time_s for time_s in _window_s(result))
    sent, arrived = _frames(options, result)
    lost_elsewhere, rate_errors = None, None
    if links:
        lost_elsewhere = sent - arrived - links.dropped_packets - links.lost_packets
        if links.observable:
            rate_errors = list(links.rate_errors(rate_bps, options.frame_bytes).values())
    return Evidence(
        idle=cpu.between(begin_s, end_s),
        lag_ms_p99=result.sent.lag.quantile_ms(0.99),
        packet_ms=options.frame_bytes * 8 / rate_bps * 1e3,
        rate_errors=rate_errors,
        sent=sent,
        lost_elsewhere=None if result.interrupted else lost_elsewhere,
        scheduled=result.outcome is None,
    )


def _predicted(fabric: LiveFabric, options: TrafficOptions) -> dict[str, float]:
    """Returns what the fluid model says of the same plan, pattern and load."""
    topology, hosts = fabric.options.topology, fabric.options.hosts
    pattern = make_pattern(options.pattern, topology, hosts, options.seed)
    prediction = predict_pattern(fabric.plan, pattern, options.load)
    return {
        "accepted": round(prediction.accepted, 6),
        "link_load_max": round(float(prediction.offered_loads.max()), 6),
    }


def _hops_match(fabric: LiveFabric, result: TrafficResult) -> bool:
    """Returns whether every packet took exactly as many hops as its routers are apart."""
    expected = host_distances(fabric)
    seen = result.received.hops_min != 255
    low, high = result.received.hops_min[seen], result.received.hops_max[seen]
    return bool((low == expected[seen]).all() and (high == expected[seen]).all())


def manifest(fabric: LiveFabric, traffic: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Returns what a run depends on: its whole configuration, the seed, versions, the machine.

    `traffic` is what was sent over the fabric, by the names of its options.
    """
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        **fabric.options.settings(),
        "routing": fabric.options.routing,
        "local_repair": fabric.options.local_repair,
        "traffic": dict(traffic),
        "seed": seed,
        "datapath": fabric.datapath,
        "datapath_asked": fabric.options.datapath,
        "occupancy": fabric.occupancy,
        "occupancy_asked": None if fabric.occupancy is None else fabric.options.occupancy,
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
    found = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {**found, "python": platform.python_version(), **emulation_versions()}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 6) if whole else None
