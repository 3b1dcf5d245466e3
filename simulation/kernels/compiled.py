"""Compiles the kernels to machine code, which is cached in the user's cache folder.

With NUMBA_DISABLE_JIT=1 in the environment, the kernels run as plain Python with the same results, so that a
debugger can step through them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from topology.files.libraries import homes, import_isolated, trusted_folder

import_isolated("numba", Path("/"))
import numba  # noqa: E402

Function = TypeVar("Function", bound=Callable[..., Any])

# The kernels allocate no arrays, so they need no reference counting. Without it (an atomic operation at every
# array access) they are nine times as fast.
_OPTIONS: Mapping[str, Any] = {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}


def cache_folder() -> Path:
    """Returns the folder of compiled kernels: below NUMBA_CACHE_DIR, XDG_CACHE_HOME or ~/.cache.

    For root, only folders that no other user can write are used, since loading a kernel executes it.

    Numba recompiles a kernel only when the kernel's own module has changed. Because kernels inline functions
    of many modules, the folder's name contains a digest of all of them.
    """
    digest = hashlib.sha256()
    for module in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(module.read_bytes())
    return _base() / digest.hexdigest()[:16]


@cache
def _base() -> Path:
    return trusted_folder(_folders(), "kernels")


def _folders() -> list[Path]:
    given, base = os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")
    caches = [*([Path(base)] if base else []), *(home / ".cache" for home in homes())]
    folders = [folder / "polarlab" / "kernels" for folder in caches]
    return [*([Path(given)] if given else []), *folders]


def keeps_kernels() -> bool:
    """Returns whether other processes find the kernels that this one compiles."""
    if os.path.realpath(_base()) not in map(os.path.realpath, _folders()):
        return False  # a temporary folder
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache_folder()):
            return True
    except OSError:
        return False


def is_compiled(kernel: str) -> bool:
    """Returns whether a kernel is already in the cache folder, or compilation is disabled.

    Args:
        kernel: name of the kernel's module, `credit` or `drop`.
    """
    return bool(vars(numba.config)["DISABLE_JIT"]) or any(cache_folder().rglob(f"{kernel}.run-*.nbi"))


vars(numba.config)["CACHE_DIR"] = str(cache_folder())
vars(numba.config)["CACHE_LOCATOR_CLASSES"] = ""  # ignores this variable of the environment


def compiled(function: Function) -> Function:
    """Compiles a function at its first call, or loads it from the cache folder (decorator).

    Args:
        function: a function of numbers and arrays.
    """
    with contextlib.suppress(RuntimeError):  # raised if no cache folder is writable
        cached: Function = numba.njit(cache=True, **_OPTIONS)(function)
        return cached
    uncached: Function = numba.njit(**_OPTIONS)(function)  # every process compiles it again
    return uncached


def inlined(function: Function) -> Function:
    """Inlines a function into every kernel that calls it (decorator).

    The function has no wrapper for Python, and calling it from Python crashes. Call its attribute `py_func`.

    Args:
        function: a function of numbers and arrays.
    """
    options: Mapping[str, Any] = {**_OPTIONS, "forceinline": True, "no_cpython_wrapper": True}
    decorated: Function = numba.njit(**options)(function)
    return decorated
