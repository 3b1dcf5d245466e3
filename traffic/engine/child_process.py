"""Python processes of this project that end with their parent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

# Threads of numpy's library of linear algebra, which its import starts: these processes compute little by it,
# and processors are for the switches.
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
    """Starts the running interpreter once more, with the child's standard output in a pipe.

    The kernel kills the child when the thread that started it ends. The child has a session of its own, so
    that the terminal's Ctrl-C does not reach it, and imports nothing from the working directory.

    Args:
        arguments: the interpreter's command line, as `-m MODULE WORD...`.
        environment: of the child; its PYTHONPATH is made to begin with this project.
        stdin: as in subprocess.Popen.
        stderr: as in subprocess.Popen.
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
    """Returns how a process ended, a clause, by the status that subprocess has of it."""
    return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"


def prefer(pid: int, niceness: int) -> None:
    """Gives a process priority over others, if that is permitted.

    Args:
        pid: the process.
        niceness: of the process and of its session's group, -20 to 19.
    """
    with contextlib.suppress(OSError):  # without permission it only reacts later
        os.setpriority(os.PRIO_PROCESS, pid, niceness)
        # Where the kernel groups processes by session, the group's niceness counts.
        Path("/proc", str(pid), "autogroup").write_text(str(niceness))


def with_project_path(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns an environment in which Python finds this project's packages before others of their names."""
    users = environment.get("PYTHONPATH", "").split(os.pathsep)
    return {**environment, "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, users)])}
