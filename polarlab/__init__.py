"""PolarLab: low-diameter networks, emulated with real packets, proven and measured.

    >>> import polarlab
    >>> graph = polarlab.topology("polarfly", q=7)
    >>> polarlab.prove(polarlab.plan(graph, "ugal-pf"), "links").ok
    True

Everything is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from polarlab.own_packages import prefer_own_packages

if TYPE_CHECKING:
    from experiments.results.open import open_results
    from polarlab.api import plan, prove, topology
    from topology.errors import MachineError, NegativeResult, ParameterError, PolarLabError, UsageError

    __version__: str

__all__ = [
    "MachineError",
    "NegativeResult",
    "ParameterError",
    "PolarLabError",
    "UsageError",
    "__version__",
    "open_results",
    "plan",
    "prove",
    "topology",
]
prefer_own_packages()
_MODULES = {
    "open_results": "experiments.results.open",
    **dict.fromkeys(("plan", "prove", "topology"), "polarlab.api"),
    **dict.fromkeys((name for name in __all__ if name[0].isupper()), "topology.errors"),
}


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
