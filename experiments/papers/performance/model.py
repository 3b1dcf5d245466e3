"""Curves of accepted load and latency over the load, and their points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from experiments.events.base import Notify, ignore
from experiments.papers.model import BarChart, Item, ItemResult, Plot, Row, Scale, Value
from experiments.papers.networks import Network
from experiments.papers.performance.failures import LinkFailures
from experiments.points.loads import LoadSteps
from experiments.results.run_directory import RunDirectory
from experiments.results.simulation.summary import MOST_LATENCY_CYCLES
from experiments.simulation.address import Scheduler
from experiments.spec.fabric import FabricOptions, routing_name
from simulation.settings import ChannelPolicy, RouterSettings
from topology.errors import UsageError

_PORT_FLITS = 128  # [PolarFly, section VIII-A]
_SHARED_CHANNELS = 4
_WIDE = 20.0  # ratio of loads in a panel from which their axis is logarithmic


def simulated(
    network: Network,
    hosts: int,
    routing: str,
    routers: RouterSettings | None = None,
    decision: str | None = None,
) -> FabricOptions:
    """Returns the fabric of a network, simulated.

    Args:
        network: the network.
        hosts: endpoints at each router that has any.
        routing: name of the routing, with its parameters.
        routers: settings of routers and links; None for the usual ones.
        decision: law by which sources decide between paths, with its parameters; None for the routing's own.
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
    """Returns routers whose virtual channels share the buffer of a port equally.

    Args:
        channels: virtual channels of a port, one for each hop of the longest path.
        packet_flits: flits of a packet.
        port_flits: flits that fit into the buffers of all virtual channels of a port together; what is left
            of them by the division is not used.
        policy: virtual channel of a packet's next hop.
    """
    return RouterSettings(
        channels=channels,
        buffer_flits=port_flits // channels,
        packet_flits=packet_flits,
        channel_policy=policy,
    )


def shared_port(packet_flits: int = 4, port_flits: int = _PORT_FLITS) -> RouterSettings:
    """Returns routers whose packets take at every hop any of four virtual channels with room.

    Those are the routers that the PolarFly authors' published BookSim offers to graphs and fat trees. Paths
    up and down a tree are free of circles. On other graphs packets may come to be in a deadlock, which such
    routers do near and beyond saturation; with a channel for each hop they do not, but a link then has
    packets of few channels only, and the queue that UGAL_PF waits for is another one.

    Args:
        packet_flits: flits of a packet.
        port_flits: flits that fit into the buffers of all virtual channels of a port together.
    """
    return divided_port(_SHARED_CHANNELS, packet_flits, port_flits, policy="any")


@dataclass(frozen=True)
class Curve:
    """A network under a routing and a pattern, over the load.

    Attributes:
        label: name of the network with its routing, as `PF-UGAL`.
        fabric: the network and its routing.
        pattern: name of the pattern, with its parameters.
        loads: the loads.
        warmup: cycles of warm-up, of networks that settle slowly; None for as many as all curves have.
        failures: links that have failed before the first packet; None without.
    """

    label: str
    fabric: FabricOptions
    pattern: str
    loads: LoadSteps = field(default_factory=LoadSteps)
    warmup: int | None = None
    failures: LinkFailures | None = None

    @property
    def name(self) -> str:
        """Its label and its pattern, as `PF-UGAL, tornado`."""
        return f"{self.label}, {self.pattern}"

    @property
    def choices(self) -> tuple[str, str]:
        """The words that choose it: its label, which its curves under other patterns have, too, and both."""
        return self.label, f"{self.label}:{self.pattern}"


