"""Proofs of deadlock freedom at the papers' sizes: seconds and memory, each in a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

from rows import Row

from routing.deadlock.proof import prove_deadlock_freedom
from routing.registry import make_plan
from topology.parameters import Value
from topology.registry import make_topology

_GOAL_S, _GOAL_GIB = 60, 8
_PLANS: tuple[tuple[str, dict[str, Value], str], ...] = (
    ("dragonfly", {"a": 24, "h": 13, "groups": 79, "trunking": 4}, "four-color-valiant:order=own"),
    ("polarfly", {"q": 31}, "min"),
)


def proofs() -> list[Row]:
    """The proofs of the trunked dragonfly of 1,896 routers and of ER_31."""
    return [_row(*plan) for plan in _PLANS]


def _row(family: str, params: dict[str, Value], routing: str) -> Row:
    words = [sys.executable, __file__, json.dumps([family, params, routing])]
    answer = subprocess.run(words, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(answer.stdout)
    what = ", ".join(f"{key} = {value}" for key, value in params.items())
    circle = "no circle" if found["acyclic"] else f"a circle of {found['circle']} links"
    return Row(
        f"{family}, {what}: {found['routers']:,} routers under `{routing}`, proof of deadlock freedom",
        "none does it",
        f"{found['proof_s']:.1f} s after {found['plan_s']:.1f} s of planning, {found['gib']:.1f} GiB: "
        f"{circle} with one channel, {found['by_hop']} by hop; {found['channels']:,} channels, "
        f"{found['dependencies']:,} dependencies",
        f"under {_GOAL_S} s, under {_GOAL_GIB} GiB",
        found["proof_s"] < _GOAL_S and found["gib"] < _GOAL_GIB,
    )


def _measure(family: str, params: dict[str, Value], routing: str) -> dict[str, Any]:
    """Returns what a plan and its proof take in this process."""
    started = time.perf_counter()
    topology = make_topology(family, params)
    plan = make_plan(topology, 1, routing)
    planned_s = time.perf_counter() - started
    proof = prove_deadlock_freedom(plan)
    return {
        "routers": topology.routers,
        "plan_s": planned_s,
        "proof_s": time.perf_counter() - started - planned_s,
        "gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "acyclic": proof.acyclic,
        "circle": len(proof.cycle),
        "by_hop": proof.channels_by_hop,
        "channels": proof.channels,
        "dependencies": proof.dependencies,
    }


if __name__ == "__main__":
    print(json.dumps(_measure(*json.loads(sys.argv[1]))))
