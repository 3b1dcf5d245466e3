"""Readings of shares of failed links: what a number of the Slim Fly paper may be, if it is not a median.

The paper removes links in steps of 5 %, and does not say which of its runs a number is about. A reading here
is the last step up to which a part of the runs keeps a property; that of half of the runs is the median.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from topology.analysis.resilience import Resilience, distances_after, failure_orders
from topology.base import Topology

STEPS = (np.arange(20) * 0.05).round(2)
# Parts of the runs, with the ends of the names of their columns.
_PARTS: Mapping[str, float] = {"half": 0.5, "80": 0.8, "90": 0.9, "all": 1.0}
# The columns of `small_distances`, of networks that it does not look at.
NO_DISTANCES: Mapping[str, None] = dict.fromkeys(("diameter_4", "diameter_two_more", "path_one_more"))
_HALVINGS = 50


def small_distances(topology: Topology, runs: int) -> dict[float, dict[str, float]]:
    """Returns the parts of random orders of failure in which distances stay small.

    Args:
        topology: the graph.
        runs: the number of orders.

    Returns:
        Share of failed links, a multiple of 5 % -> name of a column -> the part of the runs, 0 to 1: those
        whose diameter is 4 at most, those whose diameter has grown by 2 at most, and those whose average path
        has grown by one hop at most.
    """
    diameters, paths = np.full((2, runs, len(STEPS)), np.inf)  # infinite where the graph is not connected
    for run, order in enumerate(failure_orders(topology, runs)):
        for place, distances in enumerate(distances_after(topology, order, STEPS)):
            diameters[run, place] = distances.diameter
            paths[run, place] = distances.average_path_length
    kept = diameters <= 4, diameters <= diameters[:, :1] + 2, paths <= paths[:, :1] + 1
    parts = np.mean(kept, axis=1).T.tolist()
    return {
        step: dict(zip(NO_DISTANCES, of_step, strict=True))
        for step, of_step in zip(STEPS.tolist(), parts, strict=True)
    }


def last_step(parts: npt.NDArray[np.float64], least: float) -> float:
    """Returns the last step up to which at least a part of the runs keeps a property.

    Args:
        parts: the part of the runs that keep it, for each step; without failures all of them do.
        least: the part.

    Returns:
        The share of failed links, a multiple of 5 %.
    """
    kept = np.append(parts >= least, False)
    return float(STEPS[kept.argmin() - 1])


def disconnection_readings(found: Resilience) -> dict[str, float]:
    """Returns the readings of the share of failed links that disconnects a network.

    Args:
        found: its failures in random orders.

    Returns:
        Name of a column, as `connected_90` of 90 % of the runs -> the last step.
    """
    parts = np.array([found.connected(step) for step in STEPS.tolist()])
    return {f"connected_{name}": last_step(parts, least) for name, least in _PARTS.items()}


def interval_in_steps(found: Resilience) -> tuple[float, float] | None:
    """Returns the interval of the median, each end at the last step before it; None of few runs.

    Args:
        found: a network's failures in random orders.
    """
    if found.interval is None:
        return None
    low, high = (float(STEPS[end >= STEPS][-1]) for end in found.interval)
    return low, high


def isolating_share(topology: Topology) -> float:
    """Returns the share of failed links beyond which a router without links is likelier than none.

    A router of d links loses all of them with probability x^d if each link fails with probability x. As such
    losses are rare and hardly depend on each other, there is none with probability exp(-sum x^d).

    Args:
        topology: the graph.
    """
    degrees = np.asarray(topology.degrees, float)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rare = float((middle**degrees).sum()) < math.log(2)
        low, high = (middle, high) if rare else (low, middle)
    return low
