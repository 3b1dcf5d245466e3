"""BibTeX of this software and of the papers, made of CITATION.cff.

`python docs/generate/citations.py > experiments/papers/citations.bib`, or `make citations`, makes it anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

SOURCE = Path(__file__).parents[2] / "CITATION.cff"
_TYPES = {"conference-paper": "inproceedings", "article": "article"}  # others are `misc`
_LETTERS = {"á": r"{\'a}", "é": r"{\'e}", "í": r"{\'i}", "ó": r"{\'o}", "ú": r"{\'u}"}
_ARXIV = "arXiv:"


def citations(text: str) -> str:
    """Returns the BibTeX entries of a citation file, the software's first."""
    content = msgspec.yaml.decode(text)
    software = {**content, "abbreviation": "polarlab", "year": str(content["date-released"])[:4]}
    software["notes"] = f"Version {content['version']}"
    return "\n".join(_entry(work) for work in (software, *content["references"]))


def _entry(work: Mapping[str, Any]) -> str:
    kind = _TYPES.get(work["type"], "misc")
    fields = "".join(f"  {name} = {{{value}}},\n" for name, value in _fields(work))
    return f"@{kind}{{{work['abbreviation']},\n{fields}}}\n"


def _fields(work: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "title", f"{{{work['title']}}}"
    yield "author", " and ".join(map(_author, work["authors"]))
    yield "year", str(work["year"])
    names = {"collection-title": "booktitle", "journal": "journal", "volume": "volume", "issue": "number"}
    yield from ((name, str(work[key])) for key, name in names.items() if key in work)
    if "section" in work:  # the number of an article, whose pages are counted from 1
        yield "pages", f"{work['section']}:1--{work['section']}:{work['pages']}"
    if "start" in work:
        yield "pages", f"{work['start']}--{work['end']}"
    if "doi" in work:
        yield "doi", work["doi"]
    for one in work.get("identifiers", ()):
        yield "eprint", one["value"].removeprefix(_ARXIV)
        yield "archiveprefix", "arXiv"
    if "notes" in work:
        yield "note", work["notes"]


def _author(author: Mapping[str, str]) -> str:
    if "name" in author:
        return f"{{{author['name']}}}"
    name = f"{author['family-names']}, {author['given-names']}"
    return "".join(_LETTERS.get(letter, letter) for letter in name)


if __name__ == "__main__":
    sys.stdout.write(citations(SOURCE.read_text()))
