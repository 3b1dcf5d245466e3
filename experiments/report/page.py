"""Report: one HTML page with figures, tables and validity of results of any kind.

The page is a single file with embedded figures and script; it makes no network requests.
"""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name

from jinja2 import Environment, PackageLoader

from experiments.figures.look import PLAIN, Look, drawn_as
from experiments.report.model import Page
from experiments.results.kinds import Results
from experiments.results.tables import reporting_corruption
from experiments.results.text import readable
from topology.errors import NO_WRITE_ACCESS, MachineError
from topology.files.writing import check_new, open_folder, write_new

REPORT = "report.html"


def write_report(results: Results, path: Path | None = None, look: Look = PLAIN) -> Path:
    """Writes the report of results with new figures, and returns the file.

    Args:
        results: the results.
        path: new file; by default `report.html` in the folder, which is overwritten.
        look: style of the figures.

    Raises:
        UsageError: the results are damaged, or the file exists.
        MachineError: the folder is not writable.
        OSError: the file cannot be written.
    """
    if path is not None:
        check_new(path)
    page_of = resolve_name(results.kind.page)
    with reporting_corruption(results.folder), drawn_as(look):
        text = rendered(page_of(results))
    if path is None:
        path = results.folder / REPORT
        try:
            open_folder(results.folder).write(REPORT, text.encode(errors="replace"))
        except OSError as error:
            if error.errno not in NO_WRITE_ACCESS:  # folders of runs belong to root
                raise
            raise MachineError(
                f"{path} cannot be written ({error.strerror}); choose another file with --out, or use sudo"
            ) from None
    else:
        write_new(path, text.encode(errors="replace"))
    return path


def rendered(page: Page) -> str:
    """Renders a page as HTML.

    Args:
        page: its content.
    """
    return _environment().get_template("page.html").render(page=page)


def _environment() -> Environment:
    loader = PackageLoader("experiments.report")
    environment = Environment(loader=loader, autoescape=True)
    environment.filters |= {"readable": readable, "short": _short}
    return environment


def _short(text: str) -> str:
    """Formats a number with four digits; returns other text unchanged."""
    try:
        return text if text.isdecimal() else f"{float(text):.4g}"
    except ValueError:
        return text
