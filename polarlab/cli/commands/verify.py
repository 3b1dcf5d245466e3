"""`polarlab verify`: proves that a routing's rules deliver every packet, also under failures."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import polarlab
from polarlab import UsageError
from polarlab.cli.console import print_result
from polarlab.cli.progress import shown_if_long
from polarlab.process import Status, print_line

if TYPE_CHECKING:
    from polarlab import DeadlockProof, Proof, RoutePlan

SUMMARY = "proof of a routing's rules for every pair of hosts"
EXAMPLES = (
    "polarlab verify polarfly --q 5 --hosts 2",
    "polarlab verify polarfly --q 7 --routing ugal-pf --failures links",
    "polarlab verify hyperx --shape 4x4 --routing dor --deadlock --certificate order.csv",
    "polarlab verify polarfly --q 3 --deadlock --virtual-channels hop:2",
    "polarlab verify polarfly --q 3 --routing up-down --ordered-repair --deadlock",
    "polarlab verify graph --from examples/torus-3x3.edges --failures switches",
)


def run(arguments: argparse.Namespace) -> Status:
    """Prints a plan's proofs, with the first faults on standard error; returns NEGATIVE if one fails."""
    _check_deadlock_options(arguments)
    experiment = arguments.experiment
    values = experiment.complete_values
    with shown_if_long("proving the plan"):
        topology, started = experiment.topology, time.monotonic()
        rules = polarlab.plan(
            topology,
            values["routing"],
            hosts=values["hosts"],
            local_repair=values["local-repair"],
            ordered_repair=values["ordered-repair"],
        )
        proof = polarlab.prove(rules, arguments.failures)
        channels = _prove_deadlock_freedom(arguments, rules) if arguments.deadlock else None
    result = {
        "name": experiment.family,
        "params": experiment.params,
        "routing": rules.routing,
        "failures": arguments.failures,
        **_result(rules, proof),
        "seconds": round(time.monotonic() - started, 3),
    }
    if channels:
        result["deadlock"] = _deadlock_result(arguments, channels)
    if arguments.json:
        from polarlab.api.analysis.theory import unprotected_names

        result["unprotected_pairs"] = unprotected_names(rules)
    print_result(arguments, result)
    _print_faults(rules, proof)
    if channels:
        _print_cycle(channels)
        _write_files(arguments, rules, channels)
    return Status.DONE if proof.ok and (channels is None or channels.acyclic) else Status.NEGATIVE


def _check_deadlock_options(arguments: argparse.Namespace) -> None:
    """Raises UsageError if options are given without the --deadlock they need, or files cannot be created."""
    from polarlab.api.analysis.deadlocks import check_certificate, virtual_channels_of
    from polarlab.api.graphs import check_drawing

    for name in ("virtual-channels", "count-layers", "certificate", "figure"):
        if getattr(arguments, name.replace("-", "_")) not in (None, False) and not arguments.deadlock:
            raise UsageError(f"--{name} needs --deadlock")
    if arguments.virtual_channels is not None:
        virtual_channels_of(arguments.virtual_channels)
    if arguments.certificate is not None:
        check_certificate(arguments.certificate, arguments.failures)
    if arguments.figure is not None:
        check_drawing(arguments.figure)


def _prove_deadlock_freedom(arguments: argparse.Namespace, plan: RoutePlan) -> DeadlockProof:
    return polarlab.prove_deadlock_freedom(
        plan, arguments.virtual_channels or "one", arguments.failures, layers=arguments.count_layers
    )


def _deadlock_result(arguments: argparse.Namespace, proof: DeadlockProof) -> dict[str, Any]:
    """Returns the result to print for a deadlock proof, with the keys of `--json`.

    Without --json, lists are replaced by their lengths, and values that were not requested are left out.
    """
    from polarlab.api.analysis.deadlocks import deadlock_record

    record = deadlock_record(proof)
    if arguments.json:
        return record
    record |= {"cycle": len(record["cycle"]), "failures_with_circles": len(proof.failures_with_circles)}
    unasked = {"layers"} if proof.layers is None else set()
    if arguments.failures == "none":
        unasked |= {"scenarios", "failure", "failures_with_circles"}
    return {key: value for key, value in record.items() if key not in unasked}


def _print_cycle(proof: DeadlockProof) -> None:
    """Prints on standard error the cycle of channels that a proof has found, one line per channel."""
    if not proof.cycle:
        return
    failed = "" if proof.failure == "none" else f" while {proof.failure} is down"
    lines = [f"packets may wait for one another in a cycle of {len(proof.cycle)} channels{failed}:"]
    for one, after in zip(proof.cycle, [*proof.cycle[1:], proof.cycle[0]], strict=True):
        lines.append(
            f"{one.channel} is held by packets {one.source.name} to {one.destination.name}, "
            f"which wait for {after.channel}"
        )
    for line in lines:
        print_line(f"polarlab: {line}")


def _write_files(arguments: argparse.Namespace, plan: RoutePlan, proof: DeadlockProof) -> None:
    """Writes the requested certificate and figure of a deadlock proof, or prints why there is none."""
    from polarlab.api.analysis.deadlocks import draw_cycle, write_certificate

    if arguments.figure and proof.cycle:
        draw_cycle(plan.topology, proof, arguments.figure)
    elif arguments.figure:
        print_line(f"polarlab: {arguments.figure} not written: there is no cycle to draw")
    if arguments.certificate and proof.acyclic:
        write_certificate(proof, arguments.certificate)
    elif arguments.certificate:
        print_line(f"polarlab: {arguments.certificate} not written: there is a cycle")


def _result(plan: RoutePlan, proof: Proof) -> dict[str, Any]:
    """Returns the numbers to print for a proof and its plan, with the keys of `--json`."""
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
    """Prints the first faults of a proof and the first unprotected pairs of a plan on standard error."""
    from polarlab.api.analysis.theory import MAX_LISTED_FAULTS, unprotected_names

    lines = [str(fault) for fault in proof.faults]
    if len(proof.faults) == MAX_LISTED_FAULTS:
        lines.append(f"only the first {MAX_LISTED_FAULTS} faults are printed")
    for switch, destination, component in unprotected_names(plan)[:MAX_LISTED_FAULTS]:
        lines.append(f"{switch} has no backup path to {destination} if {component} fails")
    if len(plan.unprotected) > MAX_LISTED_FAULTS:
        lines.append(f"only the first {MAX_LISTED_FAULTS} such pairs are printed; --json has all")
    for line in lines:
        print_line(f"polarlab: {line}")
