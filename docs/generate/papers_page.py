"""Gallery of reproduced papers, docs/papers-gallery.md, made of what `polarlab paper PAPER all` leaves.

`python docs/generate/papers_page.py` makes the page anew from docs/figures/papers/; with a folder of results
(results/papers) it copies their figures and data there first.
"""

from __future__ import annotations

import csv
import datetime
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from markdown_text import plain, table

from experiments.papers.findings import findings
from experiments.papers.registry import ITEMS

DOCS = Path(__file__).resolve().parents[1]
KEPT, PAGE = DOCS / "figures" / "papers", DOCS / "papers-gallery.md"
_ORIGIN = KEPT / "origin.json"
_COPIED = (".csv", "-claims.csv", ".json", ".png")
_BOUNDS = {"equal": "", "at-least": "at least ", "at-most": "at most "}
_WITHIN = {"True": "yes", "False": "**no**", "": "not computed yet"}


def papers_page() -> str:
    """Returns the gallery as Markdown."""
    origin = json.loads(_ORIGIN.read_text())
    parts = [
        "# Gallery of the papers",
        f"Made on {origin['date']} at commit {origin['commit']} by the commands that it shows "
        "([the papers, reproduced](papers.md)), on 2 cores without METIS; bisections are those of the "
        "Kernighan-Lin search. The data of each figure is in `docs/figures/papers/`.",
        "## Findings",
        "Computed numbers outside the tolerance, with the reason and its evidence:",
        table(
            ("claim", "finding", "evidence"),
            [
                (f"{one.paper} {one.item}, {plain(one.key)}", plain(one.note), plain(one.evidence))
                for one in findings()
            ],
        ),
    ]
    for paper, items in ITEMS.items():
        parts.append(f"## {paper}")
        for name, item in items.items():
            parts += _item_parts(paper, name, item.title)
    return "\n\n".join(parts) + "\n"


def _item_parts(paper: str, name: str, title: str) -> Iterator[str]:
    """Yields heading, figure and claims of an item."""
    record = json.loads((KEPT / f"{paper}-{name}.json").read_text())
    yield f"### {paper} {name}: {title}"
    yield f"`polarlab paper {paper} {name}`, {record['seconds']:.1f} s"
    if (KEPT / f"{paper}-{name}.png").exists():
        yield f"![{title}](figures/papers/{paper}-{name}.png)"
    with (KEPT / f"{paper}-{name}-claims.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    if not rows:
        return
    yield table(
        ("claim", "paper", "ours", "tolerance", "within"),
        [
            (
                plain(row["claim"]),
                f"{_BOUNDS[row['bound']]}{float(row['paper']):g}",
                f"{float(row['value']):.4g}" if row["value"] else "-",
                f"{float(row['tolerance']):g}",
                _WITHIN[row["within"]],
            )
            for row in rows
        ],
    )


def keep(results: Path) -> None:
    """Copies the figures and data of a folder of results, and notes the date and the commit."""
    shutil.rmtree(KEPT, ignore_errors=True)
    KEPT.mkdir(parents=True)
    for paper, items in ITEMS.items():
        for name in items:
            for ending in _COPIED:
                file = results / paper / f"{name}{ending}"
                if file.exists():
                    shutil.copy(file, KEPT / f"{paper}-{file.name}")
    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, check=True, capture_output=True, text=True, cwd=DOCS).stdout.strip()
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    _ORIGIN.write_text(json.dumps({"date": date, "commit": commit}) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        keep(Path(sys.argv[1]))
    PAGE.write_text(papers_page())
