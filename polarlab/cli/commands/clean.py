"""`polarlab clean`: removal of the processes and files of a fabric that crashed, and of old error logs."""

from __future__ import annotations

import argparse
import json

from topology.exit_status import Status

SUMMARY = "removal of a crashed fabric's processes and files, and of old error logs (root)"
EXAMPLES = ("sudo polarlab clean",)


def run(arguments: argparse.Namespace) -> Status:
    """Removes the processes and files of a fabric that no longer runs and old error logs, and prints them."""
    from emulation.cleanup import clean
    from emulation.requirements import require_root
    from polarlab.error_log import remove_old_logs

    require_root()
    removed, logs = clean(), remove_old_logs()
    result = {
        "processes": [{"pid": p.pid, "command": p.command} for p in removed.processes],
        "run_directory": removed.run_dir,
        "error_logs": [str(path) for path in logs],
    }
    if arguments.json:
        print(json.dumps(result))
        return Status.DONE
    if removed.processes or removed.run_dir:
        print(f"removed {len(removed.processes)} processes of a fabric that had crashed")
    if logs:
        print(f"removed {len(logs)} logs of internal errors that were older than an hour")
    if not (removed.processes or removed.run_dir or logs):
        print("nothing to remove")
    return Status.DONE
