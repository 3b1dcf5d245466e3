"""This project's Python child processes, which the kernel kills when their parent ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

# NumPy's linear algebra library starts a thread per processor at import. These processes hardly use it, and
# the processors are needed for the switches.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
_ROOT = Path(__file__).resolve().parents[2]


def start_python(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdin: int = subprocess.PIPE,
    stderr: int | IO[Any] = subprocess.PIPE,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[str]:
    """Starts a child with the same Python interpreter and its standard output in a pipe.

    The kernel kills the child when the thread that started it ends. The child has its own session, so that
    Ctrl-C in the terminal does not reach it, and imports nothing from the working directory.

    Args:
        arguments: command line of the interpreter, for example `-m MODULE WORD...`.
        environment: environment of the child; this project is put at the front of its PYTHONPATH.
        stdin: like in subprocess.Popen.
        stderr: like in subprocess.Popen.
        pass_fds: file descriptors that the child inherits.
    """
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", sys.executable, "-P", *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env=with_project_path({**_ONE_THREAD, **environment}),
        start_new_session=True,
        pass_fds=tuple(pass_fds),
    )


def end_text(status: int) -> str:
    """Describes how a process ended, as a clause, given its return code from subprocess."""
    return f"was killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"


def prefer(pid: int, niceness: int) -> None:
    """Sets the scheduling priority (niceness) of a process, if that is permitted.

    Args:
        pid: the process.
        niceness: niceness of the process and of its session's scheduling group, -20 to 19.
    """
    with contextlib.suppress(OSError):  # without permission, the process merely reacts later
        os.setpriority(os.PRIO_PROCESS, pid, niceness)
        # If the kernel groups processes by session, only the group's niceness matters.
        Path("/proc", str(pid), "autogroup").write_text(str(niceness))


def with_project_path(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns an environment in which this project's packages precede others with the same names."""
    given = environment.get("PYTHONPATH", "").split(os.pathsep)
    return {**environment, "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, given)])}
