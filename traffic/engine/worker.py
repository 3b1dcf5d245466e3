"""A traffic process: `python -m traffic.engine.worker ROLE RESULT [FD]`, with its job on standard input.

It reads the job (first line), opens its sockets and answers `ready`. Then it reads the start time (second
line), and starts to work at that time. Meanwhile it reports its counts (`traffic.engine.telemetry`) and may
read the measurement window (third line). On SIGTERM, it ends early and stores its measurements so far in the
file RESULT. All roles except the sender, which must send packets on time, also store them about once per
second, so that little is lost if they are killed. FD is the descriptor of a file with the parent's plug-ins.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from topology.errors import PolarLabError, Status, UsageError
from topology.files.plugin_files import receive
from topology.plugins import naming_plugins
from traffic.engine.collective_worker import CollectiveWorker
from traffic.engine.collector import Collector
from traffic.engine.flows.worker import FlowWorker
from traffic.engine.jobs import collective_job_from_dict, flow_job_from_dict, job_from_dict
from traffic.engine.measurement_files import Checkpoints, store, store_outcome
from traffic.engine.sender import Sender
from traffic.engine.telemetry import CountReporter
from traffic.metrics.measurements import Clock
from traffic.metrics.window import Window

_READ_BYTES = 65_536

Stopped = Callable[[], bool]
# Function of a role: works from the clock's time until its end or a stop, and writes measurements to a path.
Work = Callable[[Clock, Stopped, Path], None]


def _sender(settings: dict[str, Any]) -> Work:
    job = job_from_dict(settings)
    window = Window(job.window_ns)
    sender = Sender(job, window, CountReporter(_write_line))

    def work(clock: Clock, stopped: Stopped, path: Path) -> None:
        threading.Thread(target=read_window, args=(window,), daemon=True).start()
        store(sender.run(clock, stopped), path)

    return work


def _collector(settings: dict[str, Any]) -> Work:
    job = job_from_dict(settings)
    window = Window(job.window_ns)
    collector = Collector(job, window, CountReporter(_write_line))

    def work(clock: Clock, stopped: Stopped, path: Path) -> None:
        threading.Thread(target=read_window, args=(window,), daemon=True).start()
        checkpoints = Checkpoints(path, len(job.hosts) ** 2)
        store(collector.run(clock, stopped, checkpoints.keep), path)

    return work


def _collective(settings: dict[str, Any]) -> Work:
    job = collective_job_from_dict(settings)
    worker = CollectiveWorker(job, CountReporter(_write_line))

    def work(clock: Clock, stopped: Stopped, path: Path) -> None:
        checkpoints = Checkpoints(path, len(job.hosts) ** 2)
        store_outcome(worker.run(clock, stopped, checkpoints.keep), path)

    return work


def _flows(settings: dict[str, Any]) -> Work:
    job = flow_job_from_dict(settings)
    worker = FlowWorker(job, CountReporter(_write_line))

    def work(clock: Clock, stopped: Stopped, path: Path) -> None:
        checkpoints = Checkpoints(path, len(job.hosts) ** 2)
        store(worker.run(clock, stopped, checkpoints.keep), path)

    return work


ROLES: Mapping[str, Callable[[dict[str, Any]], Work]] = {
    "send": _sender,
    "collect": _collector,
    "collective": _collective,
    "flows": _flows,
}


class LineReader:
    """Reads lines of an open file; several threads may call it one after the other.

    Lines that arrive together are kept for later calls. Unlike sys.stdin, it has no lock: a thread that waits
    for a line in sys.stdin would hold its lock while the interpreter exits.
    """

    def __init__(self, descriptor: int) -> None:
        """Creates a reader for the open file `descriptor`."""
        self._descriptor, self._rest = descriptor, b""

    def read(self) -> str:
        """Returns the next line, or an empty string at the end of the file."""
        while b"\n" not in self._rest:
            read = os.read(self._descriptor, _READ_BYTES)
            if not read:
                return ""
            self._rest += read
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()


_input = LineReader(0)


def main() -> int:
    """Runs one job; returns the exit status: 0, 1 after an error message, or 2 if the request was wrong."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the parent
    os.set_blocking(1, False)
    role, result_path, *plugins = sys.argv[1:]
    try:
        for descriptor in plugins:
            receive(int(descriptor))
        with naming_plugins():
            work = ROLES[role](json.loads(_input.read()))
            _write_line("ready")
            line = _input.read()
            if line:
                work(Clock(**json.loads(line)), stop.is_set, Path(result_path))
    except (PolarLabError, OSError) as error:
        print(f"{role}: {error}", file=sys.stderr)
        return Status.USAGE if isinstance(error, UsageError) else Status.NEGATIVE
    return 0


def _write_line(line: str) -> None:
    with contextlib.suppress(BlockingIOError):  # the pipe is full (the parent is suspended): drop the line
        os.write(1, f"{line}\n".encode())


def read_window(window: Window) -> None:
    """Waits for the window that the parent may send, and sets it."""
    line = _input.read()
    if line:
        window.set(*json.loads(line)["window_ns"])


if __name__ == "__main__":
    sys.exit(main())
