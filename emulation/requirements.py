"""Requirements of emulation, each detected: root, programs, datapaths, queueing disciplines, memory."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

import psutil

from emulation.subprocesses import CommandError, require_programs, run
from topology.errors import MachineError, UsageError

DATAPATHS = ("auto", "kernel", "user")
_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
KERNEL_WITH_ALL = (
    f"Debian's cloud kernel has it (apt-get install linux-image-cloud-{_ARCHITECTURE}), and so has the VM "
    "(vagrant/)"
)

PROGRAMS = {
    "ovs-vswitchd": "openvswitch-switch",
    "ovsdb-server": "openvswitch-switch",
    "ovs-vsctl": "openvswitch-switch",
    "mnexec": "mininet",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "pivot_root": "util-linux",
    "ip": "iproute2",
    "tc": "iproute2",
}

CAPABILITIES = "a container needs the capabilities SYS_ADMIN, NET_ADMIN and NET_RAW (docker run --privileged)"

# Memory that a fabric takes at its peak, measured on ER_13, ER_17, ER_23: of a switch (ovs-vswitchd 11 MiB,
# ovsdb-server 2, its shell and the kernel's parts), of a host, of a link, and of an ordered pair of routers
# (two rules in a switch, and its part of the plan).
_SWITCH_BYTES, _HOST_BYTES, _LINK_BYTES, _PAIR_BYTES = 15 << 20, 1 << 20, 100 << 10, 4 << 10
# Share of the available memory beyond which equal pages of the switches are merged: that takes seconds of a
# processor, and small fabrics do not need it.
_MERGED_SHARE = 1 / 3


def mininet_problem() -> str | None:
    """Returns the reason why Mininet cannot be imported, with a remedy; None if it can."""
    try:
        import emulation.mininet_library  # noqa: F401  # to be tried
    except ImportError as error:
        python = f"Python {platform.python_version()}"
        if (error.name or "").partition(".")[0] == "mininet":
            remedy = "apt-get install mininet, and run PolarLab in an environment of /usr/bin/python3"
            return f"{python} does not find Mininet; {remedy} that sees the system's packages (make setup)"
        # Mininet imports distutils, which Python 3.12 has removed.
        remedy = "PolarLab's fabrics need the interpreter that it was packaged for, on Debian 12 Python 3.11"
        return f"Mininet cannot be imported by {python} ({error}); {remedy}"
    return None


def mininet_version() -> str:
    """Returns Mininet's version.

    Raises:
        ImportError: it cannot be imported.
    """
    from emulation.mininet_library import VERSION

    return str(VERSION)


def require_root() -> None:
    """Raises MachineError unless this process runs as root."""
    if os.geteuid() != 0:
        raise MachineError("emulating a network needs root; try again with sudo")


def require_emulation() -> None:
    """Raises MachineError, which names the missing requirement, unless fabrics can be launched here."""
    require_root()
    require_programs(PROGRAMS)
    problem = namespaces_problem()
    if problem:
        raise MachineError(
            f"root cannot create network namespaces and links here ({problem}); {CAPABILITIES}"
        )
    problem = mininet_problem()
    if problem:
        raise MachineError(problem)


def namespaces_problem() -> str | None:
    """Tries to create a namespace with a link as fabrics do; returns the error, or None if it succeeds."""
    link = ["ip", "link", "add", "polarlab-a", "type", "veth", "peer", "name", "polarlab-b"]
    try:
        run(["mnexec", "-n", *link])
    except CommandError as error:
        return error.reason
    return None


def host_root_problem() -> str | None:
    """Tries to give a process namespaces as hosts have them; returns the error, or None if it succeeds."""
    try:
        run(["unshare", "--user", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "true"])
    except CommandError as error:
        return error.reason
    return None


def kernel_datapath_available() -> bool:
    """Returns whether the kernel has the openvswitch module, which is loaded where possible."""
    if Path("/sys/module/openvswitch").exists():
        return True
    try:
        subprocess.run(["modprobe", "-q", "openvswitch"], check=False, timeout=20, capture_output=True)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
    return Path("/sys/module/openvswitch").exists()


def qdisc_available(options: str) -> bool:
    """Returns whether the kernel accepts a queueing discipline with these options of `tc`."""
    # It is tried in a namespace of its own.
    script = f"ip link set lo up && tc qdisc add dev lo root {options}"
    try:
        done = subprocess.run(["unshare", "-n", "sh", "-c", script], check=False, capture_output=True)
    except FileNotFoundError:
        return False
    return done.returncode == 0


def require_netem() -> None:
    """Raises MachineError unless the kernel has netem, which delays and loses packets on links."""
    if not qdisc_available("netem delay 1ms"):
        raise MachineError(
            f"this kernel has no netem, which delays and loses packets on links. {KERNEL_WITH_ALL}"
        )


def check_datapath(name: str) -> None:
    """Raises UsageError unless `name` is one of DATAPATHS."""
    if name not in DATAPATHS:
        raise UsageError(f"datapath must be one of {', '.join(DATAPATHS)}, got {name!r}")


def choose_datapath(name: str) -> str:
    """Returns `kernel` or `user` for one of DATAPATHS; `auto` is the kernel's datapath where there is one.

    Raises:
        UsageError: `name` is not one of DATAPATHS.
        MachineError: it is `kernel`, and this kernel has no such datapath.
    """
    check_datapath(name)
    if name == "user":
        return "user"
    if kernel_datapath_available():
        return "kernel"
    if name == "kernel":
        raise MachineError(
            "this kernel has no openvswitch module; use --datapath user, or a kernel that has it"
        )
    return "user"


def available_memory_bytes() -> int:
    """Returns the memory that the kernel estimates to be available, in bytes."""
    return int(psutil.virtual_memory().available)


def fabric_memory_bytes(routers: int, hosts: int, links: int) -> int:
    """Returns the memory that a fabric takes at its peak, in bytes.

    Args:
        routers: number of routers.
        hosts: number of hosts, at all routers together.
        links: number of links between routers.
    """
    rules = routers * routers * _PAIR_BYTES
    return routers * _SWITCH_BYTES + hosts * _HOST_BYTES + (links + hosts) * _LINK_BYTES + rules


def require_memory(routers: int, hosts: int, links: int) -> None:
    """Raises MachineError, with the memory that it would need, if a fabric does not fit into the available.

    Args:
        routers: number of routers.
        hosts: number of hosts, at all routers together.
        links: number of links between routers.
    """
    needed, available = fabric_memory_bytes(routers, hosts, links), available_memory_bytes()
    if needed > available:
        raise MachineError(
            f"{routers} switches and {hosts} hosts need about {needed / 2**30:.1f} GiB of memory, but "
            f"{available / 2**30:.1f} GiB are free; try a smaller fabric"
        )


def merging_pays(routers: int, hosts: int, links: int) -> bool:
    """Returns whether a fabric takes so much of the memory that equal pages of its switches are merged.

    Args:
        routers: number of routers.
        hosts: number of hosts, at all routers together.
        links: number of links between routers.
    """
    return fabric_memory_bytes(routers, hosts, links) > _MERGED_SHARE * available_memory_bytes()


def emulation_versions() -> dict[str, str]:
    """Returns the versions of Mininet and Open vSwitch."""
    words = run(["ovs-vswitchd", "--version"]).split()
    return {"mininet": mininet_version(), "openvswitch": words[words.index("vSwitch)") + 1]}
