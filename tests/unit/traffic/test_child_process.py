"""Python processes that end with their parent."""

import os
import subprocess
import sys
import time
from pathlib import Path

from support.fixtures.documents import ROOT

from traffic.engine.child_process import start_python, with_project_path

PARENT = """
import os, subprocess
from traffic.engine.child_process import start_python
code = "import time; print('up', flush=True); time.sleep(60)"
child = start_python(["-c", code], os.environ, stderr=subprocess.DEVNULL)
child.stdout.readline()
print(child.pid, flush=True)
os._exit(0)
"""


def is_running(pid):
    try:
        state = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_child_ends_with_its_parent():
    environment = with_project_path(os.environ)
    done = subprocess.run([sys.executable, "-c", PARENT], env=environment, capture_output=True, check=True)
    pid = int(done.stdout)
    deadline = time.monotonic() + 10
    while is_running(pid):
        assert time.monotonic() < deadline, "the child outlives its parent"
        time.sleep(0.01)


def test_a_child_has_a_session_of_its_own():
    child = start_python(["-c", "import os; print(os.getsid(0) == os.getpid())"], os.environ)
    assert child.communicate(timeout=30)[0] == "True\n"


def test_the_project_comes_first_on_the_path():
    environment = with_project_path({"PYTHONPATH": f"{os.pathsep}/users", "LANG": "C"})
    assert environment == {"PYTHONPATH": f"{ROOT}{os.pathsep}/users", "LANG": "C"}


def test_numpy_starts_no_threads_in_a_child_unless_the_user_wants_them():
    code = "import numpy, os; print(len(os.listdir('/proc/self/task')))"
    unset = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    for environment, threads in (
        (unset, 1),
        ({**unset, "OPENBLAS_NUM_THREADS": "2"}, min(2, os.cpu_count())),
    ):
        child = start_python(["-c", code], environment)
        assert child.communicate(timeout=30)[0] == f"{threads}\n"
