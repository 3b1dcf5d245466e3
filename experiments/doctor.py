"""What this machine has of what fabrics need, found out by trying, and how to get what is missing."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from emulation.requirements import (
    CAPABILITIES,
    HOST_MEMORY_BYTES,
    KERNEL_WITH_ALL,
    PROGRAMS,
    SWITCH_MEMORY_BYTES,
    available_memory_bytes,
    kernel_datapath_available,
    mininet_version,
    namespaces_problem,
    qdisc_available,
)
from emulation.subprocesses import run

# What userspace switches pass from host to host over two hops for each core while a third of the CPU stays
# idle, with generator and collector on the same cores: measured on ER_5 with 2 cores. A packet costs them a
# wake-up at each switch.
FRAMES_PER_CORE = 800
# Queueing disciplines, and how each is tried.
_QDISCS = {
    "tbf": "tbf rate 1mbit burst 3000 limit 30000",
    "pfifo": "pfifo limit 32",
    "htb": "htb default 1",
    "netem": "netem delay 1ms",
}
_NEEDED_QDISCS = frozenset({"tbf", "pfifo"})


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: what.
        there: whether the machine has it.
        needed: whether fabrics cannot be launched without it.
        said: which version, or how much.
        remedy: how to get it, where it is missing.
        known: whether it could be found out; what was not is not said to be missing.
    """

    name: str
    there: bool
    needed: bool
    said: str = ""
    remedy: str = ""
    known: bool = True

    @property
    def missing(self) -> bool:
        """Whether fabrics cannot be launched for want of this."""
        return self.needed and self.known and not self.there


def examine() -> list[Finding]:
    """Returns everything that was looked at."""
    root = Finding("root", os.geteuid() == 0, needed=True, remedy="run it with sudo")
    programs = [_program(name, package) for name, package in PROGRAMS.items()]
    namespaces = _namespaces(_first_lacking([root, *programs]))
    untried = _first_lacking([root, *programs, namespaces])
    return [
        root,
        *programs,
        namespaces,
        _open_vswitch(),
        Finding(
            "datapath kernel",
            kernel_datapath_available(),
            needed=False,
            said="openvswitch module",
            remedy=f"only the userspace datapath is here. {KERNEL_WITH_ALL}",
        ),
        *(_qdisc(kind, untried) for kind in _QDISCS),
        _mininet(),
        *(_package(name) for name in ("ryu", "scapy", "networkx", "numpy")),
        Finding("cores", there=True, needed=True, said=str(os.cpu_count())),
        Finding("memory", there=True, needed=True, said=f"{available_memory_bytes() >> 20} MiB free"),
        Finding("kernel", there=True, needed=True, said=platform.release()),
    ]


def largest_fabric_routers(concentration: int) -> int:
    """Returns how many routers' switches and hosts fit into the free memory."""
    return available_memory_bytes() // (SWITCH_MEMORY_BYTES + concentration * HOST_MEMORY_BYTES)


def link_rate_bps(hosts: int, load: float, frame_bytes: int) -> float:
    """Returns a rule of thumb for the link rate at which this machine carries a fabric's traffic.

    For the userspace datapath and paths of two hops; `--link-rate auto` measures it.
    """
    frames_per_s = FRAMES_PER_CORE * (os.cpu_count() or 1)
    return frames_per_s * frame_bytes * 8 / (hosts * load)


def _program(name: str, package: str) -> Finding:
    path = shutil.which(name)
    return Finding(name, path is not None, needed=True, said=path or "", remedy=f"apt-get install {package}")


def _first_lacking(findings: Sequence[Finding]) -> Finding | None:
    return next((one for one in findings if not one.there), None)


def _namespaces(lacking: Finding | None) -> Finding:
    name = "namespaces, links"
    if lacking:
        return _untried(name, lacking)
    problem = namespaces_problem()
    return Finding(name, problem is None, needed=True, remedy=f"{problem}; {CAPABILITIES}")


def _untried(name: str, lacking: Finding, *, needed: bool = True) -> Finding:
    return Finding(
        name, there=False, needed=needed, remedy=f"cannot be tried without {lacking.name}", known=False
    )


def _open_vswitch() -> Finding:
    try:
        said = run(["ovs-vswitchd", "--version"]).splitlines()[0]
    except Exception:  # whatever is wrong with it, it is not there
        return Finding("Open vSwitch", there=False, needed=True, remedy="apt-get install openvswitch-switch")
    return Finding("Open vSwitch", there=True, needed=True, said=f"{said}; datapath user")


def _qdisc(kind: str, lacking: Finding | None) -> Finding:
    remedy = f"this kernel has no sch_{kind}. {KERNEL_WITH_ALL}"
    needed = kind in _NEEDED_QDISCS
    if lacking:
        return _untried(f"qdisc {kind}", lacking, needed=needed)
    uses = {"netem": "--link-delay, --link-loss, and Mininet's delay, loss and max_queue_size"}.get(kind, "")
    return Finding(f"qdisc {kind}", qdisc_available(_QDISCS[kind]), needed, said=uses, remedy=remedy)


def _mininet() -> Finding:
    version = mininet_version()
    if version is None:
        return Finding("Mininet", there=False, needed=True, remedy="apt-get install mininet; make setup")
    return Finding("Mininet", there=True, needed=True, said=version)


def _package(name: str) -> Finding:
    try:
        return Finding(name, there=True, needed=True, said=importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, there=False, needed=True, remedy="make setup")
