"""Records of results for tests: complete ones, changed where a test needs it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.codec import plain
from experiments.results.manifest import Machine, RunManifest, SweepManifest, SweepSettings
from experiments.results.model import Fidelity, Latencies, PacketCounts, PairCheck, RuleCounts, Summary
from experiments.spec.settings import TrafficSettings

_FABRIC: dict[str, Any] = {
    "name": "polarfly",
    "params": {"q": 3},
    "hosts": 2,
    "link_rate_bps": 500_000,
    "queue_packets": 32,
}
_MACHINE = {"versions": {"polarlab": "0"}, "kernel": "6.1", "machine": Machine("x86_64", 2, 1000)}
SUMMARY = Summary(
    **_FABRIC,
    routing="min",
    pattern="tornado",
    endpoints=26,
    frame_bytes=1000,
    load=0.5,
    duration_s=8.0,
    arrivals="poisson",
    warmup_s=2.0,
    measured_s=8.0,
    offered=0.5,
    accepted=0.3,
    loss=0.4,
    packets=PacketCounts(sent=1600, received=1000),
    latency_ms=Latencies(10.0, 9.0, 200.0, 250.0),
    hops={1: 250, 2: 750},
    hops_as_distances=True,
    out_of_order=5,
    bringup_s={"build": 1.0},
    rules=RuleCounts(700, 100),
    verified=PairCheck(650, 650, 0, 0, 2),
    fidelity=Fidelity(True, cpu_idle=0.5, generator_lag_ms_p99=0.2, lost_outside_queues=0.0),
    seed=1,
    versions={"polarlab": "0"},
)


def summary(**changes: Any) -> Summary:
    """Returns a complete summary with some of its fields changed."""
    return replace(SUMMARY, **changes)


def run_manifest(**changes: Any) -> RunManifest:
    """Returns the manifest of that run."""
    traffic = TrafficSettings(pattern="tornado", load=0.5)
    return replace(RunManifest(**_FABRIC, **_MACHINE, routing="min", traffic=traffic), **changes)


def sweep_manifest(**settings: Any) -> SweepManifest:
    """Returns the manifest of a sweep of ER_5 with the settings of the reference simulation."""
    fabric = {**_FABRIC, "params": {"q": 5}, "hosts": 3}
    sweep = SweepSettings(**{**fabric, "frame_bytes": 1000, "flows": 64, **settings})
    return SweepManifest(**fabric, **_MACHINE, routings={}, sweep=sweep)


def write(folder: Path, name: str, record: Any) -> None:
    """Writes a record, or plain data, as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(plain(record)))
