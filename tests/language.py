"""Finds phrases that this project does not use, in code and documentation, and says what to write instead.

    python tests/language.py [FILE ...]     the whole product and its documentation, or only the files named

A line `FILE: TEXT  # REASON` of `language_allowed.txt` allows the lines of a file that contain a text. Exit
status: 0 if nothing was found; 1 otherwise, also if an entry of that list allows nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
ALLOWED = Path(__file__).with_name("language_allowed.txt")
PACKAGES = (
    "topology",
    "routing",
    "controller",
    "emulation",
    "simulation",
    "traffic",
    "experiments",
    "polarlab",
)
# Pages that `docs/generate` writes take their words from the code; the lab's are a diary.
GENERATED = ("docs/reference/keys.md", "docs/lab/")
PHRASES = (
    (r"\bcircles?\b", "cycle, cyclic, acyclic"),
    (r"\b(is|are|was|were) told\b|\btells\b|\bto tell\b", "reports, prints, shows, says"),
    (r"\b(goes|go|went) on\b", "resumes, continues"),
    (r"\bin the place of\b", "instead of"),
    (r"\bas (of|those of|that of)\b", "another construction"),
    (r"\bbirths?\b|_birth\b|\bborn\b", "injection, injected"),
    (r"\balike\b|\blikewise\b", "another construction"),
    (r"\b(has|have) not (a|an|the|their|its|such)\b", "has no"),
    (r"(^|[.!?] )(Lost|Not (compared|computed|so)|Beyond it) (are|is)\b", "subject, verb, object"),
    (r"\b[Uu]ntil 20\d\d-\d\d-\d\d\b", "the changelog, or docs/lab/"),
    (r"(?<!there )(?<!There )\b(is|are) no (?!longer\b|more\b)[a-z]+\b", "is not a"),
    (r"\bso many-th\b", "another construction"),
    (r"\bthe machine below\b", "steal time"),
    (r"\bis right\b", "limit N"),
    (r'"""(Has|Gives|Takes the)\b', "a concrete verb"),
)


class Finding(NamedTuple):
    """A phrase in a line of a file.

    Attributes:
        file: the file, from the project's root.
        number: number of the line, from 1.
        line: the line.
        instead: what to write instead.
    """

    file: str
    number: int
    line: str
    instead: str


def findings(file: str, text: str) -> Iterator[Finding]:
    """Yields the phrases in a text.

    Args:
        file: the name of the text in findings.
        text: the text.
    """
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, instead in PHRASES:
            if re.search(pattern, line):
                yield Finding(file, number, line.strip(), instead)


def files() -> Iterator[Path]:
    """Yields the product's modules, its texts of the page, and the documentation that is written by hand."""
    for package in PACKAGES:
        for ending in ("py", "js", "html"):
            yield from sorted((ROOT / package).rglob(f"*.{ending}"))
    for page in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]:
        if not page.relative_to(ROOT).as_posix().startswith(GENERATED):
            yield page


def allowed(text: str) -> list[tuple[str, str]]:
    """Returns the (file, text) of each line of a list of what is allowed; each needs a reason.

    Args:
        text: the list.
    """
    found = []
    for line in filter(None, text.splitlines()):
        entry, _, reason = line.partition("  # ")
        file, _, phrase = entry.partition(": ")
        if not (phrase and reason):
            raise SystemExit(f"{ALLOWED.name}: must be FILE: TEXT  # REASON, got {line!r}")
        found.append((file, phrase))
    return found


def main(names: Sequence[str]) -> int:
    """Prints what is found and returns the exit status."""
    entries = allowed(ALLOWED.read_text())
    used, count = set(), 0
    for path in map(Path, names) if names else files():
        file = path.resolve().relative_to(ROOT).as_posix()
        for finding in findings(file, path.read_text()):
            excused = [entry for entry in entries if entry[0] == file and entry[1] in finding.line]
            used |= {*excused}
            if not excused:
                count += 1
                print(f"{finding.file}:{finding.number}: write {finding.instead}: {finding.line}")
    for file, phrase in [] if names else [entry for entry in entries if entry not in used]:
        count += 1
        print(f"{ALLOWED.name}: {file} has no {phrase!r} any more")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
