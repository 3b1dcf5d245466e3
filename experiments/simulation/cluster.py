"""Clusters of dask.distributed whose workers run the simulations of a sweep."""

from __future__ import annotations

import contextlib
import importlib
import logging
import pickle
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from experiments.events.base import OnEvent
from experiments.events.notices import Notice
from experiments.planned_fabric import PlannedFabric
from experiments.points.engine import Ended, Group
from experiments.simulation.address import TLS_FILES, Scheduler
from experiments.simulation.checked_outcome import check_outcome
from experiments.simulation.code_version import code_version
from experiments.simulation.task import Outcome, Task, task_of
from topology.errors import MachineError, UsageError
from topology.plugins import naming_plugins

if TYPE_CHECKING:
    from experiments.simulation.points import SimulatedGroup

CONNECT_S, _WORKERS_S = 5, 10
_MIN_SLOTS = 8
_MAX_PLANS = 2  # limit of plans in this process's memory


class WorkerVersionError(MachineError):
    """A worker's version of the code differs from this process's."""


def _distributed() -> Any:
    """Imports and returns dask's module `distributed`, which takes a second."""
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise MachineError(
            "--scheduler needs dask.distributed, which is not installed; `pip install 'polarlab[cluster]'`"
        ) from None


class _OpenFabric(NamedTuple):
    """A fabric whose points are being simulated.

    Attributes:
        fabric: the planned fabric in this process.
        shared: dask's future of the copy that the workers have.
    """

    fabric: PlannedFabric
    shared: Any


class Cluster:
    """Back end that simulates points on the workers of a cluster.

    All workers must have the same version of the code as this process. This process plans each fabric and
    sends its forwarding tables once. If a worker dies, another worker repeats its point.
    """

    def __init__(self, address: str, client: Any, threads: int, on_event: OnEvent) -> None:
        """Wraps dask's client, which `reached_cluster` has connected to the scheduler."""
        self.slots = _slots(threads)
        self._address, self._client, self._on_event = address, client, on_event
        self._open_fabrics: dict[Group, _OpenFabric] = {}
        self._under_way: dict[Any, tuple[Group, Any, Task]] = {}
        self._completed = _distributed().as_completed(loop=client.loop)

    def has_room(self, _group: Group) -> bool:
        """Returns whether this process has room for another plan."""
        return len(self._open_fabrics) < _MAX_PLANS

    def open(self, group: Group) -> None:
        """Plans the fabric of a group and sends its tables."""
        fabric = _simulated(group).prepare(self._on_event)
        # The scheduler keeps the tables as the argument of a task. If all workers with the tables die, it
        # sends them to other workers.
        key = f"tables-{uuid.uuid4().hex}"
        with _silent():
            shared = self._client.submit(pickle.loads, pickle.dumps(fabric), key=key)
        self._open_fabrics[group] = _OpenFabric(fabric, shared)

    def is_ready(self, _group: Group) -> bool:
        """Returns True, because `open` returns only after the fabric has been planned."""
        return True

    def submit(self, group: Group, point: Any) -> None:
        """Sends a point to the cluster."""
        task, key = task_of(*_simulated(group).simulation(point)), f"simulation-{uuid.uuid4().hex}"
        with _silent():
            shared = self._open_fabrics[group].shared
            future = self._client.submit(done_on_worker, shared, task, code_version(), key=key)
        self._under_way[future] = group, point, task
        self._completed.add(future)

    def ended(self, *, wait: bool = True) -> Iterator[Ended]:
        """Yields (group, point, outcome) of points whose simulations have ended.

        Args:
            wait: whether to wait for the next point that ends; it is then the only one yielded.

        Raises:
            MachineError: the scheduler is gone, a worker has a different version of the code or returned an
                impossible outcome, or several workers died while they simulated the same point.
        """
        there = [one for one in self._under_way if one.status == "finished"]
        for future in [next(self._completed)] if wait and self._under_way else there:
            group, point, task = self._under_way.pop(future)
            fabric = self._open_fabrics[group].fabric
            outcome = self._result(future, task, fabric)
            with contextlib.suppress(Exception):  # the scheduler may be gone
                self.slots = _slots(sum(self._client.nthreads().values()))  # workers may have joined
            yield group, point, _simulated(group).outcome(fabric, point, task, outcome)

    def close(self, group: Group) -> None:
        """Frees the tables of a group on the workers."""
        self._forget([self._open_fabrics.pop(group).shared])

    def end(self) -> None:
        """Cancels all tasks and frees all tables on the cluster."""
        self._forget([*self._under_way, *(one.shared for one in self._open_fabrics.values())])

    def _forget(self, futures: Sequence[Any]) -> None:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            self._client.cancel([*futures], force=True)

    def _result(self, future: Any, task: Task, fabric: PlannedFabric) -> Outcome:
        """Returns the result of a submitted task; raises MachineError if the cluster could not compute it."""
        try:
            result = future.result()
        except (MachineError, UsageError) as error:
            # From a worker, whose text may contain control characters.
            kind = UsageError if isinstance(error, UsageError) else MachineError
            raise kind(f"a worker of {self._address} reports {str(error)!r}") from None
        except Exception as error:  # from the library, or from any code on the worker
            kinds = {kind.__name__ for kind in type(error).__mro__}
            if "KilledWorker" in kinds:
                raise MachineError(
                    f"several workers of {self._address} died in the same simulation, perhaps out of memory; "
                    "repeat the command to resume"
                ) from None
            if kinds & {"CancelledError", "FutureCancelledError", "CommClosedError", "TimeoutError"}:
                raise MachineError(
                    f"the scheduler at {self._address} is gone; start it and repeat the command to resume"
                ) from None
            raise RuntimeError(f"{type(error).__name__} on a worker: {str(error)!r}") from error
        try:
            return check_outcome(result, task, fabric.tables)
        except ValueError as error:
            raise MachineError(
                f"worker {self._worker_of(future)!r} returned an invalid outcome: {error}"
            ) from None

    def _worker_of(self, future: Any) -> str:
        """Returns the address of a worker that has a task's result, or the scheduler's if none is known."""
        with contextlib.suppress(Exception):  # the scheduler may be gone
            for workers in self._client.who_has([future]).values():
                return str(min(workers))
        return self._address


