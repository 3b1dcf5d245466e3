"""Documents whose commands are run as printed: their blocks, and a command line as a process."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGES = (
    *("topology", "routing", "controller", "emulation"),
    *("simulation", "traffic", "experiments", "polarlab"),
)
FOLDERS = "|".join((*PACKAGES, "tests", "docs", "examples", "vagrant"))
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Commands that need neither root nor results of others.
WITHOUT_ROOT = (
    *("topology", "families", "verify", "predict", "patterns", "routings", "explain", "rules", "schema"),
    *("simulate", "saturation"),
)
# Pages on which no command needs root, not even those of results, which commands before have made.
NO_ROOT = ("simulation", "papers")
# Pages that `make docs` makes of the code, beside those of docs/.
GENERATED = ("index", "changelog", "command-line", "names", "experiment-keys", "api")
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of a document.

    Attributes:
        kind: its language, as `sh` or `python`.
        text: its content.
        before: the line of text before it.
    """

    kind: str
    text: str
    before: str

    def new_file(self) -> str | None:
        """Returns the path of the file that the line before a block announces; None if it names none."""
        named = re.findall(r"`([\w/]+\.py)`:$", self.before)
        return named[0] if named else None

    def is_script(self) -> bool:
        """Returns whether its lines depend on one another, as those of a loop."""
        return re.search(r"^for |<<", self.text, re.MULTILINE) is not None


def blocks(path: Path) -> list[Block]:
    """Returns the fenced blocks of a Markdown document."""
    text = path.read_text()
    fenced = []
    for match in _BLOCK.finditer(text):
        before = text[: match.start()].rstrip().rsplit("\n", 1)[-1]
        fenced.append(Block(match[1], match[2], before))
    return fenced


def command_lines(block: Block) -> list[str]:
    """Returns the lines of a block of shell commands, continued ones joined, without comments."""
    joined = block.text.replace("\\\n", " ")
    return [line for line in map(str.strip, joined.splitlines()) if line and not line.startswith("#")]


def polarlab_words(line: str) -> list[str] | None:
    """Returns the words after `.venv/bin/polarlab` in a command line; None for other commands."""
    words = list(itertools.takewhile(lambda word: word not in (">", "|"), shlex.split(line, comments=True)))
    if words[0] == "sudo":
        words = words[1:]
    return words[1:] if words[0] in (".venv/bin/polarlab", "polarlab") else None


def page_lines(path: Path) -> list[str]:
    """Returns the command lines of all shell blocks of a document, but those in loops and here-documents."""
    shell = [block for block in blocks(path) if block.kind == "sh" and not block.is_script()]
    return [line for block in shell for line in command_lines(block)]


def named_files(path: Path) -> set[str]:
    """Returns the files and folders of the project that a document names in backticks or links to."""
    text = _BLOCK.sub("", path.read_text())
    quoted = re.findall(rf"`((?:{FOLDERS})/(?:\w+/)*(?:\w+\.\w+)?)`", text)
    linked = set(re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text))
    return {*quoted, *(str((path.parent / link).resolve().relative_to(ROOT)) for link in linked)}
