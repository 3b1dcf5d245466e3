"""Imports the project's own packages, even if files in a user's folder have the same plain names.

The packages are called `topology`, `traffic` and so on, without a prefix. Python looks into the script's or
the working folder first, where a user's `traffic.py` would be taken for the package. A finder that comes
before all others resolves these names to the folders next to this package.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

NAMES = ("topology", "routing", "controller", "emulation", "simulation", "traffic", "experiments")
_ROOT = Path(__file__).resolve().parents[1]


class _OwnPackages(MetaPathFinder):
    """Import hook (finder) that finds the project's own packages and no other module."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the specification of one of the project's packages, else None."""
        return PathFinder.find_spec(fullname, [str(_ROOT)]) if fullname in NAMES else None


def prefer_own_packages() -> None:
    """Makes later imports of the project's package names find its own packages before any others.

    Raises:
        ImportError: another module is loaded by one of the names already.
    """
    for name in NAMES:
        module = sys.modules.get(name)
        if module is not None and not _is_own(module):
            raise ImportError(
                f"{_origin(module)} is loaded as `{name}`, which polarlab needs for a package of its own; "
                "rename it, or import polarlab in another program"
            )
    if not any(isinstance(finder, _OwnPackages) for finder in sys.meta_path):
        sys.meta_path.insert(0, _OwnPackages())


def _is_own(package: ModuleType) -> bool:
    folders = getattr(package, "__path__", ())
    return any(Path(folder).resolve() == _ROOT / package.__name__ for folder in folders)


def _origin(module: ModuleType) -> str:
    """Returns the file of a module, or the folder of a package."""
    return str(
        getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), module.__name__)
    )
