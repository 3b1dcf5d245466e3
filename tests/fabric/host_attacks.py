"""Attacks on the machine by the root of a host: each line that is printed is one that got through.

It runs on a host, by the machine's interpreter. Its argument is a JSON object: `pids` of the machine, `tcp`
addresses and `unix` paths at which programs of the machine listen, `writable` paths that anybody may write,
and perhaps `attacks`, the only ones to be made.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import stat
import struct
import sys
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_SEIZE, PTRACE_O_TRACEEXIT = 16, 0x4206, 0x40
CLONE_NEWCGROUP, AF_VSOCK, SO_TXTIME = 0x2000000, 40, 61
KEYCTL_GET_KEYRING_ID, USER_KEYRING = 0, -4
# Numbers of keyctl, request_key and io_uring_setup.
NUMBERS = (250, 249, 425) if os.uname().machine == "x86_64" else (219, 218, 425)
# Settings of a host's own namespaces: names, messages between processes, numbers of processes.
OWN_SETTINGS = {"hostname", "domainname", "sem", "ns_last_pid", "pid_max", "auto_msgmni", "sem_next_id"}
SECRETS = ("/etc/shadow", "/etc/gshadow", "/proc/kcore", "/proc/kmsg", "/dev/mem", "/dev/kmsg")
SWITCHES = ("/proc/sysrq-trigger", "/sys/power/state", "/sys/kernel/mm/ksm/run", "/sys/kernel/uevent_helper")
# Folders of which a host makes places of its own.
EMPTY = {"caller", "dev", "dev-shm", "root", "run", "tmp", "var-tmp"}
FILE_SYSTEMS = ("ext4", "xfs", "debugfs", "tracefs", "securityfs", "cgroup", "cgroup2", "devtmpfs", "bpf")


def own_processes():
    return {int(name) for name in os.listdir("/proc") if name.isdecimal()}


def signals(given):
    """Signals reach no process but the host's own."""
    for pid in given["pids"]:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            continue
        if pid not in own_processes():
            yield f"signal to {pid}"


def traces(given):
    """No process of the machine can be traced, nor the memory of one be opened."""
    own = own_processes()  # which the first of them would stop
    for pid in given["pids"]:
        for request in (PTRACE_ATTACH, PTRACE_SEIZE):
            if pid not in own and LIBC.ptrace(request, pid, None, None) == 0 and pid not in own_processes():
                yield f"ptrace of {pid}"


def connections(given):
    """No program of the machine takes a connection."""
    families = [(socket.AF_INET, tuple(one)) for one in given["tcp"]]
    families += [(socket.AF_UNIX, path) for path in given["unix"]]
    for family, address in families:
        with socket.socket(family) as trial:
            trial.settimeout(0.3)
            if trial.connect_ex(address) == 0:
                yield f"connection to {address!r}"


def writes(given):
    """Nothing that anybody may write on the machine can be written."""
    for text in given["writable"]:
        path = Path(text)
        if path.is_dir() and path.parent != Path("/"):
            try:
                (path / "written-by-a-host").touch()
            except OSError:
                continue
            yield f"write into {path}"
        elif path.exists():
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK))
            except OSError:
                continue
            yield f"write to {path}"


def devices(_given):
    """No device can be made, and no file system of the machine be mounted."""
    for kind, numbers in ((stat.S_IFBLK, (254, 0)), (stat.S_IFBLK, (8, 0)), (stat.S_IFCHR, (1, 1))):
        try:
            os.mknod("/tmp/device", kind | 0o666, os.makedev(*numbers))  # the host's own
        except OSError:
            continue
        yield f"device {numbers}"
    os.makedirs("/tmp/mounted", exist_ok=True)
    for kind in FILE_SYSTEMS:
        for source in (b"none", b"/dev/vda", b"/dev/sda1"):
            if LIBC.mount(source, b"/tmp/mounted", kind.encode(), 0, None) == 0:
                yield f"mount of {kind}"


def settings(_given):
    """No setting of the machine can be written."""
    for folder in ("kernel", "vm", "fs", "dev", "abi", "debug"):
        for path in Path("/proc/sys", folder).rglob("*"):
            own = path.name in OWN_SETTINGS or path.name.startswith(("msg", "shm", "mq_", "mqueue"))
            if own or "mqueue" in path.parts or not path.is_file():
                continue
            try:
                os.close(os.open(path, os.O_WRONLY))
            except OSError:
                continue
            yield f"write to {path}"


def secrets(_given):
    """What only the machine's root may read or write stays so."""
    for path in SECRETS:
        try:
            with open(path, "rb") as file:
                file.read(1)
        except OSError:
            continue
        yield f"reading {path}"
    for path in SWITCHES:
        try:
            os.close(os.open(path, os.O_WRONLY))
        except OSError:
            continue
        yield f"write to {path}"


