"""Readings of shares of failed links: what a number of the Slim Fly paper may mean if it is not a median.

The paper removes links in steps of 5 % and does not say which of its runs a number describes. A reading is
the last step up to which a certain share of the runs keeps a property. With half of the runs, it is the
median.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from topology.analysis.resilience import Resilience, distances_after, failure_orders
from topology.base import Topology

STEPS = (np.arange(20) * 0.05).round(2)
# Suffix of a column, such as `connected_90` -> share of the runs that must keep the property.
_SHARES: Mapping[str, float] = {"half": 0.5, "80": 0.8, "90": 0.9, "all": 1.0}
# Empty cells in the columns of `small_distances`, for networks that lack them.
NO_DISTANCES: Mapping[str, None] = dict.fromkeys(("diameter_4", "diameter_two_more", "path_one_more"))
_HALVINGS = 50


def small_distances(topology: Topology, runs: int) -> dict[float, dict[str, float]]:
    """Returns the shares of random orders of failure in which distances stay small.

    Args:
        topology: the graph.
        runs: the number of orders.

    Returns:
        Share of failed links, a multiple of 5 % -> name of a column -> share of the runs with a property,
        0 to 1. The properties are a diameter of at most 4, a diameter that has grown by at most 2, and an
        average path that has grown by at most one hop.
    """
    diameters, paths = np.full((2, runs, len(STEPS)), np.inf)  # infinite where the graph is not connected
    for run, order in enumerate(failure_orders(topology, runs)):
        for place, distances in enumerate(distances_after(topology, order, STEPS)):
            diameters[run, place] = distances.diameter
            paths[run, place] = distances.average_path_length
    kept = diameters <= 4, diameters <= diameters[:, :1] + 2, paths <= paths[:, :1] + 1
    shares = np.mean(kept, axis=1).T.tolist()
    return {
        step: dict(zip(NO_DISTANCES, of_step, strict=True))
        for step, of_step in zip(STEPS.tolist(), shares, strict=True)
    }


def last_step(shares: npt.NDArray[np.float64], least: float) -> float:
    """Returns the last step at which at least a certain share of the runs still has a property.

    Args:
        shares: for each step of 5 %, the share of the runs that keep the property; without failures it is 1.
        least: the required share.

    Returns:
        The share of failed links, a multiple of 5 %.
    """
    kept = np.append(shares >= least, False)
    return float(STEPS[kept.argmin() - 1])


def disconnection_readings(found: Resilience) -> dict[str, float]:
    """Returns the readings of the share of failed links that disconnects a network.

    Args:
        found: its resilience under random orders of failure.

    Returns:
        Name of a column, such as `connected_90` for 90 % of the runs -> the last step.
    """
    shares = np.array([found.connected(step) for step in STEPS.tolist()])
    return {f"connected_{name}": last_step(shares, least) for name, least in _SHARES.items()}


def interval_in_steps(found: Resilience) -> tuple[float, float] | None:
    """Returns the interval of the median with each end rounded down to a step; None if there are few runs.

    Args:
        found: a network's resilience under random orders of failure.
    """
    if found.interval is None:
        return None
    low, high = (float(STEPS[end >= STEPS][-1]) for end in found.interval)
    return low, high


def isolating_share(topology: Topology) -> float:
    """Returns the share of failed links beyond which it is likely that some router has lost all its links.

    If each link fails with probability x, a router with d links loses all of them with probability x^d. Such
    losses are rare and nearly independent, so none occurs with probability exp(-sum x^d). The share is the x
    at which this is 1/2.

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
