"""Figures that belong to no paper and therefore have no claims."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.papers.beyond import deadlock_free, failures, fair, laws, loop, real, threshold
from experiments.papers.performance.model import PlacedItem, SimulatedItem

ITEMS: Mapping[str, SimulatedItem | PlacedItem] = {
    "failures": SimulatedItem(
        "Throughput of PolarFly with failed links: fast reroute alone, and new plans",
        failures.failure_curves,
        failures.failures,
        failures.PLOT,
    ),
    "threshold": SimulatedItem(
        "Saturation and latency of PolarFly over the threshold of UGAL_PF",
        threshold.threshold_curves,
        threshold.thresholds,
        threshold.PLOT,
    ),
    "laws": SimulatedItem(
        "Saturation and latency of PolarFly by adaptive law, the paper's and others",
        laws.law_curves,
        laws.laws,
        laws.PLOT,
    ),
    "loop": SimulatedItem(
        "Stable load of PolarFly with a controller's loop and with decisions per packet, over q",
        loop.loop_curves,
        loop.loop,
        loop.PLOT,
    ),
    "deadlock-free": SimulatedItem(
        "Networks of equal cost: deadlock-free with one virtual channel, and with one channel per hop",
        deadlock_free.deadlock_curves,
        deadlock_free.deadlock_free,
        deadlock_free.PLOT,
    ),
    "fair": SimulatedItem(
        "Families at about equal ports of a router, endpoints and cost",
        fair.fair_curves,
        fair.fair,
        fair.PLOT,
    ),
    "real": PlacedItem(
        "Accepted load of real packets on small networks, beside simulations and the fluid model",
        real.real_packets,
        real.PLOT,
        real=True,
        by_chance=True,
    ),
}
