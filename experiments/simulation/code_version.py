"""Version of the simulator's code, which determines a simulation's numbers."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# Packages whose code determines numbers.
_PACKAGES = ("simulation", "traffic/workload")


@cache
def code_version() -> str:
    """Returns PolarLab's version, a digest of the simulator's code, and NumPy's version, as text.

    Simulations with equal versions give equal numbers.
    """
    version, numpy = map(importlib.metadata.version, ("polarlab", "numpy"))
    return f"polarlab {version} (simulator {code_digest(_PACKAGES)}, numpy {numpy})"


@cache
def code_digest(packages: tuple[str, ...]) -> str:
    """Returns a digest of the code of packages, 12 hexadecimal digits.

    Args:
        packages: folders of the packages, like `traffic/workload`.
    """
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for package in packages:
        for module in sorted((root / package).rglob("*.py")):
            digest.update(f"{module.relative_to(root)}\n".encode() + module.read_bytes())
    return digest.hexdigest()[:12]


@cache
def logic_digest(packages: tuple[str, ...], without: tuple[str, ...] = ()) -> str:
    """Returns a digest of the behaviour of packages, 12 hexadecimal digits.

    Comments, layout, docstrings and raise statements do not count, as no simulated number depends on them.

    Args:
        packages: folders like `traffic/workload`, or modules like `traffic/workload/motifs.py`.
        without: folders and modules inside these packages that do not count.
    """
    root = Path(__file__).parents[2]
    left_out = [root / folder for folder in without]
    digest = hashlib.sha256()
    for package in packages:
        place = root / package
        for module in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            if not any(module.is_relative_to(folder) for folder in left_out):
                logic = logic_of(module.read_text(encoding="utf-8"))
                digest.update(f"{module.relative_to(root)}\n{logic}".encode())
    return digest.hexdigest()[:12]


@cache
def module_digest(module: str, package: str) -> str:
    """Returns a digest of the behaviour of a module and of those modules of a package that it imports.

    Args:
        module: name of the module, like `routing.algorithms.ugal`.
        package: name of the package; its modules count if the module imports them, directly or not.

    Returns:
        12 hexadecimal digits.
    """
    root = Path(__file__).parents[2]
    logic: dict[str, str] = {}
    wanted = [module]
    while wanted:
        name = wanted.pop()
        file = root / f"{name.replace('.', '/')}.py"
        if name not in logic and file.exists():
            tree = ast.parse(file.read_text(encoding="utf-8"))
            wanted += [one for one in _imported(tree) if one.startswith(f"{package}.")]
            logic[name] = ast.dump(_WithoutWords().visit(tree))
    return hashlib.sha256(repr(sorted(logic.items())).encode()).hexdigest()[:12]


def _imported(tree: ast.AST) -> Iterator[str]:
    """Yields each module that a syntax tree imports, and `MODULE.NAME` for each name imported from one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def logic_of(source: str) -> str:
    """Returns the behaviour of a module as text, without comments, layout, docstrings and raise statements.

    Args:
        source: the module.
    """
    return ast.dump(_WithoutWords().visit(ast.parse(source)))


class _WithoutWords(ast.NodeTransformer):
    """Removes docstrings and raise statements from a syntax tree."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Replaces a statement that is only a string, like a docstring, by `pass`."""
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return ast.Pass()
        return self.generic_visit(node)

    def visit_Raise(self, _node: ast.Raise) -> ast.AST:
        """Replaces the statement by `pass`."""
        return ast.Pass()
