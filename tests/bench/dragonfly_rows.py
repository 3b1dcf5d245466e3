"""Adaptive routing on a trunked dragonfly whose groups all send to the next one, real and simulated."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rows import Row

import polarlab
from routing.registry import make_plan, routing
from simulation.result import SimulationResult
from simulation.settings import Decision, RouterSettings, Times, Workload
from simulation.simulator import simulate
from simulation.tables.compiler import compile_tables
from simulation.tables.model import ForwardingTables
from topology.families.dragonflies.dragonfly import Dragonfly
from traffic.workload.patterns import make_pattern

_MIN_RATIO = 2.0
_FABRIC = "dragonfly 8/4/9 with trunking 4, 4 hosts a router"
_COLOURS = ("four-color:order=own", "four-color-valiant:order=own", "four-color-adaptive:order=own")
_LOADS = [tenths / 10 for tenths in range(1, 10)]
_MIN_RATIO_TO_BETTER = 0.95
_MINIMAL, _ADAPTIVE = "hierarchical", "ugal:over=hierarchical"
_COLOURED, _, _ADAPTIVE_COLOURED = _COLOURS
_FLUID_LIMIT = 0.40  # of four-color-valiant:order=own under adv:1
_WITHIN = 0.05


def adversarial() -> list[Row]:
    """The accepted load of UGAL over hierarchical paths, against hierarchical paths alone, under adv:1."""
    with tempfile.TemporaryDirectory() as folder:
        minimal, adaptive = (_run(name, "adv:1", 0.5, Path(folder)) for name in (_MINIMAL, _ADAPTIVE))
    return [_times(_ADAPTIVE, adaptive, minimal)]


def colours() -> list[Row]:
    """The adaptive colour routing under adv:1 and uniform traffic, against what it must not fall behind."""
    with tempfile.TemporaryDirectory() as folder:
        minimal, adaptive = (
            _run(name, "adv:1", 0.5, Path(folder)) for name in (_MINIMAL, _ADAPTIVE_COLOURED)
        )
        coloured, uniform = (
            _run(name, "uniform", 0.7, Path(folder)) for name in (_COLOURED, _ADAPTIVE_COLOURED)
        )
    share, difference = adaptive[0] / _FLUID_LIMIT, uniform[0] / coloured[0] - 1
    return [
        _times(_ADAPTIVE_COLOURED, adaptive, minimal),
        Row(
            f"{_FABRIC}, adv:1 at 0.5, real packets: accepted under `{_ADAPTIVE_COLOURED}`",
            f"fluid limit of `four-color-valiant:order=own`: {_FLUID_LIMIT:.2f}",
            f"{adaptive[0]:.3f}, {share:.2f} of it",
            "at least 0.9 of it",
            share >= 0.9,
        ),
        Row(
            f"{_FABRIC}, uniform at 0.7, real packets: accepted under `{_ADAPTIVE_COLOURED}`",
            f"`{_COLOURED}`: {coloured[0]:.3f}",
            f"{uniform[0]:.3f}, {difference:+.1%} ({_words(_COLOURED, coloured)}, "
            f"{_words(_ADAPTIVE_COLOURED, uniform)})",
            f"within {_WITHIN:.0%}",
            abs(difference) <= _WITHIN,
        ),
    ]


def _run(routing: str, pattern: str, load: float, folder: Path) -> tuple[float, bool]:
    """Returns the accepted load of a run, and whether the run was valid."""
    run = polarlab.run(
        "dragonfly",
        a=8,
        h=4,
        trunking=4,
        hosts=4,
        routing=routing,
        pattern=pattern,
        load=load,
        link_rate="200kbit",
        duration=10,
        out=folder / f"{routing.partition(':')[0]}-{pattern.partition(':')[0]}",
    )
    assert isinstance(run, polarlab.Run)
    assert run.summary.accepted is not None
    return run.summary.accepted, run.summary.fidelity.valid


def _words(routing: str, run: tuple[float, bool]) -> str:
    return f"{routing} {'valid' if run[1] else 'not valid'}"


def _times(routing: str, adaptive: tuple[float, bool], minimal: tuple[float, bool]) -> Row:
    """Returns the row of an adaptive routing against hierarchical paths alone."""
    ratio = adaptive[0] / minimal[0]
    return Row(
        f"{_FABRIC}, adv:1 at 0.5, real packets: accepted under `{routing}`",
        f"`{_MINIMAL}`: {minimal[0]:.3f}",
        f"{adaptive[0]:.3f}, {ratio:.1f} times ({_words(_MINIMAL, minimal)}, {_words(routing, adaptive)})",
        f"at least {_MIN_RATIO:g} times",
        ratio >= _MIN_RATIO,
    )


def one_channel() -> list[Row]:
    """The accepted load of coloured routings with one virtual channel, and of one whose packets freeze."""
    topology = Dragonfly(a=8, h=4, trunking=4)
    tables = {name: compile_tables(make_plan(topology, 4, name)) for name in (_MINIMAL, *_COLOURS)}
    rows = []
    for pattern in ("adv:1", "uniform"):
        runs = {name: [_one_channel(tables[name], name, pattern, load) for load in _LOADS] for name in tables}
        accepted = {name: [_accepted(run, tables[name]) for run in found] for name, found in runs.items()}
        print(f"{pattern}, accepted at loads of {_LOADS}:")
        for name, shares in accepted.items():
            frozen_or = zip(runs[name], shares, strict=True)
            print(f"  {name:20}", *("frozen" if run.deadlock else f"{one:.3f}" for run, one in frozen_or))
        *others, adaptive = (accepted[name] for name in _COLOURS)
        least = min(one / max(better) for one, *better in zip(adaptive, *others, strict=True))
        frozen = {name: sum(run.deadlock is not None for run in found) for name, found in runs.items()}
        rows.append(
            Row(
                f"dragonfly 8/4/9 with trunking 4, 4 hosts a router, {pattern} at 0.1 to 0.9, simulated with "
                f"one virtual channel: accepted under `{_COLOURS[-1]}`",
                f"the better of `{_COLOURS[0]}` and `{_COLOURS[1]}`; `{_MINIMAL}` freezes at "
                f"{frozen[_MINIMAL]} of {len(_LOADS)} loads",
                f"at least {least:.3f} of it; frozen at {frozen[_COLOURS[-1]]} loads",
                f"at least {_MIN_RATIO_TO_BETTER:g}, never frozen; `{_MINIMAL}` freezes",
                least >= _MIN_RATIO_TO_BETTER and not frozen[_COLOURS[-1]] and frozen[_MINIMAL] > 0,
            )
        )
    return rows


def _one_channel(tables: ForwardingTables, name: str, pattern: str, load: float) -> SimulationResult:
    topology = Dragonfly(a=8, h=4, trunking=4)
    workload = Workload(pattern=make_pattern(pattern, topology, 4, 1), load=load)
    law = routing(name).packet_law
    return simulate(
        tables,
        workload,
        RouterSettings(channels=1, channel_policy="any"),
        Decision(law="piggyback" if law else "minimal"),
        Times(warmup=10_000, window=10_000, most_drain=0),
        1,
    )


def _accepted(result: SimulationResult, tables: ForwardingTables) -> float:
    flits = result.accepted * RouterSettings().packet_flits
    return flits / (max(1, result.window) * tables.hosts)
