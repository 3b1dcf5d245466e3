"""Next hops, plans and proofs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
from rows import Row, best_of
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path

from routing.registry import make_plan
from routing.verification.verifier import prove
from topology.failures import NO_FAILURE, link_failures
from topology.families.polarfly import PolarFly
from topology.families.polarstar import PolarStar
from topology.registry import make_topology


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


_ER127 = """
import json, resource, time
from topology.families.polarfly import PolarFly
from topology.families.polarstar import PolarStar
from topology.registry import make_topology
started = time.perf_counter()
hops = PolarFly(127).all_next_hops()
print(json.dumps([time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
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
    """Plan and proof of ER_13."""
    started = time.perf_counter()
    plan = make_plan(PolarFly(13), 1, "min")
    planned_s = time.perf_counter() - started
    proof = prove(plan)
    seconds = time.perf_counter() - started
    assert proof.ok
    return [
        Row(
            "plan and proof of ER_13 (183 routers)",
            "none does it",
            f"{seconds:.2f} s ({planned_s:.2f} s the plan), {proof.pairs} pairs",
            "under 5 s",
            seconds < 5,
        )
    ]


def proofs_of_the_papers() -> list[Row]:
    """Build, plan and proof of the configurations that the papers compare."""
    rows = []
    for name, params in (("polarfly", {"q": 31}), ("polarstar", {"radix": 15}), ("slimfly", {"q": 23})):
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
        rows.append(
            Row(
                f"{name}, {what}: {graph.routers:,} routers built; planned and proven",
                "none does it",
                f"built in {built_s:.3f} s; planned and proven in {seconds:.1f} s "
                f"({planned_s:.1f} s the plan), {proof.delivered:,} of {proof.pairs:,} pairs; "
                f"a switch holds at most "
                f"{size.flows_per_switch_max:,} rules and {size.groups_per_switch_max} groups",
                "built under 2 s, proven under 30 s",
                proof.ok and built_s < 2 and seconds < 30,
            )
        )
    return rows


def proof_er11_links() -> list[Row]:
    """ER_11 with every single link failure."""
    graph = PolarFly(11)
    started = time.perf_counter()
    plan = make_plan(graph, 1, "min")
    proof = prove(plan, [NO_FAILURE, *link_failures(graph)])
    seconds = time.perf_counter() - started
    return [
        Row(
            "plan and proof of ER_11 with every single link failure (133 routers, 792 links)",
            "none does it",
            f"{seconds:.1f} s, {proof.delivered:,} of {proof.pairs * proof.scenarios:,} pairs delivered, "
            f"at most {proof.max_hops} hops",
            "under 20 s",
            proof.ok and seconds < 20,
        )
    ]
