"""Clean-up: whose processes it ends."""

import contextlib
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from support.fixtures.taken_over_page import web_processes

from emulation import cleanup
from emulation.cleanup import marked_processes
from emulation.hosts.identity import PAGE_NUMBER
from emulation.subprocesses import MARK_VARIABLE, process_mark, process_namespace
from polarlab.web.address import WebAddress
from polarlab.web.page_server import PageServer
from topology.errors import MachineError

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes namespaces")


def start(*command):
    return subprocess.Popen(command, env={**os.environ, MARK_VARIABLE: "test"})


def children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@needs_root
def test_processes_of_a_container_are_not_ours():
    own = start("sleep", "60")
    # Its fabrics have a lock of their own, which we cannot see.
    container = start("unshare", "--pid", "--fork", "--kill-child", "sleep", "60")
    try:
        until = time.monotonic() + 10
        while not children(container.pid) and time.monotonic() < until:
            time.sleep(0.01)
        (inner,) = children(container.pid)
        marked = {process.pid for process in marked_processes()}
        assert own.pid in marked
        assert inner not in marked
    finally:
        for process in (own, container):
            process.kill()
            process.wait()


MARK_OF_THIS_TEST = f"POLARLAB_UNIT_TEST_{os.getpid()}"  # workers run these tests side by side


@pytest.fixture
def cleaned(tmp_path, monkeypatch):
    """Clean-up by a mark and a lock of this test alone."""
    monkeypatch.setattr(cleanup, "MARK_VARIABLE", MARK_OF_THIS_TEST)
    monkeypatch.setattr(cleanup, "STATE_DIR", tmp_path)
    monkeypatch.setattr(cleanup, "RUN_DIR", tmp_path / "fabric")
    monkeypatch.setattr(cleanup, "LOCK_FILE", tmp_path / "lock")
    return lambda: {process.pid for process in cleanup.clean().processes}


def test_a_process_is_left_over_only_where_that_which_started_it_has_ended(cleaned):
    starter = subprocess.Popen(["sleep", "60"])
    mark = process_mark(starter.pid)
    needed, other = (
        subprocess.Popen(["sleep", "60"], env={MARK_OF_THIS_TEST: text})
        for text in (mark, f"{starter.pid}:1")  # of an earlier process of that number
    )
    own = subprocess.Popen(["sleep", "60"], env={MARK_OF_THIS_TEST: process_mark(os.getpid())})
    try:
        assert cleaned() == {other.pid, own.pid}
        assert needed.poll() is None
        starter.kill()
        os.waitid(os.P_PID, starter.pid, os.WEXITED | os.WNOWAIT)  # nobody has taken note of its end
        assert cleaned() == {needed.pid}
    finally:
        for process in (starter, needed, other, own):
            process.kill()
            process.wait()


def test_a_mark_that_nobody_can_read_is_that_of_a_process_that_has_ended(cleaned):
    """Anybody can write a mark."""
    for mark in ("9" * 5000, "x", ""):
        process = subprocess.Popen(["sleep", "60"], env={MARK_OF_THIS_TEST: f"{mark}:1"})
        try:
            assert cleaned() == {process.pid}
            process.wait(10)  # its status is lost if the clean-up was the one to take note of its end
        finally:
            process.kill()


@needs_root
def test_a_process_of_another_user_is_none_of_a_fabrics(cleaned):
    """Whatever its environment has, in our namespace of processes and in one of its own."""
    mark = {MARK_OF_THIS_TEST: f"9:9:{process_namespace(os.getpid())}"}
    apart = ["unshare", "--user", "--pid", "--fork", "--kill-child", "sleep", "60"]
    others = [subprocess.Popen(words, user=12345, env=mark) for words in (["sleep", "60"], apart)]
    try:
        until = time.monotonic() + 10
        while not children(others[1].pid) and time.monotonic() < until:
            time.sleep(0.01)
        assert marked_processes() == []
        assert cleaned() == set()
        assert [process.poll() for process in others] == [None, None]
    finally:
        for process in others:
            process.kill()
            process.wait()


@needs_root
def test_a_page_is_left_over_where_that_which_started_it_has_ended(cleaned):
    """Whatever its environment has: whoever takes it over can write that."""
    rights = ["setpriv", f"--reuid={PAGE_NUMBER}", f"--regid={PAGE_NUMBER}", "--clear-groups"]
    apart = ["unshare", "--pid", "--fork"]  # and what forks starts no page
    until = time.monotonic() + 10
    with contextlib.ExitStack() as ended:
        left, containers = (
            ended.enter_context(of_the_page([*apart, *words, *rights, "sleep", "60"], until))
            for words in ([], apart)
        )
        ended.enter_context(PageServer(WebAddress("127.0.0.1", 0)))
        kept = [*web_processes(), containers]
        assert cleaned() == {left.pid}
        with subprocess.Popen(["true"], user=PAGE_NUMBER) as over:
            os.waitid(os.P_PID, over.pid, os.WEXITED | os.WNOWAIT)
            assert cleanup.clean().left_behind == ()
        assert len(kept) > 1
        assert {one.status() for one in kept} == {psutil.STATUS_SLEEPING}


