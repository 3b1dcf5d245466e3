"""Controller frameworks: Ryu and os-ken, its maintained fork, which have the same interface.

A process uses one of them, chosen before `controller.openflow.codec` or `controller.openflow.runtime` is
imported; these load the framework's modules through `load`, and nothing else imports a framework.
"""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from types import ModuleType

from topology.errors import MachineError, ParameterError
from topology.parameters import hint

AUTO = "auto"
# The framework of `auto`, for all commands of a shell and for tests.
VARIABLE = "POLARLAB_FRAMEWORK"
# Variables with which a controller starts quicker. Ryu needs a class of distutils: that of Python, where it
# still has one; setuptools replaces it by its own, and loads all of itself for it.
QUICK_START = {"SETUPTOOLS_USE_DISTUTILS": "stdlib"} if sys.version_info < (3, 12) else {}


@dataclass(frozen=True)
class Framework:
    """A controller framework.

    Attributes:
        name: its name, which is that of its distribution, too.
        package: the package in which all its modules are.
        application: name of the base class of its applications.
        remedy: command that installs it, with the reason where it cannot be installed.
    """

    name: str
    package: str
    application: str
    remedy: str

    @property
    def installed(self) -> bool:
        """Whether this interpreter finds it."""
        return find_spec(self.package) is not None

    def version(self) -> str:
        """Returns the version that is installed.

        Raises:
            importlib.metadata.PackageNotFoundError: it is not installed.
        """
        from importlib.metadata import version

        return version(self.name)


# In the order of preference. The bounds are those of setup.cfg.
FRAMEWORKS = {
    framework.name: framework
    for framework in (
        # Its source builds only with a setuptools from before 67, which `make setup` constrains.
        Framework("ryu", "ryu", "RyuApp", "`make setup` in PolarLab's source installs it (Python 3.11 only)"),
        Framework("os-ken", "os_ken", "OSKenApp", f"`{sys.executable} -m pip install 'os-ken>=4.2,<5'`"),
    )
}
CHOICES = (AUTO, *FRAMEWORKS)

_used: list[Framework] = []  # at most one, for the life of the process


def choose(asked: str = AUTO) -> Framework:
    """Returns the framework that a name stands for, which is installed.

    Args:
        asked: `ryu`, `os-ken`, or `auto`: the one that POLARLAB_FRAMEWORK names, or else Ryu where it is
            installed, and os-ken where it is not.

    Raises:
        ParameterError: the name is unknown.
        MachineError: the framework is not installed; the text has the command that installs it.
    """
    if asked == AUTO:
        asked = os.environ.get(VARIABLE) or AUTO
    if asked not in CHOICES:
        raise ParameterError(
            f"framework must be one of {', '.join(CHOICES)}, got {asked!r}{hint(asked, CHOICES)}"
        )
    if asked == AUTO:
        asked = next((one.name for one in FRAMEWORKS.values() if one.installed), "os-ken")
    framework = FRAMEWORKS[asked]
    if not framework.installed:
        raise MachineError(f"controller framework {asked} is not installed; {framework.remedy}")
    return framework


def use(asked: str = AUTO) -> Framework:
    """Settles this process's framework, and returns it.

    Args:
        asked: the name, as for `choose`.

    Raises:
        ParameterError, MachineError: as for `choose`.
        RuntimeError: the process uses another one already.
    """
    framework = choose(asked)
    if not _used:
        _used.append(framework)
    if _used[0] is not framework:
        raise RuntimeError(f"this process's framework must be {_used[0].name}, got {framework.name}")
    return framework


def used() -> Framework:
    """Returns this process's framework, that of `auto` if none was settled."""
    return _used[0] if _used else use()


def load(module: str) -> ModuleType:
    """Returns a module of this process's framework.

    Args:
        module: its name below the framework's package, as `ofproto.ofproto_v1_3`.
    """
    return importlib.import_module(f"{used().package}.{module}")