@dataclass(frozen=True)
class CurvePoint:
    """A curve at one load; means over the seeds where there are several.

    Attributes:
        load: load that hosts were asked to send.
        offered: load that they offered.
        accepted: load that arrived.
        accepted_ci95: half the width of its 95 % confidence interval, over batches of the window or over
            seeds; None where the window is too short for one.
        latency_cycles: mean latency; None if nothing arrived.
        latency_ci95_cycles: half the width of its interval.
        stable: whether the network carries the load, under each seed.
        deadlock: whether packets came to be in a deadlock, under any seed.
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
    """A number needs a curve that has not been simulated to its end."""


@dataclass(frozen=True)
class MeasuredCurve:
    """A curve with its points.

    Attributes:
        curve: the curve.
        points_so_far: its points, by ascending load.
        complete: whether they are all that the curve needs.
        seconds: the time that their simulations took, each on one core.
    """

    curve: Curve
    points_so_far: Sequence[CurvePoint]
    complete: bool = True
    seconds: float = 0.0

    @property
    def points(self) -> Sequence[CurvePoint]:
        """Its points, by ascending load.

        Raises:
            CurveNotMeasuredError: it lacks some.
        """
        if not self.complete:
            raise CurveNotMeasuredError(f"curve {self.curve.name} has not been simulated to its end")
        return self.points_so_far

    @property
    def saturation(self) -> Value:
        """The load that is accepted at the greatest load below the least that the network does not carry.

        Its interval goes from the lower end of the confidence interval of that load to the least load that is
        not carried. A network that carries none of the loads accepts 0 at saturation.
        """
        last, beyond = self._end()
        if last is None:
            return Value(0.0, (0.0, beyond or 0.0))
        low = last.accepted - (last.accepted_ci95 or 0.0)
        high = last.accepted + (last.accepted_ci95 or 0.0)
        return Value(last.accepted, (low, max(high, beyond or 0.0)))

    @property
    def saturation_load(self) -> Value:
        """The greatest load below the least that the network does not carry, as hosts that send were asked.

        `saturation` is a mean over all hosts, of which patterns of bits have idle ones. The interval goes to
        the least load that is not carried.
        """
        last, beyond = self._end()
        load = last.load if last else 0.0
        return Value(load, (load, load if beyond is None else beyond))

    def _end(self) -> tuple[CurvePoint | None, float | None]:
        """Returns the last point that is carried, and the least load that is not; None without one."""
        beyond = min((point.load for point in self.points if not point.stable), default=None)
        carried = [point for point in self.points if beyond is None or point.load < beyond]
        return (carried[-1] if carried else None), beyond

    @property
    def throughput(self) -> Value:
        """The greatest load that is accepted at any load, with its 95 % confidence interval."""
        best = max(self.points, key=lambda point: point.accepted)
        half = best.accepted_ci95
        interval = None if half is None else (best.accepted - half, best.accepted + half)
        return Value(best.accepted, interval)

    def rows(self) -> list[Row]:
        """Returns the points, of an incomplete curve as well, as rows of the item's data.

        Those that ended in a deadlock have no latency: it would be that of the few packets before.
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
    """The place where curves are simulated.

    Attributes:
        directory: folder of a paper's items; simulated points stay there.
        workers: processes of this machine that simulate; None for one on each of its cores.
        scheduler: scheduler of a cluster that simulates instead; None without.
        notify: takes the events.
        labels: the curves that are simulated there, by their `choices`; of others the points that the
            folder holds are taken. None for all curves.
    """

    directory: RunDirectory
    workers: int | None = None
    scheduler: Scheduler | None = None
    notify: Notify = ignore
    labels: frozenset[str] | None = None

    def simulates(self, curve: Curve) -> bool:
        """Returns whether the missing points of a curve are simulated.

        Args:
            curve: the curve.
        """
        return self.labels is None or not self.labels.isdisjoint(curve.choices)


MeasuredCurves = Mapping[Curve, MeasuredCurve]


@dataclass(frozen=True)
class SimulatedItem:
    """A figure or a table of a paper that takes simulations.

    Attributes:
        title: its content, in a phrase.
        curves: scale -> the curves that it needs.
        find: the curves with their points, scale -> what they show.
        plot: the drawing of its rows.
    """

    title: str
    curves: Callable[[Scale], Sequence[Curve]]
    find: Callable[[MeasuredCurves, Scale], ItemResult]
    plot: Plot | BarChart


@dataclass(frozen=True)
class PlacedItem:
    """An item that keeps results of its own in the folder, from which it goes on.

    Attributes:
        title: its content, in a phrase.
        compute: scale, settings -> what it has found.
        plot: the drawing of its rows.
        real: whether it sends real packets, for which the process must be root.
        by_chance: whether it has seeds.
    """

    title: str
    compute: Callable[[Scale, ComputeSettings], ItemResult]
    plot: Plot | BarChart
    real: bool = False
    by_chance: bool = False


AnyItem = Item | SimulatedItem | PlacedItem


def latency_plot() -> Plot:
    """Returns the drawing of curves: mean latency over the load, a panel for each pattern.

    Latencies of loads that are not carried grow with the length of the simulation; their markers are hollow.
    Minimal paths carry a few hundredths of a permutation, and other routings half of it and more.
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
        top=MOST_LATENCY_CYCLES,
    )


def accepted_plot() -> Plot:
    """Returns the drawing of curves: accepted load over the load, a panel for each pattern.

    The markers of loads that are not carried are hollow.
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
