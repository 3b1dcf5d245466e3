"""Curves of accepted load and latency versus offered load, and their points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from experiments.events.base import OnEvent, ignore
from experiments.papers.model import BarChart, Item, ItemResult, Plot, Row, Scale, Value
from experiments.papers.networks import Network
from experiments.papers.performance.failures import LinkFailures
from experiments.points.loads import LoadSteps
from experiments.results.run_directory import RunDirectory
from experiments.results.simulation.summary import MAX_LATENCY_CYCLES
from experiments.simulation.address import Scheduler
from experiments.spec.fabric import FabricOptions, routing_name
from simulation.settings import ChannelPolicy, RouterSettings
from topology.errors import UsageError

_PORT_FLITS = 128  # buffer of a port in the PolarFly paper, section VIII-A
_SHARED_CHANNELS = 4
_WIDE = 20.0  # ratio of loads from which a panel's horizontal axis is logarithmic


def simulated(
    network: Network,
    hosts: int,
    routing: str,
    routers: RouterSettings | None = None,
    decision: str | None = None,
) -> FabricOptions:
    """Returns the options of a simulated fabric.

    Args:
        network: the network.
        hosts: endpoints at each router that has any.
        routing: name of the routing, with its parameters.
        routers: settings of routers and links; None for the defaults.
        decision: law by which sources choose among paths, with its parameters; None for the routing's own.
    """
    return FabricOptions(
        network.family,
        dict(network.params),
        network.graph(),
        hosts,
        routing_name(routing),
        routers=routers or RouterSettings(),
        decision=decision,
    )


def divided_port(
    channels: int, packet_flits: int = 4, port_flits: int = _PORT_FLITS, *, policy: ChannelPolicy = "hop"
) -> RouterSettings:
    """Returns settings of routers whose virtual channels divide a port's buffer equally.

    Args:
        channels: virtual channels per port, one for each hop of the longest path.
        packet_flits: flits per packet.
        port_flits: flits that fit into the buffers of all virtual channels of a port together; a remainder of
            the division stays unused.
        policy: rule for the virtual channel of a packet's next hop.
    """
    return RouterSettings(
        channels=channels,
        buffer_flits=port_flits // channels,
        packet_flits=packet_flits,
        channel_policy=policy,
    )


def shared_port(packet_flits: int = 4, port_flits: int = _PORT_FLITS) -> RouterSettings:
    """Returns settings of routers whose packets may use, at each hop, any of four channels with space.

    These are the routers that the PolarFly authors' published BookSim has for graphs and fat trees. Paths up
    and down a tree have no cyclic dependencies. On other graphs packets may deadlock, and they do so near and
    beyond saturation. One channel per hop prevents that, but then each link has packets in few channels only,
    and the queue lengths that UGAL_PF compares are different.

    Args:
        packet_flits: flits per packet.
        port_flits: flits that fit into the buffers of all virtual channels of a port together.
    """
    return divided_port(_SHARED_CHANNELS, packet_flits, port_flits, policy="any")


@dataclass(frozen=True)
class Curve:
    """A network with a routing and a pattern, to be simulated at several loads.

    Attributes:
        label: name of the network with its routing, such as `PF-UGAL`.
        fabric: the network and its routing.
        pattern: name of the pattern, with its parameters.
        loads: the loads.
        warmup: cycles of warm-up, for networks that settle slowly; None for the default.
        failures: links that fail before the first packet; None for none.
    """

    label: str
    fabric: FabricOptions
    pattern: str
    loads: LoadSteps = field(default_factory=LoadSteps)
    warmup: int | None = None
    failures: LinkFailures | None = None

    @property
    def name(self) -> str:
        """The curve's label and pattern, such as `PF-UGAL, tornado`."""
        return f"{self.label}, {self.pattern}"

    @property
    def choices(self) -> tuple[str, str]:
        """Words of --curves that select this curve: its label (all patterns), or label and pattern."""
        return self.label, f"{self.label}:{self.pattern}"


@dataclass(frozen=True)
class CurvePoint:
    """A curve at one load; means over the seeds if there are several.

    Attributes:
        load: requested load of the hosts that send.
        offered: load that hosts offered.
        accepted: load that arrived.
        accepted_ci95: half the width of its 95 % confidence interval, over batches of the window or over
            seeds; None if the window is too short for an interval.
        latency_cycles: mean latency; None if nothing arrived.
        latency_ci95_cycles: half the width of its interval.
        stable: whether the load is stable with every seed.
        deadlock: whether packets deadlocked with any seed.
    """

    load: float
    offered: float
    accepted: float
    accepted_ci95: float | None
    latency_cycles: float | None
    latency_ci95_cycles: float | None
    stable: bool
    deadlock: bool


class CurveNotMeasuredError(UsageError):
    """A number depends on a curve whose simulation is not complete."""


