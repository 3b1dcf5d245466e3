"""`polarlab clean`: removal of the processes and files of a fabric that crashed, and of old error logs."""

from __future__ import annotations

import argparse
import json
import textwrap

import polarlab
from polarlab.process import Status, shown

_SHOWN = 4  # processes that are named
_COMMAND_WIDTH = 60
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
    print("\n".join(_lines(removed)) or "nothing to remove")
    return Status.DONE


def _lines(removed: polarlab.Cleaned) -> list[str]:
    """Returns the lines on what was removed, processes by their numbers and commands."""
    lines = []
    processes, logs = removed.processes, removed.error_logs
    if processes:
        named = [
            f"{one.pid} {shown(textwrap.shorten(one.command, _COMMAND_WIDTH))}" for one in processes[:_SHOWN]
        ]
        more = len(processes) - len(named)
        names = ", ".join([*named, *([f"{more} more"] if more else [])])
        lines.append(
            f"removed {_counted(len(processes), 'process', 'es')} of a fabric that had crashed: {names}"
        )
    elif removed.run_directory:
        lines.append("removed the files of a fabric that had crashed")
    if logs:
        lines.append(f"removed {_counted(len(logs), 'log', 's')} of internal errors, older than an hour")
    return lines


def _counted(number: int, noun: str, plural: str) -> str:
    return f"a {noun}" if number == 1 else f"{number} {noun}{plural}"
