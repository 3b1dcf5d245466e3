"""Links of networks: shares of them in bisections, and distances while they fail."""

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
_MANY_ROUTERS = 4096  # beyond which searches take long, and differ little
RUNS, QUICK_RUNS = 100, 20
_STEP = 0.05  # of the share of failed links


def bisection_row(family: str, network: Network, scale: Scale) -> Row:
    """Returns the row of a network in a table of bisections.

    Args:
        family: the name of the network's curve.
        network: the network.
        scale: the scale; its seeds are searches.
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
    """Returns the geometric mean of numbers over 0; not a number where there is none.

    Args:
        numbers: the numbers.
    """
    logs = [math.log(number) for number in numbers]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


class Growth(NamedTuple):
    """Growth of distances in hops.

    Attributes:
        diameter: growth of the diameter.
        path: growth of the average path.
    """

    diameter: int
    path: float


@dataclass(frozen=True)
class Failures:
    """Failures of the links of some networks.

    Attributes:
        found: label of a network -> its failures in random orders.
        rows: for each network and share of failed links, the distances of the median run.
    """

    found: Mapping[str, Resilience]
    rows: list[Row]

    def median(self, label: str) -> Value:
        """Returns the median share that disconnects a network, with its interval.

        Args:
            label: label of the network.
        """
        return Value(self.found[label].median, self.found[label].interval)

    def ratio(self, label: str, base: str) -> float:
        """Returns the median share of a network over that of another.

        Args:
            label: label of the network.
            base: label of the other.
        """
        return self.found[label].median / self.found[base].median

    def diameter(self, label: str, share: float) -> int:
        """Returns the diameter of a network after a share of its links has failed, of the median run.

        Args:
            label: label of the network.
            share: the share, a multiple of the step.
        """
        return int(self._row(label, share)["diameter"])

    def growth(self, label: str, share: float) -> Growth:
        """Returns the growth of distances when a share of the links has failed, of the median run.

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
    """Returns the drawing of the rows of `failures`: the average path and the diameter over the share."""
    return Plot(
        "failed",
        "average_path_length",
        "share of failed links",
        "average path length",
        by="network",
        also={"diameter": "diameter"},
    )


def failures(networks: Iterable[Network], scale: Scale) -> Failures:
    """Returns the failures of the links of some networks, and the distances on the way.

    Args:
        networks: the networks.
        scale: the scale; its seeds are runs.
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
