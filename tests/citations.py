"""Citations of the reproduced papers: numbers of sections, figures, tables and theorems; years of sources.

`tests/data/citations.csv` lists all that have been looked up: what is there, and which files cite it. A unit
test compares the texts with the list. `make cited` writes the files of today's citations into the list and
prints what is new. Look up each new citation in its paper, and describe a new number in a few words.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from support.fixtures.documents import PACKAGES, ROOT

FILE = Path(__file__).parent / "data" / "citations.csv"
FIELDS = ("paper", "kind", "number", "what", "files")
_FOLDERS = (*PACKAGES, "docs", "examples", "tests/unit")
_SUFFIXES = (".py", ".md", ".csv", ".toml")
# Outputs of commands, the page of them, and texts that cite places of made-up claims.
_LEFT_OUT = (
    *("docs/lab/papers-gallery.md", "docs/figures/", "tests/unit/data/"),
    *("tests/unit/papers/test_claims.py", "tests/unit/papers/test_reproduction.py"),
    "tests/unit/test_citations.py",
)
_NAMES = {
    "polarfly": r"PolarFly|SC22",
    "slimfly": r"Slim ?Fly|SC14",
    "dragonfly": r"TACO 2014|[Dd]ragonfly paper|[Dd]ragonflies'|Camarero|Hamming and dragonfly networks",
    "polarstar": r"PolarStar",
    # Sources that are not reproduced. Only their years are compared.
    "": r"Dally|RFC|et al\.|ISCA|ICPP|ICCS|Hafner|Rabenseifner|Patarasuk|SIGCOMM|NSDI|OOPSLA|JSAC|Valette"
    r"|Law,|Knuth|Kleinrock|Dragonfly, section",
}
_KINDS = {
    "section": r"[Ss]ections?|Secs?",
    "figure": r"[Ff]igures?|Figs?",
    "table": r"Tables?|table(?= [IVX])",
    "equation": r"(?i:equations?)",
    "statement": r"(?i:theorems?|thms?|propositions?|props?|lemmas?|corollar(?:y|ies)|cors?|definitions?)",
    "property": r"[Pp]ropert(?:y|ies)",
    "algorithm": r"Algorithm",
}
_NUMBER = (
    r"(?:\([0-9]{1,2}\)|[IVX]+(?:-[A-Z][0-9]?)?(?:\.[0-9]+)*(?:\([0-9]\))?(?![A-Za-z])"
    r"|[0-9]{1,2}(?:\.[0-9]+)*(?: ?[a-e](?![a-z]))?(?!\.?[0-9])"
    r"|(?<![A-Za-z0-9])[a-e](?![a-z])|R(?:\*|1)?(?![A-Za-z]))"
)
_CITED = re.compile(
    r"\b(?:" + "|".join(f"(?P<{kind}>{words})" for kind, words in _KINDS.items()) + r")"
    rf"\s+(?:# )?(?P<numbers>{_NUMBER}(?:(?:,? (?:and|to|or) |, |-){_NUMBER})*)"
)
_NAMED = re.compile("|".join(f"(?P<p{number}>{names})" for number, names in enumerate(_NAMES.values())))
_ROW = re.compile(r"(polarfly|polarstar|slimfly|dragonfly),")  # of a table of claims or findings
_PART = re.compile(r"^## (.+)$", re.MULTILINE)
_PARTS = {"PolarFly": "polarfly", "PolarStar": "polarstar", "Slim Fly": "slimfly", "Dragonflies": "dragonfly"}
_NEAR = re.compile(r"[^.]{0,16}")  # between a name and its citation
_YEAR = re.compile(r"\b(?:[A-Z][\w.]*[A-Z]|[A-Z][\w.]+ (?:[A-Z]-?)?[0-9]+,) (?:1[89][0-9]|20[0-3])[0-9]\b")


class Citation(NamedTuple):
    """A place that a text cites.

    Attributes:
        paper: the paper; empty for the year of a source.
        kind: the kind of place, such as `section`, or `year`.
        number: the number as the paper has it, or venue and year.
    """

    paper: str
    kind: str
    number: str


def found() -> Iterator[tuple[Citation, str, int]]:
    """Yields every citation of the project's texts with its file, relative to the top folder, and line."""
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix in _SUFFIXES and not name.startswith(_LEFT_OUT):
                text = path.read_text(encoding="utf-8")
                for citation, start in citations(name, text):
                    yield citation, name, text.count("\n", 0, start) + 1


def citations(name: str, text: str) -> Iterator[tuple[Citation, int]]:
    """Yields the citations of a text with the offsets of their starts.

    A citation belongs to the paper of its folder or row, else to the one named just before it, else to that
    of its part of the page, else to the paper named last, else to the one named next.

    Args:
        name: the file, relative to the top folder.
        text: its content.
    """
    for match in _YEAR.finditer(text):
        yield Citation("", "year", match[0]), match.start()
    named = [(one.start(), one.end(), _paper(one.lastgroup)) for one in _NAMED.finditer(text)]
    folder = next((paper for paper in _NAMES if paper and f"papers/{paper}/" in name), None)
    for match in _CITED.finditer(text):
        row = _ROW.match(text, text.rfind("\n", 0, match.start()) + 1)
        part = [_PARTS.get(one[1]) for one in _PART.finditer(text, 0, match.start())][-1:]
        before = [one for one in named if one[0] < match.start()]
        near = [paper for _, end, paper in before[-1:] if _NEAR.fullmatch(text, end, match.start())]
        after = [paper for start, _, paper in named if start > match.start()]
        choices = (folder, row and row[1], *near, *part, *(one[2] for one in before[-1:]), *after[:1])
        paper = next((one for one in choices if one is not None), "")
        kind = next(kind for kind in _KINDS if match[kind])
        for number in _expanded(re.findall(_NUMBER, match["numbers"])):
            if paper:
                yield Citation(paper, kind, number), match.start()


def _paper(group: str | None) -> str:
    return list(_NAMES)[int((group or "p0")[1:])]


def _expanded(numbers: list[str]) -> Iterator[str]:
    """Yields numbers without spaces and outer parentheses; `8 b`, `c` becomes `8b`, `8c`."""
    last = ""
    for written in numbers:
        number = re.sub(r"^\((.*)\)$", r"\1", written.replace(" ", ""))
        last = re.sub("[a-e]$", "", last) + number if re.fullmatch("[a-e]", number) else number
        yield last


def listed() -> dict[Citation, tuple[str, set[str]]]:
    """Returns what the list says of each citation: what is there, and the files that cite it."""
    with FILE.open(encoding="utf-8", newline="") as lines:
        return {
            Citation(row["paper"], row["kind"], row["number"]): (row["what"], set(row["files"].split()))
            for row in csv.DictReader(lines)
        }


def main() -> None:
    """Writes the files of today's citations into the list, and prints those that are new."""
    known = listed()
    files: dict[Citation, set[str]] = defaultdict(set)
    for citation, name, line in found():
        files[citation].add(name)
        if name not in known.get(citation, ("", set[str]()))[1]:
            print(f"{name}:{line}: {' '.join(citation)}")
    with FILE.open("w", encoding="utf-8", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(FIELDS)
        for citation in sorted(files):
            what = known.get(citation, ("", set[str]()))[0]
            rows.writerow((*citation, what, " ".join(sorted(files[citation]))))


if __name__ == "__main__":
    main()
