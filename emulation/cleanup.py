"""Clean-up after fabrics: the machine's lock, the run directory, and the end of marked processes.

Every process of a fabric carries a mark in its environment, which names the process that started it
(`emulation.subprocesses`). Where that one has ended, and nobody holds the lock, they are those of a crashed
fabric; only they and the run directory are ever removed, and the kernel's search for equal pages of memory is
set as the fabric found it. Processes of containers (other namespaces of processes) belong to fabrics with a
lock of their own; those on hosts have marks that name ours. Namespaces and interfaces have no names outside
their processes and vanish with them. Anybody can write a mark, so that only processes of our own user count,
and on hosts those of their users. The live page's process has no mark: whoever takes it over could change
that.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from emulation.hosts.identity import PAGE_NUMBER, host_root
from emulation.prompt.process_state import process_file
from emulation.subprocesses import END_SIGNALS, MARK_VARIABLE, process_mark, process_namespace
from emulation.switches import page_merging
from topology.errors import MachineError
from topology.files.shown import shown
from topology.files.writing import remove_tree

STATE_DIR = Path("/run/polarlab")
RUN_DIR = STATE_DIR / "fabric"
LOCK_FILE = STATE_DIR / "lock"
MERGING_NOTE = STATE_DIR / "page-merging"  # settings of the machine that a fabric has changed
# In all, and since the last time that a killed process has ended: one can outlive SIGKILL for good.
_END_TIMEOUT_S, _END_PATIENCE_S = 10.0, 2.0
_NAMED, _COMMAND_WIDTH = 4, 60  # processes in a text, and of the command of each
_COMMAND_BYTES = 4096  # that are read of it
_PROCESS = r"[0-9]{1,10}"
# In `status` of a live page's process that has not ended: the first of its namespace, where the kernel allows
# that.
_OF_PAGE = re.compile(
    rb"^State:\t[^XZ].*^PPid:\t(\d+)$.*^Uid:\t%d\t.*^NSpid:\t\d+(\t1)?$" % PAGE_NUMBER,
    re.MULTILINE | re.DOTALL,
)


class FabricRunning(MachineError):
    """A fabric runs on this machine, of another program or of this one."""


@dataclass(frozen=True)
class MarkedProcess:
    """A process that a fabric started."""

    pid: int
    command: str


@dataclass(frozen=True)
class Removed:
    """What a clean-up did.

    Attributes:
        processes: the processes that it ended.
        run_dir: whether it removed a run directory.
        left_behind: processes that it killed and that have not ended.
    """

    processes: tuple[MarkedProcess, ...]
    run_dir: bool
    left_behind: tuple[MarkedProcess, ...] = ()


@contextlib.contextmanager
def exclusive_run_dir(say: Callable[[str], object]) -> Iterator[Path]:
    """Holds the machine's lock for fabrics and yields an empty run directory, removed at the end.

    Processes of a crashed fabric are ended first, and at the end all of this fabric's that still run.

    Args:
        say: called with a line about processes that could not be ended.

    Raises:
        FabricRunning: another fabric holds the lock.
        MachineError: the state directory cannot be written.
    """
    with _locked():
        _say_left_behind(_remove_fabric(), say)
        RUN_DIR.mkdir(mode=0o700)
        try:
            yield RUN_DIR
        finally:
            with signals_deferred():
                _say_left_behind(_remove_fabric(), say)


def _say_left_behind(removed: Removed, say: Callable[[str], object]) -> None:
    if removed.left_behind:
        say(left_behind(removed.left_behind))


@contextlib.contextmanager
def signals_deferred() -> Iterator[Sequence[int]]:
    """Defers the signals that end a command until the end of the block; only the main thread gets any.

    Yields:
        The signals that have come so far.
    """
    pending: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield pending
        return
    # Blocking them does not do: another thread would take them, and Python run the handler in this one.
    before = {
        number: signal.signal(number, lambda received, _frame: pending.append(received))
        for number in END_SIGNALS
    }
    try:
        yield pending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for received in pending[:1]:
            signal.raise_signal(received)


def clean() -> Removed:
    """Removes the processes and the run directory of a crashed fabric.

    Raises:
        FabricRunning: a fabric runs on this machine.
        MachineError: the state directory cannot be written.
    """
    with _locked():
        return _remove_fabric()


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    try:
        STATE_DIR.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        reason = error.strerror
        raise MachineError(f"{STATE_DIR} cannot be written ({reason}); root is needed") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
            raise FabricRunning(_running(owner)) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(descriptor)


def _running(owner: str) -> str:
    """Returns the message that a process has a fabric up, perhaps this very program."""
    if owner == str(os.getpid()):
        return "a fabric of this program is up already; only one can be at a time, close it first"
    return f"another fabric runs on this machine (process {owner}); only one can at a time"


def _remove_fabric() -> Removed:
    """Ends left-over processes and our own, and removes all other traces of a fabric; we hold the lock."""
    ended: dict[int, MarkedProcess] = {}
    live: dict[int, MarkedProcess] = {}
    start_s = changed_s = time.monotonic()
    # A marked process may start another while it is being ended, hence the repetition until none is left.
    while True:
        before, live = live, {process.pid: process for process in _removable_processes()}
        now_s = time.monotonic()
        if before.keys() - live.keys():
            changed_s = now_s
        if not live or now_s > min(start_s + _END_TIMEOUT_S, changed_s + _END_PATIENCE_S):
            break
        for pid in live:
            _kill(pid)
        ended |= live
        time.sleep(0.01)
    page_merging.clean_up(MERGING_NOTE)
    existed = RUN_DIR.exists()
    folder = os.open(STATE_DIR, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        remove_tree(RUN_DIR.name, folder)
    finally:
        os.close(folder)
    gone = tuple(process for pid, process in ended.items() if pid not in live)
    return Removed(gone, existed, tuple(live.values()))


def left_behind(processes: Sequence[MarkedProcess]) -> str:
    """Returns a line about processes that were killed and have not ended."""
    return f"left behind, as SIGKILL did not end them: {described(processes)}"


def described(processes: Sequence[MarkedProcess]) -> str:
    """Returns the numbers and commands of a few processes, and how many more there are."""
    commands = (shown(textwrap.shorten(one.command, _COMMAND_WIDTH)) for one in processes)
    named = [f"{one.pid} {command}" for one, command in zip(processes[:_NAMED], commands, strict=False)]
    more = len(processes) - len(named)
    return ", ".join([*named, *([f"{more} more"] if more else [])])


def marked_processes() -> list[MarkedProcess]:
    """Returns the processes that a fabric started, without the ancestors of this one and those of containers.

    A container shows its processes to the machine outside, but not the lock of its fabrics.
    """
    return _processes(lambda pid: _mark(pid) is not None)


def _removable_processes() -> list[MarkedProcess]:
    """Returns the marked processes that this process started, or one that has ended, and pages of such."""
    return _processes(_is_removable)


def _processes(chosen: Callable[[int], bool]) -> list[MarkedProcess]:
    ancestors = _ancestors()
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal() and int(entry) not in ancestors and chosen(int(entry)):
            command = process_file(int(entry), "cmdline", _COMMAND_BYTES).replace(b"\0", b" ")
            found.append(MarkedProcess(int(entry), command.decode(errors="replace").strip()))
    return found


def _is_removable(pid: int) -> bool:
    """Returns whether a process is ours, and was started by this process or by one that has ended.

    One that still runs, as `polarlab doctor`, needs the programs that it has started.
    """
    mark = _mark(pid)
    if mark is None:
        return _is_left_page(pid)
    number = mark.partition(":")[0]
    starter = int(number) if re.fullmatch(_PROCESS, number) else None  # anybody can write a mark
    return starter in (None, os.getpid()) or process_mark(starter or 0) != mark


def _is_left_page(pid: int) -> bool:
    """Returns whether a process is that of a live page whose starter has ended.

    A thread of the starter is named after it. It can change neither that nor its own user, which is no other
    process's.
    """
    found = _OF_PAGE.search(process_file(pid, "status"))
    if found is None:
        return False
    starter = int(found[1])  # or what has adopted it
    with contextlib.suppress(OSError):  # it has ended
        threads = os.listdir(f"/proc/{starter}/task")
        return not any(
            process_file(starter, f"task/{one}/comm").strip() == page_keeper(pid) for one in threads
        )
    return True


def page_keeper(page: int) -> bytes:
    """Returns the name of the thread that starts a live page's process and lasts as long as it.

    Args:
        page: number of the page's process.
    """
    return b"page %d" % page


def _mark(pid: int) -> str | None:
    """Returns the mark of a process in our namespace of processes, or on a host of a fabric in it.

    Returns:
        The mark; None if it has none, is in another namespace, or belongs to somebody else.
    """
    own, user = process_namespace(os.getpid()), _user(pid)
    try:
        apart = process_namespace(pid) != own
    except OSError:  # it has ended
        return None
    # Before the environment is read, which of another user's process may take long.
    if user != os.geteuid() and not (apart and user is not None and host_root().has(user)):
        return None
    name = b"\0" + MARK_VARIABLE.encode() + b"="
    _, found, rest = (b"\0" + process_file(pid, "environ")).partition(name)
    mark = rest.partition(b"\0")[0].decode(errors="replace")
    return mark if found and (not apart or mark.endswith(f":{own}")) else None


def _user(pid: int) -> int | None:
    """Returns the real user of a process; None if it has ended."""
    users = re.search(rb"^Uid:\s*(\d+)", process_file(pid, "status"), re.MULTILINE)
    return int(users[1]) if users else None


def _kill(pid: int) -> None:
    """Kills a process if it may be removed; its number may have passed to another process meanwhile."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if _is_removable(pid):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _ancestors() -> frozenset[int]:
    pids = set()
    pid = os.getpid()
    while pid > 0 and pid not in pids:
        pids.add(pid)
        # The parent is the second field after the command, which may itself have blanks and brackets.
        fields = process_file(pid, "stat").rpartition(b")")[2].split()
        pid = int(fields[1]) if len(fields) > 1 else 0
    return frozenset(pids)
