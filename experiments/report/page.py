"""Report: one page of HTML with the figures, tables and validity of results of any kind.

The page is one file: figures and script are in it, and it asks nothing of any server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader

from experiments.figures.look import PLAIN, Look, drawn_as
from experiments.report.failover import failover_page, failovers_page
from experiments.report.model import Page
from experiments.report.run import run_page
from experiments.report.simulation import simulation_page
from experiments.report.sweep import sweep_page
from experiments.results.open import Failover, Failovers, Run, SimulatedSweep, Simulation, Sweep, open_results
from experiments.results.tables import damage_named
from experiments.results.text import readable
from topology.errors import MachineError
from topology.files.writing import check_new, open_folder, write_new

REPORT = "report.html"
# The page of each kind of results.
_PAGES: Mapping[type, Callable[[Any], Page]] = {
    Run: run_page,
    Simulation: simulation_page,
    Sweep: sweep_page,
    SimulatedSweep: sweep_page,
    Failover: failover_page,
    Failovers: failovers_page,
}


def write_report(folder: Path, path: Path | None = None, look: Look = PLAIN) -> Path:
    """Writes the report of a run, a simulation, a sweep or failovers with new figures, and returns the file.

    Args:
        folder: folder of the results.
        path: new file; by default `report.html` in the folder, which may be replaced.
        look: how the figures are drawn.

    Raises:
        UsageError: the folder holds none of these, or damaged results; the file exists.
        MachineError: the folder may not be written.
        OSError: it cannot be written.
    """
    if path is not None:
        check_new(path)
    results = open_results(folder)
    with damage_named(folder), drawn_as(look):
        text = rendered(_PAGES[type(results)](results))
    if path is None:
        path = folder / REPORT
        try:
            open_folder(folder).write(REPORT, text.encode(errors="replace"))
        except PermissionError as error:  # results of a run, whose folder is root's
            raise MachineError(
                f"{path} cannot be written ({error.strerror}); write the page elsewhere by --out, or use sudo"
            ) from None
    else:
        write_new(path, text.encode(errors="replace"))
    return path


def rendered(page: Page) -> str:
    """Returns a page as HTML.

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
    """Returns a number with four digits, another text as it is."""
    try:
        return text if text.isdecimal() else f"{float(text):.4g}"
    except ValueError:
        return text
