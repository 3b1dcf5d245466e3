"""Packet captures at a host's interface, by tcpdump."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from emulation.subprocesses import (
    CommandError,
    in_namespaces_of,
    marked_environment,
    require_programs,
)

_END_TIMEOUT_S = 10.0


class Capture:
    """A running capture; it has no process if no host is captured."""

    def __init__(self, process: subprocess.Popen[str] | None = None) -> None:
        self._process = process

    def ended_processes(self) -> list[str]:
        """Returns the name of the capture's program if it has ended before its time."""
        return ["tcpdump"] if self._process and self._process.poll() is not None else []


def require_capture() -> None:
    """Raises MachineError unless tcpdump is installed."""
    require_programs({"tcpdump": "tcpdump"})


@contextlib.contextmanager
def capture(network: Any, host: str | None, folder: Path) -> Iterator[Capture]:
    """Captures the packets of a host's interface during the block.

    Args:
        network: the fabric's Mininet network.
        host: the host's name; None captures nothing.
        folder: the place of the capture's file, `<host>.pcap`.

    Raises:
        CommandError: tcpdump cannot capture there.
    """
    if host is None:
        yield Capture()
        return
    node = network[host]
    file = folder / f"{host}.pcap"
    argv = ["tcpdump", "-i", f"{host}-eth0", "-U", "-w", str(file.resolve()), "-Z", "root"]
    process = subprocess.Popen(
        in_namespaces_of(node.pid, argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=marked_environment(),
        start_new_session=True,
    )
    try:
        _wait_until_listening(process)
        yield Capture(process)
    finally:
        process.send_signal(signal.SIGINT)  # tcpdump then writes out its buffer
        process.communicate(timeout=_END_TIMEOUT_S)


def _wait_until_listening(process: subprocess.Popen[str]) -> None:
    assert process.stderr
    last_line = ""
    for line in process.stderr:
        if "listening on" in line:
            return
        last_line = line.strip()
    raise CommandError(f"tcpdump cannot capture: {last_line}")