@dataclass(frozen=True)
class MeasuredCurve:
    """A curve with its simulated points.

    Attributes:
        curve: the curve.
        points_so_far: its points, by ascending load.
        complete: whether the curve has all points that it needs.
        seconds: time of their simulations, each on one core.
    """

    curve: Curve
    points_so_far: Sequence[CurvePoint]
    complete: bool = True
    seconds: float = 0.0

    @property
    def points(self) -> Sequence[CurvePoint]:
        """The points of the curve, by ascending load.

        Raises:
            CurveNotMeasuredError: some are missing.
        """
        if not self.complete:
            raise CurveNotMeasuredError(f"the simulation of curve {self.curve.name} is not complete")
        return self.points_so_far

    @property
    def saturation(self) -> Value:
        """The accepted load at the highest stable load, below all saturated loads.

        Its interval extends from the lower end of that load's confidence interval to the lowest saturated
        load. If no load is stable, it is 0.
        """
        last, beyond = self._end()
        if last is None:
            return Value(0.0, (0.0, beyond or 0.0))
        low = last.accepted - (last.accepted_ci95 or 0.0)
        high = last.accepted + (last.accepted_ci95 or 0.0)
        return Value(last.accepted, (low, max(high, beyond or 0.0)))

    @property
    def saturation_load(self) -> Value:
        """The highest stable load, below all saturated loads, as requested of the hosts that send.

        `saturation` is a mean over all hosts, including those that stay idle under bit patterns. The interval
        extends to the lowest saturated load.
        """
        last, beyond = self._end()
        load = last.load if last else 0.0
        return Value(load, (load, load if beyond is None else beyond))

    def _end(self) -> tuple[CurvePoint | None, float | None]:
        """Returns the last point below all saturated loads, if any, and the lowest saturated load, if any."""
        beyond = min((point.load for point in self.points if not point.stable), default=None)
        stable = [point for point in self.points if beyond is None or point.load < beyond]
        return (stable[-1] if stable else None), beyond

    @property
    def throughput(self) -> Value:
        """The highest accepted load at any offered load, with its 95 % confidence interval."""
        best = max(self.points, key=lambda point: point.accepted)
        half = best.accepted_ci95
        interval = None if half is None else (best.accepted - half, best.accepted + half)
        return Value(best.accepted, interval)

    def rows(self) -> list[Row]:
        """Returns the points as rows of the figure's data, even if the curve is incomplete.

        Points that ended in a deadlock have no latency: it would describe only the few packets before it.
        """
        fabric = self.curve.fabric
        return [
            {
                "curve": self.curve.label,
                "routers": fabric.topology.routers,
                "routing": fabric.routing,
                "pattern": self.curve.pattern,
                **vars(replace(point, latency_cycles=None) if point.deadlock else point),
            }
            for point in self.points_so_far
        ]


@dataclass(frozen=True)
class ComputeSettings:
    """Folder, processes and selection for the simulation of curves.

    Attributes:
        directory: folder of the paper, which keeps the simulated points.
        workers: local processes that simulate; None for one per core.
        scheduler: scheduler of a cluster that simulates instead; None for no cluster.
        on_event: callback for progress events.
        labels: the curves to simulate, by their `choices`; None for all. Other curves only have the points
            that are already in the folder.
    """

    directory: RunDirectory
    workers: int | None = None
    scheduler: Scheduler | None = None
    on_event: OnEvent = ignore
    labels: frozenset[str] | None = None

    def simulates(self, curve: Curve) -> bool:
        """Returns whether the missing points of a curve are to be simulated.

        Args:
            curve: the curve.
        """
        return self.labels is None or not self.labels.isdisjoint(curve.choices)


MeasuredCurves = Mapping[Curve, MeasuredCurve]


@dataclass(frozen=True)
class SimulatedItem:
    """A figure or table of a paper that needs simulated curves.

    Attributes:
        title: its content, in a phrase.
        curves: scale -> the curves that it needs.
        find: (curves with their points, scale) -> result.
        plot: the drawing of its rows.
    """

    title: str
    curves: Callable[[Scale], Sequence[Curve]]
    find: Callable[[MeasuredCurves, Scale], ItemResult]
    plot: Plot | BarChart


@dataclass(frozen=True)
class PlacedItem:
    """A figure that keeps intermediate results in the folder and resumes from them.

    Attributes:
        title: its content, in a phrase.
        compute: scale, settings -> result.
        plot: the drawing of its rows.
        real: whether it sends real packets, which needs root.
        by_chance: whether its numbers depend on chance, so that a number of seeds can be chosen.
    """

    title: str
    compute: Callable[[Scale, ComputeSettings], ItemResult]
    plot: Plot | BarChart
    real: bool = False
    by_chance: bool = False


AnyItem = Item | SimulatedItem | PlacedItem


def latency_plot() -> Plot:
    """Returns the plot of mean latency versus load, with one panel per pattern.

    Latencies of saturated loads grow with the length of the simulation; their markers are hollow. The load
    axis may become logarithmic, because minimal paths saturate at a few hundredths of a permutation's full
    load, and other routings at half of it or more.
    """
    return Plot(
        "load",
        "latency_cycles",
        "load",
        "mean latency in cycles",
        by="curve",
        panels="pattern",
        error="latency_ci95_cycles",
        log="y",
        wide=_WIDE,
        full="stable",
        top=MAX_LATENCY_CYCLES,
    )


def accepted_plot() -> Plot:
    """Returns the plot of accepted versus offered load, with one panel per pattern.

    The markers of saturated loads are hollow.
    """
    return Plot(
        "load",
        "accepted",
        "load",
        "accepted load",
        by="curve",
        panels="pattern",
        error="accepted_ci95",
        full="stable",
    )
