"""`polarlab plot`: draws figures of a run, a simulation, a sweep, a failover or a paper."""

from __future__ import annotations

import argparse

import polarlab
from polarlab.cli.console import print_result
from polarlab.cli.progress import DRAWING, look_of, shown_if_long
from polarlab.process import Status

SUMMARY = "figures of a run, a simulation, a sweep, a failover or a paper"
EXAMPLES = (
    "polarlab plot results/RUN",
    "polarlab plot results/SWEEP --format pdf --width 3.3in --no-title --order uniform,tornado",
    "polarlab plot results/papers/polarfly",
    "polarlab plot /archive/RUN --out figures",
)


def run(arguments: argparse.Namespace) -> Status:
    """Saves the figures of results, by default in their folder, and prints the names of the files."""
    with shown_if_long(DRAWING):
        figures = polarlab.plot(arguments.results, format=arguments.format, **look_of(arguments))
        paths = figures.save(arguments.out)
    print_result(arguments, {"figures": [str(path) for path in paths]})
    return Status.DONE
