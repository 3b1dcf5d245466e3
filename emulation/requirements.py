"""Checks the requirements of emulation: root, programs, datapaths, queueing disciplines, memory."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import psutil

from emulation.subprocesses import CommandError, require_programs, run
from topology.errors import MachineError, UsageError

DATAPATHS = ("auto", "kernel", "user")
_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())

PROGRAMS = {
    "ovs-vswitchd": "openvswitch-switch",
    "ovsdb-server": "openvswitch-switch",
    "ovs-vsctl": "openvswitch-switch",
    "mnexec": "mininet",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "ip": "iproute2",
    "tc": "iproute2",
}

# Capability -> its bit (linux/capability.h). Root needs others, too, but containers keep those.
_CAPABILITY_BITS = {"SYS_ADMIN": 21, "NET_ADMIN": 12, "NET_RAW": 13, "SYS_PTRACE": 19}
CAPABILITIES = (
    "a container needs the capabilities SYS_ADMIN, NET_ADMIN, NET_RAW and SYS_PTRACE, a writable /proc/sys, "
    "and /dev/net/tun (docker run --privileged)"
)
_TUN = Path("/dev/net/tun")  # userspace switches create an interface of their own
_SETTING = Path("/proc/sys/net/ipv6/conf/all/disable_ipv6")  # one that fabrics change

# Peak memory of a fabric, measured on ER_13, ER_17 and ER_23: per switch (ovs-vswitchd 11 MiB, ovsdb-server 2
# MiB, its shell, the kernel's share), per host, per link, and per ordered pair of routers (two rules on a
# switch, and its share of the plan).
_SWITCH_BYTES, _HOST_BYTES, _LINK_BYTES, _PAIR_BYTES = 15 << 20, 1 << 20, 100 << 10, 4 << 10
# Share of the available memory above which equal memory pages of the switches are merged. That takes seconds
# of CPU time, and small fabrics do not need it.
_MERGED_SHARE = 1 / 3


def mininet_problem() -> str | None:
    """Returns why Mininet cannot be imported, with a remedy; None if it can be."""
    try:
        import emulation.mininet_library  # noqa: F401  # only to see whether it works
    except ImportError as error:
        missing = (error.name or "").partition(".")[0] == "mininet"
        problem = "does not find Mininet" if missing else f"cannot import Mininet ({error})"
        remedy = "apt-get install mininet, and use a venv of /usr/bin/python3 with system site packages"
        return f"Python {platform.python_version()} {problem}; {remedy} (make setup)"
    return None


def mininet_version() -> str:
    """Returns Mininet's version.

    Raises:
        ImportError: Mininet cannot be imported.
    """
    from emulation.mininet_library import VERSION

    return str(VERSION)


def require_root() -> None:
    """Raises MachineError unless this process runs as root, on Linux."""
    if platform.system() != "Linux":
        raise MachineError("emulating a network needs Linux; a virtual machine or a container will do")
    if os.geteuid() != 0:
        raise MachineError("emulating a network needs root; run it with sudo")


def require_emulation() -> None:
    """Raises MachineError with the first missing requirement unless fabrics can be launched here."""
    require_root()
    require_programs(PROGRAMS)
    problem = namespaces_problem()
    if problem:
        raise MachineError(f"root cannot launch fabrics here: {problem}; {CAPABILITIES}")
    problem = mininet_problem()
    if problem:
        raise MachineError(problem)


def namespaces_problem() -> str | None:
    """Tries to create a namespace and a link as fabrics do; returns the error, or None on success."""
    missing = _missing_right()
    if missing:
        return missing
    link = ["ip", "link", "add", "polarlab-a", "type", "veth", "peer", "name", "polarlab-b"]
    try:
        run(["mnexec", "-n", *link])
    except CommandError as error:
        return error.reason
    return None


def _missing_right() -> str | None:
    """Returns the right that root lacks here, for example in a container; None if fabrics can be launched."""
    [digits] = re.findall(r"^CapEff:\s*(\w+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    missing = [name for name, bit in _CAPABILITY_BITS.items() if not int(digits, 16) >> bit & 1]
    if missing:
        return f"no capability {', '.join(missing)}"
    if _SETTING.exists() and not os.access(_SETTING, os.W_OK):
        return "/proc/sys is read-only"
    if not kernel_datapath_available() and not os.access(_TUN, os.R_OK | os.W_OK):
        return f"userspace switches cannot open {_TUN}"
    return None


def host_root_problem() -> str | None:
    """Tries to create a host's namespaces for a process; returns the error, or None on success."""
    try:
        run(["unshare", "--user", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "true"])
    except CommandError as error:
        return error.reason
    return None


