"""Watch over a fabric: a thread that notices processes that end by themselves."""

from __future__ import annotations

import contextlib
import os
import select
import threading
from dataclasses import dataclass

from experiments.events.base import OnEvent
from experiments.events.marks import ProcessEnded
from experiments.events.notices import Notice
from experiments.live_fabric import LiveFabric
from topology.errors import PolarLabError

_POLL_INTERVAL_S = 0.1
_CONTROLLER = "the controller"
_HOST_REMEDY = "all programs on that host have ended; only a restart of the fabric brings the host back"


@dataclass(frozen=True)
class Program:
    """A program that a node runs in the background; `handle` is a file descriptor of its process (pidfd)."""

    node: str
    command: str
    pid: int
    handle: int

    @property
    def ended(self) -> bool:
        """Whether the program has ended."""
        poller = select.poll()  # unlike select(), it accepts descriptors above 1023
        poller.register(self.handle, select.POLLIN)
        return bool(poller.poll(0))


class Watch:
    """Watches a fabric in a thread within a `with` block, and reports processes that end by themselves."""

    def __init__(self, fabric: LiveFabric, on_event: OnEvent, busy: threading.RLock) -> None:
        """Prepares the watch.

        Args:
            fabric: the fabric.
            on_event: called with each event, in the watch's thread.
            busy: lock of the nodes' shells; shells are renewed only while nobody else holds it.
        """
        self._fabric, self._on_event, self._busy = fabric, on_event, busy
        self._known: set[str] = set()
        self._programs: dict[tuple[str, int], Program] = {}  # by node and process id there
        self._first: dict[int, str] = {}  # descriptor of a host's first process -> its description
        self._ends = select.epoll()  # polls all these descriptors in one call
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watch:
        for name, pid in self._fabric.network.first_processes().items():
            with contextlib.suppress(ProcessLookupError):  # a killed host keeper takes its hosts with it
                handle = os.pidfd_open(pid)
                self._first[handle] = f"the first process of {name}"
                self._ends.register(handle, select.EPOLLIN)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()
        for program in self._programs.values():
            os.close(program.handle)
        self._ends.close()
        while self._first:
            os.close(self._first.popitem()[0])

    def add_program(self, node: str, command: str, pid: int) -> None:
        """Adds a program that a node runs in the background; one that has already ended is reported now."""
        if (node, pid) not in self._programs:
            with contextlib.suppress(ProcessLookupError):
                handle = self._fabric.network[node].open_process(pid)
                self._programs[node, pid] = Program(node, command, pid, handle)
                return
            self._on_event(Notice("program-ended", node=node, command=command, pid=pid))

    def renew_shells(self) -> tuple[str, ...]:
        """Starts a new shell for each node whose shell has ended, and returns the names of these nodes.

        The caller must hold the lock `busy`. If a shell cannot be started, its next use raises an error.
        """
        renewed = []
        for node in self._fabric.network.nodes_without_shell():
            with contextlib.suppress(PolarLabError):
                if node.renew_shell():
                    renewed.append(node.name)
        return tuple(renewed)

    def _run(self) -> None:
        while not self._stop.wait(_POLL_INTERVAL_S):
            self._check()

    def _check(self) -> None:
        ended = set(self._fabric.network.ended_programs())
        controller = self._fabric.controller
        if not controller.running and not controller.stopped:
            ended.add(_CONTROLLER)
        for process in sorted(ended - self._known):
            self._on_event(ProcessEnded(process, _remedy(process)))
        self._known = ended
        for handle, _ in self._ends.poll(0):
            self._ends.unregister(handle)
            self._on_event(ProcessEnded(self._first[handle], _HOST_REMEDY))
        for program in [program for program in list(self._programs.values()) if program.ended]:
            del self._programs[program.node, program.pid]
            os.close(program.handle)
            self._on_event(
                Notice("program-ended", node=program.node, command=program.command, pid=program.pid)
            )
        if self._busy.acquire(blocking=False):
            try:
                renewed = self.renew_shells()
            finally:
                self._busy.release()
            for name in renewed:
                self._on_event(Notice("shell-renewed", node=name))


def _remedy(process: str) -> str:
    """Returns advice for the user: the command that restarts a process which has ended by itself."""
    if process == _CONTROLLER:
        return "switches keep their rules and get no new ones until `controller start`"
    return f"`switch {process.rpartition(' ')[2]} start` starts it again"
