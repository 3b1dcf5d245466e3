"""A traffic process and the lines that its parent sends it."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from traffic.engine.child_process import with_project_path
from traffic.engine.processes import TrafficError, TrafficProcess, started

# A role that waits for its window as the others do, and prints it.
WAITING = """
import sys
from traffic.engine import worker
from traffic.metrics.window import Window


def role(settings):
    def work(clock, stopped, path):
        window = Window(None)
        worker.read_window(window)
        print(window.begin_ns, window.end_ns, flush=True)

    return work


worker.ROLES = {"wait": role}
sys.argv = ["worker", "wait", "nowhere"]
sys.exit(worker.main())
"""


def test_lines_that_arrive_together_are_all_read():
    job = {"hosts": ["h" * 100] * 2000}  # longer than one read
    clock, window = {"monotonic_ns": 1, "epoch_ns": 2}, {"window_ns": [3, 4]}
    done = subprocess.run(
        [sys.executable, "-c", WAITING],
        input="".join(f"{json.dumps(line)}\n" for line in (job, clock, window)),
        stdout=subprocess.PIPE,
        env=with_project_path(os.environ),
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout == "ready\n3 4\n"


def test_a_process_that_is_killed_before_it_has_its_job_is_named_and_the_others_end(tmp_path):
    before = psutil.Process().children()

    def own():
        return [child for child in psutil.Process().children() if child not in before]

    def starting():
        yield TrafficProcess("collect", {}, tmp_path / "collect", os.environ)
        yield TrafficProcess("send", {}, tmp_path / "send", os.environ)
        own()[0].send_signal(signal.SIGKILL)
        while own()[0].status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)

    with pytest.raises(TrafficError, match="SIGKILL"), started(starting()):
        pass
    assert own() == []
