"""Completion in the shell: names from the registries, and files where an option takes one."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import argcomplete

from controller.occupancy.source import SOURCES
from emulation.requirements import DATAPATHS
from experiments.spec.fabric import AUTO_RATE
from experiments.spec.traffic import STEADY
from experiments.theory.export import FORMATS
from polarlab.api import FAILURES
from polarlab.cli.parser import CommandParser
from routing.registry import ROUTINGS
from topology.families.supernodes import SUPERNODE_KINDS
from topology.registry import FAMILIES
from traffic.workload.arrivals import ARRIVALS
from traffic.workload.collectives.operations import COLLECTIVES
from traffic.workload.patterns import PATTERNS
from traffic.workload.placement import PLACEMENTS

_COLLECTIVES = [f"{name}:{algorithm}" for name, one in COLLECTIVES.items() for algorithm in one.algorithms]
# By the attribute of the option in the parsed arguments.
_NAMES: Mapping[str, Iterable[str]] = {
    "name": FAMILIES,
    "routing": ROUTINGS,
    "pattern": [*PATTERNS, *_COLLECTIVES],
    "failures": FAILURES,
    "datapath": DATAPATHS,
    "occupancy": SOURCES,
    "arrivals": ARRIVALS,
    "placement": PLACEMENTS,
    "supernode": SUPERNODE_KINDS,
    "export": FORMATS,
    "warmup": (STEADY,),
    "link_rate": (AUTO_RATE,),
}
_LISTS: Mapping[str, Iterable[str]] = {"routings": ROUTINGS, "patterns": PATTERNS}
_FILES = frozenset({"from", "export", "figure", "out", "faults", "results", "runs"})


def complete(parser: argparse.ArgumentParser) -> None:
    """Prints the completions of the command line for the shell, and ends the program."""
    for action in _actions(parser):
        if action.dest in {*_NAMES, *_LISTS, *_FILES}:
            setattr(action, "completer", _completer(action.dest))  # noqa: B010  (argcomplete's own attribute)
    argcomplete.autocomplete(parser, default_completer=argcomplete.SuppressCompleter())


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yields the options of a parser and of all its commands."""
    if isinstance(parser, CommandParser):
        parser.complete_options()
    for action in parser._actions:  # argparse offers them in no other form
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                yield from _actions(subparser)
        else:
            yield action


def _completer(dest: str) -> Callable[..., list[str]]:
    def completer(prefix: str, **_more: Any) -> list[str]:
        before = prefix[: prefix.rfind(",") + 1] if dest in _LISTS else ""
        names = [before + name for name in _NAMES.get(dest) or _LISTS.get(dest) or ()]
        return names + (argcomplete.FilesCompleter()(prefix) if dest in _FILES else [])

    return completer
