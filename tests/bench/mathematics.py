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

from controller.failures import NO_FAILURE, link_failures
from controller.routings import make_plan
from controller.walk import prove
from topology.polarfly import PolarFly


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


_ER127 = """
import json, resource, time
from topology.polarfly import PolarFly
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
