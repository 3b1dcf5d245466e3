"""docs/python.md: its blocks of Python run in order, in one namespace, and print what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from typing import Any

from documents import ROOT, Block, blocks

PAGE = ROOT / "docs" / "python.md"
_NEEDS_ROOT = "\n## Experiments\n"


def python_blocks(*, root: bool) -> list[tuple[Block, str | None]]:
    """Returns the blocks of Python, each with the output that the page shows below it, if it does.

    Args:
        root: whether those that need root are among them.
    """
    fences = re.findall("^```", PAGE.read_text().split(_NEEDS_ROOT)[0], re.MULTILINE)
    page = blocks(PAGE) if root else blocks(PAGE)[: len(fences) // 2]
    following = [*page[1:], None]
    return [
        (block, after.text if after and after.kind == "text" else None)
        for block, after in zip(page, following, strict=True)
        if block.kind == "python"
    ]


def run_block(block: Block, names: dict[str, Any]) -> str:
    """Runs a block in a namespace, and returns what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.text, str(PAGE), "exec"), names)
    return printed.getvalue()
