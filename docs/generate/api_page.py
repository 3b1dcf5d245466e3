"""Reference of the Python API, made of the names that `polarlab` and `polarlab.extend` export."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import Any

from markdown_text import plain, table

import polarlab
import polarlab.extend

# Page -> its title and names. Every public name is on one page.
_SUBJECTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "api-graphs": (
        "graphs",
        (
            *("topology", "from_networkx", "families", "nearest_members", "numbers", "designs", "draw"),
            *("export", "Topology", "GraphNumbers", "NearestMember", "Listing"),
        ),
    ),
    "api-plans": (
        "plans, proofs and predictions",
        (
            *("plan", "prove", "prove_deadlock_freedom", "predict", "explain", "rules", "routings"),
            *("patterns", "RoutePlan", "Proof", "DeadlockProof", "Prediction", "Explanation", "SwitchRules"),
        ),
    ),
    "api-experiments": ("experiments", ("run", "sweep", "failover", "schema", "register", "Experiment")),
    "api-fabrics": ("fabrics", ("Fabric", "Host", "CommandResult", "Program")),
    "api-simulation": ("simulation", ("simulate", "saturation", "crosscheck", "Saturation", "Crosscheck")),
    "api-results": (
        "results",
        (
            *("open_results", "plot", "report", "compare", "watch", "Run", "Sweep", "Failover", "Failovers"),
            *("Simulation", "SimulatedSweep", "Comparison", "Figures"),
        ),
    ),
    "api-papers": ("papers", ("papers", "reproduce", "PaperItem", "Reproduction")),
    "api-machine": (
        "machine and errors",
        (
            *("doctor", "clean", "Examination", "Cleaned", "PolarLabError", "UsageError", "ParameterError"),
            *("MachineError", "NegativeResult"),
        ),
    ),
}

_EXTEND = "api-extend"


def api_pages() -> dict[str, str]:
    """Returns the pages as Markdown by name: `api`, the list of all, and a page for each subject."""
    placed = [name for _, names in _SUBJECTS.values() for name in names]
    public = [name for name in polarlab.__all__ if not name.startswith("_")]
    assert sorted(placed) == sorted(public), {*placed} ^ {*public}
    parts = ["# Python API", "This page lists everything that `import polarlab` offers, by subject."]
    pages = {}
    for page, (title, names) in _SUBJECTS.items():
        places = {name: _place(getattr(polarlab, name)) for name in names}
        rows = [
            (f"[`{name}`]({page}.md#{place})", plain(_summary(getattr(polarlab, name))))
            for name, place in places.items()
        ]
        parts += [f"## {title[:1].upper()}{title[1:]}", table(("name", "summary"), rows)]
        pages[page] = (
            "\n\n".join([f"# Python API: {title}", *(f"::: {one}" for one in places.values())]) + "\n"
        )
    parts += [
        "## For plug-ins",
        f"Plug-ins import from [`polarlab.extend`]({_EXTEND}.md); [extending](extending.md) shows how.",
    ]
    pages[_EXTEND] = "\n\n".join(
        [
            "# Python API: plug-ins",
            "This page describes the names that [plug-ins](extending.md) import from `polarlab.extend`.",
            *(
                f"::: {place}"
                for _, place in sorted(_extension_places().items(), key=lambda one: one[0].lower())
            ),
            "",
        ]
    )
    return {"api": "\n\n".join(parts) + "\n", **pages}


def _extension_places() -> dict[str, str]:
    """Returns name in `polarlab.extend` -> full name, with the module that defines it."""
    imports = ast.parse(inspect.getsource(polarlab.extend)).body
    return {
        one.name: f"{line.module}.{one.name}"
        for line in imports
        if isinstance(line, ast.ImportFrom)
        for one in line.names
        if one.name in polarlab.extend.__all__
    }


def _place(item: Any) -> str:
    """Returns the full name of an object, by which mkdocstrings finds it."""
    return f"{inspect.getmodule(item).__name__}.{item.__name__}"  # type: ignore[union-attr]


def _summary(item: Any) -> str:
    """Returns the first paragraph of an object's docstring."""
    return (inspect.getdoc(item) or "").partition("\n\n")[0]
