"""`polarlab topology`: prints, exports and draws a graph; lists families."""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polarlab
from polarlab import UsageError
from polarlab.cli.console import print_result, print_rows, print_table
from polarlab.cli.progress import shown_if_long
from polarlab.process import Status

SUMMARY = "sizes, degrees and diameter of a graph"
EXAMPLES = (
    "polarlab topology polarfly --q 7",
    "polarlab topology --list",
    "polarlab topology polarstar --radix 15 --designs",
    "polarlab topology polarfly --q 7 --export graphml er7.graphml",
    "polarlab topology slimfly --q 5 --figure slimfly.png",
    "polarlab topology dragonfly --a 4 --h 2 --classes",
    "polarlab topology polarfly --q 7 --racks",
)

_STANDARD_OUTPUT = "-"
_MAX_CLASSES = 10  # largest number of classes that the text output lists
_MAX_RACKS = 16  # up to this number of racks, the table has the links between every two racks


def run(arguments: argparse.Namespace) -> Status:
    """Prints a graph's numbers, and writes its file and figure if requested."""
    if arguments.list or arguments.designs:
        if arguments.export or arguments.figure or arguments.classes or arguments.racks:
            raise UsageError(
                "--list and --designs cannot be combined with --export, --figure, --classes or --racks"
            )
        return _list_families(arguments) if arguments.list else _list_designs(arguments)
    experiment = arguments.experiment
    if experiment is None:
        raise UsageError("topology must be given; `polarlab topology --list` names the families")
    hosts = experiment.complete_values["hosts"]
    _check_files(arguments)
    from polarlab.api.graphs import exported

    with shown_if_long("computing the graph"):
        topology = experiment.topology
        if arguments.figure:
            polarlab.draw(topology, arguments.figure)
        if _printed(arguments):
            print(exported(topology, hosts, arguments.export[0]), end="")
            return Status.DONE
        if arguments.export:
            polarlab.export(topology, arguments.export[1], arguments.export[0], hosts)
        numbers = polarlab.numbers(topology, hosts, arguments.classes, arguments.racks)
    _print_numbers(arguments, numbers)
    return Status.DONE


def _printed(arguments: argparse.Namespace) -> bool:
    """Returns whether --export writes the graph to standard output, where nothing else may be printed."""
    return bool(arguments.export) and arguments.export[1] == _STANDARD_OUTPUT


def _print_numbers(arguments: argparse.Namespace, numbers: polarlab.GraphNumbers) -> None:
    # Text leaves out numbers that the graph does not have; JSON always has every key.
    every = vars(numbers)
    if not arguments.json:
        every = {k: v for k, v in every.items() if v not in (None, [])}
        if numbers.classes:
            every["classes"] = _classes_in_words(numbers.classes)
        if numbers.racks:
            every["racks"] = _racks_in_words(numbers.racks)
    print_result(arguments, every)
    if numbers.racks and not arguments.json:
        print()
        _print_racks(numbers.racks)


def _racks_in_words(racks: Mapping[str, Any]) -> str:
    """Describes racks and links in words, such as `8 on a floor of 3 x 3: 63 links inside, ...`."""
    sizes = sorted(Counter(bundle["links"] for bundle in racks["bundles"]).items())
    bundles = ", ".join(f"{count} of {links} link{'s' * (links > 1)}" for links, count in sizes)
    return (
        f"{racks['count']} on a floor of {racks['rows']} x {racks['columns']}: {racks['links_inside']} links "
        f"inside, {racks['links_between']} between in {racks['cables']} cables{f' ({bundles})' * bool(sizes)}"
    )


def _print_racks(racks: Mapping[str, Any]) -> None:
    """Prints one row per rack; with few racks, also the number of links to each other rack."""
    to: dict[int, dict[int, int]] = {each["rack"]: {} for each in racks["each"]}
    for bundle in racks["bundles"]:
        a, b = bundle["racks"]
        to[a][b] = to[b][a] = bundle["links"]
    columns = ["rack", "routers", "first", "links", "outside", "cables"]
    if racks["count"] <= _MAX_RACKS:
        columns += [f"to {rack}" for rack in to]
    rows = [
        {
            **each,
            "outside": sum(to[each["rack"]].values()),
            "cables": len(to[each["rack"]]),
            **{f"to {rack}": to[each["rack"]].get(rack, "-") for rack in to},
        }
        for each in racks["each"]
    ]
    print_table(rows, columns)


def _classes_in_words(classes: Mapping[str, Any]) -> str:
    """Describes classes of routers in words: their number, and each class's size and first switch.

    For example, `2: 20 as s1, 10 as s3`.
    """
    every = zip(classes["sizes"], classes["representatives"], strict=True)
    named = [f"{size} as {switch}" for size, switch in itertools.islice(every, _MAX_CLASSES)]
    more = classes["count"] - len(named)
    return f"{classes['count']}: {', '.join(named)}{f', {more} more' if more else ''}"


def _check_files(arguments: argparse.Namespace) -> None:
    """Raises UsageError unless both files can be created, before anything is computed or written."""
    from polarlab.api.graphs import check_drawing, check_export

    if arguments.export:
        format_, path = arguments.export[0], Path(arguments.export[1])
        if _printed(arguments) and (arguments.json or arguments.classes or arguments.racks):
            raise UsageError(
                f"--export {format_} - prints the graph alone; leave --json, --classes and --racks out"
            )
        check_export(path, format_)
        if arguments.figure and path.resolve() == Path(arguments.figure).resolve():
            raise UsageError(f"--export and --figure must be two files, got {path} for both")
    if arguments.figure:
        check_drawing(arguments.figure)


def _list_families(arguments: argparse.Namespace) -> Status:
    families: list[Mapping[str, str]] = [
        {
            "name": family.name,
            "parameters": " ".join(
                f"--{p.name}" if p.required else f"[--{p.name}]" for p in family.parameters
            ),
            "summary": family.summary,
            "example": family.example,
            "group": family.group,
        }
        for family in polarlab.families().values()
    ]
    print_rows(arguments, "families", families, ("name", "parameters", "summary", "example"), by="group")
    return Status.DONE


def _list_designs(arguments: argparse.Namespace) -> Status:
    experiment = arguments.experiment
    given = dict(experiment.params) if experiment else {}
    radix, supernode = given.pop("radix", None), given.pop("supernode", None)
    if experiment is None or experiment.family != "polarstar" or radix is None or given:
        raise UsageError(
            "--designs lists the PolarStars of a radix (and a --supernode): "
            "polarlab topology polarstar --radix 15 --designs"
        )
    designs = [
        {"routers": d.routers, "q": d.q, "supernode": d.supernode, "degree": d.degree}
        for d in polarlab.designs(radix, supernode)
    ]
    if arguments.json:
        print_result(arguments, {"radix": radix, "designs": designs})
    else:
        print_table(designs, ("routers", "q", "supernode", "degree"))
    return Status.DONE
