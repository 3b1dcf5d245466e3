"""What adaptive routing accepts on ER_5 with real packets, how soon it answers, and what it costs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rows import Row

from emulation.network import FabricNetwork
from emulation.subprocesses import marked_environment
from experiments.events.base import ignore
from experiments.figures.sweep import simulated_curve
from experiments.live_fabric import LiveFabric, controlled, open_queue_readers, prepared_network
from experiments.measurement import measure
from experiments.pair_check import check_all_pairs
from experiments.results.manifest import SweepSettings
from experiments.results.model import Summary
from experiments.spec.fabric import FabricOptions
from experiments.spec.traffic import TrafficOptions
from experiments.traffic_jobs import make_job
from routing.registry import make_plan
from topology.families.low_diameter.polarfly import PolarFly
from topology.links import LinkSpec
from topology.registry import make_topology
from traffic.engine.engine import run_traffic
from traffic.workload.patterns import make_pattern
from traffic.workload.schedule import ConsecutiveSchedule, PatternSchedule

PERMUTATIONS = ("tornado", "random-permutation", "perm1hop", "perm2hop")
LINKS = LinkSpec(500_000, 32)
FRAME_BYTES, FLOWS = 1000, 64
# Long enough to settle, and to count some thousand packets.
WARMUP_S, DURATION_S = 12.0, 10.0
_SIMULATED = SweepSettings(
    name="polarfly", params={"q": 5}, hosts=3, link_rate_bps=500_000, queue_packets=32, frame_bytes=1000
)
_QUIET = ignore


def _options(q: int, hosts: int, routing: str) -> FabricOptions:
    return FabricOptions("polarfly", {"q": q}, PolarFly(q), hosts, routing, LINKS)


@contextmanager
def _checked(options: FabricOptions, network: FabricNetwork) -> Iterator[_Bench]:
    with controlled(options, network, _QUIET) as fabric:
        yield _Bench(fabric, check_all_pairs(fabric, _QUIET))


@dataclass
class _Bench:
    """A fabric under one routing."""

    fabric: LiveFabric
    check: Any

    def run(self, pattern: str, load: float) -> Summary:
        """Returns the summary of one run."""
        self.fabric.reset()
        options = TrafficOptions(pattern, load, FRAME_BYTES, FLOWS, WARMUP_S, DURATION_S, 1)
        summary = measure(self.fabric, options, self.check, _QUIET).summary
        if summary.interrupted:
            raise KeyboardInterrupt
        return summary


def er5() -> list[Row]:
    """Every row of ER_5, on one fabric."""
    rows = []
    with prepared_network(_options(5, 3, "min"), _QUIET) as network:
        with _checked(_options(5, 3, "min"), network) as bench:
            rows += [_minimal_row(bench, pattern) for pattern in PERMUTATIONS]
            uniform = _accepted(bench.run("uniform", 0.8))
        with _checked(_options(5, 3, "ugal-pf"), network) as bench:
            rows += [_adaptive_row(bench, pattern, 0.5, 0.47) for pattern in PERMUTATIONS]
            rows += [_adaptive_row(bench, pattern, 1.0, 0.45) for pattern in PERMUTATIONS]
            rows += [_uniform_row(bench, uniform), _response_row(bench.fabric)]
    return rows


def polarstar() -> list[Row]:
    """What PolarStar of 56 routers accepts of a permutation, minimally and with general Valiant detours."""
    params: dict[str, int | str] = {"q": 2, "supernode": "iq", "degree": 3}
    minimal = FabricOptions("polarstar", params, make_topology("polarstar", params), 2, "min", LINKS)
    rows = []
    with prepared_network(minimal, _QUIET) as network:
        for routing, simulated, least in (("min", 0.417, None), ("ugal", 0.498, 0.47)):
            with _checked(replace(minimal, routing=routing), network) as bench:
                summary = bench.run("random-permutation", 0.5)
            accepted = _accepted(summary)
            rows.append(
                Row(
                    f"PolarStar of 56, {routing}, random-permutation, offered 0.5: accepted",
                    f"the authors' simulator {simulated}",
                    f"{accepted:.3f} {_evidence(summary)}",
                    "-" if least is None else f"at least {least}",
                    least is None or accepted >= least,
                )
            )
    return rows


def _accepted(summary: Summary) -> float:
    """Returns the accepted load of a run, which sent something."""
    assert summary.accepted is not None
    return summary.accepted


def _evidence(summary: Summary) -> str:
    """Returns what tells whether a run can be trusted."""
    fidelity = summary.fidelity
    rate, lost = fidelity.link_rate_error, fidelity.lost_outside_queues
    rate_text = "none" if rate is None else f"{rate:+.1%}"
    lost_text = "unknown" if lost is None else f"{lost:.2%}"
    return (
        f"(idle {fidelity.cpu_idle:.0%}, lag {fidelity.generator_lag_ms_p99:.2f} ms, saturated links' "
        f"rate {rate_text}, lost outside queues {lost_text})"
    )


def _minimal_row(bench: _Bench, pattern: str) -> Row:
    summary = bench.run(pattern, 1.0)
    assert summary.predicted
    limit, accepted = summary.predicted.accepted, _accepted(summary)
    return Row(
        f"ER_5, min, {pattern}, offered 1.0: accepted",
        f"fluid model of the same plan {limit:.3f}",
        f"{accepted:.3f}, {accepted / limit - 1:+.1%} {_evidence(summary)}",
        "within 5 %",
        abs(accepted / limit - 1) <= 0.05,
    )


def _adaptive_row(bench: _Bench, pattern: str, load: float, least: float) -> Row:
    summary = bench.run(pattern, load)
    simulated = [p.accepted for p in simulated_curve(_SIMULATED, "ugal-pf", pattern) if p.offered == load]
    accepted = _accepted(summary)
    reordered = summary.out_of_order / max(1, summary.packets.received)
    return Row(
        f"ER_5, ugal-pf, {pattern}, offered {load:g}: accepted",
        f"simulator {simulated[0]:.3f}" if simulated else "not simulated",
        f"{accepted:.3f}, {reordered:.2%} reordered {_evidence(summary)}",
        f"at least {least}",
        accepted >= least,
    )


def _uniform_row(bench: _Bench, minimal: float) -> Row:
    summary = bench.run("uniform", 0.8)
    accepted = _accepted(summary)
    assert summary.adaptation
    return Row(
        "ER_5, ugal-pf, uniform, offered 0.8: accepted",
        f"min {minimal:.3f}, simulator 0.799",
        f"{accepted:.3f}, {summary.adaptation.groups_modified} groups modified " + _evidence(summary),
        "no less than min - 0.02",
        accepted >= minimal - 0.02,
    )


def _response_row(fabric: LiveFabric) -> Row:
    """Uniform traffic turns into a tornado; when does the throughput reach nine tenths of its final one?"""
    fabric.reset()
    load, before_s, after_s, step_s = 0.5, 6, 14, 0.25
    topology, hosts = fabric.options.topology, fabric.options.hosts
    packets_per_s = load * LINKS.rate_bps / (FRAME_BYTES * 8)
    parts = tuple(
        PatternSchedule(
            make_pattern(name, topology, hosts, 1), packets_per_s, seconds * 1_000_000_000, FLOWS, 1
        )
        for name, seconds in (("uniform", before_s), ("tornado", after_s))
    )
    schedule = ConsecutiveSchedule(parts)
    job = make_job(fabric, schedule, FRAME_BYTES, 900, FLOWS, (0, schedule.end_ns))
    job = replace(job, interval_ns=round(step_s * 1e9))
    received = run_traffic(job, marked_environment(), fabric.network.run_dir).received.bytes.sum(axis=1)
    switched, end = round(before_s / step_s), round((before_s + after_s) / step_s)
    final = received[end - 24 : end].mean()
    dip = received[switched : switched + 8].min() / final
    # Two steps together: one alone holds some 700 packets, and may be high by chance.
    reached = next(
        (step for step in range(switched + 3, end) if received[step - 1 : step + 1].mean() >= 0.9 * final),
        end,
    )
    seconds = (reached + 1 - switched) * step_s
    return Row(
        "ER_5, ugal-pf: uniform turns into a tornado at 0.5; until within 10 % of the final throughput",
        "-",
        f"{seconds:.2f} s (lowest quarter second: {dip:.0%} of the final)",
        "under 2 s",
        seconds < 2,
    )


def control_loop() -> list[Row]:
    """What the controller takes of a core on ER_7, congested and not."""
    # Three hosts a router congest it; slower links, because three times the hosts send.
    options = replace(_options(7, 3, "ugal-pf"), links=LinkSpec(150_000, 32))
    with prepared_network(options, _QUIET) as network, controlled(options, network, _QUIET) as fabric:
        check = check_all_pairs(fabric, _QUIET)
        idle_share, _ = controller_share(fabric, check, "uniform", 0.1)
        unchanged = fabric.controller.groups_modified
        busy_share, changes_per_s = controller_share(fabric, check, "tornado", 1.0)
        read_share = _reading_share(network)
    return [
        Row(
            "ER_7, ugal-pf: the whole controller's share of a core, tornado at 1.0",
            "-",
            f"{busy_share:.1%} at {changes_per_s:.0f} groups modified a second; uncongested {idle_share:.1%}",
            "under 25 %",
            busy_share < 0.25,
        ),
        Row(
            "ER_7, ugal-pf: groups modified while nothing is congested (uniform at 0.1)",
            "-",
            str(unchanged),
            "0",
            unchanged == 0,
        ),
        Row(
            "ER_7: all queues read twenty times a second",
            "-",
            f"{read_share:.1%} of a core",
            "under 5 %",
            read_share < 0.05,
        ),
    ]


def controller_share(fabric: LiveFabric, check: Any, pattern: str, load: float) -> tuple[float, float]:
    """Returns the controller's share of a core while traffic runs, and the groups it modified a second."""
    options = TrafficOptions(pattern, load, FRAME_BYTES, FLOWS, 2.0, 10.0, 1)
    used, changed, started = (
        _cpu_s(fabric.controller.pid),
        fabric.controller.groups_modified,
        time.monotonic(),
    )
    measure(fabric, options, check, _QUIET)
    seconds = time.monotonic() - started
    share = (_cpu_s(fabric.controller.pid) - used) / seconds
    return share, (fabric.controller.groups_modified - changed) / seconds


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _reading_share(network: FabricNetwork) -> float:
    """Returns what reading all queues twenty times a second takes of a core, by the best of five tries."""
    readers = open_queue_readers(network).values()
    best = float("inf")
    for _ in range(5):
        started = time.process_time()
        for _ in range(20):
            for reader in readers:
                reader.read()
        best = min(best, time.process_time() - started)
    for reader in readers:
        reader.close()
    return best


def state_of_ugal_pf() -> list[Row]:
    """Groups and buckets of a switch, for the sizes up to q = 13."""
    texts, linear = [], True
    for q in (3, 4, 5, 7, 8, 9, 11, 13):
        graph = PolarFly(q)
        plan = make_plan(graph, 1, "ugal-pf")
        size = plan.size()
        largest = max(len(g.buckets) for switch in plan.switches for g in switch.groups)
        texts.append(f"{q}: {size.groups_per_switch_max} groups, {size.buckets_per_switch_max} buckets")
        linear &= size.groups_per_switch_max <= 6 * (q + 1) and largest <= 64
    return [
        Row(
            "ugal-pf: groups and buckets of a switch, by q",
            "one group per destination: q^2 + q groups",
            "; ".join(texts),
            "O(q) groups of at most 64 buckets",
            linear,
        )
    ]
