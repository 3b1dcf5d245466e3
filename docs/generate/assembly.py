"""Assembly of the documentation's pages: `python docs/generate/assembly.py [FOLDER]`, by default build/docs/.

The folder then holds the pages of docs/ and those that follow from the code: the start page (README.md), the
references of the command line, of names and of the Python API, the notebooks and the changelog. A page of
docs/ that has such a name only says to readers of a checkout where the page is. `make docs` builds the site.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from api_page import api_pages
from command_page import command_line_page
from names_page import names_page, printed
from notebook_page import notebook_page
from schema_page import schema_page

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("figures", "assets")
_FOLDERS = "tutorial|how-to|reference|explanation|lab"


def assemble(folder: Path) -> None:
    """Empties a folder and writes all pages to it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in COPIED:
        shutil.copytree(ROOT / "docs" / name, folder / name)
    for page in (ROOT / "docs").glob("*/*.md"):
        (folder / page.name).write_text(from_docs(page))
    for notebook in notebooks():
        (folder / notebook_file(notebook)).write_text(notebook_page(notebook, folder))
    pages = {
        "index.md": from_root(ROOT / "README.md"),
        "changelog.md": from_root(ROOT / "CHANGELOG.md"),
        "command-line.md": command_line_page(),
        "names.md": names_page(),
        "experiment-keys.md": schema_page(printed("schema")),
        **{f"{name}.md": text for name, text in api_pages().items()},
    }
    for name, text in pages.items():
        (folder / name).write_text(text)


def notebooks() -> list[Path]:
    """Returns the notebooks of the project."""
    return sorted((ROOT / "examples").glob("*.ipynb"))


def notebook_file(notebook: Path) -> str:
    """Returns the file of a notebook's page."""
    return f"{notebook.stem}.md"


def from_docs(page: Path) -> str:
    """Returns a page of docs/ with its links adapted to the site, where all pages are in one folder."""
    text = re.sub(r"\]\(\.\./\.\./examples/(\w+)\.ipynb\)", r"](\1.md)", page.read_text())
    return re.sub(rf"\]\(\.\./(?:(?:{_FOLDERS})/)?", "](", text)


def from_root(document: Path) -> str:
    """Returns a document of the project's root as a page: links to other files than pages become names."""
    text = re.sub(rf"\]\(docs/(?:(?:{_FOLDERS})/)?", "](", document.read_text())
    return re.sub(r"\[([^\]]+)\]\((?!https?:|figures/)[^)#]*(?<!\.md)\)", r"`\1`", text)


if __name__ == "__main__":
    assemble(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "docs")
