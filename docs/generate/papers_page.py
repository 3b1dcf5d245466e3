"""Gallery of reproduced papers, docs/lab/papers-gallery.md, from the output of `polarlab paper PAPER all`.

`.venv/bin/python docs/generate/papers_page.py` regenerates the page from docs/figures/papers/. With a
folder of results (results/papers), it first copies the figures and data of all items that are complete
there: in the paper's own folder, or else in that of `--quick`. A quick item never replaces a full one.
"""

from __future__ import annotations

import csv
import datetime
import itertools
import json
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from markdown_text import plain, table

from experiments.papers.claims import BEYOND, PAPERS, Claim, claims_of, claims_of_item
from experiments.papers.findings import NOT_COMPUTED, OUTCOMES, WITHIN, Finding, finding_on, findings, outcome
from experiments.papers.registry import ITEMS

DOCS = Path(__file__).resolve().parents[1]
KEPT, PAGE = DOCS / "figures" / "papers", DOCS / "lab" / "papers-gallery.md"
_ORIGIN = KEPT / "origin.json"
# Paper -> item -> what was found, in sentences.
FOUND = tomllib.loads(Path(__file__).with_name("found.toml").read_text("utf-8"))
_COPIED = (".csv", "-claims.csv", ".json", ".png")
_BOUNDS = {"equal": "", "at-least": "at least ", "at-most": "at most "}
_WITHIN = {"True": "yes", "False": "**no**", "": NOT_COMPUTED}
_LONG_S = 180.0


def papers_page() -> str:
    """Returns the gallery as Markdown."""
    origins = json.loads(_ORIGIN.read_text())
    outcomes = {paper: list(_outcomes(paper)) for paper in PAPERS if paper != BEYOND}
    counted = {paper: Counter(one for _, one in of_paper) for paper, of_paper in outcomes.items()}
    counted["all"] = sum(counted.values(), Counter[str]())
    every = itertools.chain.from_iterable(outcomes.values())
    stated = Counter(one for claim, one in every if _has_number(claim))
    parts = [
        "# Gallery of the papers",
        "This page shows every computed figure and table of the papers, with its claims, the command that "
        "computes it ([how to use it](../how-to/papers.md)), and the date and commit of its last "
        "computation, on 2 cores. Simulated points may be older: they are kept as long as the code that "
        f"determines them is the same. Bisections are the best that {' and '.join(_methods())} found. "
        "The data of all figures are in `docs/figures/papers/`. "
        "Items with `--quick` have smaller networks or fewer runs.",
        "Names of networks: PF PolarFly; SF Slim Fly, and in PolarStar's items Spectralfly; DF dragonfly; "
        "JF Jellyfish; FT fat tree; HX HyperX; BF Bundlefly; MF Megafly; PS-IQ and PS-Pal PolarStar with "
        "Inductive-Quad and Paley supernodes; FBF flattened butterfly; T3D and T5D tori; HC hypercube; LH-HC "
        "Long Hop network. A network carries a load if it accepts 0.99 of what its hosts send. Accepted load "
        "is a mean over all hosts, including idle ones, such as those of permutations of bits.",
        "## Claims",
        "How many of the papers' numbers agree ([how claims are judged](../explanation/claims.md)). A slip "
        "is a number that a count or a counterexample refutes. A reading depends on what the text leaves "
        "open and agrees with a reading other than ours; an unconfirmed number agrees with none.",
        table(
            ("paper", "claims", *OUTCOMES), [_counts_row(name, counts) for name, counts in counted.items()]
        ),
        _agreement(counted["all"], stated),
        "## Findings",
        "Numbers below that are outside the tolerance, with the reason and its evidence:",
        table(
            ("claim", "kind", "finding", "evidence"),
            [
                (f"{one.paper} {one.item}, {plain(one.key)}", one.kind, plain(one.note), plain(one.evidence))
                for one in findings()
                if _applies(one)
            ],
        ),
    ]
    for paper, items in ITEMS.items():
        parts.append(f"## {paper}")
        for name, item in items.items():
            parts += _item_parts(paper, name, item.title, origins[f"{paper}-{name}"])
    return "\n\n".join(parts) + "\n"


