"""Keys: choices of one switch encoded as single integers, before they are numbered.

The outcomes of a choice usually have the same tag and mark. The key then combines tag, mark and a shape: the
outputs and their weights. Choices with different tags but the same outputs share a shape. If the outcomes
differ in tag or mark, these are part of the shape.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulation.tables.actions import KEPT
from simulation.tables.model import NO_TAG
from simulation.tables.outcomes import NO_OUTPUT, Outcome, Outcomes, merged

Numbers = npt.NDArray[np.int64]


class Columns(NamedTuple):
    """The outcomes of several choices, concatenated.

    Attributes:
        starts: (choices + 1,): start of each choice.
        outputs: (outcomes,): outputs, or NO_OUTPUT.
        tags: (outcomes,).
        marks: (outcomes,).
        weights: (outcomes,).
    """

    starts: Numbers
    outputs: Numbers
    tags: Numbers
    marks: Numbers
    weights: Numbers


class ShapeRegistry:
    """Numbers the shapes of a switch's choices and encodes choices as keys.

    Attributes:
        output_sets: for each shape, the outputs in ascending order, without NO_OUTPUT.
    """

    def __init__(self, routers: int) -> None:
        """Creates an empty registry.

        Args:
            routers: N, the number of routers that tags may name.
        """
        self._tags = routers + 1
        self._numbers: dict[Outcomes, int] = {}
        self._shapes: list[Outcomes] = []
        self.output_sets: list[tuple[int, ...]] = []
        self._lengths = self._outcomes = np.empty(0, np.int64)

    def add(self, shape: Outcomes) -> int:
        """Returns the number of a shape, which is registered if it is new.

        Args:
            shape: outcomes; their tags and marks are KEPT if all outcomes of the choice have the same ones.
        """
        number = self._numbers.setdefault(shape, len(self._shapes))
        if number == len(self._shapes):
            self._shapes.append(shape)
            self.output_sets.append(tuple(sorted({one.output for one in shape} - {NO_OUTPUT})))
        return number

    def keys(self, shapes: Numbers, tags: Numbers, marks: Numbers) -> Numbers:
        """Returns the keys of choices whose outcomes have the same tag and mark.

        Args:
            shapes: the number of each choice's shape.
            tags: the tag of each choice's outcomes.
            marks: the mark of each choice's outcomes.
        """
        return ((shapes * self._tags) + tags + 1) * 2 + marks

    def key(self, outcomes: Outcomes) -> int:
        """Returns the key of a choice.

        Args:
            outcomes: its outcomes, without KEPT; at least one has an output.
        """
        tag, mark, shape = common(merged(one._replace(cleared=True) for one in outcomes))
        if KEPT in (tag, mark):
            tag, mark = NO_TAG, 0
        return (self.add(shape) * self._tags + tag + 1) * 2 + mark

    def shapes(self, keys: Numbers) -> Numbers:
        """Returns the number of each key's shape.

        Args:
            keys: keys of this registry.
        """
        return keys // (2 * self._tags)

    def in_order(self, keys: Numbers) -> Numbers:
        """Returns keys in the order of their shapes' outcomes, tags and marks.

        Unlike the order of keys, it does not depend on the order in which shapes were registered.

        Args:
            keys: ascending keys.
        """
        ranks = np.empty(len(self._shapes), np.int64)
        ranks[sorted(range(len(ranks)), key=self._shapes.__getitem__)] = np.arange(len(ranks))
        return keys[np.argsort(ranks[self.shapes(keys)], kind="stable")]

    def _arrays(self) -> tuple[Numbers, Numbers]:
        """Returns the number of outcomes of each shape, and all outcomes, concatenated."""
        if len(self._lengths) < len(self._shapes):
            self._lengths = np.array([len(shape) for shape in self._shapes], np.int64)
            self._outcomes = np.array([one for shape in self._shapes for one in shape], np.int64)
        return self._lengths, self._outcomes.reshape(-1, 5)

    def columns(self, keys: Numbers) -> Columns:
        """Returns the outcomes of all given choices, concatenated.

        Args:
            keys: the key of each choice.
        """
        lengths, outcomes = self._arrays()
        shapes = self.shapes(keys)
        starts = np.concatenate([[0], np.cumsum(lengths[shapes])])
        firsts = np.cumsum(lengths) - lengths
        rows = np.arange(starts[-1]) + np.repeat(firsts[shapes] - starts[:-1], lengths[shapes])
        outputs, tags, marks, _, weights = outcomes[rows].T
        common_tags = np.repeat(keys // 2 % self._tags - 1, lengths[shapes])
        common_marks = np.repeat(keys % 2, lengths[shapes])
        tags = np.where(tags == KEPT, common_tags, tags)
        marks = np.where(marks == KEPT, common_marks, marks)
        lost = outputs == NO_OUTPUT
        return Columns(starts, outputs, np.where(lost, NO_TAG, tags), np.where(lost, 0, marks), weights)


def common(outcomes: Outcomes) -> tuple[int, int, Outcomes]:
    """Factors the common tag and mark out of outcomes.

    Args:
        outcomes: any outcomes.

    Returns:
        The tag, the mark, and the outcomes with KEPT in their place; if tags or marks differ, KEPT, KEPT and
        the unchanged outcomes.
    """
    changes = {(one.tag, one.mark) for one in outcomes if one.output != NO_OUTPUT}
    if len(changes) != 1:
        return KEPT, KEPT, outcomes
    tag, mark = changes.pop()
    return tag, mark, tuple([one._replace(tag=KEPT, mark=KEPT, cleared=True) for one in outcomes])


@cache
def of_outputs(outputs: tuple[int, ...]) -> Outcomes:
    """Returns the shape of packets that are distributed evenly among outputs.

    Args:
        outputs: the outputs, in ascending order.
    """
    return tuple([Outcome(output, KEPT, KEPT, True, 1) for output in outputs])
