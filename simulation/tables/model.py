"""Forwarding tables: a plan's treatment of packets as arrays, independent of topology family and routing.

A packet carries its destination, a tag with its intermediate router, and a mark if it was rerouted. A switch
uses these to look up a choice. A choice has one or more outcomes, among which packets are distributed by
weight. An adaptive choice has detours in addition to its minimal path; the simulator's decision law selects
the path.

Directed links are numbered as in `topology.base`: router by router, in the order of the neighbours. The
tables contain no port numbers.
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
    """Outcomes by choice: choice c has the outcomes `starts[c]` to `starts[c + 1] - 1`.

    Attributes:
        starts: (choices + 1,).
        links: (outcomes,): directed link through which the packet leaves; -1 if it is lost.
        tags: (outcomes,): intermediate router named by the packet's tag afterwards, or NO_TAG.
        marks: (outcomes,): 1 if the packet is marked as rerouted afterwards, else 0.
        weights: (outcomes,): share of the choice's packets, relative to its other outcomes; at least 1.
    """

    starts: Int32
    links: Int32
    tags: Int32
    marks: Int32
    weights: Int32


@dataclass(frozen=True)
class AdaptiveChoices:
    """Detours of adaptive choices, bundled by the outputs that they leave through.

    Each adaptive group of a switch is one adaptive choice, shared by many destinations. Adaptive choices in
    lookup arrays have at least one bundle: a group whose detours are all dead is a plain choice. Adaptive
    choice a has the bundles `bundle_starts[a]` to `bundle_starts[a + 1] - 1`; bundle b has the
    `bundle_sizes[b]` detours from `bundle_detours[b]` on. Groups of a switch share equal bundles.

    Attributes:
        minimal: (adaptive,): choice of the minimal path, in `Choices`; NO_CHOICE if it is dead.
        minimal_hops: (adaptive,): mean hops of the minimal path, in 1/256; 0 if no decision law needs them.
        bundle_starts: (adaptive + 1,).
        bundle_choices: (bundles,): a choice with the outputs of all detours of the bundle as outcomes.
        bundle_detours: (bundles,): first detour of each bundle.
        bundle_sizes: (bundles,): how many detours each bundle has, at least 1.
        detours: (detours,): choice of each detour, in `Choices`.
        detour_hops: (detours,): mean hops of each detour, in 1/256; 0 if no decision law needs them.
        routers: (adaptive,): router of each adaptive choice.
        groups: (adaptive,): number of each adaptive choice's group in the plan.
        candidate_starts: (adaptive + 1,); (1,) if the tables were compiled without candidates.
        candidates: (candidates,): choice of each candidate, in the order of the group, the minimal path
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
        choices: list[int] = []
        for first, size in zip(firsts, sizes, strict=True):
            choices += self.detours[first : first + size].tolist()
        return choices


@dataclass(frozen=True)
class ForwardingTables:
    """The forwarding of all switches under one plan and one set of failures.

    Routers are numbered from 0 to N - 1, and hosts from 0 to H - 1, router by router. In the lookup arrays,
    the value `-2 - a` means adaptive choice a; other values are choices, or NO_CHOICE.

    Attributes:
        link_starts: (N + 1,): each router's first directed link.
        link_targets: (links,): router at the other end of each directed link.
        reverse_links: (links,): directed link in the other direction.
        host_routers: (H,): router of each host.
        delivered: (H,): 1 if the host's own switch delivers packets to it, else 0.
        from_host: (N, N): [router, destination router], for packets from a host of the router.
        untagged: (N, N): [router, destination router], for untagged packets from other routers.
        tagged: (N, N): [router, router named by the tag]; (0, 0) if no packets are tagged. The router named
            by the tag removes it.
        after_tag: (N, N): [router, destination router], for unmarked packets whose tag the router has just
            removed; (0, 0) if they are forwarded like untagged packets, as marked ones always are.
        marked: (N, N): [router, destination router], for rerouted packets without a tag; (0, 0) if there are
            none.
        marked_tagged: (N, N): like `tagged`, for rerouted packets; (0, 0) if there are none.
        choices: outcomes by choice.
        adaptive: adaptive choices.
        links_up: (links,): 1 if the link is up, else 0.
        global_links: (links,): 0 if both routers of the link belong to the same cluster, else 1.
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
        """Returns tables in which the given routers drop all packets.

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
    """Returns the error for a switch whose rules cannot be expressed by forwarding tables.

    Args:
        router: the switch's router.
        reason: the unsupported property of its rules or groups.
    """
    return PlanError(f"{switch_name(router)} cannot be simulated: {reason}")
