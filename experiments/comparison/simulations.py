"""Simulations side by side."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.comparison.model import Comparison, Value
from experiments.comparison.settings import flat_settings, side_by_side
from experiments.results.open import Simulation
from experiments.results.simulation.model import SimulationSummary

KIND = "simulations"
_COMPLETION = ("completion_cycles", "ideal_cycles", "slowdown", "slowdown_p99")  # of applications


def compare_simulations(names: Sequence[str], simulations: Sequence[Simulation]) -> Comparison:
    """Returns simulations side by side.

    Args:
        names: a name for each simulation.
        simulations: the simulations.

    Raises:
        ParameterError: one is damaged.
    """
    sides = side_by_side([flat_settings(one.manifest) for one in simulations])
    results = [_results(one.summary) for one in simulations]
    applications = [name for name in _COMPLETION if any(result[name] is not None for result in results)]
    return Comparison(
        kind=KIND,
        runs=tuple(names),
        same=sides.same,
        differing=sides.differing,
        results={
            name: [result[name] for result in results]
            for name in results[0]
            if name not in _COMPLETION or name in applications
        },
    )


def _results(summary: SimulationSummary) -> dict[str, Value]:
    latency, links = summary.latency_cycles, summary.links
    collective, trace = summary.collective, summary.trace
    completion = collective or trace
    return {
        "offered": summary.offered,
        "accepted": summary.accepted,
        "predicted": summary.predicted.accepted if summary.predicted else None,
        "loss": summary.loss,
        "stable": summary.stable,
        "deadlock": summary.deadlock is not None,
        "completion_cycles": completion.completion_cycles if completion else None,
        "ideal_cycles": completion.ideal_cycles if completion else None,
        "slowdown": collective.slowdown if collective else None,
        "slowdown_p99": trace.slowdown.p99 if trace and trace.slowdown else None,
        "latency_mean_cycles": latency.mean,
        "latency_p50_cycles": latency.p50,
        "latency_p99_cycles": latency.p99,
        "queueing_frame_times": summary.queueing_frame_times,
        "hops_mean": summary.hops_mean,
        "detoured": summary.detoured,
        "link_load_max": links.load_max,
        "jain": links.jain,
        "dropped_packets": links.dropped_packets,
        "rules": summary.rules.flows,
        "groups": summary.rules.groups,
    }
