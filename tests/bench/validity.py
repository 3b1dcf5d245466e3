"""Whether results that are called valid are right, and right ones valid.

Overloads are drawn from a seed: their kinds and strengths. Each disturbs one run of a traffic; the run is
distorted if what it accepted, its hops or its queueing differ by over 5 % from the mean of three runs of the
same traffic at a quarter of the link rate. `polarlab` knows nothing of what goes on: it calls a run valid or
not.
"""

from __future__ import annotations

import csv
import itertools
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

from overloads import WAYS, nothing
from rows import Row

import polarlab
from emulation.network import FabricNetwork
from experiments.events.base import ignore
from experiments.live_fabric import LiveFabric, controlled, prepared_network
from experiments.measurement import measure
from experiments.results.model import PairCheck, Summary
from experiments.spec.fabric import FabricOptions
from experiments.spec.traffic import TrafficOptions
from topology.families.low_diameter.polarfly import PolarFly
from topology.links import LinkSpec

_UNCHECKED = PairCheck(0, 0, 0, 0, 0)
_FRAME_BYTES, _QUEUE = 1000, 32
_TOLERANCE = 0.05
OVERLOADS = Path("results/bench-overloads.csv")
_OVERLOADED, _SOUND = 50, 40  # runs
_MORE_SWITCHES = 8  # q of the fabric with too many switches: 73 of them


@dataclass(frozen=True)
class Traffic:
    """One traffic of the experiment; times in frame times, so that runs at all rates are alike."""

    routing: str
    pattern: str
    load: float
    rate_bps: int = 600_000
    warmup: int = 300
    window: int = 500

    def __str__(self) -> str:
        return f"{self.routing} {self.pattern} {self.load:g}"

    def options(self, rate_bps: int, seed: int = 1) -> TrafficOptions:
        """Returns the specification of the traffic at a link rate."""
        frame_s = _FRAME_BYTES * 8 / rate_bps
        times = (self.warmup * frame_s, self.window * frame_s)
        return TrafficOptions(self.pattern, self.load, _FRAME_BYTES, 64, *times, seed=seed)


# Traffic whose packets do the same in every run, or nearly so: what is off by over 5 % is not by chance.
TRAFFICS = (
    Traffic("min", "uniform", 0.7),
    Traffic("min", "random-permutation", 0.3),
    Traffic("compact-valiant", "perm1hop", 0.25),
    Traffic("ugal-pf", "uniform", 0.7, rate_bps=400_000),
)


def _fabric(traffic: Traffic, rate_bps: int, q: int = 5) -> FabricOptions:
    links = LinkSpec(rate_bps, _QUEUE)
    return FabricOptions("polarfly", {"q": q}, PolarFly(q), 3, traffic.routing, links)


@contextmanager
def _at_rate(network: FabricNetwork, traffic: Traffic, rate_bps: int, q: int = 5) -> Iterator[LiveFabric]:
    options = _fabric(traffic, rate_bps, q)
    network.reshape(options.links)
    with controlled(options, network, ignore) as fabric:
        yield fabric


def _run(fabric: LiveFabric, options: TrafficOptions) -> Summary:
    fabric.reset()
    summary = measure(fabric, options, _UNCHECKED, ignore).summary
    if summary.interrupted:
        raise KeyboardInterrupt
    return summary


def _values(summary: Summary) -> tuple[float, float, float]:
    """Returns what a run accepted, the mean hops and the mean queueing in frame times."""
    return (summary.accepted or 0.0, summary.hops_mean or 0.0, summary.queueing_frame_times or 0.0)


def _error(summary: Summary, reference: tuple[float, ...]) -> float:
    """Returns the largest relative difference from the reference."""
    return max(abs(value / right - 1) for value, right in zip(_values(summary), reference, strict=True))


@dataclass(frozen=True, order=True)
class _Draw:
    """One run of the experiment; in the order in which fabrics change least.

    Attributes:
        q: of the fabric.
        traffic: place of the traffic in TRAFFICS.
        rate_bps: link rate.
        kind: way to overload the machine, or empty.
        strength: its strength, 0 to 1.
    """

    q: int
    traffic: int
    rate_bps: int
    kind: str
    strength: float


