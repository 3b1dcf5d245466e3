"""PolarLab: low-diameter networks, emulated with real packets, proven and measured.

    >>> import polarlab
    >>> graph = polarlab.topology("polarfly", q=5)
    >>> polarlab.prove(polarlab.plan(graph, "ugal-pf"), "links").ok
    True

Names are loaded on first use. docs/how-to/python.md is the guide; `__init__.pyi` lists the names.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from polarlab.own_packages import prefer_own_packages

prefer_own_packages()
_IMPORT = re.compile(r"^from (\S+) import (\w+) as \w+$", re.MULTILINE)
_MODULES = {name: module for module, name in _IMPORT.findall(Path(__file__).with_suffix(".pyi").read_text())}
__all__ = sorted([*_MODULES, "__version__"])  # noqa: PLE0605  (type checkers read the stub)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        value: Any = importlib.import_module("importlib.metadata").version("polarlab")
    elif name in _MODULES:
        value = getattr(importlib.import_module(_MODULES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
