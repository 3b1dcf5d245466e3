"""The result of a proof: numbers of pairs by outcome, and the faults as sentences."""

from __future__ import annotations

from dataclasses import dataclass, field

from topology.errors import PolarLabError


class PlanError(PolarLabError):
    """A plan that a switch cannot install or a proof cannot judge; the message names the rule."""


MAX_LISTED_FAULTS = 20


@dataclass(repr=False)
class Proof:
    """The result of proving a plan; pairs are ordered pairs of different hosts.

    Attributes:
        pairs: number of pairs whose routers work, in the scenario with the most such pairs.
        scenarios: number of failures tried; no failure counts as one.
        delivered: pairs, summed over scenarios, whose packets arrive for every choice of the groups.
        cut_off: pairs, summed over scenarios, without any path after the failure; this is not a fault of the
            plan.
        max_hops: links between routers on the longest path of any packet.
        loops: pairs, summed over scenarios, for which some choice leads into a loop.
        blackholes: pairs, counted in the same way, for which some choice drops the packet.
        misdelivered: pairs for which some choice reaches another host, or the right one with a tag.
        over_bound: pairs for which some choice takes more hops than the plan promises.
        miscounted: pairs for which, after some choice, the TTL shows a wrong number of hops.
        undelivered: (source, destination) routers of pairs with a loop, a blackhole or a misdelivery.
        faults: the first `MAX_LISTED_FAULTS` faults as sentences.

    Examples:
        Without local repair, packets are lost while a link is dead:

        >>> proof = prove(plan(topology("polarfly", q=3), local_repair=False), "links")
        >>> proof.ok, proof.scenarios, proof.blackholes
        (False, 25, 264)
        >>> proof.faults[0]
        'h2_1 to h1_1 with link s1-s10 down: blackhole at s10'
    """

    pairs: int = 0
    scenarios: int = 0
    delivered: int = 0
    cut_off: int = 0
    max_hops: int = 0
    loops: int = 0
    blackholes: int = 0
    misdelivered: int = 0
    over_bound: int = 0
    miscounted: int = 0
    undelivered: set[tuple[int, int]] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether all packets arrive within the promised hops, except those of pairs without a path."""
        return not (self.loops or self.blackholes or self.misdelivered or self.over_bound or self.miscounted)

    def __repr__(self) -> str:
        """Returns the verdict with the main counts, and those of faults that occurred."""
        always = ("pairs", "scenarios", "delivered", "max_hops")
        faulty = ("cut_off", "loops", "blackholes", "misdelivered", "over_bound", "miscounted")
        names = [*always, *(name for name in faulty if getattr(self, name))]
        counts = ", ".join(f"{name}={getattr(self, name)}" for name in names)
        return f"Proof({'ok' if self.ok else 'FAILED'}, {counts})"
