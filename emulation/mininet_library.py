"""Mininet's classes; `tests/unit/emulation/test_mininet_library.py` lists all that PolarLab uses.

Mininet 2.3.0 compares versions with a class of distutils, which Python 3.12 removed. While Mininet is
imported, a stand-in replaces distutils. On older versions of Python, the stand-in also keeps out
setuptools, whose copy of distutils takes a tenth of a second to load at every start of a fabric.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from types import ModuleType


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


@contextlib.contextmanager
def _distutils_replaced() -> Iterator[None]:
    """Provides `distutils.version.StrictVersion` to imports in the block."""
    package, version = ModuleType("distutils"), ModuleType("distutils.version")
    vars(version)["StrictVersion"] = _numbers
    vars(package)["version"] = version
    stand_ins = {module.__name__: module for module in (package, version)}
    replaced = {name: sys.modules[name] for name in stand_ins if name in sys.modules}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name in stand_ins:
            del sys.modules[name]
        sys.modules.update(replaced)


with _distutils_replaced():
    from mininet.link import Intf, Link
    from mininet.log import lg
    from mininet.net import VERSION, Mininet
    from mininet.node import Host, Node, Switch

__all__ = ["VERSION", "Host", "Intf", "Link", "Mininet", "Node", "Switch", "lg"]
