"""Tasks done by this process, by processes that it forks, or by the workers of a cluster."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from experiments.events.base import Notify
from experiments.simulation.address import Scheduler
from experiments.simulation.cluster import reached_cluster
from experiments.simulation.task import Done, Outcome, PlannedFabric, Task
from simulation.settings import Times
from topology.errors import MachineError, Terminated

Runner = Callable[[PlannedFabric, Sequence[Task]], Iterator[Done]]
_MOST_DEATHS = 3  # of processes in one task


def usable_cores() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


@contextlib.contextmanager
def task_runner(workers: int | None, scheduler: Scheduler | None, notify: Notify) -> Iterator[Runner]:
    """Gives the function that does tasks.

    Args:
        workers: processes of this machine; None for one on each of its cores.
        scheduler: scheduler of a cluster that does them instead; None without.
        notify: takes the events.

    Raises:
        MachineError: the scheduler does not answer, or a worker has another version.
    """
    if scheduler is not None:
        with reached_cluster(scheduler, notify) as cluster:
            yield cluster.run
        return
    count = workers or usable_cores()
    if count == 1:
        yield run_here
        return

    def run(planned: PlannedFabric, tasks: Sequence[Task]) -> Iterator[Done]:
        return run_in_processes(planned, tasks, count)

    yield run


def run_here(planned: PlannedFabric, tasks: Sequence[Task]) -> Iterator[Done]:
    """Yields the results of tasks one by one, each done in this process.

    Args:
        planned: fabric of all tasks.
        tasks: the tasks.

    Raises:
        KeyboardInterrupt: Ctrl-C, or a signal.
    """
    for number, task in enumerate(tasks):
        outcome = task.run(planned)
        if outcome.result.interrupted:
            raise KeyboardInterrupt
        yield number, outcome


def run_in_processes(planned: PlannedFabric, tasks: Sequence[Task], workers: int) -> Iterator[Done]:
    """Yields the results of tasks as they come, done by processes that share the fabric of this one.

    Args:
        planned: fabric of all tasks.
        tasks: the tasks.
        workers: number of processes, at least 1.

    Raises:
        MachineError: processes were ended again and again in one task; another process does a task of which
            that happens for the first time.
        KeyboardInterrupt: Ctrl-C, or a signal; the results of tasks that were done by then come before it.
    """
    _compile_kernel(planned, tasks[0])
    pool = _Pool(planned, tasks, min(workers, len(tasks)))
    try:
        while pool.is_busy:
            yield from pool.done(None)
    except (KeyboardInterrupt, Terminated):
        yield from pool.done(0.0)
        raise
    finally:
        pool.end()


def _compile_kernel(planned: PlannedFabric, task: Task) -> None:
    """Has the kernel in this process's memory, so that its forks need not compile or load it one by one."""
    short = replace(task, times=Times(warmup=1, window=1, most_drain=1), faults=())
    if short.run(planned).result.interrupted:
        raise KeyboardInterrupt


class _Pool:
    """Processes, forked from this one, each with a connection over which it gets numbers of tasks."""

    def __init__(self, planned: PlannedFabric, tasks: Sequence[Task], workers: int) -> None:
        self._planned, self._tasks = planned, tasks
        self._todo = deque(range(len(tasks)))
        self._deaths: Counter[int] = Counter()
        self._busy: dict[Connection[Any, Any], int] = {}
        self._processes: dict[Connection[Any, Any], BaseProcess] = {}
        try:
            for _ in range(workers):
                self._start()
        except BaseException:
            self.end()
            raise

    def _start(self) -> None:
        """Starts a process, and gives it a task."""
        # A fork has the tables, however large, at once; a fresh interpreter would run a user's script again.
        context = multiprocessing.get_context("fork")
        mine, theirs = context.Pipe()
        arguments = (theirs, (*self._processes, mine), self._planned, self._tasks)
        process = context.Process(target=_serve, args=arguments, daemon=True)
        with warnings.catch_warnings():
            # Newer Pythons warn of forks beside threads; here the fork uses nothing that they lock.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        theirs.close()
        self._processes[mine] = process
        self._give(mine)

    @property
    def is_busy(self) -> bool:
        """Whether a task is being done."""
        return bool(self._busy)

    def _give(self, connection: Connection[Any, Any]) -> None:
        """Gives a process the next task, if there is one."""
        if self._todo:
            number = self._todo.popleft()
            self._busy[connection] = number
            connection.send(number)

    def done(self, timeout_s: float | None) -> Iterator[Done]:
        """Yields the results that are there; waits for one if there is none.

        Args:
            timeout_s: longest time to wait; None for any.
        """
        for connection in wait(list(self._busy), timeout_s):
            if not isinstance(connection, Connection):
                continue
            number, result = self._busy.pop(connection), _received(connection)
            if result is not None:
                if timeout_s is None:
                    self._give(connection)
                yield number, result
            elif timeout_s is None:
                self._replace(connection, number)

    def _replace(self, connection: Connection[Any, Any], number: int) -> None:
        """Starts a process in the place of one that was ended in a task, and has the task done first."""
        process = self._processes.pop(connection)
        process.join()
        connection.close()
        self._deaths[number] += 1
        if self._deaths[number] == _MOST_DEATHS:
            raise MachineError(
                f"{_MOST_DEATHS} processes of the sweep were ended in one simulation (exit code "
                f"{process.exitcode}), perhaps for want of memory; the same command goes on, with fewer "
                "--workers perhaps"
            )
        self._todo.appendleft(number)
        self._start()

    def end(self) -> None:
        """Ends all processes, even those that simulate."""
        for connection, process in self._processes.items():
            process.kill()
            process.join()
            connection.close()


def _received(connection: Connection[Any, Any]) -> Outcome | None:
    """Returns the result that a process sends, None if it was ended; raises the error that it met."""
    try:
        result = connection.recv()
    except (EOFError, ConnectionError):
        return None
    if isinstance(result, BaseException):
        raise result
    if not isinstance(result, Outcome):
        raise TypeError(f"result of a process must be that of a task, got {result!r}")
    return result


def _serve(
    connection: Connection[Any, Any],
    foreign: Sequence[Connection[Any, Any]],
    planned: PlannedFabric,
    tasks: Sequence[Task],
) -> None:
    """Does tasks until the other end of the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent takes Ctrl-C, and ends its processes
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    gc.freeze()  # a collection would copy the parent's memory
    for other in foreign:  # else the parent's end stays open, and its death unnoticed
        other.close()
    while True:
        try:
            number = connection.recv()
            try:
                answer: Outcome | Exception = tasks[number].run(planned)
            except Exception as error:  # told to the parent
                answer = error
            connection.send(answer)
        except (EOFError, ConnectionError):
            return
