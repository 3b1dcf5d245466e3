"""A list of all paths on which a plan's rules let packets travel from one host to another."""

from __future__ import annotations

from dataclasses import dataclass

from routing.verification.forwarding_states import State, StateSpace
from topology.addressing import Host
from topology.failures import NO_FAILURE, Failure


@dataclass(frozen=True)
class PacketPath:
    """One path of packets between two hosts.

    Attributes:
        share: the share of the pair's packets that take it, 0 to 1; 0 if only an adaptation may choose it.
        routers: the routers that it visits, in order.
        fault: the kind and place of the fault that ends it before its destination; empty if there is none.
    """

    share: float
    routers: tuple[int, ...]
    fault: str = ""

    @property
    def hops(self) -> int:
        """The number of links between routers."""
        return len(self.routers) - 1


def packet_paths(
    space: StateSpace, source: Host, destination: Host, failure: Failure = NO_FAILURE
) -> list[PacketPath]:
    """Returns all paths that packets from one host to another may take.

    Args:
        space: the states of the plan.
        source: the host that sends.
        destination: another host.
        failure: the links and routers that have failed.

    Returns:
        Paths with the largest share first; of paths with equal shares, the one with the fewest hops first.
    """
    steps = space.steps_toward(destination)
    delivery = space.delivery_port(destination)
    shares: dict[tuple[tuple[int, ...], str], float] = {}

    def follow(state: State, share: float, routers: tuple[int, ...], visited: frozenset[int]) -> None:
        if state.number in visited:
            add(share, routers, "in a loop")
            return
        for step in steps(state, failure).steps:
            if step.target is not None and not step.fault:
                target = step.target
                follow(target, share * step.share, (*routers, target.router), visited | {state.number})
            elif step.hop == delivery and not step.fault:
                add(share * step.share, routers, "")
            else:
                add(share * step.share, routers, " ".join(step.fault or ("lost", "")).strip())

    def add(share: float, routers: tuple[int, ...], fault: str) -> None:
        shares[routers, fault] = shares.get((routers, fault), 0.0) + share

    follow(space.initial_state(source), 1.0, (source.router,), frozenset())
    paths = [PacketPath(share, routers, fault) for (routers, fault), share in shares.items()]
    return sorted(paths, key=lambda path: (-path.share, path.hops, path.routers))
