"""File of the benchmark's results: rows by their names, each with date, commit and machine."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rows import Row

from emulation.requirements import kernel_datapath_available

# Version of the file; another one is written anew.
FORMAT = 1
ROOT = Path(__file__).resolve().parents[2]


def provenance() -> dict[str, Any]:
    """Returns the date, the commit and the machine of a measurement that begins now."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "machine": {
            "processor": _line_of("/proc/cpuinfo", r"model name\s*: (.*)", platform.machine()),
            "cores": os.cpu_count(),
            "memory_gib": round(int(_line_of("/proc/meminfo", r"MemTotal:\s*(\d+)", "0")) / 2**20, 1),
            "kernel": platform.release(),
            "python": platform.python_version(),
            "datapath": "kernel" if kernel_datapath_available() else "user",
        },
    }


def _commit() -> str:
    """Returns the commit, with a plus sign if files differ from it; empty outside of a repository."""
    words = ["git", "describe", "--always", "--abbrev=7", "--exclude=*", "--dirty=+"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _line_of(file: str, pattern: str, default: str) -> str:
    found = re.search(pattern, Path(file).read_text())
    return found[1] if found else default


def write(
    path: Path, measured: Mapping[str, Sequence[Row]], origin: Mapping[str, Any], names: Sequence[str]
) -> None:
    """Writes rows that were measured; those of others that the file has stay as they are.

    Args:
        path: the file.
        measured: rows by the name of their maker.
        origin: their `provenance`.
        names: the names of all makers, in the order of the file.
    """
    kept = {entry["name"]: entry for entry in read(path)}
    new = {
        name: {"name": name, **origin, "rows": [vars(row) for row in rows]} for name, rows in measured.items()
    }
    entries = {**kept, **new}
    content = {"format": FORMAT, "measurements": [entries[name] for name in names if name in entries]}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """Returns the measurements of a file; none if there is no file of this format."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return []
    found: list[dict[str, Any]] = content["measurements"] if content.get("format") == FORMAT else []
    return found