def _applies(finding: Finding) -> bool:
    """Returns whether a finding explains the number that the gallery has for its claim."""
    kept = f"{finding.paper}-{finding.item}-claims"
    claims = claims_of_item(finding.paper, finding.item)
    return any(
        claim.key == finding.key
        and row["within"] == "False"
        and finding_on(claim, float(row["value"])) is finding
        for claim, row in zip(claims, _kept_rows(kept), strict=True)
    )


def _has_number(claim: Claim) -> bool:
    """Returns whether a paper states a number, and not only that one network has more than another."""
    return claim.bound == "equal" or claim.value != 1


def _agreement(counts: Counter[str], stated: Counter[str]) -> str:
    """Returns the sentences on how many of the claims agree, by the counts of their outcomes.

    Args:
        counts: those of all claims.
        stated: those of claims that state a number.
    """
    shares = []
    for one in (counts, stated):
        computed, agreeing = one.total() - one[NOT_COMPUTED], one[WITHIN] + one["slip"]
        shares.append((agreeing, computed, f"{agreeing / computed:.1%}"))
    (agreeing, computed, share), (numbers, of_numbers, share_of_numbers) = shares
    return (
        f"Of the {computed} computed claims {agreeing} ({share}) are within or the paper's slip; of the "
        f"{of_numbers} for which the paper states a number, and not only an order, {numbers} "
        f"({share_of_numbers}). Not computed are claims on items that are here with `--quick` alone or in "
        "part, and the cost of DLN."
    )


def _counts_row(name: str, counts: Counter[str]) -> tuple[str, ...]:
    """Returns a row of numbers of claims."""
    return name, str(counts.total()), *(str(counts[one]) for one in OUTCOMES)


def _outcomes(paper: str) -> Iterator[tuple[Claim, str]]:
    """Yields each claim of a paper with its outcome."""
    values = {"True": True, "False": False, "": None}
    for item in dict.fromkeys(claim.item for claim in claims_of(paper)):
        claims = claims_of_item(paper, item)
        if item not in ITEMS[paper]:
            yield from ((claim, NOT_COMPUTED) for claim in claims)
            continue
        rows = _kept_rows(f"{paper}-{item}-claims")
        for claim, row in zip(claims, rows, strict=True):
            value = float(row["value"]) if row["value"] else None
            yield claim, outcome(claim, value, values[row["within"]])


def _kept_rows(name: str) -> list[dict[str, str]]:
    """Returns the rows of a kept table, by the name of its file without `.csv`."""
    with (KEPT / f"{name}.csv").open() as lines:
        return list(csv.DictReader(lines))


def _methods() -> list[str]:
    """Returns the methods of the kept bisections, sorted."""
    tables = (_kept_rows(file.stem) for file in KEPT.glob("*.csv"))
    return sorted({row["method"] for rows in tables for row in rows if "method" in row})


def _item_parts(paper: str, name: str, title: str, origin: Mapping[str, str]) -> Iterator[str]:
    """Yields heading, figure and claims of an item."""
    record = json.loads((KEPT / f"{paper}-{name}.json").read_text())
    yield f"### {paper} {name}: {title}"
    command = f"polarlab paper {paper} {name}{' --quick' if record['quick'] else ''}"
    if missing := record.get("missing"):
        command += f' --curves "{",".join(_whole_curves(paper, name, missing))}"'
    core_seconds = record.get("core_seconds")
    took = (
        _time(record["seconds"])
        if core_seconds is None
        else f"simulations of {_time(core_seconds)} of a core"
    )
    yield f"`{command}`, {took}, {origin['date']}, commit {origin['commit']}"
    if missing:
        yield f"Curves that have not been simulated to their end: {'; '.join(map(plain, missing))}."
    if (KEPT / f"{paper}-{name}.png").exists():
        yield f"![{title}](../figures/papers/{paper}-{name}.png)"
    yield plain(FOUND[paper][name])
    if remark := record.get("remark"):
        yield f"{plain(remark[0].upper() + remark[1:])}."
    rows = _kept_rows(f"{paper}-{name}-claims")
    if not rows:
        if paper != BEYOND:
            curves = name.startswith("fig")
            yield "The paper has curves, and states no number." if curves else "It has no claims of its own."
        return
    yield table(
        ("claim", "section", "paper", "ours", "tolerance", "within"),
        [
            (
                plain(row["claim"]),
                plain(row["section"]),
                f"{_BOUNDS[row['bound']]}{float(row['paper']):g}",
                _value(row),
                f"{float(row['tolerance']):g}",
                _WITHIN[row["within"]],
            )
            for row in rows
        ],
    )


