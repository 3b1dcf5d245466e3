"""Namespaces of nodes, entered by a thread that configures them or starts programs in them.

A program that is started by such a thread is in its namespaces from the beginning. Started through `mnexec`,
it would cost the start of a second program, which also closes 20,000 file descriptors one by one. One thread
enters all namespaces, one after the other: a new thread for each would wait for a processor at every start.
Programs on hosts are started by another one, as a thread never leaves a filter of its system calls.
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
    refuse_new_rights,
)

NETWORK, MOUNTS, PROCESSES = CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID
_Result = TypeVar("_Result")


def in_new_namespaces(action: Callable[[], _Result]) -> _Result:
    """Returns the result of an action in new namespaces, which last as long as a process that it starts.

    Its mounts are its own, and /sys shows its network, as in Mininet's nodes.

    Raises:
        OSError: the kernel refuses, or the action fails so.
    """
    return _away(_create, action, _thread())


def in_namespaces(process: int, action: Callable[[], _Result], kinds: int = NETWORK | MOUNTS) -> _Result:
    """Returns the result of an action in the namespaces of a process, in this one's working directory.

    Args:
        process: number of the process.
        action: what is done there.
        kinds: kinds of namespaces; with PROCESSES, those that the action starts are in that one.

    Raises:
        OSError: the process has ended, the kernel refuses, or the action fails so.
    """
    return _away_with(process, kinds, action, _thread())


def start_filtered(process: int, action: Callable[[], _Result]) -> _Result:
    """Returns the result of an action that starts a program in the namespace of processes of a process.

    The program, and all that it starts, cannot gain rights and cannot make the system calls that are refused
    on hosts; nor can the action.

    Raises:
        OSError: as of `in_namespaces`.
    """
    return _away_with(process, PROCESSES, action, _filtered_thread())


def in_namespaces_of_files(descriptors: Iterable[int], action: Callable[[], _Result]) -> _Result:
    """Returns the result of an action in namespaces that are open as files, in this working directory.

    Raises:
        OSError: the kernel refuses, or the action fails so.
    """
    return _away(lambda: _enter(descriptors), action, _thread())


def first_of_its_own(action: Callable[[], _Result]) -> _Result:
    """Returns the result of an action; the process that it starts sees, and can signal, no other processes.

    The thread that calls this one is the parent of that process, as of all others that it starts.

    Raises:
        OSError: the kernel refuses, and nothing was done; or the action fails so.
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


def _away_with(
    process: int, kinds: int, action: Callable[[], _Result], thread: ThreadPoolExecutor
) -> _Result:
    """Returns the result of an action of a thread in namespaces of a process."""
    descriptor = os.pidfd_open(process)
    try:
        return _away(lambda: call("setns", descriptor, kinds), action, thread)
    finally:
        os.close(descriptor)


def _away(enter: Callable[[], object], action: Callable[[], _Result], thread: ThreadPoolExecutor) -> _Result:
    """Returns the result of an action of a thread after another one that enters its namespaces."""
    return thread.submit(_act, enter, action, os.getcwd()).result()


@cache
def _thread() -> ThreadPoolExecutor:
    """Returns the thread that enters namespaces; only this and the next one leave those of the program."""
    return ThreadPoolExecutor(1, "namespaces", _prepare_thread)


@cache
def _filtered_thread() -> ThreadPoolExecutor:
    """Returns the thread that starts programs on hosts."""
    return ThreadPoolExecutor(1, "filtered", _prepare_filtered_thread)


def _prepare_thread() -> None:
    leave_keys()
    call("unshare", CLONE_FS)  # threads share a working directory, with which no mounts can be entered
    _home()


def _prepare_filtered_thread() -> None:
    _prepare_thread()
    refuse_new_rights()
    filter_calls()


@cache
def _home() -> tuple[int, ...]:
    """Returns open files of the program's namespaces and its root."""
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
        os.chroot(".")  # setns(2) leaves a folder that was made the root


def _create() -> None:
    call("unshare", NETWORK | MOUNTS)
    keep_mounts_private()
    mount("sysfs", "/sys")


def _enter(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        call("setns", descriptor, 0)
