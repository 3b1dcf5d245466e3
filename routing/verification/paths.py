"""The ways that a plan's rules let packets take from one host to another, one by one."""

from __future__ import annotations

from dataclasses import dataclass

from routing.verification.forwarding_states import State, StateSpace
from topology.addressing import Host
from topology.failures import NO_FAILURE, Failure


@dataclass(frozen=True)
class PacketPath:
    """One way.

    Attributes:
        share: of the pair's packets that take it; 0 for those that a controller may yet choose.
        routers: that it visits, in order.
        fault: what ends it before its destination, or nothing.
    """

    share: float
    routers: tuple[int, ...]
    fault: str = ""

    @property
    def hops(self) -> int:
        """How many links it takes."""
        return len(self.routers) - 1


def packet_paths(
    space: StateSpace, source: Host, destination: Host, failure: Failure = NO_FAILURE
) -> list[PacketPath]:
    """Returns all ways, those with the largest share and then the fewest hops first.

    Args:
        space: of the plan.
        source: where packets start.
        destination: another host.
        failure: what is broken.
    """
    steps = space.toward(destination)
    delivered = space.delivery(destination)
    found: dict[tuple[tuple[int, ...], str], float] = {}

    def go_on(state: State, share: float, routers: tuple[int, ...], before: frozenset[int]) -> None:
        if state.number in before:
            note(share, routers, "in a circle")
            return
        for step in steps(state, failure).steps:
            if step.target is not None and not step.fault:
                target = step.target
                go_on(target, share * step.share, (*routers, target.router), before | {state.number})
            elif step.hop == delivered and not step.fault:
                note(share * step.share, routers, "")
            else:
                note(share * step.share, routers, " ".join(step.fault or ("lost", "")).strip())

    def note(share: float, routers: tuple[int, ...], fault: str) -> None:
        found[routers, fault] = found.get((routers, fault), 0.0) + share

    go_on(space.start(source), 1.0, (source.router,), frozenset())
    listed = [PacketPath(share, routers, fault) for (routers, fault), share in found.items()]
    return sorted(listed, key=lambda way: (-way.share, way.hops, way.routers))
