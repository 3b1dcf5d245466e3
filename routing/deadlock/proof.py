"""The proof that packets of a plan never wait in a circle on a lossless network, or such a circle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from routing.deadlock.certificate import ranks_ascend
from routing.deadlock.channels import MAX_VIRTUAL_CHANNELS, Channels, Numbers
from routing.deadlock.circles import Dependency, describe_circle, shortest_circle
from routing.deadlock.dependency_graph import DependencyGraph, dependency_graph, first_hosts
from routing.deadlock.layers import count_layers
from routing.deadlock.moves import MoveFinder
from routing.deadlock.order import ascending_ranks, channels_in_circles
from routing.garbage_collection import without_garbage_collection
from routing.plan.groups import pushed_tags
from routing.plan.model import RoutePlan
from routing.verification.forwarding_states import StateSpace
from routing.verification.proof import PlanError
from topology.failures import NO_FAILURE, Failure


@dataclass(frozen=True, kw_only=True)
class DeadlockProof:
    """The result of a proof of deadlock freedom.

    Attributes:
        acyclic: whether the channel dependency graph has no circle, whatever of the failures has happened.
        channels: the number of channels.
        dependencies: the number of dependencies; of the failure that `failure` names.
        virtual_channels: the number of virtual channels that packets change by hop; 1 for one channel.
        cycle: a shortest circle of the graph; empty if there is none.
        channels_by_hop: the least number of virtual channels by hop with which there is no circle; None if
            there always is one, as packets may loop.
        layers: layers of paths without circles, as the greedy search finds them; None if not asked for.
        scenarios: the number of failures that were judged, the fabric without a failure included.
        failure: the name of the worst failure: that with most channels in circles; `none` is without one.
        failures_with_circles: names of the failures under which there are circles.
        ranks: the certificate: int64 array, for each channel its rank; under any failure that was judged,
            packets move on to channels of a higher rank only. None unless nothing has failed and there is no
            circle.
        numbering: the channels by their numbers, which `ranks` refers to.
    """

    acyclic: bool
    channels: int
    dependencies: int
    virtual_channels: int
    cycle: tuple[Dependency, ...]
    channels_by_hop: int | None
    layers: int | None = None
    scenarios: int
    failure: str
    failures_with_circles: tuple[str, ...]
    ranks: Numbers | None = field(default=None, repr=False)
    numbering: Channels = field(repr=False)


@without_garbage_collection()
def prove_deadlock_freedom(
    plan: RoutePlan, virtual_channels: int = 1, failures: Iterable[Failure] = (), *, layers: bool = False
) -> DeadlockProof:
    """Proves that packets under a plan never wait for one another in a circle, or finds such a circle.

    Each failure is judged by itself, after all packets from before it are gone: the steps of the plan's own
    alternates are those of that failure. Adaptive groups may choose any of their candidates.

    Args:
        plan: the plan.
        virtual_channels: n, at least 1: the packet's hop h, from 1, uses virtual channel min(h, n) - 1.
        failures: what may have failed, beside nothing at all.
        layers: whether to count layers of paths.

    Raises:
        ParameterError: the number of virtual channels is outside its domain.
        UsageError: layers are asked for, and a pair has several paths.
        PlanError: a switch cannot hold its part of the plan, or rewrites the destinations of packets.
    """
    work = _Work(plan, failures)
    channels = Channels(plan.topology, virtual_channels)
    counted = count_layers(work.finders[0], Channels(plan.topology), plan.routing) if layers else None
    worst, circles = work.worst(channels)
    cycle = describe_circle(worst, shortest_circle(worst))
    ranks = ascending_ranks(worst) if not circles and len(work.finders) == 1 else None
    if ranks is not None and not ranks_ascend(work.anew(), channels, ranks):
        raise PlanError("the order of the channels must certify the proof, but packets go against it")
    return DeadlockProof(
        acyclic=not circles,
        channels=len(channels),
        dependencies=len(worst.tails),
        virtual_channels=virtual_channels,
        cycle=tuple(cycle),
        channels_by_hop=work.channels_by_hop(virtual_channels, sound=not circles),
        layers=counted,
        scenarios=len(work.finders),
        failure=worst.finder.failure.name,
        failures_with_circles=tuple(circles),
        ranks=ranks,
        numbering=channels,
    )


class _Work:
    """The moves of one plan's packets under some failures, each by itself."""

    def __init__(self, plan: RoutePlan, failures: Iterable[Failure]) -> None:
        self._topology = plan.topology
        self._space = StateSpace(plan)
        sound = self.anew()
        self.finders: Sequence[MoveFinder] = [sound, *(map(sound.under, failures))]

    def anew(self) -> MoveFinder:
        """Returns a finder without a failure that knows nothing yet."""
        return MoveFinder(self._space, first_hosts(self._space), NO_FAILURE)

    def worst(self, channels: Channels) -> tuple[DependencyGraph, list[str]]:
        """Returns the graph with most channels in circles, and the failures that have circles."""
        worst, most, circles = None, -1, []
        for finder in self.finders:
            graph = dependency_graph(finder, channels)
            circling = len(channels_in_circles(graph))
            if circling:
                circles.append(finder.failure.name)
            if circling > most:
                worst, most = graph, circling
        assert worst is not None
        return worst, circles

    def channels_by_hop(self, known: int, *, sound: bool) -> int | None:
        """Returns the least number of virtual channels by hop with which no failure has a circle.

        With more channels there is none either: two of n + 1 channels of a link become one of n, so that
        every circle stays one.

        Args:
            known: a number that was tried.
            sound: whether no failure has a circle with that number.
        """
        for virtual in range(1, MAX_VIRTUAL_CHANNELS + 1):
            if virtual == known:
                if sound:
                    return virtual
            elif not any(self._has_circle(finder, virtual) for finder in self.finders):
                return virtual
        return None

    def _has_circle(self, finder: MoveFinder, virtual: int) -> bool:
        return bool(len(channels_in_circles(dependency_graph(finder, Channels(self._topology, virtual)))))


# Of one link of one destination: whether packets may leave by it (a byte), and whether they have come by it
# (a bit).
_PLACE_BYTES = 1 + 1 / 8
# Of a state beside its moves, measured on ER_31 and on a dragonfly of 1,896 routers.
_STATE_BYTES = 4000


def proof_bytes(plan: RoutePlan) -> int:
    """Returns the memory that the proof of a plan takes beside the plan, in bytes, about.

    Args:
        plan: the plan.
    """
    topology = plan.topology
    pushed = [set(pushed_tags(switch.groups)) for switch in plan.switches]
    named = len(set().union(*pushed))
    # Packets with a tag are in one state for each router on their way and each tag.
    tagged = min(topology.diameter * sum(map(len, pushed)), topology.routers * named)
    places = 2 * topology.links + tagged
    destinations = int((topology.host_counts(plan.concentration) > 0).sum())
    return int(places * destinations * _PLACE_BYTES + (2 * topology.routers + tagged) * _STATE_BYTES)
