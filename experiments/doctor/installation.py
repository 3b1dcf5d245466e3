"""Examines how PolarLab is installed, and returns the commands that install missing requirements."""

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
APT = Path("/usr/bin/apt-get")
_NAME = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"extra == [\"']([\w-]+)[\"']")


def has_sources() -> bool:
    """Returns whether PolarLab runs from a source checkout, which has tests and `make setup`'s script."""
    return PROVISION.exists()


def is_provisioned() -> bool:
    """Returns whether this interpreter belongs to the environment that `make setup` builds."""
    return has_sources() and Path(sys.prefix).resolve() == (ROOT / ".venv").resolve()


def provision(kind: str) -> str:
    """Returns the command that installs the requirements for a kind of use into the checkout's environment.

    Args:
        kind: argument of vagrant/provision.sh; may be empty.
    """
    script = PROVISION.relative_to(ROOT) if Path.cwd() == ROOT else PROVISION
    return shlex.join([*_as_root(), str(script), *kind.split()])


def install_packages(names: Iterable[str]) -> str:
    """Returns the command that installs packages of Debian or Ubuntu; elsewhere, a text that names them."""
    if not APT.exists():
        return f"install the contents of the Debian packages {', '.join(names)}"
    return shlex.join([*_as_root(), "apt-get", "install", *names])


def install_python(requirements: Iterable[str]) -> str:
    """Returns the command that installs Python distributions so that this interpreter finds them."""
    pip = shlex.join([sys.executable, "-m", "pip", "install", *requirements])
    return "make setup" if is_provisioned() else pip


def missing_requirements(extra: str) -> list[str]:
    """Returns those requirements of an extra that are not installed.

    Args:
        extra: an extra of setup.cfg.

    Returns:
        Requirements like `nbclient>=0.8`. If this installation does not know the extra, the extra itself:
        `polarlab[docs]`, or the folder of a source checkout with the extra.
    """
    try:
        known = importlib.metadata.metadata(_DISTRIBUTION).get_all("Provides-Extra") or []
    except importlib.metadata.PackageNotFoundError:  # not installed: its folder is on Python's path
        known = []
    if extra not in known:
        return [f"{ROOT if has_sources() else _DISTRIBUTION}[{extra}]"]
    lines = importlib.metadata.requires(_DISTRIBUTION) or []
    split = [line.partition(";") for line in lines]
    wanted = [one.strip() for one, _, marker in split if extra in _EXTRA.findall(marker)]
    return [requirement for requirement in wanted if not is_installed(name_of(requirement))]


def name_of(requirement: str) -> str:
    """Returns the distribution that a requirement names; empty if the requirement is a folder."""
    match = _NAME.match(requirement)
    return match[0] if match else ""


def is_installed(distribution: str) -> bool:
    """Returns whether this interpreter finds a Python distribution, in any version."""
    try:
        importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _as_root() -> list[str]:
    return [] if os.geteuid() == 0 else ["sudo"]
