"""Words and parameters of reproductions that the command line knows before anything is loaded to compute."""

from __future__ import annotations

from topology.parameters import Parameter

LIST, ALL = "list", "all"  # in the place of a paper, and of an item
SEEDS = Parameter(
    name="seeds",
    type=int,
    help="number of random orders of failures, or of searches for a bisection",
    least=1,
    most=10_000,
)
