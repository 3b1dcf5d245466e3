"""Page of benchmarks, docs/lab/benchmarks.md, made of the results that `make bench` leaves.

`python docs/generate/benchmarks_page.py` makes the page anew from docs/benchmarks.json; with a file of
results it first puts these into docs/benchmarks.json. What was measured on other machines, or before the
file was made, stays there.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from markdown_text import plain, table

DOCS = Path(__file__).resolve().parents[1]
RESULTS, PAGE = DOCS / "benchmarks.json", DOCS / "lab" / "benchmarks.md"

_INTRODUCTION = """\
# Benchmarks

This page shows what `make bench` measured, each row next to its reference in the same run; `make benchmarks`
generates it from the results. `make bench ROWS="er7 packets"` measures single rows (names:
`tests/bench/__main__.py`).
[TCP flows](flow-findings.md) has the slowdowns in detail, [failovers](failover-findings.md) the times of
failures."""


def benchmarks_page(results: Path = RESULTS) -> str:
    """Returns the page of a file of results as Markdown."""
    measurements = json.loads(results.read_text())["measurements"]
    parts = [_INTRODUCTION]
    measurements.sort(key=_key, reverse=True)
    for origin, group in itertools.groupby(measurements, _origin):
        rows = [row for measurement in group for row in _rows(measurement)]
        parts += [origin, table(("quantity", "reference, same run", "measured", "goal"), rows)]
    return "\n\n".join(parts) + "\n"


def add_results(results: Path, kept: Path = RESULTS) -> None:
    """Adds the measurements of one file to another; of two with the same name, the newer one stays.

    Args:
        results: the file that `make bench` wrote.
        kept: the file of all measurements, which is changed.
    """
    content = json.loads(kept.read_text())
    newest = {measurement["name"]: measurement for measurement in content["measurements"]}
    for measurement in json.loads(results.read_text())["measurements"]:
        name = measurement["name"]
        if name not in newest or newest[name]["date"] <= measurement["date"]:
            newest[name] = measurement
    content["measurements"] = list(newest.values())
    kept.write_text(json.dumps(content, indent=2) + "\n")


def _key(measurement: Mapping[str, Any]) -> tuple[str, str]:
    return measurement["date"], measurement["commit"]


def _origin(measurement: Mapping[str, Any]) -> str:
    """Returns date, commit and machine of a measurement as a heading and a paragraph."""
    machine = measurement["machine"]
    place = "in the kernel" if machine["datapath"] == "kernel" else "in userspace"
    # Results from before the file had commits have the one that wrote them down.
    state = "written down by commit" if measurement.get("recorded") else "commit"
    return (
        f"## {measurement['date'].split()[0]}, {state} {measurement['commit'] or 'unknown'}\n\n"
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']:g} GiB; Linux "
        f"{machine['kernel']}, Python {machine['python']}; switches {place}."
    )


def _rows(measurement: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for row in measurement["rows"]:
        goal = row["goal"] if row["reached"] else f"{row['goal']} (**not reached**)"
        yield plain(row["what"]), plain(row["reference"]), plain(row["measured"]), goal


if __name__ == "__main__":
    if len(sys.argv) > 1:
        add_results(Path(sys.argv[1]))
    PAGE.write_text(benchmarks_page())
