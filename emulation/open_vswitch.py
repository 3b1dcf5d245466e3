"""One Open vSwitch per router: each has its own ovsdb-server and ovs-vswitchd in the router's namespace.

Switches share nothing: no packet waits for the work of another switch, and each switch can be killed alone.
The userspace datapath is fast only in this way (docs/lab/ground.md). With the kernel datapath the same
processes run, and each namespace has its own datapath. All switches of a fabric are configured and started in
parallel.
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
from emulation.switches.first_frame import await_frame, trigger_frame
from topology.errors import MachineError

SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
READY_TIMEOUT_S = 60.0
_POLL_INTERVAL_S = 0.005
_SWITCHES_PER_MEMORY_CHECK = 32
# Frames of a port that are in its token bucket or in transit, besides those in its queue.
_FRAMES_BEYOND_QUEUE = 8

# The userspace datapath allocates and frees the buffers of a batch of frames whenever it polls a port. glibc
# returns memory beyond this size to the kernel each time, and its pages are faulted in again. With frames of
# 9,000 bytes, that costs more than everything else.
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
        """The switch's management address, in the form that `ovs-ofctl` accepts."""
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
        """Starts ovs-vswitchd with the configuration in the database."""
        self.processes.append(self._start([_DAEMON, f"unix:{self._file('sock')}"]))

    def kill_daemon(self) -> None:
        """Kills ovs-vswitchd, and with it the switch's rules.

        The userspace datapath ends with the process. The kernel datapath is deleted, because a switch without
        power forwards nothing.
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
        """Whether ovs-vswitchd is down because of `kill_daemon`."""
        return len(self.processes) == 1

    def restart(self) -> None:
        """Restarts the programs that have ended, whether killed or not; the switch comes up without rules.

        Raises:
            CommandError: the switch does not come up.
        """
        ended = self.ended_programs()
        if _SERVER in ended:
            self.processes[0] = self._start_server()
            _wait([self], lambda switch: switch.database_ready, "database")
        if _DAEMON in ended:
            self.kill_daemon()  # removes its socket and datapath
        if not self.daemon_killed:
            return
        self.start_daemon()
        _wait([self], lambda switch: switch.bridge_ready, "bridge")
        _prepare_to_send(self)

    def start_command(self, command: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts an `ovs-ofctl` command on the switch; the caller calls `finish` on it."""
        return start(["ovs-ofctl", "-OOpenFlow13", command, self.management, *arguments])

    def start_cache_flush(self) -> subprocess.Popen[bytes]:
        """Starts the program that empties the flow cache; the caller calls `finish` on it."""
        return start(["ovs-appctl", f"--target={self._file('ovs-vswitchd.ctl')}", "revalidator/purge"])

    def trigger_frame(self) -> socket.socket | None:
        """Makes a userspace datapath send a frame; returns the connection on which it replies.

        Returns None for the kernel datapath, or if the switch has no ports.
        """
        if self._datapath != "user" or not self.settings.ports:
            return None
        return trigger_frame(self._file("mgmt"), self.settings.ports[0][1])

    def enlarge_buffers(self) -> None:
        """Enlarges the userspace datapath's socket buffers so that all ports' queues fit into them."""
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
        """Raises CommandError with the last line of the log if a process of the switch has ended."""
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
            return "its log cannot be read"
        return next((line for line in reversed(lines) if line.strip()), "its log is empty")


def accepts_connections(path: Path) -> bool:
    """Returns whether a process listens on a Unix socket; the file alone may exist a moment earlier."""
    with socket.socket(socket.AF_UNIX) as trial, contextlib.suppress(OSError):
        trial.connect(str(path))
        return True
    return False


def start_databases(switches: Sequence[VSwitch], run_dir: Path, controller: str) -> None:
    """Starts the databases of a fabric's switches in parallel, without waiting for them.

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
    """Starts switches in parallel and waits until all their bridges exist; their databases must already run.

    Args:
        switches: the switches of a fabric.
        make_room: called regularly to wait until memory is free.

    Raises:
        CommandError: a switch does not come up.
    """
    _wait(switches, lambda switch: switch.database_ready, "database")
    for number, switch in enumerate(switches):
        if number % _SWITCHES_PER_MEMORY_CHECK == 0:
            make_room()
        switch.start_daemon()
    for switch in switches:
        _wait([switch], lambda switch: switch.bridge_ready, "bridge")
        _prepare_to_send(switch)


def _prepare_to_send(switch: VSwitch) -> None:
    """Makes a userspace datapath open its sending sockets by sending a frame, and enlarges their buffers."""
    connection = switch.trigger_frame()
    if connection:
        await_frame(connection)
        switch.enlarge_buffers()


def kill_all(switches: Iterable[VSwitch]) -> None:
    """Kills the processes of switches in parallel, because the kernel removes a datapath's devices slowly."""
    processes = [process for switch in switches for process in switch.processes]
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
    for switch in switches:
        switch.processes.clear()


def _wait(switches: Sequence[VSwitch], ready: Callable[[VSwitch], bool], part: str) -> None:
    """Waits until all switches, which start in parallel, are ready.

    Raises:
        CommandError: a process of a switch has ended, or the next switch is not ready within READY_TIMEOUT_S.
    """
    for switch in switches:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not ready(switch):
            switch.check_alive()
            if time.monotonic() > deadline:
                raise CommandError(f"{switch.settings.name} has no {part} after {READY_TIMEOUT_S:g} s")
            time.sleep(_POLL_INTERVAL_S)
