"""Forwarding tables: a plan's treatment of packets as arrays, which name no family and no routing.

A packet carries its destination, the intermediate router that its tag names, and the mark of a rerouted
packet. A switch looks up a choice by these; a choice is one outcome or several, among which packets divide
by weight. An adaptive choice has detours beside its minimal path, and a law of the simulator picks.

Directed links are numbered as in `topology.base`: router by router, in the order of the neighbours. No number
in the tables is that of a port.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from routing.verification.proof import PlanError
from topology.addressing import switch_name

Int32 = npt.NDArray[np.int32]

NO_CHOICE = -1  # the packet is dropped
NO_TAG = -1


@dataclass(frozen=True)
class Choices:
    """Outcomes by choice: those of choice c are `starts[c]` to `starts[c + 1] - 1`.

    Attributes:
        starts: (choices + 1,).
        links: (outcomes,): directed link by which the packet leaves; -1 if it is lost.
        tags: (outcomes,): intermediate router that the packet's tag names from then on, or NO_TAG.
        marks: (outcomes,): 1 if the packet is marked as rerouted from then on, else 0.
        weights: (outcomes,): share of the choice's packets, relative to its other outcomes; at least 1.
    """

    starts: Int32
    links: Int32
    tags: Int32
    marks: Int32
    weights: Int32


@dataclass(frozen=True)
class AdaptiveChoices:
    """Detours of adaptive choices, grouped by the ports that they leave by.

    An adaptive group of a switch is one adaptive choice, which many destinations share. It has at least one
    bundle where a look-up array names it: a group whose detours are all dead is a plain choice. Its bundles
    are `bundle_starts[a]` to `bundle_starts[a + 1] - 1`; the detours of bundle b are the `bundle_sizes[b]`
    ones from `bundle_detours[b]` on. Groups of a switch share their equal bundles.

    Attributes:
        minimal: (adaptive,): choice of the minimal path, in `Choices`; NO_CHOICE if it is dead.
        minimal_hops: (adaptive,): mean hops of the minimal path, in 1/256; 0 where no law needs them.
        bundle_starts: (adaptive + 1,).
        bundle_choices: (bundles,): a choice whose outcomes are the ports of all detours of the bundle.
        bundle_detours: (bundles,): first detour of each bundle.
        bundle_sizes: (bundles,): number of its detours, at least 1.
        detours: (detours,): choice of each detour, in `Choices`.
        detour_hops: (detours,): mean hops of each, in 1/256; 0 where no law needs them.
        routers: (adaptive,): router of each.
        groups: (adaptive,): number of the group that it is.
        candidate_starts: (adaptive + 1,); (1,) where tables were not asked for candidates.
        candidates: (candidates,): choice of each candidate of the group, in their order, the minimal path
            first; NO_CHOICE if it is dead.
    """

    minimal: Int32
    minimal_hops: Int32
    bundle_starts: Int32
    bundle_choices: Int32
    bundle_detours: Int32
    bundle_sizes: Int32
    detours: Int32
    detour_hops: Int32
    routers: Int32
    groups: Int32
    candidate_starts: Int32
    candidates: Int32

    def detours_of(self, number: int) -> list[int]:
        """Returns the choices of the detours of an adaptive choice, bundle by bundle.

        Args:
            number: the adaptive choice.
        """
        bundles = slice(*self.bundle_starts[number : number + 2].tolist())
        firsts, sizes = self.bundle_detours[bundles].tolist(), self.bundle_sizes[bundles].tolist()
        found: list[int] = []
        for first, size in zip(firsts, sizes, strict=True):
            found += self.detours[first : first + size].tolist()
        return found


@dataclass(frozen=True)
class ForwardingTables:
    """The forwarding of a fabric's switches under one plan and one set of failures.

    Routers are 0 .. N - 1 and hosts 0 .. H - 1, router by router. In the look-up arrays the value of an
    adaptive choice a is `-2 - a`; other values are choices, or NO_CHOICE.

    Attributes:
        link_starts: (N + 1,): each router's first directed link.
        link_targets: (links,): router at the other end of each directed link.
        reverse_links: (links,): directed link in the other direction.
        host_routers: (H,): router of each host.
        delivered: (H,): 1 if the host's own switch delivers its packets, else 0.
        from_host: (N, N): [router, destination router], packets that a host of the router has just sent.
        untagged: (N, N): [router, destination router], packets that come from another router.
        tagged: (N, N): [router, router that the tag names]; (0, 0) where no packet has a tag. At the router
            itself the tag is removed.
        after_tag: (N, N): [router, destination router], packets without a mark whose tag the router has just
            removed; (0, 0) where all such packets go on as untagged ones. Marked ones do in any case.
        marked: (N, N): [router, destination router], untagged packets that were rerouted; (0, 0) where there
            are none.
        marked_tagged: (N, N): as `tagged`, of packets that were rerouted; (0, 0) where there are none.
        choices: outcomes by choice.
        adaptive: adaptive choices.
        links_up: (links,): 1 if the link is up, else 0.
        global_links: (links,): 0 if both routers of the link belong to one cluster, else 1.
    """

    link_starts: Int32
    link_targets: Int32
    reverse_links: Int32
    host_routers: Int32
    delivered: Int32
    from_host: Int32
    untagged: Int32
    tagged: Int32
    after_tag: Int32
    marked: Int32
    marked_tagged: Int32
    choices: Choices
    adaptive: AdaptiveChoices
    links_up: Int32
    global_links: Int32

    def without_routers(self, dead: Collection[int]) -> ForwardingTables:
        """Returns tables in which some routers drop all packets.

        Args:
            dead: the routers.
        """
        if not dead:
            return self
        rows = sorted(dead)

        def without(table: Int32) -> Int32:
            table = table.copy()
            if table.size:
                table[rows] = NO_CHOICE
            return table

        return replace(
            self,
            from_host=without(self.from_host),
            untagged=without(self.untagged),
            tagged=without(self.tagged),
            after_tag=without(self.after_tag),
            marked=without(self.marked),
            marked_tagged=without(self.marked_tagged),
            delivered=np.where(np.isin(self.host_routers, rows), 0, self.delivered).astype(np.int32),
        )

    @property
    def routers(self) -> int:
        """N, the number of routers."""
        return len(self.link_starts) - 1

    @property
    def hosts(self) -> int:
        """H, the number of hosts."""
        return len(self.host_routers)


def inexpressible(router: int, reason: str) -> PlanError:
    """Returns the error of a switch whose treatment of packets forwarding tables cannot express.

    Args:
        router: the switch's router.
        reason: the property of the plan that they lack.
    """
    return PlanError(f"{switch_name(router)} cannot be simulated: {reason}")
