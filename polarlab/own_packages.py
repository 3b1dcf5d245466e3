"""Imports the project's own packages, even if files in a user's folder have the same plain names.

The packages are called `topology`, `traffic` and so on, without a prefix. Python looks into the script's or
the working folder first, where a user's `traffic.py` would be taken for the package. A finder that comes
before all others resolves these names to the folders next to this package.

Distributions that use the same names would also install their files over these. The first import of a package
refuses to continue with such files.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

NAMES = ("topology", "routing", "controller", "emulation", "simulation", "traffic", "experiments")
_DISTRIBUTION = "polarlab"
_ROOT = Path(__file__).resolve().parents[1]
# The lines of an installation's record about the files that a package is imported by, with their sizes.
_RECORDED = re.compile(rf"^((?:{'|'.join(NAMES)})/__init__\.py),[^,]*,(\d+)$", re.MULTILINE)


class SharedFilesError(ImportError):
    """Another distribution has installed files at paths of PolarLab's; the message names it and a remedy."""


def shared_files() -> list[tuple[str, str]]:
    """Returns (distribution, path) for each of the project's files that another distribution also owns."""
    from importlib.metadata import distributions  # slow to import, and rarely needed

    all_files = {one: {*map(str, one.files or ())} for one in distributions(path=[str(_ROOT)])}
    own = {path for one, files in all_files.items() if one.name == _DISTRIBUTION for path in files}
    own = {path for path in own if path.partition("/")[0] in (*NAMES, _DISTRIBUTION)}
    return [
        (f"{other.name} {other.version}", path)
        for other, files in all_files.items()
        if other.name != _DISTRIBUTION
        for path in sorted(own & files)
    ]


def sharing_text(owner: str, path: str) -> str:
    """Returns the error message about a file that `shared_files` found, with a remedy."""
    return f"{owner} and polarlab have both installed {path}; install polarlab in an environment of its own"


class _OwnPackages(MetaPathFinder):
    """Import hook (finder) that finds the project's own packages and no other module."""

    def __init__(self) -> None:
        self._checked = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the import specification if the module is one of the project's packages, else None.

        Raises:
            SharedFilesError: another distribution has replaced files of the packages.
        """
        if fullname not in NAMES:
            return None
        if not self._checked:
            _check_files()
            self._checked = True
        return PathFinder.find_spec(fullname, [str(_ROOT)])


def _check_files() -> None:
    """Raises SharedFilesError if a package's files have changed and another distribution owns them, too.

    Sizes show whether a file was replaced. Only then are the records of all distributions searched, which
    takes 0.1 s.
    """
    for record in _ROOT.glob(f"{_DISTRIBUTION}-*.dist-info/RECORD"):  # none in a checkout
        sizes = dict(_RECORDED.findall(record.read_text()))
        if any(_size(_ROOT / path) != int(size) for path, size in sizes.items()):
            for owner, path in shared_files():
                raise SharedFilesError(sharing_text(owner, path))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


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
