"""A traffic process: `python -m traffic.worker send|collect RESULT`, with its job on standard input.

It reads two lines: the job, upon which it opens its sockets and answers `ready`; and the clock, upon
which it goes to work. On SIGTERM it ends early and still stores what it has.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from pathlib import Path

from topology.errors import PolarLabError
from traffic.collector import Collector
from traffic.job import Clock, job_from_dict, store
from traffic.sender import Sender

ROLES: dict[str, type[Sender] | type[Collector]] = {"send": Sender, "collect": Collector}


def main() -> int:
    """Does one job; returns 0, or 1 after one line on standard error."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the one who started us
    role, result_path = sys.argv[1:]
    try:
        worker = ROLES[role](job_from_dict(json.loads(sys.stdin.readline())))
        print("ready", flush=True)
        line = sys.stdin.readline()
        if line:
            result = worker.run(Clock(**json.loads(line)), stop.is_set)
            store(result, Path(result_path))
    except (PolarLabError, OSError) as error:
        print(f"{role}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
