"""One Open vSwitch per router: an ovsdb-server and an ovs-vswitchd of its own in the router's namespace.

Switches share nothing: a packet waits for one switch only, and a switch can be killed like a real one. The
userspace datapath is fast only in this way (docs/lab/ground.md); with the kernel's datapath the same
processes run, and each namespace has a datapath of its own. All switches of a fabric are configured and
started side by side.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from emulation.kernel.socket_buffers import enlarge_buffers
from emulation.subprocesses import CommandError, marked_environment, run, start, start_in_namespaces
from emulation.switches.database import SwitchSettings, configured_database
from emulation.switches.first_frame import begin_first_frame, finish_first_frame
from topology.errors import MachineError

SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
READY_TIMEOUT_S = 60.0
_LOOK_EVERY_S = 0.005
_BETWEEN_LOOKS_AT_MEMORY = 32  # switches that are started between two
# Frames of a port in its token bucket and on the way through it.
_FRAMES_BEYOND_QUEUE = 8

# The userspace datapath allocates and frees the buffers of a batch of frames whenever it polls a port. glibc
# returns memory beyond this size to the kernel every time, and its pages are faulted in anew: with frames of
# 9,000 bytes that is more work than all else.
_BATCH, _TRIM_BYTES = 32, 128 << 10
_KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(64 << 20)}

_SERVER, _DAEMON = "ovsdb-server", "ovs-vswitchd"  # a switch's programs, in the order of their start
_QUIET = ["-vconsole:off", "-vsyslog:off", "-vfile:warn"]


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

    def start_database(self, empty: bytes, controller: str, switches: int) -> None:
        """Starts ovsdb-server on a database with the switch's configuration.

        Args:
            empty: content of a database file without rows.
            controller: the OpenFlow target to which the switch connects.
            switches: number of switches of the fabric.
        """
        database = configured_database(empty, self.settings, controller, self._datapath, switches)
        self._file("db").write_bytes(database)
        self.processes.append(self._start_server())

    def _start_server(self) -> subprocess.Popen[bytes]:
        return self._start([_SERVER, str(self._file("db")), f"--remote=punix:{self._file('sock')}"])

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
            begin = partial(start_in_namespaces, self.settings.namespace_pid)
            run(["ovs-dpctl", "del-dp", "ovs-system"], begin=begin)

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
        _prepare_to_send(self)

    def start_command(self, command: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts an `ovs-ofctl` command on the switch; the caller calls `finish` on it."""
        return start(["ovs-ofctl", "-OOpenFlow13", command, self.management, *arguments])

    def start_cache_flush(self) -> subprocess.Popen[bytes]:
        """Starts the program that empties the cache of flows; the caller calls `finish` on it."""
        return start(["ovs-appctl", f"--target={self._file('ovs-vswitchd.ctl')}", "revalidator/purge"])

    def begin_first_frame(self) -> socket.socket | None:
        """Has a userspace datapath send a frame; returns the connection on which it answers.

        None with the kernel's datapath, or without a port.
        """
        if self._datapath != "user" or not self.settings.ports:
            return None
        return begin_first_frame(self._file("mgmt"), self.settings.ports[0][1])

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
            return start_in_namespaces(
                self.settings.namespace_pid,
                command,
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


def start_databases(switches: Sequence[VSwitch], run_dir: Path, controller: str) -> None:
    """Starts the databases of a fabric's switches side by side, without waiting for them.

    Args:
        switches: the switches.
        run_dir: folder of their files.
        controller: the OpenFlow target to which they connect.

    Raises:
        CommandError: a node has ended.
        MachineError: Open vSwitch is not installed as expected.
    """
    if not SCHEMA.exists():
        raise MachineError(f"{SCHEMA} is missing; try `apt-get install openvswitch-switch`")
    template = run_dir / "empty.db"
    run(["ovsdb-tool", "create", str(template), str(SCHEMA)])
    empty = template.read_bytes()
    for switch in switches:
        switch.start_database(empty, controller, len(switches))


def start_daemons(switches: Sequence[VSwitch], make_room: Callable[[], None] = lambda: None) -> None:
    """Starts switches, whose databases were started, side by side; returns when all their bridges exist.

    Args:
        switches: the switches of a fabric.
        make_room: called now and then, to wait until memory is free.

    Raises:
        CommandError: a switch does not come up.
    """
    _wait(switches, lambda switch: switch.database_ready, "database")
    for number, switch in enumerate(switches):
        if number % _BETWEEN_LOOKS_AT_MEMORY == 0:
            make_room()
        switch.start_daemon()
    for switch in switches:
        _wait([switch], lambda switch: switch.bridge_ready, "bridge")
        _prepare_to_send(switch)


def _prepare_to_send(switch: VSwitch) -> None:
    """Has a userspace datapath open the sockets by which it sends, and enlarges their buffers."""
    connection = switch.begin_first_frame()
    if connection:
        finish_first_frame(connection)
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
    """Waits until all switches are ready, which start side by side: mostly, the first waited for is the last.

    Raises:
        CommandError: a process of a switch has ended, or no switch became ready for READY_TIMEOUT_S.
    """
    for switch in switches:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not ready(switch):
            switch.check_alive()
            if time.monotonic() > deadline:
                raise CommandError(f"{switch.settings.name} has no {part} after {READY_TIMEOUT_S:g} s")
            time.sleep(_LOOK_EVERY_S)
