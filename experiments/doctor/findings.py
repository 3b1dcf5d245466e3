"""Examination of this machine: checks each requirement of fabrics and names remedies for missing ones."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from emulation.requirements import (
    CAPABILITIES,
    PROGRAMS,
    available_memory_bytes,
    host_root_problem,
    kernel_advice,
    kernel_datapath_available,
    mininet_problem,
    mininet_version,
    namespaces_problem,
    qdisc_available,
)
from emulation.subprocesses import run
from experiments.doctor.installation import install_python, is_provisioned

# Queueing discipline -> the `tc` options used to try it.
_QDISCS = {
    "tbf": "tbf rate 1mbit burst 3000 limit 30000",
    "pfifo": "pfifo limit 32",
    "htb": "htb default 1",
    "netem": "netem delay 1ms",
}
_NEEDED_QDISCS = frozenset({"tbf", "pfifo"})


@dataclass(frozen=True)
class Finding:
    """One examined requirement.

    Attributes:
        name: the program, package, kernel feature or resource.
        present: whether the machine has it.
        needed: whether launching a fabric needs it.
        detail: its version, path or amount.
        remedy: how to install the requirement if it is missing.
        known: whether the requirement could be examined; if not, it is not reported as missing.
        package: Debian package that has it; empty if none does.
    """

    name: str
    present: bool
    needed: bool
    detail: str = ""
    remedy: str = ""
    known: bool = True
    package: str = ""

    @property
    def missing(self) -> bool:
        """Whether the requirement is absent and fabrics cannot be launched without it."""
        return self.needed and self.known and not self.present

    def to_dict(self) -> dict[str, str | bool]:
        """Returns the finding with the keys of `polarlab doctor --json`."""
        return {
            "name": self.name,
            "there": self.present,
            "needed": self.needed,
            "said": self.detail,
            "remedy": self.remedy,
            "known": self.known,
        }


def examine() -> list[Finding]:
    """Returns the findings on all requirements."""
    root = Finding("root", os.geteuid() == 0, needed=True, remedy="run it with sudo")
    programs = [_program(name, package) for name, package in PROGRAMS.items()]
    namespaces = _namespaces(_first_absent([root, *programs]))
    obstacle = _first_absent([root, *programs, namespaces])
    return [
        root,
        *programs,
        namespaces,
        _host_root(obstacle),
        _open_vswitch(),
        Finding(
            "datapath kernel",
            kernel_datapath_available(),
            needed=False,
            detail="openvswitch module",
            remedy=f"only the userspace datapath is available; {kernel_advice()}",
        ),
        *(_qdisc(kind, obstacle) for kind in _QDISCS),
        _mininet(),
        *_frameworks(),
        *(_package(name) for name in ("scapy", "networkx", "numpy")),
        Finding("cores", present=True, needed=True, detail=str(os.cpu_count())),
        Finding("memory", present=True, needed=True, detail=f"{available_memory_bytes() >> 20} MiB free"),
        Finding("kernel", present=True, needed=True, detail=platform.release()),
        Finding("system", present=True, needed=True, detail=_system()),
    ]


def _system() -> str:
    """Returns the names of the operating system and of this Python."""
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:  # not Linux
        system = platform.system()
    return f"{system}, Python {platform.python_version()}"


def _program(name: str, package: str) -> Finding:
    path, remedy = shutil.which(name), f"apt-get install {package}"
    return Finding(name, path is not None, needed=True, detail=path or "", remedy=remedy, package=package)


def _first_absent(findings: Sequence[Finding]) -> Finding | None:
    return next((one for one in findings if not one.present), None)


def _namespaces(obstacle: Finding | None) -> Finding:
    name = "namespaces, links"
    if obstacle:
        return _untried(name, obstacle)
    problem = namespaces_problem()
    return Finding(name, problem is None, needed=True, remedy=f"{problem}; {CAPABILITIES}")


def _host_root(obstacle: Finding | None) -> Finding:
    name = "user namespaces"
    if obstacle:
        return _untried(name, obstacle, needed=False)
    problem = host_root_problem()
    remedy = f"{problem}; use --host-root real, which makes programs on hosts root on this machine"
    return Finding(name, problem is None, needed=False, detail="--host-root own", remedy=remedy)


def _untried(name: str, obstacle: Finding, *, needed: bool = True) -> Finding:
    return Finding(
        name, present=False, needed=needed, remedy=f"cannot be tried without {obstacle.name}", known=False
    )


def _open_vswitch() -> Finding:
    try:
        version = run(["ovs-vswitchd", "--version"]).splitlines()[0]
    except Exception:  # a broken installation counts as missing
        package = "openvswitch-switch"
        remedy = f"apt-get install {package}"
        return Finding("Open vSwitch", present=False, needed=True, remedy=remedy, package=package)
    return Finding("Open vSwitch", present=True, needed=True, detail=f"{version}; datapath user")


def _qdisc(kind: str, obstacle: Finding | None) -> Finding:
    remedy = f"this kernel has no sch_{kind}; {kernel_advice()}"
    needed = kind in _NEEDED_QDISCS
    if obstacle:
        return _untried(f"qdisc {kind}", obstacle, needed=needed)
    uses = {"netem": "--link-delay, --link-loss, and Mininet's delay, loss and max_queue_size"}.get(kind, "")
    return Finding(f"qdisc {kind}", qdisc_available(_QDISCS[kind]), needed, detail=uses, remedy=remedy)


def _mininet() -> Finding:
    problem = mininet_problem()
    if problem:
        return Finding("Mininet", present=False, needed=True, remedy=problem)
    return Finding("Mininet", present=True, needed=True, detail=mininet_version())


def _frameworks() -> list[Finding]:
    # Fabrics need one of the two frameworks, so that none is needed once the other is present.
    found = [_ryu(), _package("os-ken")]
    needed = not any(one.present for one in found)
    return [replace(one, needed=needed) for one in found]


def _ryu() -> Finding:
    # pip builds in an environment with the latest setuptools, with which Ryu's build fails.
    found = _package("ryu")
    if found.present:
        return found
    if sys.version_info >= (3, 12):
        return replace(
            found, remedy=f"Ryu builds only on Python 3.11, not {platform.python_version()}; use os-ken"
        )
    if is_provisioned():
        return found
    return replace(found, remedy=f"{found.remedy}; Ryu builds only with setuptools < 67")


def _package(name: str) -> Finding:
    try:
        return Finding(name, present=True, needed=True, detail=importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, present=False, needed=True, remedy=install_python((name,)))