def kernel(_given):
    """The kernel loads no module, takes no time and no swap, and tells no key of a user."""
    trials = {
        "module": LIBC.syscall(313 if os.uname().machine == "x86_64" else 273, 0, b"", 0),
        "time": LIBC.settimeofday(struct.pack("qq", 0, 0), None),
        "swap": LIBC.swapon(b"/tmp", 0),
        "log": LIBC.klogctl(5, None, 0),
        "root": LIBC.setns(0, 0),
    }
    yield from (name for name, result in trials.items() if result >= 0)


def calls(_given):
    """No control group of the machine can be reached, no key of a user be found, no hypervisor be asked."""
    if LIBC.unshare(CLONE_NEWCGROUP) == 0:
        yield "a namespace of control groups"
    keyctl, request_key, ring = NUMBERS
    if LIBC.syscall(keyctl, KEYCTL_GET_KEYRING_ID, USER_KEYRING, 0) >= 0:
        yield "the keys of a user"
    if LIBC.syscall(request_key, b"user", b"polarlab-test", None, 0) >= 0:
        yield "a key of a user"
    if LIBC.syscall(ring, 1, ctypes.create_string_buffer(120)) >= 0:
        yield "requests to the kernel by a ring"
    with contextlib.suppress(OSError):
        socket.socket(AF_VSOCK, socket.SOCK_STREAM).close()
        yield "a socket of the hypervisor"
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.SOL_SOCKET, SO_TXTIME, struct.pack("iI", time.CLOCK_TAI, 0))
        yield "launch times of packets"


def deaths(_given):
    """No process can stop another at its end: two that do it to each other outlive SIGKILL."""
    child = os.fork()
    if child == 0:
        signal.pause()
    if LIBC.ptrace(PTRACE_SEIZE, child, None, ctypes.c_long(PTRACE_O_TRACEEXIT)) == 0:
        yield "a stop at the end of a process"
    os.kill(child, signal.SIGKILL)


def rights(_given):
    """Neither setuid programs nor open files give more than a host's root has."""
    status = Path("/proc/self/status").read_text()
    if "NoNewPrivs:\t1" not in status:
        yield "new rights by programs"
    for pid in ("self", "1"):
        if "Seccomp:\t2" not in Path(f"/proc/{pid}/status").read_text():
            yield f"all system calls of process {pid}"
    for name in os.listdir("/proc/self/fd"):
        file = os.path.realpath(f"/proc/self/fd/{name}")
        # libffi, which ctypes has loaded, keeps its own file open since version 3.5.
        own = file.startswith("/proc/") or "/libffi.so" in file
        if int(name) > 2 and not own:
            yield f"open file {file}"
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        if int(line.split()[1]) == 0:
            yield "the machine's root"
    if "POLARLAB_TEST_SECRET" in os.environ:
        yield "an environment variable of the machine"


def terminals(_given):
    """No key can be typed on a terminal of the machine."""
    for name in ("/dev/tty", "/dev/console", "/dev/tty0", "/dev/tty1", *map(str, Path("/dev/pts").iterdir())):
        try:
            descriptor = os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
            if name != "/dev/pts/ptmx":
                fcntl.ioctl(descriptor, 0x5412, b"x")
        except OSError:
            continue
        if name != "/dev/pts/ptmx":
            yield f"a key on {name}"


def mounts(_given):
    """No mount of the machine can be made writable, and nothing of the machine appears below one."""
    for place in ("/etc/hosts", "/dev", "/root", "/tmp", "/run", "/proc", "/sys", "/dev/shm", "/var/tmp"):
        while LIBC.umount2(place.encode(), 2) == 0:
            pass
    if any(name.isdecimal() for name in os.listdir("/proc")):
        yield "the machine's processes"
    for place in ("/run", "/tmp", "/root", "/dev/shm"):
        if os.path.isdir(place) and set(os.listdir(place)) - EMPTY:
            yield f"the machine's {place}"
    for place in (b"/", b"/etc/hosts", b"/dev", b"/tmp"):
        if LIBC.mount(None, place, None, 0x20 | 0x1000, None) == 0:
            yield f"{place.decode()} made writable"


ATTACKS = (signals, traces, connections, writes, devices, settings, secrets, kernel, calls, deaths)
ATTACKS += (rights, terminals)


def main():
    """Makes the attacks; that on mounts is the last."""
    given = json.loads(sys.argv[1])
    chosen = [one for one in (*ATTACKS, mounts) if one.__name__ in given.get("attacks", [one.__name__])]
    for attack in chosen:
        for through in attack(given):
            print(f"{attack.__name__}: {through}")
    print(len(chosen), "attacks done")


if __name__ == "__main__":
    main()
