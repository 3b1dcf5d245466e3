"""Mininet's classes, imported without setuptools.

Mininet needs a class of distutils. If setuptools is installed, it replaces Python's distutils with its own
copy and loads all of itself to do so, which takes a tenth of a second at every start of a fabric.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def _without_setuptools() -> Iterator[None]:
    """Makes imports in the block use distutils from Python's own library, if Python still has it."""
    if sys.version_info >= (3, 12) or "distutils" in sys.modules:
        yield
        return
    finders = sys.meta_path[:]
    sys.meta_path[:] = [finder for finder in finders if type(finder).__module__ != "_distutils_hack"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        sys.meta_path[:] = finders
        for name in [name for name in sys.modules if name.partition(".")[0] == "distutils"]:
            del sys.modules[name]


with _without_setuptools():
    from mininet.link import Intf, Link
    from mininet.log import lg
    from mininet.net import VERSION, Mininet
    from mininet.node import Host, Node, Switch

__all__ = ["VERSION", "Host", "Intf", "Link", "Mininet", "Node", "Switch", "lg"]
