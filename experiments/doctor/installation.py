"""The installation of this PolarLab: its sources or a package, its requirements, commands that add to it."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

_DISTRIBUTION = "polarlab"
ROOT = Path(__file__).resolve().parents[2]
PROVISION = ROOT / "vagrant" / "provision.sh"
_NAME = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"extra == [\"']([\w-]+)[\"']")


def has_sources() -> bool:
    """Returns whether PolarLab runs from its sources, which have tests and the script of `make setup`."""
    return PROVISION.exists()


def is_provisioned() -> bool:
    """Returns whether this interpreter is that of the environment which `make setup` builds."""
    return has_sources() and Path(sys.prefix).resolve() == (ROOT / ".venv").resolve()


def provision(kind: str) -> str:
    """Returns the command that installs what is missing for a kind of use in the sources' environment.

    Args:
        kind: a word of vagrant/provision.sh, or nothing.
    """
    script = PROVISION.relative_to(ROOT) if Path.cwd() == ROOT else PROVISION
    return shlex.join([*_as_root(), str(script), *kind.split()])


def install_packages(names: Iterable[str]) -> str:
    """Returns the command that installs Debian's packages."""
    return shlex.join([*_as_root(), "apt-get", "install", *names])


def install_python(requirements: Iterable[str]) -> str:
    """Returns the command that installs distributions of Python where this interpreter finds them."""
    pip = shlex.join([sys.executable, "-m", "pip", "install", *requirements])
    return "make setup" if is_provisioned() else pip


def missing_requirements(extra: str) -> list[str]:
    """Returns the requirements of an extra, as `nbclient>=0.8`, whose distributions are not installed.

    Args:
        extra: an extra of setup.cfg.

    Returns:
        Requirements; the extra itself, as `polarlab[docs]`, where this installation does not know it
        (of PolarLab's sources their folder with the extra).
    """
    try:
        known = importlib.metadata.metadata(_DISTRIBUTION).get_all("Provides-Extra") or []
    except importlib.metadata.PackageNotFoundError:  # its folder was added to Python's path
        known = []
    if extra not in known:
        return [f"{ROOT if has_sources() else _DISTRIBUTION}[{extra}]"]
    lines = importlib.metadata.requires(_DISTRIBUTION) or []
    split = [line.partition(";") for line in lines]
    wanted = [one.strip() for one, _, marker in split if extra in _EXTRA.findall(marker)]
    return [requirement for requirement in wanted if not is_installed(name_of(requirement))]


def name_of(requirement: str) -> str:
    """Returns the name of the distribution that a requirement is about; nothing if that is a folder."""
    match = _NAME.match(requirement)
    return match[0] if match else ""


def is_installed(distribution: str) -> bool:
    """Returns whether this interpreter finds a distribution of Python, of any version."""
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _as_root() -> list[str]:
    return [] if os.geteuid() == 0 else ["sudo"]
