"""Clean-up after fabrics: the machine's lock, the run directory, and the end of marked processes.

Every process of a fabric has a mark in its environment that names the process that started it
(`emulation.subprocesses`). If that process has ended and nobody holds the lock, the marked processes are left
over from a crashed fabric. Clean-up ends only these, removes the run directory, and restores the settings of
the kernel's search for equal memory pages. Of the processes in other PID namespaces, it ends only those
whose mark names its own PID namespace: they run on a fabric's hosts. The others are in containers, whose
fabrics have their own lock. Network namespaces and interfaces have no names outside their processes and
vanish with them. Anyone can write a mark, so clean-up considers only processes of its own user and, on hosts,
of the hosts' users. The process of the live page has no mark, because an attacker who controls the process
could change it; `page_keeper` identifies it instead.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import signal
import stat
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
from topology.files.escaping import escape_controls
from topology.files.writing import remove_tree

STATE_DIR = Path("/run/polarlab")
RUN_DIR = STATE_DIR / "fabric"
LOCK_FILE = STATE_DIR / "lock"
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_OTHER_KIND = frozenset({errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENOTDIR, errno.ENXIO})
MERGING_NOTE = STATE_DIR / "page-merging"  # the machine's settings before a fabric changed them
# Time limits of the wait for killed processes: in total, and since the last of them ended. A process can
# outlive SIGKILL indefinitely.
_END_TIMEOUT_S, _END_PATIENCE_S = 10.0, 2.0
_NAMED, _COMMAND_WIDTH = 4, 60  # processes in a message, and characters of each command
_COMMAND_BYTES = 4096  # read of a command
_PROCESS = r"[0-9]{1,10}"
# Matches `status` of a live page's process that has not ended. Where the kernel allows it, the process is the
# first of its PID namespace.
_OF_PAGE = re.compile(
    rb"^State:\t[^XZ].*^PPid:\t(\d+)$.*^Uid:\t%d\t.*^NSpid:\t\d+(\t1)?$" % PAGE_NUMBER,
    re.MULTILINE | re.DOTALL,
)


class FabricRunning(MachineError):
    """A fabric is already running on this machine, in this program or in another one."""


@dataclass(frozen=True)
class MarkedProcess:
    """A process that a fabric started."""

    pid: int
    command: str


@dataclass(frozen=True)
class Removed:
    """Result of a clean-up.

    Attributes:
        processes: processes that it ended.
        run_dir: whether it removed a run directory.
        left_behind: processes that it killed but that have not ended.
    """

    processes: tuple[MarkedProcess, ...]
    run_dir: bool
    left_behind: tuple[MarkedProcess, ...] = ()


@contextlib.contextmanager
def exclusive_run_dir(say: Callable[[str], object]) -> Iterator[Path]:
    """Holds the machine's lock for fabrics and yields an empty run directory, which is removed at the end.

    First kills the processes of a crashed fabric, and at the end all remaining processes of this fabric.

    Args:
        say: called with a message about processes that could not be killed.

    Raises:
        FabricRunning: another fabric holds the lock.
        MachineError: the state directory is not writable.
    """
    with _locked():
        _report_left_behind(_remove_fabric(), say)
        try:
            RUN_DIR.mkdir(mode=0o700)
        except OSError as error:
            raise MachineError(f"cannot write {RUN_DIR} ({error.strerror}); remove it") from error
        try:
            yield RUN_DIR
        finally:
            with signals_deferred():
                _report_left_behind(_remove_fabric(), say)


def _report_left_behind(removed: Removed, say: Callable[[str], object]) -> None:
    if removed.left_behind:
        say(left_behind(removed.left_behind))


@contextlib.contextmanager
def signals_deferred() -> Iterator[Sequence[int]]:
    """Defers the signals that end a command until the end of the block; does nothing outside the main thread.

    Yields:
        The signals that have arrived so far.
    """
    pending: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield pending
        return
    # Blocking them does not help: another thread would receive them, and Python runs handlers in this one.
    before = {
        number: signal.signal(number, lambda received, _frame: pending.append(received))
        for number in END_SIGNALS
        if signal.getsignal(number) is not signal.SIG_IGN
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
        FabricRunning: a fabric is running on this machine.
        MachineError: the state directory is not writable.
    """
    with _locked():
        return _remove_fabric()


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    try:
        STATE_DIR.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(LOCK_FILE, _LOCK_FLAGS, 0o600)
    except OSError as error:
        if error.errno in _OTHER_KIND:
            raise MachineError(f"cannot write {error.filename} ({error.strerror}); remove it") from error
        raise MachineError(f"cannot write {STATE_DIR} ({error.strerror}); run as root") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise MachineError(f"{LOCK_FILE} must be a regular file; remove it")
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
    """Returns the message of `FabricRunning`; `owner` is the id of the process that runs the fabric."""
    if owner == str(os.getpid()):
        return "this program already runs a fabric, and only one can run at a time; close it first"
    return f"another fabric is running on this machine (process {owner}); only one can run at a time"


