"""`polarlab clean`: removal of the processes and files of a fabric that crashed, and of old error logs."""

from __future__ import annotations

import argparse
import json

import polarlab
from polarlab.process import Status

SUMMARY = "removal of a crashed fabric's processes and files, and of old error logs (root)"
EXAMPLES = ("sudo polarlab clean",)


def run(arguments: argparse.Namespace) -> Status:
    """Removes the processes and files of a fabric that no longer runs and old error logs, and prints them."""
    removed = polarlab.clean()
    result = {
        "processes": [{"pid": p.pid, "command": p.command} for p in removed.processes],
        "run_directory": removed.run_directory,
        "error_logs": [str(path) for path in removed.error_logs],
    }
    if arguments.json:
        print(json.dumps(result))
        return Status.DONE
    if removed.processes or removed.run_directory:
        print(f"removed {len(removed.processes)} processes of a fabric that had crashed")
    if removed.error_logs:
        print(f"removed {len(removed.error_logs)} logs of internal errors that were older than an hour")
    if not (removed.processes or removed.run_directory or removed.error_logs):
        print("nothing to remove")
    return Status.DONE
