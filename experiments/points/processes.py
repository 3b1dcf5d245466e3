"""Back end that runs points of several fabrics in processes of this machine, so that no core is idle."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import signal
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from emulation.requirements import available_memory_bytes
from experiments.events.base import Event, OnEvent
from experiments.points.engine import Ended, Group
from topology.errors import MachineError
from topology.plugins import plugin_failure

_MAX_DEATHS = 3  # after so many deaths of processes in one point, the error is raised
_MEMORY_SHARE = 0.5  # share of the free memory that an additional fabric may take
_END_S = 5.0
if TYPE_CHECKING:
    Pipe = Connection[Any, Any]
else:
    Pipe = Connection


class _Ready(NamedTuple):
    """Message of a group's first process: the fabric is up."""


class _Answer(NamedTuple):
    """Message of a group's first process: a point has ended; `answer` is its outcome, or _Died."""

    point: Any
    answer: Any


class _Failed(NamedTuple):
    """Message of a process: an error, which its parent raises."""

    error: Exception


class _Died(NamedTuple):
    """Stands for the outcome of a point whose worker died."""

    exit_code: int | None


class _Crew:
    """A process that brings up the fabric of a group of points and forks workers that run these points."""

    def __init__(self, group: Group, foreign: Iterable[Pipe]) -> None:
        self.process, self.control = _forked(_lead, group, foreign, daemon=False)
        self.ready = False
        self.points: list[Any] = []  # points that are running
        self.events: list[Event] = []  # reported together, once the fabric is up

    def dismiss(self) -> None:
        """Makes the process and its workers end."""
        self.control.close()
        if not self.ready:
            self.process.kill()

    def end(self) -> None:
        """Waits until the process, which was dismissed, has ended."""
        self.process.join(_END_S)
        self.process.kill()
        self.process.join()


class Processes:
    """Back end whose workers share the fabric that their parent process has brought up."""

    def __init__(self, workers: int, on_event: OnEvent) -> None:
        """Prepares the back end.

        Args:
            workers: number of processes that compute at once.
            on_event: called with the events of fabrics that come up.
        """
        self.slots = workers
        self._on_event = on_event
        self._crews: dict[Group, _Crew] = {}
        self._dismissed: list[_Crew] = []
        self._deaths: Counter[tuple[Group, Any]] = Counter()

    def __enter__(self) -> Processes:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        for group in [*self._crews]:
            self.close(group)
        for crew in self._dismissed:
            crew.end()

    def has_room(self, group: Group) -> bool:
        """Returns whether the memory has room for a fabric in addition to those that are up or starting."""
        coming_up = sum(one.memory_bytes for one, crew in self._crews.items() if not crew.ready)
        return group.memory_bytes + coming_up < _MEMORY_SHARE * available_memory_bytes()

    def open(self, group: Group) -> None:
        """Starts the process that brings up the fabric shared by the points of a group."""
        group.load(self._on_event)
        self._crews[group] = _Crew(group, [crew.control for crew in self._crews.values()])

    def is_ready(self, group: Group) -> bool:
        """Returns whether the fabric shared by the points of a group is up."""
        return self._crews[group].ready

    def submit(self, group: Group, point: Any) -> None:
        """Sends a point to the group's processes."""
        crew = self._crews[group]
        crew.points.append(point)
        with contextlib.suppress(ConnectionError):  # the process has died; `ended` handles that next
            crew.control.send(point)

    def close(self, group: Group) -> None:
        """Makes the processes of a group end, without waiting for them."""
        crew = self._crews.pop(group)
        crew.dismiss()
        self._dismissed.append(crew)

    def ended(self, *, wait: bool = True) -> Iterator[Ended]:
        """Yields points that have ended.

        Args:
            wait: whether to wait until a point ends or a fabric is up.

        Raises:
            MachineError: three processes died at the same point, or before the fabric was up; after fewer
                deaths, another process repeats the point.
        """
        groups = {crew.control: group for group, crew in self._crews.items()}
        for control in _readable(groups, None if wait else 0.0):
            group = groups[control]
            try:
                message = control.recv()
            except (EOFError, ConnectionError):
                if wait:
                    self._restart(group)
                continue
            if isinstance(message, Event | _Ready):
                self._process(self._crews[group], message)
            elif isinstance(message, _Failed):
                self._report(self._crews[group])
                raise message.error
            elif isinstance(message.answer, _Died):
                self._count_death(group, message.point, message.answer.exit_code)
                control.send(message.point)
            else:
                self._crews[group].points.remove(message.point)
                yield group, message.point, message.answer

    def _process(self, crew: _Crew, message: Event | _Ready) -> None:
        """Processes a message of a group's first process about its fabric."""
        if isinstance(message, Event):
            crew.events.append(message)
            return
        crew.ready = True
        self._report(crew)
        for point in crew.points:  # points that a predecessor left when it died
            crew.control.send(point)

    def _report(self, crew: _Crew) -> None:
        events, crew.events = crew.events, []
        for event in events:
            self._on_event(event)

    def _restart(self, group: Group) -> None:
        """Restarts the processes of a group whose first process died."""
        before = self._crews.pop(group)
        before.dismiss()
        before.end()
        self._count_death(group, None, before.process.exitcode)
        self.open(group)
        self._crews[group].points = before.points

    def _count_death(self, group: Group, point: Any, exit_code: int | None) -> None:
        self._deaths[group, point] += 1
        if self._deaths[group, point] == _MAX_DEATHS:
            raise MachineError(
                f"{_MAX_DEATHS} processes died in the same simulation (exit code {exit_code}), perhaps out "
                "of memory; repeat the command to resume, with fewer --workers if memory ran out"
            )


