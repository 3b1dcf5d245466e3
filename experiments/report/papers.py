"""Report of a reproduced paper: all figures and tables on one page, with their claims."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from experiments.papers.model import Scale
from experiments.papers.reproduction import CheckedClaim, ReproducedItem, papers_version
from experiments.report.model import Page, PageRow, PageTable, Section, kept_figure
from experiments.results.text import readable
from topology.files.reading import RESULT_BYTES, read_lines

_BOUNDS = {"equal": "", "at-least": "at least ", "at-most": "at most "}
_WITHIN = {True: "yes", False: "no", None: "-"}
_CLAIM_COLUMNS = ("claim", "section", "paper", "ours", "interval", "tolerance", "within", "note")
_MAX_ROWS = 40  # rows of data shown for a table of the paper


def paper_page(paper: str, items: Sequence[ReproducedItem], scale: Scale, folder: Path) -> Page:
    """Returns the page of a paper's figures and tables.

    Args:
        paper: name of the paper.
        items: its figures and tables; their files are in the folder.
        scale: scale at which the figures and tables were computed.
        folder: folder with figures and data.
    """
    claims = [claim for item in items for claim in item.claims]
    computed = [claim for claim in claims if claim.within is not None]
    outside = [claim for claim in computed if not claim.within]
    noted = sum(bool(claim.note) for claim in outside)
    note = (
        f"{len(computed) - len(outside)} of {len(computed)} computed claims are within tolerances set before "
        "the first computation (exceptions: docs/lab/papers-findings.md), "
        f"{noted} are outside with a note, {len(outside) - noted} without, "
        f"and {len(claims) - len(computed)} are not computed. "
        f"{'Smaller networks and fewer runs (--quick). ' if scale.quick else ''}Made by {papers_version()}."
    )
    sections = [
        Section(note=note, table=_contents(items)),
        Section("Claims outside their tolerances", table=_claims(outside)) if outside else None,
        *(_item(item, folder) for item in items),
    ]
    return Page(f"The {paper} paper, reproduced", tuple(one for one in sections if one is not None))


def _contents(items: Sequence[ReproducedItem]) -> PageTable:
    """Returns the overview: a row for each figure and table, with the number of claims within tolerances."""
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
            else f"{item.core_seconds:.0f} core seconds of simulation",
        }
        rows.append(PageRow(cells, valid=not any(claim.unexplained for claim in computed)))
    return PageTable(
        ("item", "title", "claims within", "time"), tuple(rows), ("item", "title", "claims within")
    )


def _item(item: ReproducedItem, folder: Path) -> Section:
    """Returns the section of a figure or table: drawing and claims, or rows of its data if it has neither."""
    figures = [kept_figure(file) for file in [folder / f"{item.item}.svg"] if file.exists()]
    heading = f"{item.item}: {item.title}"
    note = f"Incomplete simulations: {'; '.join(item.missing)}." if item.missing else ""
    return Section(
        heading,
        note,
        table=_claims(item.claims) or (None if figures else _data(folder / f"{item.item}.csv")),
        figures=tuple(figures),
    )


def _claims(claims: Sequence[CheckedClaim]) -> PageTable | None:
    """Returns a table with a row for each claim; None if there are no claims."""
    rows = [
        PageRow(
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
    return PageTable(_CLAIM_COLUMNS, tuple(rows), _CLAIM_COLUMNS) if rows else None


def _data(file: Path) -> PageTable | None:
    """Returns the first rows of the CSV file of a figure or table; None if the file has no rows."""
    rows = list(csv.DictReader(read_lines(file, RESULT_BYTES)))[:_MAX_ROWS]
    if not rows:
        return None
    cells = tuple(PageRow({name: readable(value) for name, value in row.items()}) for row in rows)
    return PageTable(tuple(rows[0]), cells, (next(iter(rows[0])),))
