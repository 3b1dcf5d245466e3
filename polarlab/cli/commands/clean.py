"""`polarlab clean`: removes the processes and files of a crashed fabric, and old error logs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import polarlab
from polarlab.process import Status

if TYPE_CHECKING:
    from polarlab.api.machine import MarkedProcess

SUMMARY = "removal of a crashed fabric's processes and files, and of old error logs (root)"
EXAMPLES = ("sudo polarlab clean",)


def run(arguments: argparse.Namespace) -> Status:
    """Removes the processes and files of a crashed fabric and old error logs, and lists them."""
    removed = polarlab.clean()
    result = {
        "processes": _listed(removed.processes),
        "run_directory": removed.run_directory,
        "error_logs": [str(path) for path in removed.error_logs],
        "left_behind": _listed(removed.left_behind),
    }
    if arguments.json:
        print(json.dumps(result))
        return Status.DONE
    print("\n".join(_lines(removed)) or "nothing to remove")
    return Status.DONE


def _lines(removed: polarlab.Cleaned) -> list[str]:
    """Describes what was removed, one line each, with the ids and commands of processes."""
    from polarlab.api.machine import described, left_behind

    lines = []
    processes, logs = removed.processes, removed.error_logs
    if processes:
        counted = _counted(len(processes), "process", "es")
        lines.append(f"removed {counted} of a fabric that had crashed: {described(processes)}")
    elif removed.run_directory:
        lines.append("removed the files of a fabric that had crashed")
    if logs:
        lines.append(f"removed {_counted(len(logs), 'log', 's')} of internal errors, older than an hour")
    if removed.left_behind:
        lines.append(left_behind(removed.left_behind))
    return lines


def _listed(processes: Iterable[MarkedProcess]) -> list[dict[str, object]]:
    return [{"pid": one.pid, "command": one.command} for one in processes]


def _counted(number: int, noun: str, plural: str) -> str:
    return f"a {noun}" if number == 1 else f"{number} {noun}{plural}"
