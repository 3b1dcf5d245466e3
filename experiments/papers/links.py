"""Links of networks: the share that bisections cut, and distances as links fail."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from experiments.papers.model import Plot, Row, Scale, Value
from experiments.papers.networks import Network
from topology.analysis.bisection import bisect
from topology.analysis.resilience import Resilience, distances_after, resilience

SEARCHES, QUICK_SEARCHES = 8, 2
_MANY_ROUTERS = 4096  # in larger graphs searches take long and their results differ little
RUNS, QUICK_RUNS = 100, 20
_STEP = 0.05  # step between shares of failed links


def bisection_row(family: str, network: Network, scale: Scale) -> Row:
    """Returns the row of a network in a table of bisections.

    Args:
        family: the name of the network's curve.
        network: the network.
        scale: the scale; its seeds are the number of searches.
    """
    graph = network.graph()
    full = SEARCHES if graph.routers <= _MANY_ROUTERS else QUICK_SEARCHES
    found = bisect(graph, scale.number(full, QUICK_SEARCHES))
    return {
        "family": family,
        "radix": graph.network_radix,
        "routers": graph.routers,
        "links": found.links,
        "cut": found.cut,
        "share": found.share,
        "halves": f"{found.halves[0]}/{found.halves[1]}",
        "method": found.method,
        "searches": found.seeds,
    }


def geometric_mean(numbers: Iterable[float]) -> float:
    """Returns the geometric mean of positive numbers; NaN if there are none.

    Args:
        numbers: the numbers.
    """
    logs = [math.log(number) for number in numbers]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


class Growth(NamedTuple):
    """Growth of a network's distances as links fail, in hops.

    Attributes:
        diameter: growth of the diameter.
        path: growth of the average path length.
    """

    diameter: int
    path: float


@dataclass(frozen=True)
class Failures:
    """Link failures of several networks.

    Attributes:
        found: label of a network -> its resilience under random orders of failure.
        rows: for each network and share of failed links, the distances of the median run.
    """

    found: Mapping[str, Resilience]
    rows: list[Row]

    def median(self, label: str) -> Value:
        """Returns the median share of failed links that disconnects a network, with its interval.

        Args:
            label: label of the network.
        """
        return Value(self.found[label].median, self.found[label].interval)

    def ratio(self, label: str, base: str) -> float:
        """Returns the median share of failed links that disconnects a network, divided by that of another.

        Args:
            label: label of the network.
            base: label of the network whose share is the divisor.
        """
        return self.found[label].median / self.found[base].median

    def diameter(self, label: str, share: float) -> int:
        """Returns the diameter of a network in the median run after a share of its links has failed.

        Args:
            label: label of the network.
            share: the share, a multiple of the step.
        """
        return int(self._row(label, share)["diameter"])

    def growth(self, label: str, share: float) -> Growth:
        """Returns the growth of distances in the median run after a share of the links has failed.

        Args:
            label: label of the network.
            share: the share, a multiple of the step.
        """
        before, after = self._row(label, 0), self._row(label, share)
        return Growth(*(after[name] - before[name] for name in ("diameter", "average_path_length")))

    def _row(self, label: str, share: float) -> Row:
        rows = (row for row in self.rows if row["network"] == label and np.isclose(row["failed"], share))
        return next(rows)


def failures_plot() -> Plot:
    """Returns the plot for the rows of `failures`: average path length and diameter versus failed links."""
    return Plot(
        "failed",
        "average_path_length",
        "share of failed links",
        "average path length",
        by="network",
        also={"diameter": "diameter"},
    )


def failures(networks: Iterable[Network], scale: Scale) -> Failures:
    """Computes the resilience of networks to link failures, and the distances as links fail.

    Args:
        networks: the networks.
        scale: the scale; its seeds are the number of runs.
    """
    found: dict[str, Resilience] = {}
    rows: list[Row] = []
    shares = np.arange(0, 1, _STEP).round(2)
    for one in networks:
        graph = one.graph()
        found[one.label] = of_network = resilience(graph, scale.number(RUNS, QUICK_RUNS))
        for distances in distances_after(graph, of_network.order, shares):
            rows.append(
                {
                    "network": one.label,
                    "failed": distances.share,
                    "diameter": distances.diameter,
                    "average_path_length": distances.average_path_length,
                    "median_disconnection": of_network.median,
                }
            )
    return Failures(found, rows)
