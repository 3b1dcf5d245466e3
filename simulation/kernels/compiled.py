"""Compilation of the kernels to machine code, which is kept in the user's cache folder.

With NUMBA_DISABLE_JIT=1 in the environment the kernels run as plain Python, so that one can step through
them; they give the same numbers.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from topology.files.libraries import homes, import_apart, trusted_folder

import_apart("numba", Path("/"))
import numba  # noqa: E402

Function = TypeVar("Function", bound=Callable[..., Any])

# The kernels make no arrays. Without the counting of references to arrays, which are atomic and at every
# access, they are nine times as fast.
_OPTIONS: Mapping[str, Any] = {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}


def cache_folder() -> Path:
    """Returns the folder of compiled kernels: below NUMBA_CACHE_DIR, XDG_CACHE_HOME or ~/.cache.

    Root, whom what it holds could harm, takes only folders that nobody else can change.

    Numba compiles a kernel again when its own module has changed. A kernel consists of functions of many
    modules, so that each state of all of them has a folder.
    """
    digest = hashlib.sha256()
    for module in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(module.read_bytes())
    return _base() / digest.hexdigest()[:16]


@cache
def _base() -> Path:
    given, base = os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")
    caches = [*([Path(base)] if base else []), *(home / ".cache" for home in homes())]
    folders = [folder / "polarlab" / "kernels" for folder in caches]
    return trusted_folder([*([Path(given)] if given else []), *folders], "kernels")


def is_compiled(kernel: str) -> bool:
    """Returns whether the cache folder has the machine code of a kernel, or none is needed.

    Args:
        kernel: name of its module, `credit` or `drop`.
    """
    return bool(vars(numba.config)["DISABLE_JIT"]) or any(cache_folder().rglob(f"{kernel}.run-*.nbi"))


vars(numba.config)["CACHE_DIR"] = str(cache_folder())
vars(numba.config)["CACHE_LOCATOR_CLASSES"] = ""  # the environment could name another place


def compiled(function: Function) -> Function:
    """Returns a function that is compiled when it is first called, and then read from the cache folder.

    Args:
        function: a function of numbers and arrays.
    """
    with contextlib.suppress(RuntimeError):  # no folder can be written: for each process anew
        kept: Function = numba.njit(cache=True, **_OPTIONS)(function)
        return kept
    unkept: Function = numba.njit(**_OPTIONS)(function)
    return unkept


def inlined(function: Function) -> Function:
    """Returns a function that becomes a part of each kernel that calls it.

    It has no code by which Python could call it, which crashes; Python may call its attribute `py_func`.

    Args:
        function: a function of numbers and arrays.
    """
    options: Mapping[str, Any] = {**_OPTIONS, "forceinline": True, "no_cpython_wrapper": True}
    decorated: Function = numba.njit(**options)(function)
    return decorated
