"""`polarlab clean`: removal of the processes and files of a fabric that crashed."""

from __future__ import annotations

import argparse
import json

from topology.exit_status import Status

SUMMARY = "removal of a crashed fabric's processes and files, and of nothing else (root)"
EXAMPLES = ("sudo polarlab clean",)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab clean`."""
    from polarlab.cli.options.output import add_json_option

    add_json_option(parser)


def run(arguments: argparse.Namespace) -> Status:
    """Removes processes and files with the mark of a fabric that no longer runs, and prints them."""
    from emulation.cleanup import clean
    from emulation.requirements import require_root

    require_root()
    removed = clean()
    result = {
        "processes": [{"pid": p.pid, "command": p.command} for p in removed.processes],
        "run_directory": removed.run_dir,
    }
    if arguments.json:
        print(json.dumps(result))
    elif removed.processes or removed.run_dir:
        print(f"removed {len(removed.processes)} processes of a fabric that had crashed")
    else:
        print("nothing to remove")
    return Status.DONE
