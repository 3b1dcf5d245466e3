"""A copy of the project with what docs/how-to/extending.md adds to it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from support.builders.checkout import copy_project
from support.fixtures.documents import ROOT, Block, blocks

PAGE = ROOT / "docs" / "how-to" / "extending.md"


def make_extended_copy(folder: Path) -> Path:
    """Copies the project into a folder, and adds the page's files and lines; returns the copy."""
    copy = copy_project(folder / "extended")
    for block in blocks(PAGE):
        if block.kind in ("python", "py"):
            path = copy / _place(block)
            assert path.exists() == (block.kind == "py"), path
            path.write_text(_with(path.read_text(), block.text) if block.kind == "py" else block.text)
    sort = [sys.executable, "-m", "ruff", "check", "--quiet", "--select", "I", "--fix"]
    subprocess.run([*sort, "topology", "routing", "traffic"], cwd=copy, check=True)
    shell = {**os.environ, "PYTHONPATH": str(copy)}
    subprocess.run([sys.executable, "tests/messages.py"], cwd=copy, env=shell, check=True)
    return copy


def _place(block: Block) -> str:
    """Returns the path of the file that the text before a block names."""
    return re.findall(r"`([\w/]+\.py)`:$", block.before)[0]


def _with(source: str, added: str) -> str:
    """Returns a module with further imports, and with functions at its end or lines of its `_OWN`."""
    lines = added.splitlines(keepends=True)
    imports = "".join(line for line in lines if line.startswith("from "))
    rest = "".join(line for line in lines if not line.startswith("from ")).lstrip("\n")
    first = source.index("\nfrom ", source.index("from __future__") + 1) + 1
    source = source[:first] + imports + source[first:]
    if rest.startswith("def "):
        return f"{source}\n\n{rest}"
    end = source.index("\n}\n", source.index("\n_OWN")) + 1
    return source[:end] + rest + source[end:]
