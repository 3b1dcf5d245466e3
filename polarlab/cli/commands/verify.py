"""`polarlab verify`: the proof that a routing's rules deliver every packet, under failures as well."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import polarlab
from polarlab.cli.console import print_result
from polarlab.cli.error_stream import print_line
from polarlab.cli.progress import shown_if_long
from polarlab.process import Status

if TYPE_CHECKING:
    from polarlab import Proof, RoutePlan

SUMMARY = "proof of a routing's rules for every pair of hosts"
EXAMPLES = (
    "polarlab verify polarfly --q 5 --hosts 2",
    "polarlab verify polarfly --q 7 --routing ugal-pf --failures links",
    "polarlab verify graph --from examples/torus-3x3.edges --failures switches",
)


def run(arguments: argparse.Namespace) -> Status:
    """Prints a plan's proof, its first faults on standard error; returns NEGATIVE if it fails."""
    experiment = arguments.experiment
    values = experiment.complete.values
    with shown_if_long("proving the plan"):
        topology, started = experiment.topology, time.monotonic()
        repair = values["local-repair"]
        rules = polarlab.plan(topology, values["routing"], hosts=values["hosts"], local_repair=repair)
        proof = polarlab.prove(rules, arguments.failures)
    result = {
        "name": experiment.family,
        "params": experiment.params,
        "routing": rules.routing,
        "failures": arguments.failures,
        **_result(rules, proof),
        "seconds": round(time.monotonic() - started, 3),
    }
    if arguments.json:
        from polarlab.api.theory import unprotected_names

        result["unprotected_pairs"] = unprotected_names(rules)
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


def _print_faults(plan: RoutePlan, proof: Proof) -> None:
    """Prints a proof's faults and a plan's unprotected pairs on standard error, the first of each."""
    from polarlab.api.theory import MAX_LISTED_FAULTS, unprotected_names

    lines = [str(fault) for fault in proof.faults]
    if len(proof.faults) == MAX_LISTED_FAULTS:
        lines.append(f"only the first {MAX_LISTED_FAULTS} faults are printed")
    for switch, destination, element in unprotected_names(plan)[:MAX_LISTED_FAULTS]:
        lines.append(f"{switch} has no backup path to {destination} if {element} fails")
    if len(plan.unprotected) > MAX_LISTED_FAULTS:
        lines.append(f"only the first {MAX_LISTED_FAULTS} such pairs are printed; --json has all")
    for line in lines:
        print_line(f"polarlab: {line}")
