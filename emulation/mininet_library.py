"""Mininet's classes, imported without setuptools.

Mininet needs a class of distutils. Setuptools, where it is installed, replaces Python's distutils by its own,
and loads all of itself for it: a tenth of a second at every start of a fabric.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def _without_setuptools() -> Iterator[None]:
    """Has distutils imported from Python's own library, where it is still in there; then all is as before."""
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
