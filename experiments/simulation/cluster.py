"""Clusters of dask.distributed, whose workers do the simulations of a sweep."""

from __future__ import annotations

import contextlib
import importlib
import logging
import pickle
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from experiments.events.base import Notify
from experiments.events.notices import Notice
from experiments.simulation.address import TLS_FILES, Scheduler
from experiments.simulation.code_version import code_version
from experiments.simulation.task import Done, Outcome, PlannedFabric, Task
from topology.errors import MachineError, Terminated, UsageError

CONNECT_S, _WORKERS_S = 5, 10


class WorkerVersionError(MachineError):
    """A worker has another version of the code than the process that asks it."""


def _distributed() -> Any:
    """Returns the module distributed, which takes a second to import."""
    try:
        return importlib.import_module("distributed")
    except ImportError:
        raise MachineError(
            "dask.distributed is not installed, which --scheduler needs; `pip install 'polarlab[cluster]'`"
        ) from None


class Cluster:
    """Connection to the scheduler of a cluster whose workers have this process's version of the code."""

    def __init__(self, address: str, client: Any) -> None:
        """Takes a connection; see `reached_cluster`."""
        self._address = address
        self._client = client
        self._shared: tuple[PlannedFabric, Any] | None = None  # the last fabric, and its future

    def run(self, planned: PlannedFabric, tasks: Sequence[Task]) -> Iterator[Done]:
        """Yields the results of tasks as they come; one whose worker dies is done again elsewhere.

        Args:
            planned: fabric of all tasks.
            tasks: the tasks.

        Raises:
            MachineError: the scheduler is gone, a worker has another version, or a task has killed workers.
            KeyboardInterrupt: Ctrl-C, or a signal; results that were there by then come before it.
        """
        distributed, own, version = _distributed(), uuid.uuid4().hex, code_version()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the size of the tables
            shared = self._tables(planned)
            futures = {
                self._client.submit(
                    done_on_worker, shared, task, version, key=f"simulation-{own}-{number}"
                ): number
                for number, task in enumerate(tasks)
            }
        left = dict(futures)
        try:
            for future in distributed.as_completed(futures, loop=self._client.loop):
                yield left.pop(future), self._result(future)
        except (KeyboardInterrupt, Terminated):
            for future in [one for one in left if one.status == "finished"]:
                yield left.pop(future), self._result(future)
            raise
        finally:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                self._client.cancel([*left], force=True)

    def _tables(self, planned: PlannedFabric) -> Any:
        """Returns the future of a fabric's tables, which travel once for all calls with this fabric."""
        if self._shared is None or self._shared[0] is not planned:
            self.forget()
            # The scheduler keeps the tables as the argument of a task: should all workers that have them die,
            # others get them again.
            key = f"tables-{uuid.uuid4().hex}"
            self._shared = planned, self._client.submit(pickle.loads, pickle.dumps(planned), key=key)
        return self._shared[1]

    def forget(self) -> None:
        """Has the workers forget the tables."""
        if self._shared is not None:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                self._client.cancel([self._shared[1]], force=True)
            self._shared = None

    def _result(self, future: Any) -> Outcome:
        """Returns the result of a task; raises MachineError if the cluster has none."""
        try:
            result = future.result()
        except MachineError as error:  # of a worker, which may say anything
            raise MachineError(f"a worker of {self._address} reports {str(error)!r}") from None
        except Exception as error:  # of the library, and of whatever runs on the worker
            kinds = {kind.__name__ for kind in type(error).__mro__}
            if "KilledWorker" in kinds:
                raise MachineError(
                    f"workers of {self._address} died again and again in one simulation, perhaps for want of "
                    "memory; the same command goes on"
                ) from None
            if kinds & {"CancelledError", "FutureCancelledError", "CommClosedError", "TimeoutError"}:
                raise MachineError(
                    f"the scheduler at {self._address} is gone; start it, and the same command goes on"
                ) from None
            raise RuntimeError(f"{type(error).__name__} on a worker: {str(error)!r}") from error
        if not isinstance(result, Outcome):
            raise MachineError(f"workers of {self._address} must answer with outcomes, got {result!r}")
        return result


@contextlib.contextmanager
def reached_cluster(scheduler: Scheduler, notify: Notify) -> Iterator[Cluster]:
    """Connects to a scheduler for the time of a block.

    Args:
        scheduler: the scheduler, which can run code in this process.
        notify: takes the events.

    Raises:
        UsageError: its certificates cannot be used.
        MachineError: no scheduler answers, it has no workers, one of them has another version, or
            dask.distributed is not installed.
    """
    address, distributed = scheduler.address, _distributed()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # its errors are raised as well
    try:
        security = _security(scheduler)
        client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False, security=security)
    except (OSError, TimeoutError, ValueError):
        raise MachineError(
            f"no scheduler answers at {address}; `dask scheduler` starts one, `dask worker` its workers"
        ) from None
    try:
        _check_workers(client, address, notify)
        cluster = Cluster(address, client)
        try:
            yield cluster
        finally:
            cluster.forget()
    finally:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            client.close(timeout=CONNECT_S)


def _security(scheduler: Scheduler) -> Any:
    """Returns the library's settings of TLS: a folder's files, or those that dask's configuration names.

    Raises:
        UsageError: a file is none of its kind, or there are no files.
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


def _check_workers(client: Any, address: str, notify: Notify) -> None:
    try:
        client.wait_for_workers(1, timeout=_WORKERS_S)
    except TimeoutError:
        raise MachineError(
            f"the scheduler at {address} has no workers; `dask worker {address} --nthreads 1` starts one"
        ) from None
    versions = client.run(_teller(), on_error="return")
    for worker, version in sorted(versions.items()):
        if version != code_version():
            raise WorkerVersionError(_other_version(worker, version))
    threads = sum(client.nthreads().values())
    notify(Notice("cluster-reached", scheduler=address, workers=len(versions), threads=threads))


def _other_version(worker: str, version: object) -> str:
    """Returns the message that a worker has another version of the code, or none."""
    has = repr(version) if isinstance(version, str) else "none"
    return f"worker {worker!r} has {has}, but must have {code_version()!r}; update it, or this machine"


def _teller() -> Callable[[], str]:
    """Returns a function that travels as its code, to workers that may lack PolarLab."""

    def tell() -> str:
        from experiments.simulation.code_version import code_version

        return code_version()

    return tell


def done_on_worker(planned: PlannedFabric, task: Task, version: str) -> Outcome:
    """Returns the outcome of a task, on a worker.

    Args:
        planned: the fabric.
        task: the task.
        version: version of the code of the process that asks.

    Raises:
        WorkerVersionError: the worker has another version; it may have joined later than the others.
    """
    if version != code_version():
        raise WorkerVersionError(
            f"a worker has {code_version()}, but must have {version}; update it, or this machine"
        )
    outcome = task.run(planned)
    if outcome.result.interrupted:  # the worker is being ended
        raise InterruptedError("the worker was ended")
    return outcome