def _whole_curves(paper: str, name: str, missing: Sequence[str]) -> list[str]:
    """Returns the choices of an item's complete curves, in the order of its data, as for `--curves`."""
    patterns: dict[str, dict[str, None]] = {}
    for row in _kept_rows(f"{paper}-{name}"):
        patterns.setdefault(row["curve"], {})[row["pattern"]] = None
    left_out = {one.partition(", ")[0] for one in missing}
    return [
        choice
        for label, own in patterns.items()
        for choice in (
            [f"{label}:{one}" for one in own if f"{label}, {one}" not in missing]
            if label in left_out
            else [label]
        )
    ]


def _value(row: Mapping[str, str]) -> str:
    """Returns a computed number with its interval, if there is one; a dash if it is not computed."""
    if not row["value"]:
        return "-"
    number = _number(float(row["value"]))
    if not row["interval_low"]:
        return number
    low, high = (_number(float(row[end])) for end in ("interval_low", "interval_high"))
    return f"{number} ({low} to {high})"


def _number(value: float) -> str:
    """Returns a number with four digits, and a whole one with all of them."""
    return f"{value:.0f}" if value.is_integer() else f"{value:.4g}"


def _time(seconds: float) -> str:
    """Returns a duration in seconds or, if it is long, in minutes."""
    return f"{seconds:.1f} s" if seconds < _LONG_S else f"{seconds / 60:.0f} min"


def keep(results: Path) -> None:
    """Copies the figures and data of a folder of results, and notes the date and the commit of each new item.

    Simulated points are kept as well, so that a figure can go on from them.
    """
    origin = _origin()
    origins = json.loads(_ORIGIN.read_text()) if _ORIGIN.exists() else {}
    for paper, items in ITEMS.items():
        for name in items:
            folders = [results / paper, results / f"{paper}-quick"]
            folder = next((one for one in folders if (one / f"{name}.json").exists()), None)
            if folder is None or _is_less(paper, folder / f"{name}.json"):
                continue
            if not _is_kept(paper, folder / f"{name}.json"):
                origins[f"{paper}-{name}"] = origin
            for ending in _COPIED:
                file = folder / f"{name}{ending}"
                if file.exists():
                    shutil.copy(file, KEPT / f"{paper}-{file.name}")
        points = results / paper / "points.csv"
        if points.exists():
            shutil.copy(points, KEPT / f"{paper}-points.csv")
    _ORIGIN.write_text(json.dumps(dict(sorted(origins.items())), indent=1) + "\n")


def _is_less(paper: str, record: Path) -> bool:
    """Returns whether a record is of `--quick`, and the gallery has the item in full."""
    kept = KEPT / f"{paper}-{record.name}"
    return (
        kept.exists()
        and json.loads(record.read_text())["quick"]
        and not json.loads(kept.read_text())["quick"]
    )


def _is_kept(paper: str, record: Path) -> bool:
    """Returns whether the gallery already has a record, byte for byte."""
    kept = KEPT / f"{paper}-{record.name}"
    return kept.exists() and kept.read_bytes() == record.read_bytes()


def _origin() -> dict[str, str]:
    """Returns the date of today and the commit."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, check=True, capture_output=True, text=True, cwd=DOCS).stdout.strip()
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"date": date, "commit": commit}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        if not Path(sys.argv[1]).is_dir():
            sys.exit(f"{sys.argv[1]} is not a folder of results")
        keep(Path(sys.argv[1]))
    PAGE.write_text(papers_page())
