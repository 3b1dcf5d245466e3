"""Clean-up: whose processes it ends."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from emulation.cleanup import marked_processes
from emulation.subprocesses import MARK_VARIABLE

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
