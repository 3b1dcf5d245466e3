"""Next hops, plans and proofs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from itertools import islice
from statistics import median
from typing import Any

import numpy as np
from rows import Row, best_of
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path

from routing.registry import make_plan
from routing.replan.replan import Provers, surviving_plan
from routing.replan.update_order import update_rounds
from routing.verification.verifier import Prover, prove
from topology.failures import NO_FAILURE, link_failures
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.polarstar import PolarStar
from topology.parameters import Value
from topology.registry import make_topology

_REPLANS = 20


def next_hops_er31() -> list[Row]:
    """All-pairs next hops of ER_31 against scipy's search and a matrix product in plain numpy."""
    graph = PolarFly(31)
    adjacency = graph.adjacency
    ones = np.ones(len(adjacency.neighbours))
    matrix = csr_matrix((ones, adjacency.neighbours, adjacency.starts))
    found: dict[str, Any] = {}

    def by_scipy() -> None:
        # The predecessor of d on the way from s is the next hop of d toward s.
        found["scipy"] = shortest_path(matrix, unweighted=True, return_predecessors=True)[1]

    def by_numpy() -> None:
        dense = matrix.toarray().astype(np.float32)
        # With one common neighbour, the sum of the common neighbours' indices is its index.
        indices = np.arange(graph.routers, dtype=np.float32)
        found["numpy"] = np.where(dense > 0, indices, (dense * indices) @ dense)

    def by_cross_products() -> None:
        found["ours"] = PolarFly(31).all_next_hops()

    scipy_s, numpy_s = best_of(3, by_scipy), best_of(3, by_numpy)
    ours_s = best_of(5, by_cross_products)
    off_diagonal = ~np.eye(graph.routers, dtype=bool)
    for name in ("scipy", "numpy"):
        other = found[name].T if name == "scipy" else found[name]
        assert (other == found["ours"])[off_diagonal].all(), f"{name} disagrees"
    ratio = scipy_s / ours_s
    return [
        Row(
            "all-pairs next hops, ER_31 (993 routers)",
            f"scipy csgraph {scipy_s:.3f} s, plain numpy {numpy_s:.3f} s",
            f"{ours_s:.4f} s, {ratio:.1f} times faster than scipy",
            "at least 5 times",
            ratio >= 5,
        )
    ]


def next_hops_polarstar() -> list[Row]:
    """All-pairs next hops of PolarStar with 1,064 routers against scipy's search, checked pair by pair."""
    graph = PolarStar(radix=15)
    adjacency = graph.adjacency
    matrix = csr_matrix((np.ones(len(adjacency.neighbours)), adjacency.neighbours, adjacency.starts))
    found: dict[str, Any] = {}

    def by_scipy() -> None:
        found["distances"] = shortest_path(matrix, unweighted=True, return_predecessors=True)[0]

    def analytically() -> None:
        found["hops"] = PolarStar(radix=15).all_next_hops()

    scipy_s, ours_s = best_of(3, by_scipy), best_of(5, analytically)
    distances, hops = found["distances"], found["hops"]
    everyone = np.arange(graph.routers)
    away = ~np.eye(graph.routers, dtype=bool)
    nearer = distances[hops, everyone] == distances - 1
    linked = distances[everyone[:, None], hops] == 1
    wrong = int((away & ~(nearer & linked)).sum())
    ratio = scipy_s / ours_s
    return [
        Row(
            "all-pairs next hops, PolarStar IQ of radix 15 (1,064 routers)",
            f"scipy csgraph {scipy_s:.3f} s",
            f"{ours_s:.4f} s, {ratio:.1f} times faster than scipy; {wrong} of {away.sum():,} pairs wrong",
            "at least 5 times, none wrong",
            ratio >= 5 and wrong == 0,
        )
    ]


# getrusage would tell the peak of the process that started this one, if that is higher.
_ER127 = r"""
import json, re, time
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.polarstar import PolarStar
from topology.registry import make_topology
started = time.perf_counter()
hops = PolarFly(127).all_next_hops()
seconds = time.perf_counter() - started
peak_kib = int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])
print(json.dumps([seconds, peak_kib]))
"""


def next_hops_er127() -> list[Row]:
    """All-pairs next hops of ER_127, in a process of its own for its memory."""
    done = subprocess.run([sys.executable, "-c", _ER127], capture_output=True, text=True, check=True)
    seconds, kibibytes = json.loads(done.stdout)
    return [
        Row(
            "all-pairs next hops, ER_127 (16,257 routers)",
            "hopeless by search",
            f"{seconds:.1f} s, {kibibytes / 2**20:.2f} GiB",
            "under 10 s, under 2 GiB",
            seconds < 10 and kibibytes < 2 << 20,
        )
    ]


def proof_er13() -> list[Row]:
    """Plan and proof of ER_13, under minimal routing and under UGAL_PF."""
    rows = []
    for routing, goal_s in (("min", 5), ("ugal-pf", 2)):
        started = time.perf_counter()
        plan = make_plan(PolarFly(13), 1, routing)
        planned_s = time.perf_counter() - started
        proof = prove(plan)
        seconds = time.perf_counter() - started
        rows.append(
            Row(
                f"plan and proof of ER_13 (183 routers), {routing}",
                "none does it",
                f"{seconds:.2f} s ({planned_s:.2f} s the plan), {proof.pairs} pairs",
                f"under {goal_s} s",
                proof.ok and seconds < goal_s,
            )
        )
    return rows


