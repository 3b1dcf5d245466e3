"""Controller frameworks: os-ken, of which only the parsers are used, and Ryu, of which os-ken is a fork.

A process uses one of them, chosen before `controller.openflow.codec` is imported. The modules of this package
load the framework's modules through `load`; nothing else imports a framework.
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
# Environment variable that names the framework to use for `auto`: for all commands of a shell, and for tests.
VARIABLE = "POLARLAB_FRAMEWORK"
# Environment variables that make a controller start faster. Ryu needs a class of distutils. Without this,
# setuptools replaces Python's distutils with its own copy, and loads all of itself to do so.
QUICK_START = {"SETUPTOOLS_USE_DISTUTILS": "stdlib"} if sys.version_info < (3, 12) else {}


@dataclass(frozen=True)
class Framework:
    """A controller framework.

    Attributes:
        name: its name, and the name of its distribution.
        package: the package that contains all its modules.
        runtime: the module that runs the controller with it.
        remedy: how to install it.
    """

    name: str
    package: str
    runtime: str
    remedy: str

    @property
    def installed(self) -> bool:
        """Whether this Python interpreter can import the framework."""
        return find_spec(self.package) is not None

    def version(self) -> str:
        """Returns the installed version.

        Raises:
            importlib.metadata.PackageNotFoundError: it is not installed.
        """
        from importlib.metadata import version

        return version(self.name)


# In order of preference. The version bounds are the same as in setup.cfg.
FRAMEWORKS = {
    framework.name: framework
    for framework in (
        Framework(
            "os-ken",
            "os_ken",
            "controller.openflow.event_loop",
            f"`{sys.executable} -m pip install 'os-ken>=4.2,<5'`",
        ),
        # No pip command: Ryu builds only with a setuptools before 67, which `make setup` ensures.
        Framework(
            "ryu",
            "ryu",
            "controller.openflow.ryu_runtime",
            "`make setup` in PolarLab's source installs it"
            if sys.version_info < (3, 12)
            else "it builds only on Python 3.11; leave out --framework",
        ),
    )
}
CHOICES = (AUTO, *FRAMEWORKS)

_used: list[Framework] = []  # at most one, for the lifetime of the process


def choose(asked: str = AUTO) -> Framework:
    """Returns the framework with a given name, after checking that it is installed.

    Args:
        asked: `os-ken`, `ryu` or `auto` (the framework that POLARLAB_FRAMEWORK names or, if that is not set,
            os-ken if it is installed, else Ryu).

    Raises:
        ParameterError: the name is unknown.
        MachineError: the framework is not installed; the text says how to install it.
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
    """Sets this process's framework, and returns it.

    Args:
        asked: the name, as for `choose`.

    Raises:
        ParameterError, MachineError: as for `choose`.
        RuntimeError: the process already uses another framework.
    """
    framework = choose(asked)
    if not _used:
        _used.append(framework)
    if _used[0] is not framework:
        raise RuntimeError(f"framework of this process must be {_used[0].name}, got {framework.name}")
    return framework


def used() -> Framework:
    """Returns this process's framework; if none was set, chooses one as for `auto`."""
    return _used[0] if _used else use()


def load(module: str) -> ModuleType:
    """Returns a module of this process's framework.

    Args:
        module: its name within the framework's package, such as `ofproto.ofproto_v1_3`.
    """
    return importlib.import_module(f"{used().package}.{module}")