@contextlib.contextmanager
def of_the_page(words, until):
    """Runs a command, and gives the process of the page's user that descends from it."""
    with subprocess.Popen(words) as process:
        try:
            while True:
                family = psutil.Process(process.pid).children(recursive=True)
                if pages := [one for one in family if one.uids().real == PAGE_NUMBER]:
                    break
                assert time.monotonic() < until
                time.sleep(0.01)
            yield pages[0]
        finally:
            for one in psutil.Process(process.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):  # it ended with the one before
                    one.kill()


# Has the kernel show a longer part of the memory of its process as its environment or command (prctl(2)).
ENDLESS = """
import ctypes, mmap, signal, struct, sys
PR_SET_MM, PR_SET_MM_MAP, MAP_NORESERVE = 35, 14, 0x4000
size = int(sys.argv[2])
room = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
start = ctypes.addressof(ctypes.c_char.from_buffer(room))
with open("/proc/self/stat") as file:
    stat = [0, 0, 0, *map(int, file.read().rpartition(")")[2].split()[1:])]
shown = {"cmdline": stat[47:49], "environ": stat[49:51], sys.argv[1]: [start, start + size]}
library = ctypes.CDLL(None)
library.sbrk.restype = ctypes.c_void_p
heap = stat[46], library.sbrk(0)
map = struct.pack("12QIi", *stat[25:27], *stat[44:46], *heap, stat[27], *sum(shown.values(), []), 0, 0, -1)
assert library.prctl(PR_SET_MM, PR_SET_MM_MAP, map, ctypes.c_ulong(len(map)), 0) == 0
print("ready", flush=True)
signal.pause()
"""


@needs_root
@pytest.mark.parametrize("user", [0, 12345])
@pytest.mark.parametrize("file", ["environ", "cmdline"])
def test_no_endless_file_of_a_process_is_read_whole(cleaned, file, user):
    """Anybody can make one; ours among them are found all the same."""
    size = 256 << 20
    words = [sys.executable, "-c", ENDLESS, file, str(size)]
    with subprocess.Popen(words, env={MARK_OF_THIS_TEST: ""}, user=user, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            with open(f"/proc/{process.pid}/{file}", "rb") as endless:
                assert os.pread(endless.fileno(), 1, size // 2) == b"\0"
            before = bytes_read()
            found = [one.pid for one in marked_processes()]
            assert bytes_read() - before < size // 4
            assert found == [process.pid] * (file == "cmdline" and user == 0)
        finally:
            process.kill()


def bytes_read():
    return int(Path("/proc/self/io").read_text().split()[1])


def test_a_mark_is_found_behind_the_longest_environment(cleaned):
    longest = {f"V{number}": "x" * 100_000 for number in range(19)}  # 2 MiB, with the arguments
    # The kernel shows the environment only after the program's start, which `Popen` does not wait for.
    words, pipes = ["/bin/sh", "-c", "echo; read -r _"], {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, env={**longest, MARK_OF_THIS_TEST: ""}, **pipes) as process:
        try:
            assert process.stdout.read(1) == b"\n"
            assert cleaned() == {process.pid}
        finally:
            process.kill()


def test_a_deferred_signal_is_known_at_once_and_acts_at_the_end():
    def interrupted():
        with cleanup.signals_deferred() as pending:
            assert not pending
            signal.raise_signal(signal.SIGINT)
            assert pending == [signal.SIGINT]

    with pytest.raises(KeyboardInterrupt):
        interrupted()


TRACER = """
import ctypes, signal, sys
assert ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), None, ctypes.c_long(0x40)) == 0
print(flush=True)
signal.pause()
"""


@needs_root
def test_a_process_that_outlives_its_end_is_left_behind_and_named(cleaned):
    """It is stopped at its end by a tracer that does not care."""
    said = []
    with contextlib.ExitStack() as started:
        with cleanup.exclusive_run_dir(said.append):
            stopped = started.enter_context(
                subprocess.Popen(["sleep", "60"], env={MARK_OF_THIS_TEST: process_mark(os.getpid())})
            )
            words = [sys.executable, "-c", TRACER, str(stopped.pid)]
            tracer = started.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE))
            started.callback(tracer.kill)
            tracer.stdout.readline()
        (line,) = said
        assert f"{stopped.pid} sleep 60" in line
        removed = cleanup.clean()
        assert [process.pid for process in removed.left_behind] == [stopped.pid]
        assert removed.processes == ()
    assert cleaned() == set()


@pytest.mark.parametrize("target", ["missing", "other", None], ids=["dangling", "folder", "file"])
def test_what_is_in_the_place_of_the_run_directory_is_removed_and_reported(cleaned, tmp_path, target):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    if target is None:
        cleanup.RUN_DIR.touch()
    else:
        cleanup.RUN_DIR.symlink_to(tmp_path / target)
    assert cleanup.clean().run_dir
    assert not cleanup.clean().run_dir
    assert (tmp_path / "other" / "file").exists()
    cleanup.RUN_DIR.symlink_to(tmp_path / "missing")
    with cleanup.exclusive_run_dir(print) as folder:
        assert stat.S_ISDIR(folder.lstat().st_mode)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("missing")])
def test_a_lock_of_another_kind_is_a_fault_of_the_machine(cleaned, make):
    make(cleanup.LOCK_FILE)
    with pytest.raises(MachineError, match=str(cleanup.LOCK_FILE)):
        cleaned()