def _remove_fabric() -> Removed:
    """Kills the processes of a crashed fabric or of this program's own fabric; removes the run directory.

    The caller holds the machine's lock.
    """
    ended: dict[int, MarkedProcess] = {}
    live: dict[int, MarkedProcess] = {}
    start_s = changed_s = time.monotonic()
    # A marked process may start another one before it is killed, so repeat until none is left.
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
    existed = os.path.lexists(RUN_DIR)
    folder = os.open(STATE_DIR, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if existed and not stat.S_ISDIR(os.lstat(RUN_DIR).st_mode):
            os.unlink(RUN_DIR)  # a link or a file, which only root can have made
        remove_tree(RUN_DIR.name, folder)
    finally:
        os.close(folder)
    gone = tuple(process for pid, process in ended.items() if pid not in live)
    return Removed(gone, existed, tuple(live.values()))


def left_behind(processes: Sequence[MarkedProcess]) -> str:
    """Returns a message about processes that were killed but have not ended."""
    return f"these processes did not end after SIGKILL: {described(processes)}"


def described(processes: Sequence[MarkedProcess]) -> str:
    """Returns the ids and commands of the first few processes, and the number of the others."""
    commands = (escape_controls(textwrap.shorten(one.command, _COMMAND_WIDTH)) for one in processes)
    named = [f"{one.pid} {command}" for one, command in zip(processes[:_NAMED], commands, strict=False)]
    more = len(processes) - len(named)
    return ", ".join([*named, *([f"{more} more"] if more else [])])


def marked_processes() -> list[MarkedProcess]:
    """Returns the processes that fabrics outside containers started, except ancestors of this process.

    Fabrics in containers are excluded, because the machine sees their processes but not their lock.
    """
    return _processes(lambda pid: _mark(pid) is not None)


def _removable_processes() -> list[MarkedProcess]:
    """Returns the processes that clean-up may kill, except ancestors of this process."""
    return _processes(_is_removable)


def _processes(chosen: Callable[[int], bool]) -> list[MarkedProcess]:
    ancestors = _ancestors()
    processes = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal() and int(entry) not in ancestors and chosen(int(entry)):
            command = process_file(int(entry), "cmdline", _COMMAND_BYTES).replace(b"\0", b" ")
            processes.append(MarkedProcess(int(entry), command.decode(errors="replace").strip()))
    return processes


def _is_removable(pid: int) -> bool:
    """Returns whether clean-up may kill a process.

    It may if a fabric started the process, and the fabric belongs to this program or to one that has ended.
    Another program that is still running, such as `polarlab doctor`, needs the processes that it started.
    """
    mark = _mark(pid)
    if mark is None:
        return _is_left_page(pid)
    number = mark.partition(":")[0]
    starter = int(number) if re.fullmatch(_PROCESS, number) else None  # anyone can write a mark
    return starter in (None, os.getpid()) or process_mark(starter or 0) != mark


def _is_left_page(pid: int) -> bool:
    """Returns whether a process serves a live page and the program that started the page has ended.

    The starter has a thread that is named after the page's process. The page's process can change neither
    this name nor its own user, and no other process has the same user.
    """
    found = _OF_PAGE.search(process_file(pid, "status"))
    if found is None:
        return False
    starter = int(found[1])  # or the process that adopted it
    with contextlib.suppress(OSError):  # the starter has ended
        threads = os.listdir(f"/proc/{starter}/task")
        return not any(
            process_file(starter, f"task/{one}/comm").strip() == page_keeper(pid) for one in threads
        )
    return True


def page_keeper(page: int) -> bytes:
    """Returns the name of the thread that starts a live page's process and lives as long as the process.

    Args:
        page: id of the page's process.
    """
    return b"page %d" % page


def _mark(pid: int) -> str | None:
    """Returns the mark of a process that is in our PID namespace, or on a host of a fabric started there.

    Returns:
        The mark; None if the process has none, is in any other namespace, or belongs to another user.
    """
    own, user = process_namespace(os.getpid()), _user(pid)
    try:
        apart = process_namespace(pid) != own
    except OSError:  # it has ended
        return None
    # Checked before the environment is read, because that may take long for another user's process.
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
    """Kills a process, unless its id has been reused by a process that must not be killed."""
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
        # The parent is the second field after the command, which may itself contain spaces and parentheses.
        fields = process_file(pid, "stat").rpartition(b")")[2].split()
        pid = int(fields[1]) if len(fields) > 1 else 0
    return frozenset(pids)
