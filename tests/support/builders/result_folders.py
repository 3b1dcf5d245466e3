"""Folders of results for tests: small, complete, and changed where a test needs it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.builders import records

from experiments.results.failover import FailoverSummary, Phase, Phases
from experiments.results.link_loads import LINK_LOAD_COLUMNS, directed_links
from experiments.results.model import Fidelity, LinkSummary, Predicted, Summary
from experiments.results.parts.faults import FaultRecord, InjectedFault, ReplanRecord
from experiments.results.replications import combine
from experiments.results.run_directory import RunDirectory
from experiments.results.sweep_points import append_point, point_links
from experiments.results.tables import EVENT_COLUMNS, EVENTS, PROBE_COLUMNS, PROBES
from experiments.spec.settings import TrafficSettings
from experiments.spec.sweep import SweepOptions
from experiments.spec.variations import read_variations
from topology.families.low_diameter.polarfly import PolarFly

FAULTS = FaultRecord(
    (
        InjectedFault(1.0001, "fail link:s1-s10"),
        InjectedFault(2.5, "fail controller"),
        InjectedFault(4.0, "restore controller"),
        InjectedFault(6.5, "restore link:s1-s10"),
    ),
    (
        ReplanRecord(1.04, "link:s1-s10", 24, 0, 0.02, 0.03),
        ReplanRecord(6.53, "none", 24, 0, 0.02, 0.03),
    ),
)
SILENT = Fidelity(False, ("too little of the CPU was idle",))


def write_run(folder: Path, summary: Summary = records.SUMMARY, **manifest: Any) -> Path:
    """Writes a run of ER_3 with all of its series; the rates follow from the summary's fractions."""
    directory = RunDirectory(folder, resume=True)
    changes = {"routing": summary.routing, "seed": summary.seed, **manifest}
    directory.write_record("manifest.json", records.run_manifest(**changes))
    directory.write_record("summary.json", summary)
    _write_series(directory, summary)
    return folder


def _write_series(directory: RunDirectory, summary: Summary) -> None:
    draw = random.Random(summary.seed)
    hosts = [f"h{router}_{host}" for router in range(1, 14) for host in (1, 2)]
    step_bytes = summary.link_rate_bps / 8 * 0.25
    steps = int((summary.warmup_s + summary.measured_s) / 0.25)
    rows = [
        (
            round(0.25 * (step + 1), 2),
            host,
            round(step_bytes * (summary.offered or 0) * draw.uniform(0.9, 1.1)),
            round(step_bytes * (summary.accepted or 0) * draw.uniform(0.9, 1.1)),
        )
        for step in range(steps)
        for host in hosts
    ]
    directory.write_csv("throughput.csv", ("time_s", "host", "tx_bytes", "rx_bytes"), rows)
    pairs = ("source", "destination", "distance", "sent_frames")
    directory.write_csv("pairs.csv", pairs, [("h1_1", "h2_1", 1, 400), ("h1_1", "h3_1", 2, 1200)])
    directory.write_csv("hops.csv", ("hops", "packets"), list(summary.hops.items()))
    latency = [(round(1.1**n, 4), round(400 * 0.9**n)) for n in range(60)]
    directory.write_csv("latency.csv", ("latency_ms", "packets"), latency)
    directory.write_csv("link_loads.csv", LINK_LOAD_COLUMNS, link_rows(3, summary.seed))


def link_rows(q: int, seed: int) -> list[tuple[str, int, float, int]]:
    """Returns rows of link loads of ER_q."""
    draw = random.Random(seed)
    links = directed_links(PolarFly(q))
    return [(link.name, link.port, round(draw.betavariate(2, 4), 6), draw.randrange(9)) for link in links]


def write_replications(folder: Path, seeds: Sequence[int] = (1, 2, 3), invalid: int | None = None) -> Path:
    """Writes a run of several seeds; that of the seed `invalid` is not valid."""
    summaries = []
    for seed in seeds:
        fidelity = SILENT if seed == invalid else records.SUMMARY.fidelity
        accepted = 0.3 + 0.01 * (seed % 3)
        changed = records.summary(seed=seed, accepted=accepted, loss=0.4 - 0.02 * seed, fidelity=fidelity)
        summaries.append(changed)
        write_run(folder / f"seed-{seed}", changed)
    directory = RunDirectory(folder, resume=True)
    directory.write_record("manifest.json", records.run_manifest())
    directory.write_record("summary.json", combine(summaries, len(seeds)))
    return folder