def _readable(connections: Iterable[Pipe], timeout_s: float | None) -> list[Pipe]:
    """Waits until a connection is readable, and returns all connections that are."""
    return [one for one in wait([*connections], timeout_s) if isinstance(one, Connection)]


def _forked(
    target: Callable[..., None], group: Group, foreign: Iterable[Pipe], *others: Any, daemon: bool
) -> tuple[BaseProcess, Pipe]:
    """Forks a process and returns it with a connection to it; the child closes the connections `foreign`.

    A fork shares tables of any size without copying; a new interpreter would run a user's script again.
    """
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe()
    process = context.Process(target=_begin, args=(target, theirs, (*foreign, mine), group, *others))
    process.daemon = daemon
    with warnings.catch_warnings():
        # Newer Pythons warn of forks in processes with threads; this fork uses none of the threads' locks.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    theirs.close()
    return process, mine


def _begin(target: Callable[..., None], control: Pipe, foreign: Iterable[Pipe], *others: Any) -> None:
    """Runs a function in a forked process, until the other end of its connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process handles Ctrl-C and ends the others
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    gc.freeze()  # a collection would copy memory that is shared with the parent
    for other in foreign:  # an end that stays open here would hide the death of the other process
        other.close()
    with contextlib.suppress(EOFError, ConnectionError):
        target(control, *others)


def _lead(control: Pipe, group: Group) -> None:
    """Brings up the fabric shared by the points of a group, then forks workers for them."""
    try:
        with group.fabric_up(control.send) as fabric:
            control.send(_Ready())
            _dispatch(control, group, fabric)
    except (EOFError, ConnectionError):
        raise
    except Exception as error:  # the parent raises the error
        control.send(_Failed(plugin_failure(error) or error))


def _dispatch(control: Pipe, group: Group, fabric: Any) -> None:
    """Passes points to workers, and their outcomes to the parent."""
    processes: dict[Pipe, BaseProcess] = {}
    idle: list[Pipe] = []
    busy: dict[Pipe, Any] = {}
    try:
        while True:
            for ready in _readable([control, *busy], None):
                if ready is control:
                    point = control.recv()
                    if not idle:
                        process, worker = _forked(_work, group, (*processes, control), fabric, daemon=True)
                        processes[worker] = process
                        idle.append(worker)
                    worker = idle.pop()
                    busy[worker] = point
                    worker.send(point)
                    continue
                point = busy.pop(ready)
                try:
                    answer = ready.recv()
                    idle.append(ready)
                except (EOFError, ConnectionError):
                    process = processes.pop(ready)
                    process.join()
                    answer = _Died(process.exitcode)
                control.send(answer if isinstance(answer, _Failed) else _Answer(point, answer))
    finally:
        for process in processes.values():
            process.kill()
            process.join()


def _work(control: Pipe, group: Group, fabric: Any) -> None:
    """Runs the points that arrive over a connection, until its other end is closed."""
    while True:
        point = control.recv()
        try:
            answer = group.do(fabric, point)
        except Exception as error:  # the parent raises the error
            answer = _Failed(plugin_failure(error) or error)
        control.send(answer)