def _drawn(seed: int) -> list[_Draw]:
    """Returns the runs that a seed draws, and as many that nothing disturbs as are wanted."""
    chance, draws = random.Random(seed), []
    for _ in range(_OVERLOADED):
        kind, strength = chance.choice(list(WAYS)), round(chance.random(), 3)
        traffic, q = chance.randrange(len(TRAFFICS)), 5
        rate_bps = TRAFFICS[traffic].rate_bps
        if kind == "too many frames":  # up to eight times as many
            rate_bps = 1000 * round(rate_bps * 8**strength / 1000)
        elif kind == "too many switches":
            traffic, q, rate_bps = 0, _MORE_SWITCHES, 1000 * round(rate_bps * (0.4 + strength) / 1000)
        draws.append(_Draw(q, traffic, rate_bps, kind, strength))
    for number in range(_SOUND):
        traffic = number % len(TRAFFICS)
        draws.append(_Draw(5, traffic, TRAFFICS[traffic].rate_bps, "", 0.0))
    return sorted(draws)


@dataclass(frozen=True)
class Disturbed:
    """A run with what was done to it, as a row of the table that the figure is drawn from."""

    seed: int
    fabric: str
    traffic: str
    rate_bps: int
    kind: str
    strength: str
    error: float
    flagged: bool
    held_max: float | None
    held_rms: float | None
    held_mean: float | None
    cpu_idle: float | None
    reasons: str

    @property
    def distorted(self) -> bool:
        """Whether the run is off by more than is tolerated."""
        return self.error > _TOLERANCE


