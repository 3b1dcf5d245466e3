"""`polarlab verify`: the proof that a routing's rules deliver every packet, under failures as well."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from polarlab.cli.console import print_result
from polarlab.cli.error_stream import print_line
from polarlab.cli.progress import shown_if_long
from topology.exit_status import Status

if TYPE_CHECKING:
    from routing.plan.model import RoutePlan
    from routing.verification.verifier import Proof

SUMMARY = "proof of a routing's rules for every pair of hosts"
EXAMPLES = (
    "polarlab verify polarfly --q 5 --hosts 2",
    "polarlab verify polarfly --q 7 --routing ugal-pf --failures links",
    "polarlab verify graph --from examples/torus-3x3.edges --failures switches",
)


def run(arguments: argparse.Namespace) -> Status:
    """Prints a plan's proof, its first faults on standard error; returns NEGATIVE if it fails."""
    from polarlab.api import plan, prove

    experiment = arguments.experiment
    values = experiment.complete.values
    with shown_if_long("proving the plan"):
        topology, started = experiment.topology, time.monotonic()
        repair = values["local-repair"]
        rules = plan(topology, values["routing"], hosts=values["hosts"], local_repair=repair)
        proof = prove(rules, arguments.failures)
    result = {
        "name": experiment.family,
        "params": experiment.params,
        "routing": rules.routing,
        "failures": arguments.failures,
        **_result(rules, proof),
        "seconds": round(time.monotonic() - started, 3),
    }
    if arguments.json:
        result["unprotected_pairs"] = _unprotected_names(rules)
    print_result(arguments, result)
    _print_faults(rules, proof)
    return Status.DONE if proof.ok else Status.NEGATIVE


def _result(plan: RoutePlan, proof: Proof) -> dict[str, Any]:
    """Returns a proof and its plan's size by the keys of the outside contract."""
    size = plan.size()
    return {
        "ok": proof.ok,
        "pairs": proof.pairs,
        "scenarios": proof.scenarios,
        "delivered": proof.delivered,
        "cut_off": proof.cut_off,
        "max_hops": proof.max_hops,
        "loops": proof.loops,
        "blackholes": proof.blackholes,
        "misdelivered": proof.misdelivered,
        "over_bound": proof.over_bound,
        "miscounted": proof.miscounted,
        "flows_per_switch_max": size.flows_per_switch_max,
        "groups_per_switch_max": size.groups_per_switch_max,
        "buckets_per_switch_max": size.buckets_per_switch_max,
        "unprotected": len(plan.unprotected),
    }


def _unprotected_names(plan: RoutePlan) -> list[tuple[str, str, str]]:
    """Returns (switch, destination, failed element) wherever a plan has no backup path."""
    from topology.addressing import switch_name

    return [
        (switch_name(router), switch_name(destination), element.name)
        for router, destination, element in plan.unprotected
    ]


def _print_faults(plan: RoutePlan, proof: Proof) -> None:
    """Prints a proof's faults and a plan's unprotected pairs on standard error, the first of each."""
    from routing.verification.verifier import MAX_LISTED_FAULTS

    lines = [str(fault) for fault in proof.faults]
    if len(proof.faults) == MAX_LISTED_FAULTS:
        lines.append(f"only the first {MAX_LISTED_FAULTS} faults are printed")
    for switch, destination, element in _unprotected_names(plan)[:MAX_LISTED_FAULTS]:
        lines.append(f"{switch} has no backup path to {destination} if {element} fails")
    if len(plan.unprotected) > MAX_LISTED_FAULTS:
        lines.append(f"only the first {MAX_LISTED_FAULTS} such pairs are printed; --json has all")
    for line in lines:
        print_line(f"polarlab: {line}")
