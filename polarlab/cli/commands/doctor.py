"""`polarlab doctor`: capabilities of this machine, features and their lacks, fabrics that it can carry."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from polarlab.cli.console import print_result, print_table
from topology.errors import MachineError
from topology.exit_status import Status

if TYPE_CHECKING:
    from experiments.doctor.features import Feature
    from experiments.doctor.findings import Finding

SUMMARY = "capabilities of this machine, features that are ready, and the largest fabric that it carries"
EXAMPLES = ("sudo polarlab doctor", "polarlab doctor --json")
_FABRICS = (("polarfly", 3, 2), ("polarfly", 5, 3), ("polarfly", 7, 1), ("polarfly", 11, 1))


def run(arguments: argparse.Namespace) -> Status:
    """Prints the machine's capabilities; ends with status MACHINE if one that fabrics need is missing."""
    from experiments.doctor.features import examine_features
    from experiments.doctor.findings import examine

    findings = examine()
    features = examine_features(findings)
    missing = [finding for finding in findings if finding.missing]
    fabrics = [_fabric(name, q, hosts) for name, q, hosts in _FABRICS]
    if arguments.json:
        result = {"findings": [one.to_dict() for one in findings], "fabrics": fabrics}
        print_result(arguments, {**result, "features": [one.to_dict() for one in features]})
        return Status.MACHINE if missing else Status.DONE
    _print_findings(findings)
    _print_features(features)
    _print_fabrics(fabrics)
    if missing:
        raise MachineError("missing: " + ", ".join(one.name for one in missing))
    return Status.DONE


def _fabric(name: str, q: int, hosts: int) -> dict[str, Any]:
    """Returns whether an example's switches fit into memory, and its link rate by rule of thumb."""
    from experiments.doctor.capacity import largest_fabric_routers, link_rate_bps

    routers = q * q + q + 1
    fits = routers <= largest_fabric_routers(hosts)
    rate = f"{round(link_rate_bps(routers * hosts, 0.5, 1000), -4) / 1e3:g}kbit" if fits else "-"
    return {
        "fabric": f"{name} --q {q} --hosts {hosts}",
        "switches": routers,
        "hosts": routers * hosts,
        "fits": "yes" if fits else "no, too little memory",
        "link_rate_at_load_0.5": rate,
    }


def _print_findings(findings: list[Finding]) -> None:
    rows = [
        {
            "what": one.name,
            "here": "yes" if one.present else "?" if not one.known else "NO" if one.needed else "no",
            "": one.detail if one.present else one.remedy,
        }
        for one in findings
    ]
    print_table(rows, ("what", "here", ""))


def _print_features(features: list[Feature]) -> None:
    rows = [
        {
            "feature": one.name,
            "ready": {True: "yes", False: "no", None: "?"}[one.ready],
            "missing": ", ".join(lack.name for lack in one.lacks),
            "install": "; ".join(one.remedies()),
        }
        for one in features
    ]
    print()
    print_table(rows, ("feature", "ready", "missing", "install"))


def _print_fabrics(fabrics: list[dict[str, Any]]) -> None:
    from experiments.doctor.capacity import largest_fabric_routers

    print(f"\nUp to {largest_fabric_routers(1):,} switches with a host each fit into the free memory.")
    print("Link rates at which results are valid, by rule of thumb (1,000-byte frames, userspace switches;")
    print("the kernel's carry more; --link-rate auto measures it):\n")
    print_table(fabrics, tuple(fabrics[0]))
