"""Namespaces of nodes: a thread enters them to set up a node or to start programs.

A program started by such a thread is in its namespaces from the start. `mnexec` would cost the start of a
second program, which also closes 20,000 file descriptors one by one. A single thread enters all namespaces in
turn, because each new thread would have to wait for a processor. A second thread starts the programs on
hosts, because a thread cannot remove the filter of its system calls.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from emulation.kernel.system_call_filter import filter_calls
from emulation.kernel.system_calls import (
    CLONE_FS,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    call,
    keep_mounts_private,
    leave_keys,
    mount,
    set_no_new_privileges,
)

NETWORK, MOUNTS, PROCESSES = CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID
_Result = TypeVar("_Result")


def in_new_namespaces(action: Callable[[], _Result]) -> _Result:
    """Runs an action in new namespaces and returns its result; a process that it starts keeps them alive.

    The namespaces have their own mounts, and /sys shows their network, as in Mininet's nodes.

    Raises:
        OSError: the kernel refuses, or the action raises it.
    """
    return _run_in_namespaces(_create, action, _thread())


def in_namespaces(process: int, action: Callable[[], _Result], kinds: int = NETWORK | MOUNTS) -> _Result:
    """Runs an action in the namespaces of a process, in the same working directory; returns its result.

    Args:
        process: id of the process.
        action: the action.
        kinds: kinds of namespaces to enter; PROCESSES applies to processes that the action starts.

    Raises:
        OSError: the process has ended, the kernel refuses, or the action raises it.
    """
    return _run_in_namespaces_of(process, kinds, action, _thread())


def start_filtered(process: int, action: Callable[[], _Result]) -> _Result:
    """Runs an action that starts a program in the PID namespace of a process; returns its result.

    The action, the program and its descendants cannot gain privileges, and cannot make the system calls that
    are refused on hosts.

    Raises:
        OSError: as for `in_namespaces`.
    """
    return _run_in_namespaces_of(process, PROCESSES, action, _filtered_thread())


def in_namespaces_of_files(descriptors: Iterable[int], action: Callable[[], _Result]) -> _Result:
    """Runs an action in the namespaces that descriptors refer to, in the same working directory.

    Returns the result of the action.

    Raises:
        OSError: the kernel refuses, or the action raises it.
    """
    return _run_in_namespaces(lambda: _enter(descriptors), action, _thread())


def in_new_pid_namespace(action: Callable[[], _Result]) -> _Result:
    """Runs an action that starts the first process of a new PID namespace; returns its result.

    The process sees and can signal only its descendants. It must be a child of the calling thread, so this
    function uses no other thread.

    Raises:
        OSError: the kernel refuses, and nothing was done; or the action raises it.
    """
    home = os.open("/proc/thread-self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        call("unshare", PROCESSES)
        try:
            return action()
        finally:
            call("setns", home, PROCESSES)
    finally:
        os.close(home)


def _run_in_namespaces_of(
    process: int, kinds: int, action: Callable[[], _Result], thread: ThreadPoolExecutor
) -> _Result:
    """Runs an action in namespaces of a process, in a thread; returns its result."""
    descriptor = os.pidfd_open(process)
    try:
        return _run_in_namespaces(lambda: call("setns", descriptor, kinds), action, thread)
    finally:
        os.close(descriptor)


def _run_in_namespaces(
    enter: Callable[[], object], action: Callable[[], _Result], thread: ThreadPoolExecutor
) -> _Result:
    """Runs an action in a thread that has entered namespaces; returns its result."""
    return thread.submit(_act, enter, action, os.getcwd()).result()


@cache
def _thread() -> ThreadPoolExecutor:
    """Returns the executor of the thread that enters all namespaces, except to start programs on hosts."""
    return ThreadPoolExecutor(1, "namespaces", _prepare_thread)


@cache
def _filtered_thread() -> ThreadPoolExecutor:
    """Returns the executor of the thread that starts programs on hosts, with filtered system calls."""
    return ThreadPoolExecutor(1, "filtered", _prepare_filtered_thread)


def _prepare_thread() -> None:
    leave_keys()
    call("unshare", CLONE_FS)  # a thread that shares its working directory cannot enter mount namespaces
    _home()


def _prepare_filtered_thread() -> None:
    _prepare_thread()
    set_no_new_privileges()
    filter_calls()


@cache
def _home() -> tuple[int, ...]:
    """Returns descriptors of this process's namespaces (net, mnt, pid) and of its root directory."""
    kinds = ("net", "mnt", "pid")
    namespaces = [os.open(f"/proc/thread-self/ns/{kind}", os.O_RDONLY) for kind in kinds]
    return *namespaces, os.open("/", os.O_RDONLY | os.O_DIRECTORY)


def _act(enter: Callable[[], object], action: Callable[[], _Result], folder: str) -> _Result:
    try:
        enter()
        with contextlib.suppress(OSError):  # the folder is hidden there
            os.chdir(folder)
        return action()
    finally:
        *namespaces, root = _home()
        _enter(namespaces)
        os.fchdir(root)
        os.chroot(".")  # setns(2) alone would leave another root directory


def _create() -> None:
    call("unshare", NETWORK | MOUNTS)
    keep_mounts_private()
    mount("sysfs", "/sys")


def _enter(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        call("setns", descriptor, 0)