def _slots(threads: int) -> int:
    """Returns how many points the cluster should have at a time, so that none of its threads is idle."""
    return max(_MIN_SLOTS, 2 * threads)


def _simulated(group: Group) -> SimulatedGroup[Any, Any]:
    return cast("SimulatedGroup[Any, Any]", group)


def _silent() -> contextlib.AbstractContextManager[None]:
    """Suppresses dask's warnings about large task arguments, such as the forwarding tables."""
    return warnings.catch_warnings(action="ignore")


@contextlib.contextmanager
def reached_cluster(scheduler: Scheduler, on_event: OnEvent) -> Iterator[Cluster]:
    """Connects to a scheduler and yields the cluster; disconnects at the end of the block.

    Args:
        scheduler: the scheduler, which can run code in this process.
        on_event: called with each event.

    Raises:
        UsageError: the scheduler's TLS files are invalid or missing.
        MachineError: no scheduler answers, it has no workers, one of them has a different version, or
            dask.distributed is not installed.
    """
    address, distributed = scheduler.address, _distributed()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # no logs of errors, as dask also raises them
    try:
        security = _security(scheduler)
        client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False, security=security)
    except (OSError, TimeoutError, ValueError):
        raise MachineError(
            f"no scheduler answers at {address}; `dask scheduler` starts one, `dask worker` its workers"
        ) from None
    try:
        cluster = Cluster(address, client, _checked_threads(client, address, on_event), on_event)
        try:
            yield cluster
        finally:
            cluster.end()
    finally:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            client.close(timeout=CONNECT_S)


def _security(scheduler: Scheduler) -> Any:
    """Returns dask's TLS settings.

    They name the files in the scheduler's TLS folder or, without a folder, the files of dask's configuration.

    Raises:
        UsageError: a TLS file is invalid, or the address needs TLS and no files are configured.
    """
    settings = {}
    if scheduler.tls is not None:
        keys = ("tls_ca_file", "tls_client_cert", "tls_client_key")
        settings = {key: str(scheduler.tls / name) for key, name in zip(keys, TLS_FILES, strict=True)}
    security = _distributed().Security(require_encryption=bool(settings) or None, **settings)
    if scheduler.address.startswith("tls://"):
        try:
            context = security.get_connection_args("client")["ssl_context"]
        except OSError as error:  # includes TLS errors
            raise UsageError(f"the certificates of the cluster cannot be used: {error}") from error
        if context is None:
            raise UsageError(
                "a scheduler at tls://HOST:PORT needs --cluster-tls DIR, or dask's configuration"
            )
    return security


def _checked_threads(client: Any, address: str, on_event: OnEvent) -> int:
    """Waits for workers and returns their total number of threads.

    Raises:
        MachineError: there are no workers, or one has a different version of the code.
    """
    try:
        client.wait_for_workers(1, timeout=_WORKERS_S)
    except TimeoutError:
        raise MachineError(
            f"the scheduler at {address} has no workers; `dask worker {quote(address)} --nthreads 1` starts "
            "one"
        ) from None
    versions = client.run(_remote_version_check(), on_error="return")
    for worker, version in sorted(versions.items()):
        if version != code_version():
            raise WorkerVersionError(_other_version(worker, version))
    threads = sum(client.nthreads().values())
    on_event(Notice("cluster-reached", scheduler=address, workers=len(versions), threads=threads))
    return int(threads)


def _other_version(worker: str, version: object) -> str:
    """Returns the message that a worker has a different version of the code, or no PolarLab."""
    has = repr(version) if isinstance(version, str) else "none"
    return f"worker {worker!r} has {has}, but must have {code_version()!r}; update it or this machine"


def _remote_version_check() -> Callable[[], str]:
    # A nested function is pickled by value, not by its module's name, so that workers without PolarLab can
    # load it and report the missing import.
    def version_of_worker() -> str:
        from experiments.simulation.code_version import code_version

        return code_version()

    return version_of_worker


def done_on_worker(planned: PlannedFabric, task: Task, version: str) -> Outcome:
    """Runs a task on a worker and returns its outcome.

    Args:
        planned: the fabric.
        task: the task.
        version: code version of the process that sent the task.

    Raises:
        WorkerVersionError: the worker has a different version; it may have joined after the first check.
    """
    if version != code_version():
        raise WorkerVersionError(
            f"a worker has {code_version()}, but must have {version}; update it or this machine"
        )
    with naming_plugins():
        outcome = task.run(planned)
    if outcome.result.interrupted:  # the worker is shutting down
        raise InterruptedError("the worker was stopped")
    return outcome
