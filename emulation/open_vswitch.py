"""One Open vSwitch per router: an ovsdb-server and an ovs-vswitchd of its own in the router's namespace.

Switches share nothing: a packet waits for one switch only, and a switch can be killed like a real one. The
userspace datapath is fast only in this way (docs/ground.md); with the kernel's datapath the same processes
run, and each namespace has a datapath of its own. All switches of a fabric are configured and started side by
side.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from emulation.socket_buffers import enlarge_buffers
from emulation.subprocesses import CommandError, finish, in_namespaces_of, marked_environment, run, start
from topology.errors import MachineError
from topology.links import LinkSpec

SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
READY_TIMEOUT_S = 60.0
MAX_BACKOFF_MS = 1000  # longest wait before a switch calls its controller again; Open vSwitch takes no less
# Frames of a port in its token bucket and on the way through it.
_FRAMES_BEYOND_QUEUE = 8
MAX_IDLE_MS = 60_000  # lifetime of a cached flow without packets; Open vSwitch's default is ten seconds

# The userspace datapath allocates and frees the buffers of a batch of frames whenever it polls a port. glibc
# returns memory beyond this size to the kernel every time, and its pages are faulted in anew: with frames of
# 9,000 bytes that is more work than all else.
_BATCH, _TRIM_BYTES = 32, 128 << 10
_KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(64 << 20)}

_SERVER, _DAEMON = "ovsdb-server", "ovs-vswitchd"  # a switch's programs, in the order of their start
_DATAPATH_TYPES = {"user": "netdev", "kernel": "system"}
# A frame that matches no rule (an Ethernet type for experiments): to send it, a switch opens its sockets.
_FIRST_FRAME = "ff" * 6 + "020000000000" + "88b5" + "00" * 46
_QUIET = ["-vconsole:off", "-vsyslog:off", "-vfile:warn"]


@dataclass(frozen=True)
class SwitchSettings:
    """The configuration of one switch.

    Attributes:
        name: the bridge's name, as `s3`.
        dpid: its datapath id.
        namespace_pid: a process in the switch's namespaces.
        ports: (interface, OpenFlow port number) of every port.
        link_spec: properties of its links.
    """

    name: str
    dpid: int
    namespace_pid: int
    ports: tuple[tuple[str, int], ...]
    link_spec: LinkSpec


class VSwitch:
    """The two processes of one switch and their files in the fabric's run directory."""

    def __init__(self, settings: SwitchSettings, run_dir: Path, datapath: str) -> None:
        self.settings = settings
        self._run_dir = run_dir
        self._datapath = datapath
        self.processes: list[subprocess.Popen[bytes]] = []

    @property
    def management(self) -> str:
        """The target for `ovs-ofctl`."""
        return f"unix:{self._file('mgmt')}"

    def start_database(self, template: Path) -> None:
        """Starts ovsdb-server on a copy of an empty database."""
        shutil.copy(template, self._file("db"))
        self.processes.append(self._start_server())

    def _start_server(self) -> subprocess.Popen[bytes]:
        return self._start([_SERVER, str(self._file("db")), f"--remote=punix:{self._file('sock')}"])

    def configure(self, controller: str) -> subprocess.Popen[str]:
        """Starts the program that writes the switch's configuration; the caller calls `finish` on it."""
        name, dpid = self.settings.name, self.settings.dpid
        argv = ["ovs-vsctl", "--no-wait", f"--db=unix:{self._file('sock')}", "init"]
        argv += ["--", "set", "Open_vSwitch", ".", "other_config:n-handler-threads=1"]
        argv += ["other_config:n-revalidator-threads=1", f"other_config:max-idle={MAX_IDLE_MS}"]
        argv += ["--", "add-br", name, "--", "set", "bridge", name, "protocols=OpenFlow13"]
        argv += [f"datapath_type={_DATAPATH_TYPES[self._datapath]}", "fail_mode=secure"]
        argv += [f"other_config:datapath-id={dpid:016x}", "other_config:disable-in-band=true"]
        argv += ["--", "set-controller", name, controller]
        argv += ["--", "set", "controller", name, f"max_backoff={MAX_BACKOFF_MS}"]
        # Without this, ovs-vswitchd removes the shaping of its ports.
        argv += ["--", "--id=@noop", "create", "QoS", "type=linux-noop"]
        for interface, number in self.settings.ports:
            argv += ["--", "add-port", name, interface, "--", "set", "port", interface, "qos=@noop"]
            argv += ["--", "set", "interface", interface, f"ofport_request={number}"]
        return start(argv)

    def start_daemon(self) -> None:
        """Starts ovs-vswitchd on the configuration that the database holds."""
        self.processes.append(self._start([_DAEMON, f"unix:{self._file('sock')}"]))

    def kill_daemon(self) -> None:
        """Kills ovs-vswitchd, and with it the switch's rules.

        The userspace datapath ends with the process; the kernel's is deleted, as a switch without power has
        no flows.
        """
        if self.daemon_killed:
            return
        daemon = self.processes.pop()
        daemon.kill()
        daemon.wait()
        self._file("mgmt").unlink(missing_ok=True)
        if self._datapath == "kernel":
            run(in_namespaces_of(self.settings.namespace_pid, ["ovs-dpctl", "del-dp", "ovs-system"]))

    @property
    def daemon_killed(self) -> bool:
        """Whether `kill_daemon` was called and `start_again` was not since."""
        return len(self.processes) == 1

    def start_again(self) -> None:
        """Starts the programs that have ended, by `kill_daemon` or by themselves, without any rules.

        Raises:
            CommandError: the switch does not come up.
        """
        ended = self.ended_programs()
        if _SERVER in ended:
            self.processes[0] = self._start_server()
            _wait([self], lambda switch: switch.database_ready, "database")
        if _DAEMON in ended:
            self.kill_daemon()  # removes what it left
        if not self.daemon_killed:
            return
        self.start_daemon()
        _wait([self], lambda switch: switch.bridge_ready, "bridge")
        _prepare_to_send([self])

    def start_command(self, command: str, *arguments: str) -> subprocess.Popen[str]:
        """Starts an `ovs-ofctl` command on the switch; the caller calls `finish` on it."""
        return start(["ovs-ofctl", "-OOpenFlow13", command, self.management, *arguments])

    def start_cache_flush(self) -> subprocess.Popen[str]:
        """Starts the program that empties the cache of flows; the caller calls `finish` on it."""
        return start(["ovs-appctl", f"--target={self._file('ovs-vswitchd.ctl')}", "revalidator/purge"])

    def send_first_frame(self) -> subprocess.Popen[str] | None:
        """Starts the program that has a userspace datapath send a frame; None with the kernel's datapath."""
        if self._datapath != "user" or not self.settings.ports:
            return None
        _, port = self.settings.ports[0]
        frame = f"in_port=controller packet={_FIRST_FRAME} actions=output:{port}"
        return self.start_command("packet-out", frame)

    def enlarge_buffers(self) -> None:
        """Enlarges the socket buffers of the userspace datapath to hold the frames of all ports' queues."""
        spec = self.settings.link_spec
        frames = len(self.settings.ports) * (spec.queue_packets + _FRAMES_BEYOND_QUEUE)
        enlarge_buffers(self.processes[-1].pid, frames, spec.max_frame_bytes)

    @property
    def database_ready(self) -> bool:
        """Whether the database accepts connections."""
        return accepts_connections(self._file("sock"))

    @property
    def bridge_ready(self) -> bool:
        """Whether the bridge exists and accepts OpenFlow connections."""
        return accepts_connections(self._file("mgmt"))

    def check_alive(self) -> None:
        """Raises CommandError, with the last line of the log, if a process of the switch has ended."""
        for process in self.processes:
            if process.poll() is not None:
                name, status = self.settings.name, process.returncode
                last_line = self._last_log_line()
                raise CommandError(f"a process of {name} ended with status {status}: {last_line}")

    def ended_programs(self) -> list[str]:
        """Returns the names of the switch's programs that have ended."""
        pairs = zip((_SERVER, _DAEMON), self.processes, strict=False)
        return [name for name, process in pairs if process.poll() is not None]

    def _start(self, argv: list[str]) -> subprocess.Popen[bytes]:
        control = f"--unixctl={self._file(f'{argv[0]}.ctl')}"
        command = [*argv, *_QUIET, "--no-chdir", control, f"--log-file={self._log_file}"]
        with open(self._log_file, "ab") as log:
            return subprocess.Popen(
                in_namespaces_of(self.settings.namespace_pid, command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=marked_environment(self._environment),
                start_new_session=True,
            )

    @property
    def _environment(self) -> dict[str, str]:
        keep = _BATCH * self.settings.link_spec.max_frame_bytes > _TRIM_BYTES
        return {"OVS_RUNDIR": str(self._run_dir), **(_KEEP_MEMORY if keep else {})}

    @property
    def _log_file(self) -> Path:
        return self._file("log")

    def _file(self, suffix: str) -> Path:
        return self._run_dir / f"{self.settings.name}.{suffix}"

    def _last_log_line(self) -> str:
        try:
            lines = self._log_file.read_text(errors="replace").split("\n")
        except OSError:
            return "the log cannot be read"
        return next((line for line in reversed(lines) if line.strip()), "the log is empty")


def accepts_connections(path: Path) -> bool:
    """Returns whether a process listens on a Unix socket; its file exists a moment earlier."""
    with socket.socket(socket.AF_UNIX) as trial, contextlib.suppress(OSError):
        trial.connect(str(path))
        return True
    return False


def start_all(switches: Sequence[VSwitch], run_dir: Path, controller: str) -> None:
    """Starts switches side by side and returns when all their bridges exist.

    Raises:
        CommandError: a switch does not come up.
        MachineError: Open vSwitch is not installed as expected.
    """
    if not SCHEMA.exists():
        raise MachineError(f"{SCHEMA} is missing; try `apt-get install openvswitch-switch`")
    template = run_dir / "empty.db"
    run(["ovsdb-tool", "create", str(template), str(SCHEMA)])
    for switch in switches:
        switch.start_database(template)
    _wait(switches, lambda switch: switch.database_ready, "database")
    for process in [switch.configure(controller) for switch in switches]:
        finish(process)
    for switch in switches:
        switch.start_daemon()
    _wait(switches, lambda switch: switch.bridge_ready, "bridge")
    _prepare_to_send(switches)


def _prepare_to_send(switches: Sequence[VSwitch]) -> None:
    for switch, sending in [(switch, switch.send_first_frame()) for switch in switches]:
        if sending:
            finish(sending)
            switch.enlarge_buffers()


def kill_all(switches: Iterable[VSwitch]) -> None:
    """Kills the processes of switches, side by side, as the kernel removes a datapath's devices slowly."""
    processes = [process for switch in switches for process in switch.processes]
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
    for switch in switches:
        switch.processes.clear()


def _wait(switches: Sequence[VSwitch], ready: Callable[[VSwitch], bool], part: str) -> None:
    deadline = time.monotonic() + READY_TIMEOUT_S
    waiting = list(switches)
    while waiting := [switch for switch in waiting if not ready(switch)]:
        for switch in waiting:
            switch.check_alive()
        if time.monotonic() > deadline:
            name = waiting[0].settings.name
            raise CommandError(f"{name} has no {part} after {READY_TIMEOUT_S:g} s")
        time.sleep(0.01)