_PLAN = r"""
import json, re, sys, time
from routing.registry import make_plan
from topology.families.low_diameter.polarfly import PolarFly
graph = PolarFly(int(sys.argv[1]))
started = time.perf_counter()
plan = make_plan(graph, 1, "ugal-pf")
seconds = time.perf_counter() - started
peak_kib = int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1])
choices = sum(len(group.candidates) for switch in plan.switches for group in switch.groups)
print(json.dumps([seconds, peak_kib, choices]))
"""


def plans_of_ugal_pf() -> list[Row]:
    """Plans of UGAL_PF, each in a process of its own for its memory."""
    rows = []
    for q, goal_s in ((23, 3), (31, 10)):
        words = [sys.executable, "-c", _PLAN, str(q)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        seconds, kibibytes, choices = json.loads(done.stdout)
        rows.append(
            Row(
                f"plan of ugal-pf for ER_{q} ({q * q + q + 1} routers)",
                "none does it",
                f"{seconds:.1f} s, {kibibytes / 2**20:.2f} GiB, {choices:,} alternatives",
                f"under {goal_s} s, under 1 GiB",
                seconds < goal_s and kibibytes < 1 << 20,
            )
        )
    return rows


def proofs_of_the_papers() -> list[Row]:
    """Build, plan and proof of the configurations that the papers compare."""
    return [
        _built_and_proven("polarfly", {"q": 31}, 4),
        _built_and_proven("polarstar", {"radix": 15}, 8),
        _built_and_proven("slimfly", {"q": 23}, 8),
    ]


def families_built() -> list[Row]:
    """Build, plan and proof of the sizes of other families that the papers compare."""
    fabrics: tuple[tuple[str, dict[str, Value]], ...] = (
        ("dragonfly", {"a": 12, "h": 6}),
        ("dragonfly", {"a": 6, "h": 27}),
        ("dragonfly", {"a": 24, "h": 13, "groups": 79, "trunking": 4}),
        ("fat-tree", {"arity": 18, "levels": 3}),
        ("hyperx", {"shape": "9x9x8"}),
        ("megafly", {"rho": 8, "a": 16}),
        ("spectralfly", {"p": 23, "q": 13}),
        ("bundlefly", {"q": 7, "degree": 4}),
        ("jellyfish", {"routers": 993, "degree": 32}),
        ("delorme", {"q": 8}),
    )
    return [_built_and_proven(name, params, goal_s=10) for name, params in fabrics]


def _built_and_proven(name: str, params: dict[str, Value], goal_s: int) -> Row:
    started = time.perf_counter()
    graph = make_topology(name, params)
    hops = graph.all_next_hops()
    built_s = time.perf_counter() - started
    assert len(hops) == graph.routers == len(graph.adjacency.starts) - 1
    plan = make_plan(graph, 1, "min")
    planned_s = time.perf_counter() - started - built_s
    proof = prove(plan)
    seconds = time.perf_counter() - started - built_s
    what = ", ".join(f"{key} = {value}" for key, value in params.items())
    size = plan.size()
    return Row(
        f"{name}, {what}: {graph.routers:,} routers built; planned and proven",
        "none does it",
        f"built in {built_s:.3f} s; planned and proven in {seconds:.1f} s "
        f"({planned_s:.1f} s the plan), {proof.delivered:,} of {proof.pairs:,} pairs; "
        f"a switch holds at most "
        f"{size.flows_per_switch_max:,} rules and {size.groups_per_switch_max} groups",
        f"built under 2 s, proven under {goal_s} s",
        proof.ok and built_s < 2 and seconds < goal_s,
    )


def proof_er11_links() -> list[Row]:
    """ER_11 with every single link failure."""
    return [_every_link(11, goal_s=20)]


def proof_er31_links() -> list[Row]:
    """ER_31 with every single link failure."""
    return [_every_link(31, goal_s=600)]


def _every_link(q: int, goal_s: int) -> Row:
    graph = PolarFly(q)
    started = time.perf_counter()
    plan = make_plan(graph, 1, "min")
    proof = prove(plan, [NO_FAILURE, *link_failures(graph)])
    seconds = time.perf_counter() - started
    return Row(
        f"plan and proof of ER_{q} with every single link failure "
        f"({graph.routers:,} routers, {proof.scenarios - 1:,} links)",
        "none does it",
        f"{seconds:.1f} s, {proof.delivered:,} of {proof.pairs * proof.scenarios:,} pairs delivered, "
        f"at most {proof.max_hops} hops",
        f"under {goal_s} s",
        proof.ok and seconds < goal_s,
    )


def replans() -> list[Row]:
    """Plans and proofs for the graphs that survive single link failures, as the controller makes them."""
    rows = []
    for q, name, goal_s in ((7, "min", 0.08), (11, "min", 0.3), (11, "ugal-pf", 1.0)):
        whole = before = make_plan(PolarFly(q), 1, name)
        prover = Prover()
        started = time.perf_counter()
        prover.prove(whole)
        first_s = time.perf_counter() - started
        taken_s = []
        for failure in islice(link_failures(whole.topology), _REPLANS):
            started = time.perf_counter()
            plan = surviving_plan(whole, failure, provers=Provers(prover))
            update_rounds(before, plan, failure)
            taken_s.append(time.perf_counter() - started)
            before = plan
        rows.append(
            Row(
                f"plan, proof and update rounds after a link failure, ER_{q} under {name}",
                f"the first proof {first_s:.2f} s",
                f"median {median(taken_s):.3f} s, longest {max(taken_s):.3f} s of {len(taken_s)}",
                f"under {goal_s:g} s",
                median(taken_s) < goal_s,
            )
        )
    return rows
