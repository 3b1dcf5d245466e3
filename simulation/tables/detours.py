"""Detours of a switch's adaptive groups, in bundles that leave through the same outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.plan.model import Bucket, Group
from simulation.tables.actions import ActionRegistry
from simulation.tables.identities import IdentityTable
from simulation.tables.packets import Packet
from simulation.tables.shapes import ShapeRegistry, of_outputs

Numbers = npt.NDArray[np.int64]
SmallNumbers = npt.NDArray[np.int32] | npt.NDArray[np.uint16]
Int32 = npt.NDArray[np.int32]

HOPS_UNIT = 256  # fixed-point units per hop
LOST_KEY = -1
# 2^64 over the golden ratio: multiplying by it spreads small differences over all bits (Fibonacci hashing).
_MIXER = np.uint64(0x9E3779B97F4A7C15)

# (numbers of action lists, packet that reaches them) -> keys of the choices, or LOST_KEY.
KeysOf = Callable[[Numbers, Packet], Numbers]


class AdaptiveUse(NamedTuple):
    """An adaptive group and the kind of packets that reach it."""

    group: Group
    packet: Packet


@dataclass(frozen=True)
class Detours:
    """The adaptive choices of a switch; keys are those of `simulation.tables.shapes`.

    Attributes:
        minimal: (choices,): key of the minimal path.
        minimal_hops: (choices,): hops of the minimal path, in 1/256.
        bundle_starts: (choices + 1,): first bundle of each choice.
        bundle_keys: (bundles,): key of a choice whose outcomes are the bundle's outputs.
        bundle_detours: (bundles,): first detour of each bundle; equal bundles share their detours.
        bundle_sizes: (bundles,): how many detours each bundle has.
        keys: distinct keys of candidates; LOST_KEY for dead ones.
        detours: (detours,): index in `keys`; of a small type to save memory.
        hops: (detours,): hops of each detour, in 1/256; None if all are 0.
        groups: (choices,): number of each choice's group.
        candidate_starts: (choices + 1,): first candidate of each choice.
        candidates: (candidates,): index in `keys` of all candidates in the groups' order, including minimal
            paths and dead candidates; empty unless the `CandidateRegistry` keeps their order.
    """

    minimal: Numbers
    minimal_hops: Numbers
    bundle_starts: Numbers
    bundle_keys: Numbers
    bundle_detours: Numbers
    bundle_sizes: Numbers
    keys: Numbers
    detours: SmallNumbers
    hops: Numbers | None
    groups: Numbers
    candidate_starts: Numbers
    candidates: SmallNumbers


class CandidateRegistry:
    """Numbers the candidate buckets of all adaptive groups by identity."""

    def __init__(self, actions: ActionRegistry, *, keeps_order: bool = False) -> None:
        """Creates an empty registry.

        Args:
            actions: registry of action lists; the lists of buckets are added.
            keeps_order: whether `Detours` also lists the candidates in the groups' order.
        """
        self.keeps_order = keeps_order
        self._action_registry = actions
        self._numbers = IdentityTable()
        self.actions = np.empty(0, np.int64)  # by number of the bucket: its action list
        self.watched = np.empty(0, np.int64)  # by number of the bucket: the port that it watches, or 0

    def distinct(self, groups: Sequence[Group]) -> tuple[Numbers, Int32]:
        """Returns the distinct candidates of groups.

        Args:
            groups: groups of the plan.

        Returns:
            The numbers of the distinct buckets, and for each candidate its index among them.
        """
        numbers, new = self._numbers.numbers_of([group.candidates for group in groups])
        if len(new):
            candidates = list(chain.from_iterable(group.candidates for group in groups))
            self._add([candidates[place] for place in new.tolist()])
        used = np.zeros(len(self.actions), bool)
        used[numbers] = True
        distinct = np.flatnonzero(used)
        places = np.empty(len(used), np.int32)
        places[distinct] = np.arange(len(distinct))
        return distinct, places[numbers]

    def _add(self, buckets: list[Bucket]) -> None:
        actions = self._action_registry.numbers(bucket.actions for bucket in buckets)
        self.actions = np.append(self.actions, actions)
        self.watched = np.append(self.watched, [bucket.watch_port or 0 for bucket in buckets])


def find_detours(
    uses: Sequence[AdaptiveUse],
    buckets: CandidateRegistry,
    shapes: ShapeRegistry,
    failed_ports: frozenset[int],
    keys_of: KeysOf,
) -> Detours:
    """Returns the adaptive choices of a switch, without dead detours.

    Args:
        uses: the adaptive groups and the packets that reach them.
        buckets: registry of the fabric's candidates.
        shapes: registry of the switch's shapes; the shapes of bundles are added.
        failed_ports: the switch's ports that are down.
        keys_of: returns the keys of choices for action lists.
    """
    lengths = np.array([len(use.group.candidates) for use in uses], np.int64)
    firsts = np.cumsum(lengths) - lengths
    keys, index = _keys_of_candidates(uses, lengths, buckets, failed_ports, keys_of)
    set_of_key, output_sets = _output_sets(keys, shapes)
    hops = _hops(uses, lengths)
    count = max(len(output_sets), 1)
    small = np.dtype(np.int16 if len(uses) * count < 1 << 15 else np.int64)
    owners = np.repeat((np.arange(len(uses)) * count).astype(small), lengths)
    codes = set_of_key.astype(small)[index]
    kept = codes >= 0
    kept[firsts] = False  # the first candidate of a group is its minimal path
    codes += owners
    rows = np.flatnonzero(kept)
    codes = codes[rows]
    if (codes[1:] < codes[:-1]).any():
        order = np.argsort(codes, kind="stable")
        rows, codes = rows[order], codes[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    first_codes = codes[starts].astype(np.int64)
    shared = _shared(index[rows] if hops is None else index[rows] + (hops[rows] << 32), starts)
    rows = rows[shared.kept]
    bundle_sets = np.array([shapes.key(of_outputs(outputs)) for outputs in output_sets], np.int64)
    return Detours(
        minimal=keys[index[firsts]],
        minimal_hops=np.zeros(len(uses), np.int64) if hops is None else hops[firsts],
        bundle_starts=np.searchsorted(first_codes // count, np.arange(len(uses) + 1)),
        bundle_keys=bundle_sets[first_codes % count],
        bundle_detours=shared.firsts,
        bundle_sizes=shared.sizes,
        keys=keys,
        detours=_small(index[rows], keys),
        hops=None if hops is None else hops[rows],
        groups=np.array([use.group.number for use in uses], np.int64),
        candidate_starts=np.append(firsts, lengths.sum()) if buckets.keeps_order else np.zeros(1, np.int64),
        candidates=_small(index if buckets.keeps_order else index[:0], keys),
    )


class _Shared(NamedTuple):
    """Bundles after deduplication.

    Attributes:
        kept: (all detours,): whether the detour is kept.
        firsts: (bundles,): index of each bundle's first detour among the kept ones.
        sizes: (bundles,): number of detours in each bundle.
    """

    kept: npt.NDArray[np.bool_]
    firsts: Numbers
    sizes: Numbers


def _shared(detours: Numbers | Int32, starts: Numbers) -> _Shared:
    """Deduplicates bundles with equal detours.

    Under UGAL_PF, the groups of a switch have the same detours except those through one port. Without
    deduplication there would be sixteen times as many detours: too many for the processor's caches.

    Args:
        detours: a number that identifies each detour.
        starts: first detour of each bundle.
    """
    sizes = np.diff(starts, append=len(detours))
    if not len(starts):
        return _Shared(np.ones(0, bool), starts, sizes)
    places = np.arange(len(detours)) - np.repeat(starts, sizes)
    mixed = (detours.astype(np.uint64) + np.uint64(1)) * _MIXER
    mixed = (mixed ^ mixed >> np.uint64(29)) * (places.astype(np.uint64) * np.uint64(2) + np.uint64(1))
    sums = np.add.reduceat(mixed, starts) + sizes.astype(np.uint64) * _MIXER
    _, first, inverse = np.unique(sums, return_index=True, return_inverse=True)
    first_equal = first[inverse]
    same_sizes = np.array_equal(sizes, sizes[first_equal])
    if not same_sizes or not np.array_equal(detours, detours[np.repeat(starts[first_equal], sizes) + places]):
        first_equal = np.arange(len(starts))  # hash collision between different bundles: keep all
    own = first_equal == np.arange(len(starts))
    firsts = np.cumsum(np.where(own, sizes, 0)) - np.where(own, sizes, 0)
    return _Shared(np.repeat(own, sizes), firsts[first_equal], sizes)


def _small(index: Int32, keys: Numbers) -> SmallNumbers:
    """Returns indices of keys, converted to a smaller type if they fit."""
    return index.astype(np.uint16) if len(keys) < 1 << 16 else index


def _keys_of_candidates(
    uses: Sequence[AdaptiveUse],
    lengths: Numbers,
    buckets: CandidateRegistry,
    failed_ports: frozenset[int],
    keys_of: KeysOf,
) -> tuple[Numbers, Int32]:
    """Returns the keys of distinct candidates, and for each candidate the index of its key."""
    numbers, index = buckets.distinct([use.group for use in uses])
    dead = np.isin(buckets.watched[numbers], [*failed_ports])
    keys = []
    for place, packet in enumerate(dict.fromkeys(use.packet for use in uses)):
        keys.append(np.where(dead, LOST_KEY, keys_of(buckets.actions[numbers], packet)))
        if place:
            own = np.repeat([use.packet == packet for use in uses], lengths)
            index[own] += place * len(numbers)
    return np.concatenate([*keys, np.empty(0, np.int64)]), index


def _output_sets(keys: Numbers, shapes: ShapeRegistry) -> tuple[Numbers, list[tuple[int, ...]]]:
    """Returns, for each key, the index of its set of outputs, or -1 if it has none; and the distinct sets."""
    distinct, places = np.unique(np.where(keys < 0, -1, shapes.shapes(keys)), return_inverse=True)
    sets = [() if shape < 0 else shapes.output_sets[shape] for shape in distinct.tolist()]
    ordered = sorted({*sets} - {()})
    number = {outputs: index for index, outputs in enumerate(ordered)} | {(): -1}
    return np.array([number[outputs] for outputs in sets], np.int64)[places], ordered


def _hops(uses: Sequence[AdaptiveUse], lengths: Numbers) -> Numbers | None:
    """Returns the hops of all candidates, in 1/256 hops; None if no group of the plan states hops."""
    if not any(use.group.hops for use in uses):
        return None
    hops = [use.group.hops or (0.0,) * length for use, length in zip(uses, lengths.tolist(), strict=True)]
    rounded: Numbers = np.rint(np.array(list(chain.from_iterable(hops))) * HOPS_UNIT).astype(np.int64)
    return rounded
