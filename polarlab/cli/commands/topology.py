"""`polarlab topology`: a graph's numbers, file and figure; the list of families."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polarlab.cli.console import print_result, print_rows, print_table
from polarlab.cli.progress import shown_if_long
from topology.errors import UsageError
from topology.exit_status import Status

if TYPE_CHECKING:
    from topology.base import Topology

SUMMARY = "sizes, degrees and diameter of a graph"
EXAMPLES = (
    "polarlab topology polarfly --q 7",
    "polarlab topology --list",
    "polarlab topology polarstar --radix 15 --designs",
    "polarlab topology polarfly --q 7 --export graphml er7.graphml",
    "polarlab topology slimfly --q 5 --figure slimfly.png",
)


def run(arguments: argparse.Namespace) -> Status:
    """Prints a graph's numbers, and writes its file and figure if asked for."""
    if arguments.list or arguments.designs:
        if arguments.export or arguments.figure:
            raise UsageError("--list and --designs have no file or figure; leave --export and --figure out")
        return _list_families(arguments) if arguments.list else _list_designs(arguments)
    experiment = arguments.experiment
    if experiment is None:
        raise UsageError("topology must be given; `polarlab topology --list` names the families")
    hosts = experiment.complete.values["hosts"]
    _check_files(arguments)
    with shown_if_long("computing the graph"):
        topology = experiment.topology
        _write_files(arguments, topology, experiment.family, hosts)
        numbers = _numbers(experiment.family, topology, hosts)
    print_result(arguments, numbers)
    return Status.DONE


def _check_files(arguments: argparse.Namespace) -> None:
    """Raises UsageError unless both files can be new ones; nothing is computed or written before."""
    if arguments.export:
        from experiments.results.run_directory import check_new
        from experiments.theory.export import check_format

        check_format(arguments.export[0])
        path = Path(arguments.export[1])
        check_new(path)
        if arguments.figure and path.resolve() == arguments.figure.resolve():
            raise UsageError(f"--export and --figure must be two files, got {path} for both")
    if arguments.figure:
        from experiments.figures.style import check_figure

        check_figure(arguments.figure)


def _write_files(arguments: argparse.Namespace, topology: Topology, family: str, hosts: int) -> None:
    if arguments.export:
        from experiments.theory.export import export

        export(topology, hosts, arguments.export[0], Path(arguments.export[1]))
    if arguments.figure:
        from experiments.figures.fabric import draw_topology
        from experiments.results.text import parameters

        name = f"{family} ({parameters(topology.params)})"
        title = f"{name}: {topology.routers} routers, {topology.links} links"
        draw_topology(topology, title, arguments.figure)


def _numbers(name: str, topology: Topology, hosts: int) -> dict[str, Any]:
    """Returns a graph's numbers by the keys of the outside contract."""
    import numpy as np

    degrees, counts = np.unique(topology.degrees, return_counts=True)
    return {
        "name": name,
        "params": dict(topology.params),
        "routers": topology.routers,
        "links": topology.links,
        "degrees": {str(d): int(n) for d, n in zip(degrees, counts, strict=True)},
        "diameter": topology.diameter,
        "average_path_length": round(topology.average_path_length, 6),
        "moore_efficiency": round(topology.moore_efficiency, 6),
        "endpoints": topology.endpoints(hosts),
        "next_hop_rules": {"with_masks": topology.next_hop_rules, "one_per_router": topology.routers - 1},
    }


def _list_families(arguments: argparse.Namespace) -> Status:
    from topology.registry import FAMILIES

    families: list[Mapping[str, str]] = [
        {
            "name": name,
            "parameters": " ".join(
                f"--{p.name}" if p.required else f"[--{p.name}]" for p in family.parameters
            ),
            "summary": family.summary,
            "example": family.example,
        }
        for name, family in FAMILIES.items()
    ]
    print_rows(arguments, "families", families, ("name", "parameters", "summary", "example"))
    return Status.DONE


def _list_designs(arguments: argparse.Namespace) -> Status:
    from topology.families.polarstar import PolarStar, designs_of_radix

    experiment = arguments.experiment
    given = dict(experiment.params) if experiment else {}
    radix, supernode = given.pop("radix", None), given.pop("supernode", None)
    if experiment is None or experiment.family != PolarStar.name or radix is None or given:
        raise UsageError(
            "--designs lists the polarstars of a radix (and a --supernode): "
            "polarlab topology polarstar --radix 15 --designs"
        )
    designs = [
        {"routers": d.routers, "q": d.q, "supernode": d.supernode, "degree": d.degree}
        for d in designs_of_radix(radix, supernode)
    ]
    if arguments.json:
        print_result(arguments, {"radix": radix, "designs": designs})
    else:
        print_table(designs, ("routers", "q", "supernode", "degree"))
    return Status.DONE
