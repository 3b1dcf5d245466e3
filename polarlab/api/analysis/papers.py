"""Papers: their figures and tables, and their claims compared with computed numbers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.events.base import OnEvent, ignore
from experiments.events.notices import Notice
from experiments.events.pace import paced
from experiments.papers.claims import PAPERS, claims_of
from experiments.papers.model import Item, Scale
from experiments.papers.options import ALL, LIST, NONE, OTHER_PRICES
from experiments.papers.performance.model import AnyItem, ComputeSettings, SimulatedItem
from experiments.papers.prices import prices_digest, read_prices
from experiments.papers.registry import (
    ITEMS,
    LEFT_OUT,
    check_paper,
    is_by_chance,
    is_priced,
    item_of,
    items_of_all,
    sends_real_packets,
)
from experiments.papers.reproduction import (
    CheckedClaim,
    NoPointsError,
    ReproducedItem,
    check_labels,
    reproduce_item,
)
from experiments.points.estimate import Estimate
from experiments.results.frames import Rows, Table
from experiments.results.run_directory import kept_directory
from experiments.simulation.address import check_address
from experiments.spec.options import option_of
from polarlab.api.arguments import checked_scheduler
from polarlab.api.requests import Folder
from topology.costs.prices import Prices
from topology.errors import ParameterError, UsageError

__all__ = ["LIST", "OTHER_PRICES", "CheckedClaim", "ReproducedItem"]  # for the command line


@dataclass(frozen=True)
class PaperItem:
    """A figure, a table or a section of a paper.

    Attributes:
        paper: name of the paper.
        item: the figure, table or section, such as `fig12`.
        title: content of the item; if the item is not computed, the reason, or its place in the paper.
        claims: number of its claims.
        computed: whether `reproduce` computes it.

    Examples:
        >>> items = {one.item: one for one in papers() if one.paper == "polarfly"}
        >>> items["table5"].title, items["table5"].claims, items["table5"].computed
        ('Sizes of the simulated networks', 12, True)
    """

    paper: str
    item: str
    title: str
    claims: int
    computed: bool


def papers() -> Rows[PaperItem]:
    """Returns the figures, tables and sections of the papers, including those that are not computed.

    Examples:
        >>> [one.item for one in papers() if one.paper == "polarfly"][:3]
        ['fig1', 'fig2', 'clusters']
    """
    rows = []
    for paper in PAPERS:
        claims = claims_of(paper)
        left_out = LEFT_OUT.get(paper, {})
        for name in dict.fromkeys([*(claim.item for claim in claims), *ITEMS[paper], *left_out]):
            of_item = [claim for claim in claims if claim.item == name]
            computed = ITEMS[paper].get(name)
            title = computed.title if computed else left_out.get(name) or of_item[0].section
            rows.append(PaperItem(paper, name, title, len(of_item), computed is not None))
    return Rows(rows)


@dataclass(frozen=True, repr=False)
class Reproduction(Table):
    """Computed figures, tables and sections of a paper with their claims; keys as in `paper --json`.

    Attributes:
        paper: name of the paper.
        folder: folder of the files.
        items: the figures, tables and sections.
        report: the page with all of them; None if a single one was requested.
        skipped: names of items without simulated curves; only for `all` with a selection of curves.

    Examples:
        >>> found = reproduce("polarfly", "table5", out="results/table5")
        >>> found.items[0].title, found.agrees
        ('Sizes of the simulated networks', True)
        >>> found.claims[0].value, found.claims[0].paper
        (993.0, 993.0)
    """

    paper: str
    folder: Path
    items: tuple[ReproducedItem, ...]
    report: Path | None = None
    skipped: tuple[str, ...] = ()

    @property
    def claims(self) -> list[CheckedClaim]:
        """The claims of all these figures and tables."""
        return [claim for item in self.items for claim in item.claims]

    @property
    def agrees(self) -> bool:
        """Whether every computed number is within the tolerance, or has a note that explains why not."""
        return not any(claim.unexplained for claim in self.claims)

    def rows(self) -> list[Mapping[str, Any]]:
        """Returns a row for each claim, as column -> value."""
        return [vars(claim) for claim in self.claims]


def reproduce(  # noqa: PLR0913  # the options of `polarlab paper`
    paper: str,
    item: str,
    *,
    quick: bool = False,
    seeds: int | None = None,
    out: Folder | None = None,
    prices: Folder | None = None,
    progress: OnEvent = ignore,
    workers: int | None = None,
    scheduler: str | None = None,
    cluster_tls: Folder | None = None,
    insecure_cluster: bool = False,
    curves: Iterable[str] | None = None,
) -> Reproduction:
    """Computes a figure or a table of a paper, and compares it with the paper's claims.

    Items and simulated points that are complete in the folder are not computed again. With `all`, the
    folder also gets a page, `report.html`.

    Args:
        paper: name of the paper, such as `polarfly`.
        item: figure, table or section, such as `fig12`; `all` for everything that can be computed (items with
            real packets only if this process runs as root).
        quick: whether to use fewer sizes and runs, and smaller networks in simulations.
        seeds: number of random failure orders, of bisection searches, or of simulations per point,
            1 to 10000; None for the default of the figure or table.
        out: folder of the files; by default one in results/papers/, named after the paper and these options.
        prices: file of the prices of routers and cables (docs/how-to/costs.md); None for the paper's prices.
        progress: callback for progress events, at most one every 5 s during a long activity; `print` works.
        workers: local processes that simulate; None for one per core.
        scheduler: address of the scheduler of a dask.distributed cluster that simulates instead, such
            as `tcp://HOST:PORT`.
        cluster_tls: folder with ca.pem, certificate.pem and key.pem, for a scheduler at `tls://HOST:PORT`.
        insecure_cluster: whether to trust a remote scheduler without TLS, or any scheduler as root: a cluster
            can run code in this process.
        curves: labels of the curves to simulate, such as `PF-UGAL`, or `PF-UGAL:tornado` for one pattern;
            None for all. Other curves show only points that the folder already has, and claims on incomplete
            curves are not computed.

    Raises:
        UsageError: the paper, the item or a curve is unknown, the item is not computed, an option (prices,
            curves, seeds, simulations) does not apply to the item, or there are no simulated points.
        ParameterError: `seeds` or `quick` is outside its domain, the prices are wrong, or the folder has the
            item with other options.
        MachineError: a network does not fit into the memory, the scheduler does not answer, or the item sends
            real packets and this process does not run as root.
        KeyboardInterrupt: Ctrl-C; the folder has the points simulated until then.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found = reproduce("polarfly", "table5", out=folder)
        >>> found.agrees, found.claims[0].value
        (True, 993.0)
    """
    check_paper(paper)
    _check_types(quick, out, progress)
    single = None if item == ALL else item_of(paper, item)
    if seeds is not None:
        option_of("seeds", "paper").check(seeds)
    if single is not None:
        _check_uses(f"{paper} {item}", single, seeds, scheduler)
    cluster = checked_scheduler(workers, scheduler, cluster_tls, insecure_cluster)
    scale = Scale(quick, seeds, _prices(paper, item, prices))
    folder = _default_folder(paper, scale) if out is None else Path(out)
    labels = _labels(curves)
    # A selection of curves is about simulations, so it leaves out real packets.
    names = items_of_all(paper, real=os.geteuid() == 0 and labels is None) if item == ALL else [item]
    if labels is not None:
        check_labels([(name, item_of(paper, name)) for name in names], scale, sorted(labels))
    with kept_directory(folder, resume=True) as directory:
        settings = ComputeSettings(directory, workers, cluster, paced(progress), labels)
        found = {}
        for number, name in enumerate(names, start=1):
            if item == ALL:
                settings.on_event(
                    Notice(
                        "item-begun",
                        paper=paper,
                        item=name,
                        title=item_of(paper, name).title,
                        number=number,
                        items=len(names),
                    )
                )
            found[name] = _item(paper, name, scale, settings, needed=item != ALL)
        items = tuple(one for one in found.values() if one is not None)
        report = None
        if item == ALL:
            from experiments.report.page import REPORT, rendered
            from experiments.report.papers import paper_page

            directory.write_text(REPORT, rendered(paper_page(paper, items, scale, folder)))
            report = folder / REPORT
        skipped = tuple(name for name, one in found.items() if one is None)
        return Reproduction(paper, folder, items, report, skipped)


def estimate_paper(
    paper: str,
    item: str,
    *,
    quick: bool = False,
    seeds: int | None = None,
    out: Folder | None = None,
    curves: Iterable[str] | None = None,
    workers: int | None = None,
) -> Estimate:
    """Estimates the points, time and memory that `reproduce` would need; nothing is run or written.

    Only simulated curves have an estimate.

    Args:
        paper: name of the paper.
        item: figure, table or section, or `all`.
        quick: whether to simulate smaller networks.
        seeds: number of simulations per point; None for the default of the figure or table.
        out: folder of the files, which may already have points.
        curves: labels of the curves to simulate; None for all.
        workers: local processes; None for one per core.

    Raises:
        UsageError: as for `reproduce`.
    """
    check_paper(paper)
    single = None if item == ALL else item_of(paper, item)
    if seeds is not None:
        option_of("seeds", "paper").check(seeds)
    if single is not None:
        _check_uses(f"{paper} {item}", single, seeds, None)
    checked_scheduler(workers, None, None, insecure=False)
    scale, labels = Scale(quick, seeds), _labels(curves)
    names = items_of_all(paper, real=False) if item == ALL else [item]
    items = [(name, item_of(paper, name)) for name in names]
    if labels is not None:
        check_labels(items, scale, sorted(labels))
    simulated = [one for _, one in items if isinstance(one, SimulatedItem)]
    others = [name for name, one in items if not isinstance(one, SimulatedItem)]
    from experiments.papers.performance.curves import estimate_curves  # importing it compiles the simulator

    folder = _default_folder(paper, scale) if out is None else Path(out)
    of_items = dict.fromkeys(curve for one in simulated for curve in one.curves(scale))
    found = estimate_curves([*of_items], scale, folder, labels, workers)
    if not simulated:
        return replace(found, seconds=None, core_seconds=None, basis="no simulated curves")
    return replace(found, basis=f"{found.basis}; without {', '.join(others)}") if others else found


def _check_types(quick: bool, out: Folder | None, progress: OnEvent) -> None:
    """Raises UsageError or ParameterError if an argument of `reproduce` has the wrong type."""
    if not isinstance(quick, bool):
        raise ParameterError(f"quick must be True or False, got {quick!r}")
    if not callable(progress):
        raise ParameterError(f"progress must be a function that takes an event, got {progress!r}")
    if out is not None and (not isinstance(out, str | os.PathLike) or not os.fspath(out)):
        raise UsageError(f"out must be a folder, got {out!r}")


def _check_uses(name: str, item: AnyItem, seeds: int | None, scheduler: str | None) -> None:
    """Raises UsageError if the seeds or the scheduler do not apply to a figure or table."""
    if seeds is not None and not is_by_chance(item):
        raise UsageError(f"--seeds needs a figure or table that depends on chance, got {name}")
    if scheduler is not None:
        check_address(scheduler)
    if scheduler is not None and (isinstance(item, Item) or sends_real_packets(item)):
        raise UsageError(f"--scheduler needs a simulated figure or table, got {name}")


def _item(
    paper: str, name: str, scale: Scale, settings: ComputeSettings, *, needed: bool
) -> ReproducedItem | None:
    """Computes a figure or table of a paper and compares it with the paper's claims.

    Args:
        paper: name of the paper.
        name: the figure, table or section, such as `fig12`.
        scale: the scale.
        settings: the folder, and the processes that simulate.
        needed: whether it is an error (NoPointsError) if the folder has no points of the item and none are to
            be simulated; otherwise, None is returned.
    """
    try:
        return reproduce_item(paper, name, scale, settings)
    except NoPointsError:
        if needed:
            raise
        return None


def _labels(curves: Iterable[str] | None) -> frozenset[str] | None:
    """Returns the labels of the curves to simulate as a set: empty for `none`, None for all.

    Raises:
        UsageError: the argument is neither a list of labels nor None.
    """
    if curves is None:
        return None
    if isinstance(curves, str) or not isinstance(curves, Iterable):
        raise UsageError(f"curves must be a list of labels, got {curves!r}")
    labels = frozenset(map(str, curves))
    return frozenset() if labels == {NONE} else labels


def _prices(paper: str, item: str, path: Folder | None) -> Prices | None:
    """Reads the prices in a file; raises UsageError if no requested figure or table depends on prices."""
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"prices must be a file, got {path!r}")
    names = list(ITEMS[paper]) if item == ALL else [item]
    priced = [f"{of} {key}" for of, items in ITEMS.items() for key, one in items.items() if is_priced(one)]
    if not {f"{paper} {name}" for name in names} & {*priced}:
        raise UsageError(f"--prices only applies to {', '.join(priced)}, got {paper} {item}")
    return read_prices(Path(path))


def _default_folder(paper: str, scale: Scale) -> Path:
    """Returns the default output folder of a paper, named after the paper, scale, seeds and prices."""
    parts = [paper, *(["quick"] if scale.quick else []), *([f"seeds{scale.seeds}"] if scale.seeds else [])]
    parts += [f"prices-{prices_digest(scale.prices)}"] if scale.prices else []
    return Path("results", "papers", "-".join(parts))
