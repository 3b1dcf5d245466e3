"""`polarlab paper`: figures and tables of papers, computed and compared with the papers' claims."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polarlab
from polarlab.cli.console import print_result, print_rows, print_table, print_text
from polarlab.cli.progress import ConsoleProgress
from polarlab.process import Status

if TYPE_CHECKING:
    from polarlab.api.analysis.papers import CheckedClaim, ReproducedItem

SUMMARY = "figures and tables of papers, computed and compared with the papers' claims"
EXAMPLES = (
    "polarlab paper polarfly fig2",
    "polarlab paper list",
    "polarlab paper polarfly fig14 --seeds 20 --json",
    "polarlab paper polarfly fig8 --quick",
    "polarlab paper polarfly fig8 --curves PF-MIN,PF-UGAL_PF",
    "polarlab paper polarfly all --quick --out results/polarfly-paper",
)
_LISTED = ("item", "title", "claims", "computed")
_COLUMNS = ("claim", "section", "paper", "ours", "tolerance", "within", "note")
_BOUNDS = {"equal": "", "at-least": ">= ", "at-most": "<= "}


def run(arguments: argparse.Namespace) -> Status:
    """Prints claims with computed numbers; returns NEGATIVE if a number disagrees without a note."""
    from polarlab.api.analysis.papers import LIST
    from polarlab.api.command_line.events import Unthrottled

    if arguments.paper == LIST:
        _check_list(arguments)
        rows = [vars(one) for one in polarlab.papers()]
        shown = [{**row, "computed": "yes" if row["computed"] else "no"} for row in rows]
        print_rows(arguments, "items", rows if arguments.json else shown, _LISTED, by="paper")
        return Status.DONE
    if arguments.item is None:
        raise polarlab.UsageError(_missing_item(arguments.paper))
    if arguments.estimate:
        return _print_estimate(arguments)
    with ConsoleProgress() as progress:
        progress.begin(f"computing {arguments.paper} {arguments.item}")
        found = polarlab.reproduce(
            arguments.paper,
            arguments.item,
            quick=arguments.quick,
            seeds=arguments.seeds,
            out=arguments.out,
            workers=arguments.workers,
            scheduler=arguments.scheduler,
            cluster_tls=arguments.cluster_tls,
            insecure_cluster=arguments.insecure_cluster,
            progress=Unthrottled(progress),
            prices=arguments.prices,
            curves=_curves(arguments),
        )
    if arguments.json:
        items = [
            {name: value for name, value in vars(item).items() if name != "claims"} for item in found.items
        ]
        claims = [vars(claim) for claim in found.claims]
        report = None if found.report is None else str(found.report)
        result = {"paper": found.paper, "out": str(found.folder), "report": report, "skipped": found.skipped}
        print_result(arguments, {**result, "items": items, "claims": claims})
    else:
        _print(found)
    return Status.DONE if found.agrees else Status.NEGATIVE


def _print_estimate(arguments: argparse.Namespace) -> Status:
    from polarlab.api.analysis.papers import estimate_paper

    found = estimate_paper(
        arguments.paper,
        arguments.item,
        quick=arguments.quick,
        seeds=arguments.seeds,
        out=arguments.out,
        curves=_curves(arguments),
        workers=arguments.workers,
    )
    print_result(arguments, vars(found) if arguments.json else found.words())
    return Status.DONE


def _curves(arguments: argparse.Namespace) -> list[str] | None:
    return arguments.curves.split(",") if arguments.curves is not None else None


def _check_list(arguments: argparse.Namespace) -> None:
    """Raises UsageError if `paper list` is combined with a figure or table, or with an option for one."""
    places = ("workers", "scheduler", "cluster-tls", "insecure-cluster")
    options = ("quick", "seeds", "curves", "out", "prices", "estimate", *places)
    if given := [f"--{name}" for name in options if getattr(arguments, name.replace("-", "_"))]:
        raise polarlab.UsageError(f"paper list does not accept {given[0]}")
    if arguments.item is not None:
        raise polarlab.UsageError(f"paper list shows all items; leave {arguments.item!r} out")


def _missing_item(paper: str) -> str:
    """Returns the error message for a command line that names a paper but no figure or table of the paper."""
    names = [one.item for one in polarlab.papers() if one.paper == paper and one.computed]
    return (
        f"paper {paper} needs an item, one of {', '.join([*names, 'all'])}"
        if names
        else (
            f"paper must be one of {', '.join(dict.fromkeys(one.paper for one in polarlab.papers()))}, "
            f"got {paper!r}; `polarlab paper list` shows all items"
        )
    )


def _print(found: polarlab.Reproduction) -> None:
    """Prints, for each figure or table, its claims as a table and the names of its files."""
    for item in found.items:
        print_text(f"{found.paper} {item.item}: {item.title}")
        if item.claims:
            print_table([_row(claim) for claim in item.claims], _COLUMNS)
        time = ", already complete, not computed again" if item.resumed else f", {item.seconds:.1f} s"
        if item.remark:
            print_text(item.remark)
        if item.missing:
            print_text(f"simulation not complete: {'; '.join(item.missing)}")
        print_text(f"files: {found.folder / item.item}.*{time}{_simulations(item)}")
        print()
    if found.skipped:
        print_text(f"left out because they have no simulated curves: {', '.join(found.skipped)}")
    if found.report is not None:
        later = [one for one in polarlab.papers() if one.paper == found.paper and not one.computed]
        if later:
            names = "; ".join(f"{one.item} ({one.title})" for one in later)
            print_text(f"not computed by PolarLab: {names}")
        print_text(f"page with all items: {found.report}")
    if found.claims:
        _print_sum(found)


def _simulations(item: ReproducedItem) -> str:
    """Returns the time of a figure's simulations in words; empty if the figure has none."""
    if item.core_seconds is None:
        return ""
    return f", simulations {item.core_seconds:.1f} s on one core"


def _print_sum(found: polarlab.Reproduction) -> None:
    """Prints how many of the claims agree."""
    from polarlab.api.analysis.papers import OTHER_PRICES

    computed = [claim for claim in found.claims if claim.within is not None]
    other = sum(claim.note == OTHER_PRICES for claim in found.claims)
    agreeing = sum(claim.within is True for claim in computed)
    unexplained = sum(claim.unexplained for claim in computed)
    print_text(
        f"{agreeing} of {len(computed)} computed claims within their tolerances, "
        f"{len(computed) - agreeing - unexplained} outside with a note, {unexplained} without a note; "
        f"{len(found.claims) - len(computed) - other} not computed"
        + (f", {other} with {OTHER_PRICES}" if other else "")
    )


def _row(claim: CheckedClaim) -> Mapping[str, Any]:
    """Returns column -> cell for a claim and its computed number."""
    ours = "-" if claim.value is None else f"{claim.value:.6g}"
    if claim.interval:
        ours += f" ({claim.interval[0]:.4g} to {claim.interval[1]:.4g})"
    return {
        **vars(claim),
        "paper": f"{_BOUNDS[claim.bound]}{claim.paper:g}",
        "ours": ours,
        "tolerance": f"{claim.tolerance:g}",
        "within": {True: "yes", False: "no", None: "-"}[claim.within],
    }
