"""Version of the code that simulates, which decides about a simulation's numbers."""

from __future__ import annotations

import hashlib
import importlib.metadata
from functools import cache
from pathlib import Path

# Packages, beside this one, whose code decides about numbers.
_PACKAGES = ("simulation", "traffic/workload")


@cache
def code_version() -> str:
    """Returns PolarLab's version, a digest of the code that simulates, and NumPy's version, in words.

    Simulations of the same version give the same numbers.
    """
    version, numpy = map(importlib.metadata.version, ("polarlab", "numpy"))
    return f"polarlab {version} (simulator {code_digest(_PACKAGES)}, numpy {numpy})"


@cache
def code_digest(packages: tuple[str, ...]) -> str:
    """Returns a digest of the code of some packages, 12 hexadecimal digits.

    Args:
        packages: folders of the packages, as `traffic/workload`.
    """
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for package in packages:
        for module in sorted((root / package).rglob("*.py")):
            digest.update(f"{module.relative_to(root)}\n".encode() + module.read_bytes())
    return digest.hexdigest()[:12]
