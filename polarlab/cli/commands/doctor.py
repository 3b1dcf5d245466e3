"""`polarlab doctor`: capabilities of this machine, features with missing requirements, fabrics that fit."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import polarlab
from polarlab import MachineError
from polarlab.cli.console import print_result, print_table
from polarlab.process import Status

if TYPE_CHECKING:
    from polarlab import Examination
    from polarlab.api.machine import CarriedFabric

SUMMARY = "capabilities of this machine, features that are ready, and the largest fabric that it can carry"
EXAMPLES = ("sudo polarlab doctor", "polarlab doctor --json")


def run(arguments: argparse.Namespace) -> Status:
    """Prints the machine's capabilities; returns MACHINE if a requirement of fabrics is missing."""
    machine = polarlab.doctor()
    fabrics = list(map(_row, machine.fabrics))
    if arguments.json:
        result = {"findings": [one.to_dict() for one in machine.findings], "fabrics": fabrics}
        print_result(arguments, {**result, "features": [one.to_dict() for one in machine.features]})
        return Status.MACHINE if machine.missing else Status.DONE
    print_table(machine.rows(), ("what", "here", ""))
    _print_features(machine)
    print(f"\nUp to {machine.largest_fabric_routers:,} switches with a host each fit into the free memory.")
    print("Link rates at which results are valid, by rule of thumb (1,000-byte frames, userspace switches;")
    print("the kernel datapath carries more; --link-rate auto measures the rate):\n")
    print_table(fabrics, tuple(fabrics[0]))
    if machine.missing:
        raise MachineError("missing: " + ", ".join(one.name for one in machine.missing))
    return Status.DONE


def _row(fabric: CarriedFabric) -> dict[str, Any]:
    """Returns the table's row for one of the example fabrics, with the keys of `--json`."""
    return {
        "fabric": fabric.fabric,
        "switches": fabric.switches,
        "hosts": fabric.hosts,
        "fits": "yes" if fabric.fits else "no, too little memory",
        "link_rate_at_load_0.5": "-"
        if fabric.link_rate_bps is None
        else f"{fabric.link_rate_bps / 1e3:g}kbit",
    }


def _print_features(machine: Examination) -> None:
    rows = [
        {
            "feature": one.name,
            "ready": {True: "yes", False: "no", None: "?"}[one.ready],
            "missing": ", ".join(lack.name for lack in one.lacks),
            "install": "; ".join(one.remedies()),
        }
        for one in machine.features
    ]
    print()
    print_table(rows, ("feature", "ready", "missing", "install"))