def overloads() -> list[Row]:
    """Runs that were overloaded in many ways, and runs that were not: flagged against distorted."""
    seed = int(os.environ.get("OVERLOADS_SEED", time.time_ns() // 10**6 % 10**6))
    print(f"overloads are drawn with seed {seed}", file=sys.stderr, flush=True)
    runs: list[Disturbed] = []
    for q, draws in itertools.groupby(_drawn(seed), lambda draw: draw.q):
        with prepared_network(_fabric(TRAFFICS[0], 500_000, q), ignore) as network:
            for place, of_traffic in itertools.groupby(draws, lambda draw: draw.traffic):
                for run in _of_traffic(network, TRAFFICS[place], list(of_traffic), seed):
                    runs.append(run)
                    _write(runs)
    return _verdicts(runs)


def _of_traffic(
    network: FabricNetwork, traffic: Traffic, draws: list[_Draw], seed: int
) -> Iterator[Disturbed]:
    """Yields all runs of a traffic, behind those that they are compared with."""
    q, slow_bps = draws[0].q, TRAFFICS[0].rate_bps // 4
    with _at_rate(network, traffic, slow_bps, q) as fabric:
        right = [_values(_run(fabric, traffic.options(slow_bps))) for _ in range(3)]
    reference = tuple(map(statistics.fmean, zip(*right, strict=True)))
    spread = max(abs(value / mean - 1) for one in right for value, mean in zip(one, reference, strict=True))
    print(f"q = {q}, {traffic}: {reference}, within {spread:.1%}", file=sys.stderr, flush=True)
    for rate_bps, of_rate in itertools.groupby(draws, lambda draw: draw.rate_bps):
        with _at_rate(network, traffic, rate_bps, q) as fabric:
            for draw in of_rate:
                way = WAYS.get(draw.kind, nothing)
                with way(fabric, draw.strength) as strength:
                    summary = _run(fabric, traffic.options(rate_bps))
                fidelity = summary.fidelity
                run = Disturbed(
                    seed,
                    f"ER_{q}",
                    str(traffic),
                    rate_bps,
                    draw.kind or "nothing",
                    strength,
                    round(_error(summary, reference), 4),
                    not fidelity.valid,
                    fidelity.held_frame_times_max,
                    fidelity.held_frame_times_rms,
                    fidelity.held_frame_times_mean,
                    fidelity.cpu_idle,
                    "; ".join(fidelity.reasons),
                )
                print(run, file=sys.stderr, flush=True)
                yield run


def _write(runs: list[Disturbed]) -> None:
    OVERLOADS.parent.mkdir(exist_ok=True)
    with open(OVERLOADS, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(entry.name for entry in fields(Disturbed))
        table.writerows(map(astuple, runs))


def _verdicts(runs: list[Disturbed]) -> list[Row]:
    provoked = [run for run in runs if run.kind != "nothing"]
    distorted = [run for run in provoked if run.distorted]
    missed = [run for run in distorted if not run.flagged]
    kinds = len({run.kind for run in provoked})
    sound = [run for run in runs if run.kind == "nothing" and not run.distorted]
    flagged = [run for run in sound if run.flagged]
    idle = [run for run in sound if run.cpu_idle is not None and run.cpu_idle < 0.35]
    seed = runs[0].seed
    return [
        Row(
            f"{len(provoked)} overloads of {kinds} kinds, drawn with seed {seed}: distorted, not flagged",
            f"{len(distorted)} of them distorted by over {_TOLERANCE:.0%}",
            f"{len(missed)}: {', '.join(f'{run.kind} {run.error:.1%}' for run in missed) or '-'}",
            "0",
            not missed,
        ),
        Row(
            "sound runs that are flagged",
            f"{len(sound)} sound runs; a rule of 35 % idle CPU would flag {len(idle)}",
            f"{len(flagged)}",
            "at most 5 %",
            len(flagged) <= 0.05 * len(sound),
        ),
    ]


def highest_rate() -> list[Row]:
    """The highest link rate at which nine of ten runs are valid, and how they agree with slow ones."""
    rates = (280_000, 500_000, 700_000, 1_000_000, 1_400_000)
    one = Traffic("ugal-pf", "perm1hop", 0.5, warmup=600, window=600)
    traffics = [replace(one, pattern=pattern) for pattern in ("perm1hop", "perm2hop")]
    valid: dict[int, int] = {}
    means: dict[int, list[tuple[float, float]]] = {}
    with prepared_network(_fabric(one, rates[0]), ignore) as network:
        for rate_bps in rates:
            with _at_rate(network, one, rate_bps) as fabric:
                runs = [
                    [_run(fabric, traffic.options(rate_bps, seed)) for seed in range(1, 6)]
                    for traffic in traffics
                ]
            valid[rate_bps] = sum(run.fidelity.valid for of_traffic in runs for run in of_traffic)
            means[rate_bps] = [
                (
                    statistics.fmean(run.accepted or 0 for run in of_traffic),
                    statistics.fmean(run.queueing_frame_times or 0 for run in of_traffic),
                )
                for of_traffic in runs
            ]
            print(rate_bps, valid[rate_bps], means[rate_bps], file=sys.stderr, flush=True)
    highest = max((rate for rate in rates if valid[rate] >= 9), default=0)
    rows = [
        Row(
            "ER_5, ugal-pf at 0.5, 5 seeds of perm1hop and perm2hop: highest rate with 9 of 10 valid",
            ", ".join(f"{rate / 1e6:g} Mbit/s: {count} of 10" for rate, count in valid.items()),
            f"{highest / 1e6:g} Mbit/s",
            "1 Mbit/s",
            highest >= 1_000_000,
        )
    ]
    compared = 1_000_000  # the goal
    for traffic, right, found in zip(traffics, means[rates[0]], means[compared], strict=True):
        accepted, queueing = (value / wanted - 1 for value, wanted in zip(found, right, strict=True))
        rows.append(
            Row(
                f"{traffic.pattern}, {compared / 1e6:g} against 0.28 Mbit/s: accepted; frame times in queues",
                f"{right[0]:.4f}; {right[1]:.2f}",
                f"{found[0]:.4f} ({accepted:+.1%}); {found[1]:.2f} ({queueing:+.1%})",
                "within 2 %; within 10 %",
                abs(accepted) <= 0.02 and abs(queueing) <= 0.1,
            )
        )
    return rows


def accepted_with_defaults() -> list[Row]:
    """What adaptive routings accept of half the capacity, with the rate and the warm-up that are found."""
    er7 = ("polarfly", {"q": 7, "hosts": 4, "routing": "ugal-pf"})
    star = ("polarstar", {"q": 2, "supernode": "iq", "degree": 3, "hosts": 2, "routing": "ugal"})
    asked = [(er7, pattern) for pattern in ("random-permutation", "perm2hop", "perm1hop")]
    rows = []
    for (family, options), pattern in [*asked, (star, "random-permutation")]:
        with tempfile.TemporaryDirectory() as folder:
            given: dict[str, Any] = {**options, "pattern": pattern, "load": 0.5, "link_rate": "auto"}
            summary = polarlab.run(family, out=f"{folder}/run", **given).summary
        assert summary.accepted
        assert summary.offered
        share, fidelity = summary.accepted / summary.offered, summary.fidelity
        verdict = "valid" if fidelity.valid else "; ".join(fidelity.reasons)
        rate = f"{summary.link_rate_bps / 1e6:g} Mbit/s"
        who = f"{family}, {summary.endpoints} hosts, {summary.routing}, {pattern}"
        rows.append(
            Row(
                f"{who} at 0.5: accepted of offered",
                "the simulator 1.0",
                f"{share:.3f} at {rate} after {summary.warmup_s:.0f} s, {verdict}",
                "0.98",
                share >= 0.98,
            )
        )
    return rows
