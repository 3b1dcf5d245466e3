"""Detours of a switch's adaptive groups, in bundles that leave by the same outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from routing.plan.model import Bucket, Group
from simulation.tables.actions import ActionBook
from simulation.tables.identities import IdentityTable
from simulation.tables.packets import Packet
from simulation.tables.shapes import ShapeBook, of_outputs

Numbers = npt.NDArray[np.int64]
SmallNumbers = npt.NDArray[np.int32] | npt.NDArray[np.uint16]
Int32 = npt.NDArray[np.int32]

HOPS_UNIT = 256  # parts of a hop
LOST_KEY = -1
_MIXER = np.uint64(
    0x9E3779B97F4A7C15
)  # 2^64 over the golden ratio; multiplied by it, numbers differ in all bits

# The numbers of lists of actions, the packet that gets there -> the keys of the choices, or LOST_KEY.
KeysOf = Callable[[Numbers, Packet], Numbers]


class AdaptiveUse(NamedTuple):
    """An adaptive group, and the packets that it gets."""

    group: Group
    packet: Packet


@dataclass(frozen=True)
class Detours:
    """The adaptive choices of a switch.

    Attributes:
        minimal: (choices,): key of the minimal path.
        minimal_hops: (choices,): its hops, in 1/256.
        bundle_starts: (choices + 1,): the bundles of each choice.
        bundle_keys: (bundles,): key of the choice among a bundle's outputs.
        bundle_detours: (bundles,): first detour of each bundle; equal bundles have the same.
        bundle_sizes: (bundles,): number of its detours.
        keys: different keys of candidates, LOST_KEY of dead ones.
        detours: (detours,): index in `keys`; of a small type, because there are many.
        hops: (detours,): hops, in 1/256; None if all are 0.
        groups: (choices,): number of the group that each choice is.
        candidate_starts: (choices + 1,): the candidates of each choice.
        candidates: (candidates,): index in `keys` of all candidates in the groups' order, minimal paths and
            dead ones included; empty unless the `BucketBook` keeps their order.
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


class BucketBook:
    """The candidates of all adaptive groups of a fabric, numbered by identity."""

    def __init__(self, actions: ActionBook, *, keeps_order: bool = False) -> None:
        """Makes an empty book.

        Args:
            actions: lists of actions, to which those of buckets are added.
            keeps_order: whether the candidates of groups are to be kept in their order as well.
        """
        self.keeps_order = keeps_order
        self._book = actions
        self._numbers = IdentityTable()
        self.actions = np.empty(0, np.int64)  # by number
        self.watched = np.empty(0, np.int64)  # port that the bucket watches, or 0

    def different(self, groups: Sequence[Group]) -> tuple[Numbers, Int32]:
        """Returns the different candidates of groups.

        Args:
            groups: groups of the plan.

        Returns:
            The numbers of the buckets, and for each candidate of each group the index of its number.
        """
        numbers, new = self._numbers.of([group.candidates for group in groups])
        if len(new):
            candidates = list(chain.from_iterable(group.candidates for group in groups))
            self._add([candidates[place] for place in new.tolist()])
        used = np.zeros(len(self.actions), bool)
        used[numbers] = True
        different = np.flatnonzero(used)
        places = np.empty(len(used), np.int32)
        places[different] = np.arange(len(different))
        return different, places[numbers]

    def _add(self, buckets: list[Bucket]) -> None:
        actions = self._book.numbers(bucket.actions for bucket in buckets)
        self.actions = np.append(self.actions, actions)
        self.watched = np.append(self.watched, [bucket.watch_port or 0 for bucket in buckets])


def find_detours(
    uses: Sequence[AdaptiveUse],
    buckets: BucketBook,
    shapes: ShapeBook,
    failed_ports: frozenset[int],
    keys_of: KeysOf,
) -> Detours:
    """Returns the adaptive choices of a switch.

    Args:
        uses: the adaptive groups and the packets that they get.
        buckets: the candidates of the fabric.
        shapes: the shapes of the switch's choices, to which those of bundles are added.
        failed_ports: the switch's ports that are down.
        keys_of: the keys of choices by actions.

    Returns:
        The choices; detours that are dead are left out.
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
    kept[firsts] = False
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
    """Bundles of which equal ones are kept once.

    Attributes:
        kept: (all detours,): whether the detour is kept.
        firsts: (bundles,): the place of each bundle's first detour among those that are kept.
        sizes: (bundles,): the number of its detours.
    """

    kept: npt.NDArray[np.bool_]
    firsts: Numbers
    sizes: Numbers


def _shared(detours: Numbers | Int32, starts: Numbers) -> _Shared:
    """Returns bundles of which equal ones are kept once.

    Under UGAL_PF the groups of a switch have the same detours but for those by a port: sixteen times as many
    as there are different ones, more than the processor's caches hold.

    Args:
        detours: a number of each detour, which tells it from others.
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
    like = first[inverse]
    alike = np.array_equal(sizes, sizes[like])
    if not alike or not np.array_equal(detours, detours[np.repeat(starts[like], sizes) + places]):
        like = np.arange(len(starts))  # different bundles have one sum
    own = like == np.arange(len(starts))
    firsts = np.cumsum(np.where(own, sizes, 0)) - np.where(own, sizes, 0)
    return _Shared(np.repeat(own, sizes), firsts[like], sizes)


def _small(index: Int32, keys: Numbers) -> SmallNumbers:
    """Returns indices of keys, of a small type where that is enough."""
    return index.astype(np.uint16) if len(keys) < 1 << 16 else index


def _keys_of_candidates(
    uses: Sequence[AdaptiveUse],
    lengths: Numbers,
    buckets: BucketBook,
    failed_ports: frozenset[int],
    keys_of: KeysOf,
) -> tuple[Numbers, Int32]:
    """Returns keys of different candidates, and for each candidate the index of its key."""
    numbers, index = buckets.different([use.group for use in uses])
    dead = np.isin(buckets.watched[numbers], [*failed_ports])
    keys = []
    for place, packet in enumerate(dict.fromkeys(use.packet for use in uses)):
        keys.append(np.where(dead, LOST_KEY, keys_of(buckets.actions[numbers], packet)))
        if place:
            own = np.repeat([use.packet == packet for use in uses], lengths)
            index[own] += place * len(numbers)
    return np.concatenate([*keys, np.empty(0, np.int64)]), index


def _output_sets(keys: Numbers, shapes: ShapeBook) -> tuple[Numbers, list[tuple[int, ...]]]:
    """Returns for each key the index of its set of outputs, or -1, and the sets."""
    different, places = np.unique(np.where(keys < 0, -1, shapes.shapes(keys)), return_inverse=True)
    sets = [() if shape < 0 else shapes.output_sets[shape] for shape in different.tolist()]
    ordered = sorted({*sets} - {()})
    number = {outputs: index for index, outputs in enumerate(ordered)} | {(): -1}
    return np.array([number[outputs] for outputs in sets], np.int64)[places], ordered


def _hops(uses: Sequence[AdaptiveUse], lengths: Numbers) -> Numbers | None:
    """Returns the hops of all candidates, in 1/256; None if no group tells them."""
    if not any(use.group.hops for use in uses):
        return None
    hops = [use.group.hops or (0.0,) * length for use, length in zip(uses, lengths.tolist(), strict=True)]
    found: Numbers = np.rint(np.array(list(chain.from_iterable(hops))) * HOPS_UNIT).astype(np.int64)
    return found
