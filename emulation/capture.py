"""Packet captures at interfaces of hosts and switches, with tcpdump."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from emulation.subprocesses import CommandError, await_end, in_one_line, kill_family, require_programs
from topology.files.writing import open_folder

_LISTEN_TIMEOUT_S, _END_TIMEOUT_S = 10.0, 10.0
_POLL_INTERVAL_MS = 200
_MAX_BYTES = 1 << 16  # limit of tcpdump's messages before it captures
_READ_BYTES = 1 << 16
# The kernel passes packets to tcpdump up to a second late. When tcpdump ends, it writes only the packets that
# it has received.
_HANDED_OVER_S = 1.2


@dataclass(frozen=True)
class CapturePoint:
    """An interface at which packets are captured.

    Attributes:
        node: name of the host or switch.
        interface: name of its interface.
        file: name of the capture file, for Wireshark.
    """

    node: str
    interface: str
    file: str


class Capture:
    """The running tcpdump processes of a measurement, and the threads that write their files."""

    def __init__(self) -> None:
        self._processes: dict[CapturePoint, subprocess.Popen[bytes]] = {}
        self._writers: list[threading.Thread] = []
        self._over = threading.Event()

    def start(self, network: Any, point: CapturePoint, folder: Path) -> None:
        """Starts a capture, which may miss packets until `wait_until_listening` returns."""
        argv = ["tcpdump", "-i", point.interface, "-U", "-w", "-", "-Z", "root"]
        # tcpdump writes to a pipe: hosts cannot write into the folder, and a host's root could take over any
        # file that a program on the host has open.
        file = open_folder(folder).begin(point.file)
        process = self._processes[point] = network[point.node].start_program(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        writer = threading.Thread(target=_write, args=(process.stdout, file, self._over), daemon=True)
        self._writers.append(writer)
        writer.start()

    def wait_until_listening(self) -> None:
        """Waits until all captures are ready to see packets.

        Raises:
            CommandError: tcpdump cannot capture at an interface.
        """
        for point, process in self._processes.items():
            _wait_until_listening(point, process)

    def ended_processes(self) -> list[str]:
        """Returns descriptions of the capture programs that have ended unexpectedly."""
        return [
            f"tcpdump at {p.interface}"
            for p, process in self._processes.items()
            if process.poll() is not None
        ]

    def end(self) -> None:
        """Ends all captures and completes their files."""
        if self._processes:
            time.sleep(_HANDED_OVER_S)
        for process in self._processes.values():
            process.send_signal(signal.SIGINT)  # tcpdump then writes out its buffer
        deadline_s = time.monotonic() + _END_TIMEOUT_S
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):  # if it is stopped, earlier packets are kept
                process.wait(max(0.0, deadline_s - time.monotonic()))
        for writer in self._writers:  # a host's program may keep the pipe open
            writer.join(max(0.0, deadline_s - time.monotonic()))
        self._over.set()
        for writer in self._writers:
            writer.join(_END_TIMEOUT_S)
        for process in self._processes.values():
            kill_family(process)
            await_end(process)
            assert process.stderr
            process.stderr.close()


def require_capture() -> None:
    """Raises MachineError unless tcpdump is installed."""
    require_programs({"tcpdump": "tcpdump"})


@contextlib.contextmanager
def capture(network: Any, points: Sequence[CapturePoint], folder: Path) -> Iterator[Capture]:
    """Captures the packets of interfaces during the block.

    Args:
        network: the fabric's Mininet network.
        points: the interfaces; may be empty.
        folder: folder of the capture files.

    Raises:
        CommandError: tcpdump cannot capture there.
    """
    captures = Capture()
    try:
        for point in points:
            captures.start(network, point, folder)
        captures.wait_until_listening()
        yield captures
    finally:
        captures.end()


def _write(packets: IO[bytes], file: IO[bytes], over: threading.Event) -> None:
    """Writes the packets of a capture as they arrive, until its end or until `over` is set."""
    poller = select.poll()
    poller.register(packets, select.POLLIN)
    with packets, file, contextlib.suppress(OSError):  # the disk is full
        while not over.is_set():
            if poller.poll(_POLL_INTERVAL_MS):
                content = os.read(packets.fileno(), _READ_BYTES)
                if not content:
                    return
                file.write(content)
                file.flush()


def _wait_until_listening(point: CapturePoint, process: subprocess.Popen[bytes]) -> None:
    assert process.stderr
    end_s, printed = time.monotonic() + _LISTEN_TIMEOUT_S, b""
    poller = select.poll()
    poller.register(process.stderr, select.POLLIN)
    while b"listening on" not in printed:
        ready = poller.poll(max(0.0, end_s - time.monotonic()) * 1e3)
        readable = ready and len(printed) < _MAX_BYTES
        more = os.read(process.stderr.fileno(), _READ_BYTES) if readable else b""
        if not more:
            kill_family(process)
            last_line = (printed.decode(errors="replace").splitlines() or ["it printed no error"])[-1]
            raise CommandError(f"tcpdump cannot capture at {point.interface}: {in_one_line(last_line)}")
        printed += more
