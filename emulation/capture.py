"""Packet captures at interfaces of hosts and switches, by tcpdump."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulation.subprocesses import (
    CommandError,
    require_programs,
)
from topology.files.writing import open_folder

_END_TIMEOUT_S = 10.0
# The kernel hands packets over to tcpdump a second late at most; of those that it has not, none are written.
_HANDED_OVER_S = 1.2


@dataclass(frozen=True)
class CapturePoint:
    """Place at which packets are captured.

    Attributes:
        node: name of the host or switch.
        interface: name of its interface.
        file: name of the file, which Wireshark opens.
    """

    node: str
    interface: str
    file: str


class Capture:
    """Captures that run, by the places of their interfaces."""

    def __init__(self) -> None:
        self._processes: dict[CapturePoint, subprocess.Popen[str]] = {}

    def start(self, network: Any, point: CapturePoint, folder: Path) -> None:
        """Starts a capture, which `wait_until_listening` waits for."""
        # Hosts cannot write into the folder.
        argv = ["tcpdump", "-i", point.interface, "-U", "-w", "-", "-Z", "root"]
        with open_folder(folder).begin(point.file) as file:
            self._processes[point] = network[point.node].start_program(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )

    def wait_until_listening(self) -> None:
        """Returns when all captures see packets.

        Raises:
            CommandError: tcpdump cannot capture at one of the places.
        """
        for point, process in self._processes.items():
            _wait_until_listening(point, process)

    def ended_processes(self) -> list[str]:
        """Returns the names of the captures' programs that have ended before their time."""
        return [
            f"tcpdump at {p.interface}"
            for p, process in self._processes.items()
            if process.poll() is not None
        ]

    def end(self) -> None:
        """Ends all captures; their files are complete then."""
        if self._processes:
            time.sleep(_HANDED_OVER_S)
        for process in self._processes.values():
            process.send_signal(signal.SIGINT)  # tcpdump then writes out its buffer
        for process in self._processes.values():
            process.communicate(timeout=_END_TIMEOUT_S)


def require_capture() -> None:
    """Raises MachineError unless tcpdump is installed."""
    require_programs({"tcpdump": "tcpdump"})


@contextlib.contextmanager
def capture(network: Any, points: Sequence[CapturePoint], folder: Path) -> Iterator[Capture]:
    """Captures the packets of interfaces during the block.

    Args:
        network: the fabric's Mininet network.
        points: the interfaces; none captures nothing.
        folder: the place of the captures' files.

    Raises:
        CommandError: tcpdump cannot capture there.
    """
    captured = Capture()
    try:
        for point in points:
            captured.start(network, point, folder)
        captured.wait_until_listening()
        yield captured
    finally:
        captured.end()


def _wait_until_listening(point: CapturePoint, process: subprocess.Popen[str]) -> None:
    assert process.stderr
    last_line = ""
    for line in process.stderr:
        if "listening on" in line:
            return
        last_line = line.strip()
    raise CommandError(f"tcpdump cannot capture at {point.interface}: {last_line}")
