"""Figures and pages of results, or of their folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from experiments.results.figures import Figures, LookOptions
from experiments.results.kinds import Results, folder_of
from experiments.results.open import keeps_items, open_results


def plot(
    results: Results | Path | str,
    *,
    format: str | Sequence[str] | None = None,
    width: str | float | None = None,
    title: bool = True,
    order: str | Sequence[str] = (),
    x: str = "",
    booksim: bool = False,
) -> Figures:
    """Returns the figures of results; `save()` writes them into their folder.

    Args:
        results: results, or their folder; or a folder of `polarlab paper`, whose figures are drawn from the
            data there.
        format: formats that `save` writes, among png, svg and pdf, as a comma-separated string or a list;
            None for png and svg.
        width: width in inches, or as a string with a unit, such as `3.3in` or `84mm`; text, lines and panels
            adapt to it; None for the default width of each kind of figure.
        title: whether figures have titles.
        order: panels and curves that come first, by name, such as `uniform,ugal-pf`.
        x: key of `--vary` on the horizontal axis of a sweep, or `load`; empty for the load if it varies,
            otherwise for the first key with numbers.
        booksim: whether to add points of the PolarFly authors' simulator to the figure of a sweep; they exist
            for ER_5 with 3 hosts per router.

    Raises:
        ParameterError: the folder has no results, or damaged ones; or an option does not fit them.

    Examples:
        With the results of a run in results/tornado:

        >>> plot("results/tornado", width="3.3in", title=False)
        <figures: throughput, latency, links>
    """
    folder = folder_of(results)
    look: LookOptions = {"width": width, "title": title, "order": order, "x": x, "booksim": booksim}
    if keeps_items(folder):
        from experiments.figures.look import Look
        from experiments.papers.kept import kept_figures

        chosen = Look.of(format, **look)
        return Figures(kept_figures(folder, chosen), folder, chosen.formats)
    return open_results(folder).plot(format=format, **look)


def report(
    results: Results | Path | str, path: Path | str | None = None, **look: Unpack[LookOptions]
) -> Path:
    """Writes one page of HTML with the figures and tables of results, and returns the file.

    Args:
        results: results, or their folder.
        path: new file; by default `report.html` in the folder, which may be replaced.
        look: options of `polarlab.plot`.

    Raises:
        UsageError: the folder has no results, or damaged ones; or the file exists.
        OSError: the file cannot be written.

    Examples:
        With the results of a run in results/tornado:

        >>> report("results/tornado", "tornado.html").name
        'tornado.html'
    """
    return open_results(folder_of(results)).report(path, **look)
