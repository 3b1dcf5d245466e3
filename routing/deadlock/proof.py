"""The proof that packets of a plan never wait for each other in a cycle on a lossless network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from routing.deadlock.certificate import ranks_ascend
from routing.deadlock.channels import MAX_VIRTUAL_CHANNELS, Channels, Numbers
from routing.deadlock.cycles import Dependency, describe_cycle, shortest_cycle
from routing.deadlock.dependency_graph import DependencyGraph, dependency_graph, first_hosts
from routing.deadlock.layers import count_layers
from routing.deadlock.moves import MoveFinder
from routing.deadlock.order import ascending_ranks, channels_in_cycles
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
        acyclic: whether the channel dependency graph is acyclic under every judged failure.
        channels: the number of channels.
        dependencies: the number of dependencies, under the failure named by `failure`.
        virtual_channels: n: hop h of a packet, from 1, uses virtual channel min(h, n) - 1 of its link.
        cycle: a shortest cycle of the graph; empty if it is acyclic.
        channels_by_hop: the smallest number of virtual channels with which the graph is acyclic if packets
            change them at every hop; None if no number suffices, because packets may loop.
        layers: the number of acyclic layers of paths found by the greedy search; None if not requested.
        scenarios: the number of judged failures, including the fabric without a failure.
        failure: the name of the worst failure: the one with the most channels in cycles; `none` for no
            failure.
        failures_with_circles: names of the failures under which there are cycles.
        ranks: the certificate: int64 array, the rank of each channel; packets always move on to channels of a
            higher rank. None if failures were judged or there is a cycle.
        numbering: the channels and their numbers, to which `ranks` refers.

    Examples:
        >>> minimal = plan(topology("polarfly", q=3))
        >>> [one.channel.link for one in prove_deadlock_freedom(minimal).cycle]
        ['s1-s10', 's10-s3', 's3-s5', 's5-s12', 's12-s1']
        >>> prove_deadlock_freedom(minimal, "hop:2").acyclic
        True
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
    """Proves that packets under a plan never wait for each other in a cycle, or finds such a cycle.

    Each failure is judged separately, once all packets sent before it have left; the plan's own alternates
    apply under that failure. Adaptive groups may choose any of their candidates.

    Args:
        plan: the plan.
        virtual_channels: n, at least 1: hop h of a packet, from 1, uses virtual channel min(h, n) - 1.
        failures: the failures to judge, in addition to no failure.
        layers: whether to count layers of paths.

    Raises:
        ParameterError: the number of virtual channels is outside its domain.
        UsageError: layers are requested, but a pair has several paths.
        PlanError: a switch cannot install its part of the plan, or rewrites the destinations of packets.
    """
    work = _Work(plan, failures)
    channels = Channels(plan.topology, virtual_channels)
    counted = count_layers(work.finders[0], Channels(plan.topology), plan.routing) if layers else None
    worst, cyclic = work.worst(channels)
    cycle = describe_cycle(worst, shortest_cycle(worst))
    ranks = ascending_ranks(worst) if not cyclic and len(work.finders) == 1 else None
    if ranks is not None and not ranks_ascend(work.new_finder(), channels, ranks):
        raise PlanError("the order of the channels does not certify the proof: packets violate it")
    return DeadlockProof(
        acyclic=not cyclic,
        channels=len(channels),
        dependencies=len(worst.tails),
        virtual_channels=virtual_channels,
        cycle=tuple(cycle),
        channels_by_hop=work.channels_by_hop(virtual_channels, sound=not cyclic),
        layers=counted,
        scenarios=len(work.finders),
        failure=worst.finder.failure.name,
        failures_with_circles=tuple(cyclic),
        ranks=ranks,
        numbering=channels,
    )


class _Work:
    """The moves of one plan's packets without failures, and under each failure separately."""

    def __init__(self, plan: RoutePlan, failures: Iterable[Failure]) -> None:
        self._topology = plan.topology
        self._space = StateSpace(plan)
        sound = self.new_finder()
        self.finders: Sequence[MoveFinder] = [sound, *(map(sound.under, failures))]

    def new_finder(self) -> MoveFinder:
        """Returns a finder without a failure and without cached moves."""
        return MoveFinder(self._space, first_hosts(self._space), NO_FAILURE)

    def worst(self, channels: Channels) -> tuple[DependencyGraph, list[str]]:
        """Returns the graph of the worst failure, and the names of all failures under which there are cycles.

        The worst failure is the one with the most channels in cycles.
        """
        worst, most, cyclic = None, -1, []
        for finder in self.finders:
            graph = dependency_graph(finder, channels)
            in_cycles = len(channels_in_cycles(graph))
            if in_cycles:
                cyclic.append(finder.failure.name)
            if in_cycles > most:
                worst, most = graph, in_cycles
        assert worst is not None
        return worst, cyclic

    def channels_by_hop(self, known: int, *, sound: bool) -> int | None:
        """Returns the smallest number of virtual channels with an acyclic graph under all failures.

        With any larger number the graph is acyclic, too: a cycle with n + 1 channels of a link would remain a
        cycle if two of these channels were merged.

        Args:
            known: a number that was already tried.
            sound: whether the graph with that number is acyclic under all failures.
        """
        for virtual in range(1, MAX_VIRTUAL_CHANNELS + 1):
            if virtual == known:
                if sound:
                    return virtual
            elif not any(self._has_cycle(finder, virtual) for finder in self.finders):
                return virtual
        return None

    def _has_cycle(self, finder: MoveFinder, virtual: int) -> bool:
        return bool(len(channels_in_cycles(dependency_graph(finder, Channels(self._topology, virtual)))))


# Memory per link and destination: a byte for whether packets may leave over the link, and a bit for whether
# they have arrived over it.
_PLACE_BYTES = 1 + 1 / 8
# Memory per state, in addition to its moves; measured on ER_31 and on a dragonfly of 1,896 routers.
_STATE_BYTES = 4000


def proof_bytes(plan: RoutePlan) -> int:
    """Estimates the memory that the proof of a plan needs in addition to the plan, in bytes.

    Args:
        plan: the plan.
    """
    topology = plan.topology
    pushed = [set(pushed_tags(switch.groups)) for switch in plan.switches]
    named = len(set().union(*pushed))
    # Tagged packets are in one state for each router on their path and each tag.
    tagged = min(topology.diameter * sum(map(len, pushed)), topology.routers * named)
    places = 2 * topology.links + tagged
    destinations = int((topology.host_counts(plan.hosts_per_router) > 0).sum())
    return int(places * destinations * _PLACE_BYTES + (2 * topology.routers + tagged) * _STATE_BYTES)