def write_sweep(
    folder: Path,
    routings: Sequence[str],
    patterns: Sequence[str],
    invalid: Sequence[float] = (),
    loads: Sequence[float] = (0.2, 0.6, 1.0),
    vary: Sequence[str] = (),
    **settings: Any,
) -> Path:
    """Writes a sweep of ER_3 over some loads; the points of the loads in `invalid` are not valid."""
    directory = RunDirectory(folder, resume=True)
    variations = read_variations(vary)
    sweep = SweepOptions(routings, patterns, loads, vary=variations)
    keys = {variation.key: variation.values for variation in variations}
    asked = {"routings": tuple(routings), "patterns": tuple(patterns), "loads": tuple(loads), **settings}
    asked |= {"vary": keys or None}
    directory.write_record(
        "manifest.json", records.sweep_manifest(**{"params": {"q": 3}, "hosts": 2, **asked})
    )
    for number, routing in enumerate(sweep.varied_routings):
        for point in (point for point in sweep.points() if point.routing == routing):
            accepted = min(point.load, 0.3 + 0.1 * number)
            summary = records.summary(
                routing=routing,
                pattern=point.pattern,
                offered=point.load,
                accepted=accepted,
                loss=1 - accepted / point.load,
                fidelity=SILENT if point.load in invalid else records.SUMMARY.fidelity,
                predicted=Predicted(accepted * 0.98),
                links=LinkSummary(0.9, 0.4, 0.8, 7),
            )
            directory.write_record(f"points/{point.name}.json", summary)
            directory.write_csv(point_links(point), LINK_LOAD_COLUMNS, link_rows(3, 7))
            append_point(directory, point, summary, keys)
    return folder


_PHASE = Phase(sent=60_000, lost=0, longest_silence_ms=1.6, hops_mean=2.0, hops_max=2)
FAILOVER = FailoverSummary(
    name="polarfly",
    params={"q": 3},
    routing="min",
    hosts=1,
    local_repair=True,
    failed=("switch:s4",),
    pairs_watched=24,
    packets_sent=63_840,
    packets_lost=19,
    gap_ms=17.6,
    probe_interval_ms=1.0,
    all_pairs_interval_ms=100.0,
    repaired_by="switches",
    repaired_ms=17.2,
    controller_converged_ms=45.0,
    cut_off_pairs=0,
    silent_pairs=0,
    faults=FaultRecord((InjectedFault(2.0, "fail switch:s4"), InjectedFault(5.0, "restore switch:s4")), ()),
    lost_at_restore=0,
    phases=Phases(_PHASE, replace(_PHASE, lost=19, hops_mean=3.1, hops_max=4), _PHASE),
    pairs_affected=24,
)


def write_failover(folder: Path, summary: FailoverSummary = FAILOVER, **settings: Any) -> Path:
    """Writes a demonstration of 9 s: probes of all pairs go out one after another in rounds of 100 ms."""
    directory = RunDirectory(folder, resume=True)
    traffic = TrafficSettings(elements=summary.failed, fail_s=2.0, restore_s=5.0, end_s=9.0, **settings)
    manifest = records.run_manifest(routing=summary.routing, traffic=traffic, hosts=summary.hosts)
    directory.write_record("manifest.json", manifest)
    directory.write_record("summary.json", summary)
    rows: list[tuple[Any, ...]] = []
    for step in range(900):
        time_s = step / 100
        broken = 2.0 <= time_s < 5.0
        silent = 2.0 <= time_s < 2.02
        hops, most = (3.1, 4) if broken else (2.0, 2)
        rows.append((time_s, "watched", 240, 120 if silent else 0, hops, most))
        # The pairs of one place within the round have longer paths than the others: a sawtooth.
        rows.append((time_s, "all", 16, 0, round(1.6 + 0.05 * (step % 10), 3), 2))
    directory.write_csv(PROBES, PROBE_COLUMNS, rows)
    events = [
        (2.0, "fail switch:s4"),
        (2.017, "all watched pairs heard again"),
        (2.045, "the controller's plan without switch:s4 is in place"),
        (5.0, "restore switch:s4"),
        (8.1, "the controller's first plan is back"),
    ]
    directory.write_csv(EVENTS, EVENT_COLUMNS, events)
    return folder
