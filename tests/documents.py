"""Documents whose commands are run as they stand: their blocks, and how a command line becomes a process."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of a document, and the line of text before it."""

    kind: str
    text: str
    before: str


def blocks(path: Path) -> list[Block]:
    """Returns the fenced blocks of a Markdown document."""
    text = path.read_text()
    found = []
    for match in _BLOCK.finditer(text):
        before = text[: match.start()].rstrip().rsplit("\n", 1)[-1]
        found.append(Block(match[1], match[2], before))
    return found


def command_lines(block: Block) -> list[str]:
    """Returns the lines of a block of shell commands, continued ones joined, without comments."""
    joined = block.text.replace("\\\n", " ")
    return [line for line in map(str.strip, joined.splitlines()) if line and not line.startswith("#")]


def polarlab_words(line: str) -> list[str] | None:
    """Returns what follows `.venv/bin/polarlab` in a command line; None of other commands."""
    words = shlex.split(line, comments=True)
    if words[0] == "sudo":
        words = words[1:]
    return words[1:] if words[0] in (".venv/bin/polarlab", "polarlab") else None
