"""Report of a reproduced paper: all items on one page, with their figures and claims."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from experiments.papers.model import Scale
from experiments.papers.reproduction import CheckedClaim, ReproducedItem, papers_version
from experiments.report.model import Page, Row, Section, Table, kept_figure
from experiments.results.text import readable
from topology.files.reading import RESULT_BYTES, read_lines

_BOUNDS = {"equal": "", "at-least": "at least ", "at-most": "at most "}
_WITHIN = {True: "yes", False: "no", None: "-"}
_CLAIM_COLUMNS = ("claim", "section", "paper", "ours", "interval", "tolerance", "within", "note")
_MOST_ROWS = 40  # of an item without a figure


def paper_page(paper: str, items: Sequence[ReproducedItem], scale: Scale, folder: Path) -> Page:
    """Returns the page of a paper's items.

    Args:
        paper: name of the paper.
        items: its items, whose files are in the folder.
        scale: the scale at which they were computed.
        folder: their folder, with the figures and the data.
    """
    claims = [claim for item in items for claim in item.claims]
    computed = [claim for claim in claims if claim.within is not None]
    outside = [claim for claim in computed if not claim.within]
    noted = sum(bool(claim.note) for claim in outside)
    note = (
        f"{len(computed) - len(outside)} of {len(computed)} computed claims are within the tolerances that "
        "were set before the items were first computed (docs/lab/papers-findings.md names the exceptions), "
        f"{noted} outside with a note, {len(outside) - noted} without, "
        f"and {len(claims) - len(computed)} are not computed. "
        f"{'Smaller networks and fewer runs (--quick). ' if scale.quick else ''}Made by {papers_version()}."
    )
    sections = [
        Section(note=note, table=_contents(items)),
        Section("Claims outside their tolerances", table=_claims(outside)) if outside else None,
        *(_item(item, folder) for item in items),
    ]
    return Page(f"The {paper} paper, reproduced", tuple(one for one in sections if one is not None))


def _contents(items: Sequence[ReproducedItem]) -> Table:
    """Returns the table of all items."""
    rows = []
    for item in items:
        computed = [claim for claim in item.claims if claim.within is not None]
        agreeing = sum(claim.within is True for claim in computed)
        cells = {
            "item": item.item,
            "title": item.title,
            "claims within": f"{agreeing} of {len(computed)}",
            "time": f"{item.seconds:.1f} s"
            if item.core_seconds is None
            else f"simulations of {item.core_seconds:.0f} s of a core",
        }
        rows.append(Row(cells, valid=not any(claim.unexplained for claim in computed)))
    return Table(("item", "title", "claims within", "time"), tuple(rows), ("item", "title", "claims within"))


def _item(item: ReproducedItem, folder: Path) -> Section:
    """Returns the section of an item; one without a figure has its data."""
    figures = [kept_figure(file) for file in [folder / f"{item.item}.svg"] if file.exists()]
    heading = f"{item.item}: {item.title}"
    note = f"Not simulated to their end: {'; '.join(item.missing)}." if item.missing else ""
    return Section(
        heading,
        note,
        table=_claims(item.claims) or (None if figures else _data(folder / f"{item.item}.csv")),
        figures=tuple(figures),
    )


def _claims(claims: Sequence[CheckedClaim]) -> Table | None:
    """Returns the table of claims; None without any."""
    rows = [
        Row(
            {
                "claim": claim.claim,
                "section": claim.section,
                "paper": f"{_BOUNDS[claim.bound]}{claim.paper:g}",
                "ours": "-" if claim.value is None else f"{claim.value:.6g}",
                "interval": "" if claim.interval is None else "{:.4g} to {:.4g}".format(*claim.interval),
                "tolerance": f"{claim.tolerance:g}",
                "within": _WITHIN[claim.within],
                "note": claim.note,
            },
            valid=not claim.unexplained,
        )
        for claim in claims
    ]
    return Table(_CLAIM_COLUMNS, tuple(rows), _CLAIM_COLUMNS) if rows else None


def _data(file: Path) -> Table | None:
    """Returns the first rows of an item's data."""
    rows = list(csv.DictReader(read_lines(file, RESULT_BYTES)))[:_MOST_ROWS]
    if not rows:
        return None
    cells = tuple(Row({name: readable(value) for name, value in row.items()}) for row in rows)
    return Table(tuple(rows[0]), cells, (next(iter(rows[0])),))
