"""Engine of points: does what is missing of many measurements, and keeps each as it ends.

The points of one fabric are a group, which says what is to be done next: all that is missing, or the next
steps of a search. A back end does them: one after another on a fabric that stays up (`in_turn.py`), in
processes of this machine (`processes.py`), or on the workers of a cluster.
"""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from experiments.events.base import Notify
from experiments.events.notices import Notice
from topology.errors import Terminated

FabricT = TypeVar("FabricT")
PointT = TypeVar("PointT")
OutcomeT = TypeVar("OutcomeT")
_MOST_AHEAD = 8  # loads of a search that are tried at once, although the first may end it


class PointGroup(ABC, Generic[FabricT, PointT, OutcomeT]):
    """Points that share a fabric, which stays up, or which processes share."""

    @abstractmethod
    def wanted(self, ahead: int = 1) -> Sequence[PointT]:
        """Returns the points to do next, those under way among them; none if all are done.

        Args:
            ahead: loads of a search that may be tried at once, although the first may end it.
        """

    @property
    @abstractmethod
    def left(self) -> int:
        """Number of points that are missing, at most."""

    @abstractmethod
    def standing(self, notify: Notify) -> AbstractContextManager[FabricT]:
        """Brings the fabric up for the time of a block.

        Args:
            notify: takes the events.
        """

    @abstractmethod
    def do(self, fabric: FabricT, point: PointT) -> OutcomeT:
        """Does a point, perhaps in a process of its own.

        Args:
            fabric: the fabric that stands.
            point: the point.
        """

    @abstractmethod
    def keep(self, point: PointT, outcome: OutcomeT, seconds_left: float | None) -> None:
        """Keeps the outcome of a point, which is wanted no more.

        Args:
            point: the point.
            outcome: its outcome.
            seconds_left: time that all points that are missing take, at most; None where it is not known.
        """

    def load(self, notify: Notify) -> None:  # most have nothing to load
        """Loads what processes would otherwise load one by one.

        Args:
            notify: takes the events.
        """

    @property
    def memory_bytes(self) -> int:
        """The memory that the fabric takes, about."""
        return 0


class ListedGroup(PointGroup[FabricT, PointT, OutcomeT]):
    """Points that are known from the start.

    Attributes:
        missing: those that are missing.
    """

    def __init__(self, points: Iterable[PointT]) -> None:
        """Takes the points, in their order."""
        self.missing = [*points]

    def wanted(self, ahead: int = 1) -> Sequence[PointT]:
        """Returns the points that are missing."""
        return self.missing

    @property
    def left(self) -> int:
        """Number of points that are missing."""
        return len(self.missing)

    def keep(self, point: PointT, _outcome: OutcomeT, _seconds_left: float | None) -> None:
        """Notes that a point is done, and kept."""
        self.missing.remove(point)


Group = PointGroup[Any, Any, Any]
Ended = tuple[Group, Any, Any]  # a group, its point, and the outcome


class BackEnd(Protocol):
    """Where points are done."""

    @property
    def slots(self) -> int:
        """Number of points, and of fabrics that come up, at once."""

    def has_room(self, group: Group) -> bool:
        """Returns whether the fabric of a group may come up beside others.

        Args:
            group: the group.
        """

    def open(self, group: Group) -> None:
        """Begins to bring up the fabric of a group.

        Args:
            group: the group.
        """

    def is_ready(self, group: Group) -> bool:
        """Returns whether the fabric of a group is up.

        Args:
            group: the group, which was opened.
        """

    def give(self, group: Group, point: Any) -> None:
        """Begins a point.

        Args:
            group: its group, whose fabric is up.
            point: the point.
        """

    def ended(self, *, wait: bool = True) -> Iterator[Ended]:
        """Yields points that have ended; there may be none although it has waited.

        Args:
            wait: whether to wait until something has happened.
        """

    def close(self, group: Group) -> None:
        """Takes the fabric of a group down.

        Args:
            group: the group, of which no point is under way.
        """


def do_points(groups: Iterable[Group], back_end: BackEnd) -> None:
    """Does the points of groups, and keeps each as it ends.

    Args:
        groups: the groups, of which those without missing points are left alone.
        back_end: does them.

    Raises:
        KeyboardInterrupt: Ctrl-C; the points that had ended by then are kept.
    """
    course = _Course(groups, back_end)
    try:
        while course.fill():
            course.keep(back_end.ended())
    except (KeyboardInterrupt, Terminated):
        course.keep(back_end.ended(wait=False))
        raise


class _Course:
    """The points that are under way, and the groups whose turn has not come."""

    def __init__(self, groups: Iterable[Group], back_end: BackEnd) -> None:
        self._groups = [*groups]
        self._waiting = deque(self._groups)  # which are asked when it is their turn: others do points then
        self._under_way: dict[Group, list[Any]] = {}  # of groups that are open, the oldest first
        self._back_end = back_end
        self._began_s, self._done = time.monotonic(), 0

    def fill(self) -> bool:
        """Gives the back end as much as it can do at once; returns whether anything is under way."""
        for group in [one for one, points in self._under_way.items() if not points and not one.wanted()]:
            self._back_end.close(group)
            del self._under_way[group]
        self._give()
        while self._free and self._waiting and self._may_open(self._waiting[0]):
            group = self._waiting.popleft()
            if not group.wanted():
                continue
            self._under_way[group] = []
            self._back_end.open(group)
            self._give()
        for ahead in range(2, _MOST_AHEAD + 1):
            self._give(ahead)
        return bool(self._under_way)

    @property
    def _free(self) -> int:
        coming_up = sum(not self._back_end.is_ready(group) for group in self._under_way)
        return max(0, self._back_end.slots - coming_up - sum(map(len, self._under_way.values())))

    def _may_open(self, group: Group) -> bool:
        return not self._under_way or self._back_end.has_room(group)

    def _give(self, ahead: int = 1) -> None:
        """Begins wanted points of open groups as long as there is room."""
        for group, points in self._under_way.items():
            if not self._free:
                return
            if self._back_end.is_ready(group):
                for point in [one for one in group.wanted(ahead) if one not in points][: self._free]:
                    points.append(point)
                    self._back_end.give(group, point)

    def keep(self, ended: Iterator[Ended]) -> None:
        """Keeps the points that have ended.

        Args:
            ended: the points.
        """
        for group, point, outcome in ended:
            self._under_way[group].remove(point)
            self._done += 1
            left = sum(one.left for one in self._groups) - 1
            group.keep(point, outcome, (time.monotonic() - self._began_s) / self._done * left)


@contextlib.contextmanager
def told_if_interrupted(folder: Path, asked: int, kept: Callable[[], int], notify: Notify) -> Iterator[None]:
    """Tells, if the block is interrupted, how many points its folder holds, and how many are missing.

    Args:
        folder: the folder.
        asked: number of points that were asked for.
        kept: () -> number of these that the folder holds.
        notify: takes the event.
    """
    try:
        yield
    except (KeyboardInterrupt, Terminated):
        points = kept()
        notify(Notice("sweep-interrupted", folder=folder, points=points, missing=asked - points))
        raise