def kernel_datapath_available() -> bool:
    """Returns whether the kernel has the openvswitch module; loads it if possible."""
    if Path("/sys/module/openvswitch").exists():
        return True
    try:
        subprocess.run(["modprobe", "-q", "openvswitch"], check=False, timeout=20, capture_output=True)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False
    return Path("/sys/module/openvswitch").exists()


def qdisc_available(options: str) -> bool:
    """Returns whether the kernel accepts a queueing discipline with these options of `tc`."""
    # Tried in a separate network namespace.
    script = f"ip link set lo up && tc qdisc add dev lo root {options}"
    try:
        done = subprocess.run(["unshare", "-n", "sh", "-c", script], check=False, capture_output=True)
    except FileNotFoundError:
        return False
    return done.returncode == 0


def kernel_advice() -> str:
    """Returns advice, for messages, on where to get a kernel with all modules that fabrics can use."""
    try:
        system = platform.freedesktop_os_release()["ID"]
    except OSError:
        system = ""
    if system == "ubuntu":
        source, package = "a package of Ubuntu", f"linux-modules-extra-{platform.release()}"
    else:
        source, package = "Debian's cloud kernel", f"linux-image-cloud-{_ARCHITECTURE}"
    return f"the module is in {source} (apt-get install {package}) and in the VM (vagrant/)"


def require_netem() -> None:
    """Raises MachineError unless the kernel has netem, which delays and loses packets on links."""
    if not qdisc_available("netem delay 1ms"):
        raise MachineError(
            f"this kernel has no netem, which emulates delay and loss of links; {kernel_advice()}"
        )


def check_datapath(name: str) -> None:
    """Raises UsageError unless `name` is one of DATAPATHS."""
    if name not in DATAPATHS:
        raise UsageError(f"datapath must be one of {', '.join(DATAPATHS)}, got {name!r}")


def choose_datapath(name: str) -> str:
    """Returns `kernel` or `user` for one of DATAPATHS; `auto` chooses the kernel datapath if there is one.

    Raises:
        UsageError: `name` is not one of DATAPATHS.
        MachineError: `name` is `kernel`, and this kernel has no such datapath.
    """
    check_datapath(name)
    if name == "user":
        return "user"
    if kernel_datapath_available():
        return "kernel"
    if name == "kernel":
        raise MachineError(
            "this kernel has no openvswitch module; use --datapath user or a kernel with this module"
        )
    return "user"


def available_memory_bytes() -> int:
    """Returns the available memory as the kernel estimates it, in bytes."""
    return int(psutil.virtual_memory().available)


def fabric_memory_bytes(routers: int, hosts: int, links: int) -> int:
    """Returns the estimated peak memory of a fabric in bytes.

    Args:
        routers: number of routers.
        hosts: total number of hosts.
        links: number of links between routers.
    """
    rules = routers * routers * _PAIR_BYTES
    return routers * _SWITCH_BYTES + hosts * _HOST_BYTES + (links + hosts) * _LINK_BYTES + rules


def require_memory(routers: int, hosts: int, links: int) -> None:
    """Raises MachineError if a fabric needs more memory than is available.

    Args:
        routers: number of routers.
        hosts: total number of hosts.
        links: number of links between routers.
    """
    needed, available = fabric_memory_bytes(routers, hosts, links), available_memory_bytes()
    if needed > available:
        raise MachineError(
            f"{routers} switches and {hosts} hosts need about {needed / 2**30:.1f} GiB of memory, but "
            f"{available / 2**30:.1f} GiB are available; try a smaller fabric"
        )


def merging_pays(routers: int, hosts: int, links: int) -> bool:
    """Returns whether a fabric takes so much memory that equal pages of its switches should be merged.

    Args:
        routers: number of routers.
        hosts: total number of hosts.
        links: number of links between routers.
    """
    return fabric_memory_bytes(routers, hosts, links) > _MERGED_SHARE * available_memory_bytes()


def emulation_versions() -> dict[str, str]:
    """Returns the versions of Mininet and Open vSwitch."""
    words = run(["ovs-vswitchd", "--version"]).split()
    return {"mininet": mininet_version(), "openvswitch": words[words.index("vSwitch)") + 1]}
