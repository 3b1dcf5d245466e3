"""PolarLab: low-diameter networks, emulated with real packets, proven and measured.

    >>> import polarlab
    >>> graph = polarlab.topology("polarfly", q=5)
    >>> polarlab.prove(polarlab.plan(graph, "ugal-pf"), "links").ok
    True

Everything is loaded when it is first used. docs/python.md is the guide.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from polarlab.own_packages import prefer_own_packages

if TYPE_CHECKING:
    from experiments.comparison.compare import compare
    from experiments.comparison.model import Comparison
    from experiments.results.figures import Figures
    from experiments.results.open import (
        Failover,
        Failovers,
        Run,
        SimulatedSweep,
        Simulation,
        Sweep,
        open_results,
    )
    from experiments.results.parts.crosscheck import Crosscheck
    from experiments.simulation.model import Saturation
    from experiments.spec.experiment import Experiment
    from experiments.theory.explain import Explanation
    from polarlab.api.analysis.deadlocks import prove_deadlock_freedom
    from polarlab.api.analysis.papers import PaperItem, Reproduction, papers, reproduce
    from polarlab.api.analysis.theory import (
        Prediction,
        SwitchRules,
        explain,
        patterns,
        plan,
        predict,
        prove,
        routings,
        rules,
    )
    from polarlab.api.experiments import failover, run, schema, sweep
    from polarlab.api.fabric import Fabric
    from polarlab.api.graphs import (
        GraphNumbers,
        NearestMember,
        designs,
        draw,
        export,
        families,
        nearest_members,
        numbers,
        topology,
    )
    from polarlab.api.hosts import CommandResult, Host, Program
    from polarlab.api.listings import Listing
    from polarlab.api.machine import Cleaned, Examination, clean, doctor
    from polarlab.api.plugins import register
    from polarlab.api.results import plot, report
    from polarlab.api.simulations import crosscheck, saturation, simulate
    from polarlab.web.replays import watch
    from routing.deadlock.proof import DeadlockProof
    from routing.plan.model import RoutePlan
    from routing.verification.proof import Proof
    from topology.base import Topology
    from topology.errors import MachineError, NegativeResult, ParameterError, PolarLabError, UsageError
    from topology.networkx_graphs import from_networkx

    __version__: str

__all__ = [
    "Cleaned",
    "CommandResult",
    "Comparison",
    "Crosscheck",
    "DeadlockProof",
    "Examination",
    "Experiment",
    "Explanation",
    "Fabric",
    "Failover",
    "Failovers",
    "Figures",
    "GraphNumbers",
    "Host",
    "Listing",
    "MachineError",
    "NearestMember",
    "NegativeResult",
    "PaperItem",
    "ParameterError",
    "PolarLabError",
    "Prediction",
    "Program",
    "Proof",
    "Reproduction",
    "RoutePlan",
    "Run",
    "Saturation",
    "SimulatedSweep",
    "Simulation",
    "Sweep",
    "SwitchRules",
    "Topology",
    "UsageError",
    "__version__",
    "clean",
    "compare",
    "crosscheck",
    "designs",
    "doctor",
    "draw",
    "explain",
    "export",
    "failover",
    "families",
    "from_networkx",
    "nearest_members",
    "numbers",
    "open_results",
    "papers",
    "patterns",
    "plan",
    "plot",
    "predict",
    "prove",
    "prove_deadlock_freedom",
    "register",
    "report",
    "reproduce",
    "routings",
    "rules",
    "run",
    "saturation",
    "schema",
    "simulate",
    "sweep",
    "topology",
    "watch",
]
prefer_own_packages()
_HOMES = {
    "experiments.comparison.compare": ("compare",),
    "experiments.comparison.model": ("Comparison",),
    "experiments.results.figures": ("Figures",),
    "experiments.results.open": (
        *("Failover", "Failovers", "Run", "SimulatedSweep", "Simulation", "Sweep"),
        "open_results",
    ),
    "experiments.results.parts.crosscheck": ("Crosscheck",),
    "experiments.spec.experiment": ("Experiment",),
    "experiments.theory.explain": ("Explanation",),
    "polarlab.api.analysis.deadlocks": ("prove_deadlock_freedom",),
    "polarlab.api.experiments": ("failover", "run", "schema", "sweep"),
    "polarlab.api.fabric": ("Fabric",),
    "polarlab.api.graphs": (
        *("GraphNumbers", "NearestMember", "designs", "draw", "export"),
        *("families", "nearest_members", "numbers", "topology"),
    ),
    "polarlab.api.hosts": ("CommandResult", "Host", "Program"),
    "polarlab.api.listings": ("Listing",),
    "polarlab.api.machine": ("Cleaned", "Examination", "clean", "doctor"),
    "polarlab.api.plugins": ("register",),
    "polarlab.api.analysis.papers": ("PaperItem", "Reproduction", "papers", "reproduce"),
    "polarlab.web.replays": ("watch",),
    "polarlab.api.results": ("plot", "report"),
    "experiments.simulation.model": ("Saturation",),
    "polarlab.api.simulations": ("crosscheck", "saturation", "simulate"),
    "polarlab.api.analysis.theory": (
        *("Prediction", "SwitchRules"),
        *("explain", "patterns", "plan", "predict", "prove", "routings", "rules"),
    ),
    "routing.deadlock.proof": ("DeadlockProof",),
    "routing.plan.model": ("RoutePlan",),
    "routing.verification.proof": ("Proof",),
    "topology.base": ("Topology",),
    "topology.errors": ("MachineError", "NegativeResult", "ParameterError", "PolarLabError", "UsageError"),
    "topology.networkx_graphs": ("from_networkx",),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        value = importlib.import_module("importlib.metadata").version("polarlab")
    else:
        value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
