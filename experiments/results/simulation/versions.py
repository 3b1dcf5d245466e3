"""Versions of the software that produces results of simulations."""

from __future__ import annotations

import importlib.metadata
import platform

_PACKAGES = ("polarlab", "numpy", "numba")


def versions() -> dict[str, str]:
    """Returns the versions of the software that produces results, by name."""
    packages = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {**packages, "python": platform.python_version()}
