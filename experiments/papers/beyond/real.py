"""Small networks as emulated fabrics with real packets, compared with the simulator and the fluid model.

The networks come from seven families, each represented by the member whose price is nearest to a PolarFly's;
they have 27 to 48 routers. Each network is a sweep in its own folder, which resumes after an interruption.
The simulator then sends the same packets over simulated switches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from experiments.papers.beyond.fair import best_routing_of
from experiments.papers.beyond.members import PRICE, NetworkWithHosts, nearest_members
from experiments.papers.model import BarChart, ItemResult, Row, Scale
from experiments.papers.performance.model import ComputeSettings
from experiments.papers.performance.series import UNIFORM
from experiments.papers.polarfly.performance import TORNADO
from experiments.results.parts.crosscheck import Compared, kept_crosscheck
from experiments.spec.experiment import Experiment
from experiments.spec.options import SWEEP, TOPOLOGY
from experiments.spec.resolve import Sweep, specification
from experiments.spec.values import plain_name

_Q, _QUICK_Q = 5, 3
# Only the families that the papers compare, because real packets take real time.
FAMILIES = ("polarfly", "slimfly", "polarstar", "dragonfly", "hyperx", "fat-tree", "jellyfish")
_RATE = "1Mbit"
_WARMUP_S = 5
_FOLDER = "real"
# Family -> its minimal routing, if that is not `min`. The fluid model needs oblivious routings.
_MINIMAL = {"dragonfly": "hierarchical", "fat-tree": "nca"}
PLOT = BarChart(
    ("network", "routing", "validity"),
    {
        "accepted": "real packets",
        "accepted_simulated": "the same packets, simulated",
        "accepted_credit": "lossless routers, simulated",
        "accepted_predicted": "fluid model",
    },
    group="traffic",
)


@dataclass(frozen=True)
class RealNetwork:
    """A network, and the routings and the traffic with which it is measured.

    Attributes:
        member: the network with its endpoints.
        patterns: names of patterns.
        loads: offered loads.
        seconds: duration of a measurement, in s.
        repeat: replications of a point.
    """

    member: NetworkWithHosts
    patterns: tuple[str, ...]
    loads: tuple[float, ...]
    seconds: int
    repeat: int = 1

    @property
    def routings(self) -> tuple[str, ...]:
        """The routings to measure: a minimal one, and the family's best routing (`fair.best_routing_of`)."""
        family = self.member.network.family
        return tuple(dict.fromkeys((_MINIMAL.get(family, "min"), best_routing_of(family).routing)))

    def sweep(self) -> Sweep:
        """Returns the specification of the sweep that measures the network.

        Raises:
            UsageError: the fabric cannot carry the traffic.
        """
        network = self.member.network
        values = {
            TOPOLOGY: network.family,
            **dict(network.params),
            "hosts": self.member.hosts,
            "routings": self.routings,
            "patterns": self.patterns,
            "loads": self.loads,
            "link-rate": _RATE,
            "warmup": _WARMUP_S,
            "duration": self.seconds,
            "repeat": self.repeat,
        }
        return cast(Sweep, specification(Experiment(SWEEP, values)))


def real_networks(scale: Scale) -> Iterator[RealNetwork]:
    """Yields the networks to emulate.

    Args:
        scale: the scale; at quick scale the networks are smaller and have tornado traffic at one load.
    """
    for member in nearest_members(_QUICK_Q if scale.quick else _Q, PRICE, FAMILIES):
        repeat = scale.seeds or 1
        if scale.quick:
            yield RealNetwork(member, (TORNADO,), (0.4,), 5, repeat)
        else:
            worst = best_routing_of(member.network.family).adversarial
            patterns = tuple(dict.fromkeys((UNIFORM, TORNADO, worst)))
            yield RealNetwork(member, patterns, (0.2, 0.4, 0.6), 20, repeat)


def real_packets(scale: Scale, settings: ComputeSettings) -> ItemResult:
    """Measures the accepted load of real packets; returns it next to simulations and the fluid model.

    Args:
        scale: the scale; its seeds are the replications of a point.
        settings: the folder, in which each network has its own.

    Raises:
        MachineError: this process does not run as root, or the machine lacks another requirement.
        NegativeResult: a proof failed, or packets did not take the planned paths.
        KeyboardInterrupt: Ctrl-C; the folders have the points measured until then.
    """
    from emulation.requirements import require_emulation  # only this figure needs Mininet

    require_emulation()
    rows: list[Row] = []
    for one in real_networks(scale):
        rows += [_row(one, point) for point in _compared(one, settings)]
    rows.sort(key=lambda row: row["traffic"])
    return ItemResult({}, rows)


def _compared(one: RealNetwork, settings: ComputeSettings) -> list[Compared]:
    """Measures the points that a network's folder lacks, and compares all points with simulations."""
    from experiments.simulation.crosscheck import crosscheck  # importing it compiles the simulator
    from experiments.sweep import run_sweep

    network = one.member.network
    folder = Path(settings.directory.path, _FOLDER, plain_name(*network.label.split(), one.member.hosts))
    sweep = one.sweep()
    try:
        run_sweep(sweep.points, sweep.sweep, folder, settings.on_event)
    finally:
        if folder.exists():  # keep measured points even if the sweep was interrupted
            settings.directory.keep()
    kept = kept_crosscheck(folder)
    if one.repeat == 1 and kept.keys() == set(sweep.sweep.points()):
        return list(kept.values())
    return list(crosscheck(folder, settings.on_event).points)


def _row(one: RealNetwork, point: Compared) -> Row:
    """Returns the figure's row for a point: measured, simulated and predicted load."""
    member = one.member
    traffic = point.pattern if point.pattern in (UNIFORM, TORNADO) else "adversarial"
    return {
        "traffic": f"{traffic} at {point.load:g}",
        "network": member.network.label,
        "routers": member.network.graph().routers,
        "endpoints": member.endpoints,
        "routing": point.routing,
        "pattern": point.pattern,
        "load": point.load,
        "seed": point.seed,
        "validity": "valid" if point.valid else "not valid",
        "accepted": point.accepted,
        "accepted_simulated": round(point.accepted_simulated, 6),
        "accepted_credit": round(point.accepted_credit, 6),
        "accepted_predicted": point.accepted_predicted,
        "hops": point.hops_mean,
        "hops_simulated": round(point.hops_mean_simulated, 6),
        "queueing": point.queueing_frame_times,
        "queueing_simulated": round(point.queueing_frame_times_simulated, 6),
    }
