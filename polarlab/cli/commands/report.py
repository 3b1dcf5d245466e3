"""`polarlab report`: writes the HTML page of a run, a simulation, a sweep or a failover."""

from __future__ import annotations

import argparse

import polarlab
from polarlab.cli.console import print_result
from polarlab.cli.progress import DRAWING, look_of, shown_if_long
from polarlab.process import Status

SUMMARY = "HTML page of a run, a simulation, a sweep or a failover"
EXAMPLES = (
    "polarlab report results/SWEEP",
    "polarlab report results/RUN --out run.html",
)


def run(arguments: argparse.Namespace) -> Status:
    """Writes the HTML page of results and prints the name of its file."""
    with shown_if_long(DRAWING):
        page = polarlab.report(arguments.results, arguments.out, **look_of(arguments))
    print_result(arguments, {"report": str(page)})
    return Status.DONE
