"""Engine of points: runs the missing points of many measurements, and keeps each point as it ends.

The points of one fabric form a group. The group lists the points to run next: all missing ones, or the next
steps of a search. A back end runs them: one after another on a fabric that stays up (`in_turn.py`), in
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

from experiments.events.base import OnEvent
from experiments.events.notices import Notice
from topology.errors import Terminated

FabricT = TypeVar("FabricT")
PointT = TypeVar("PointT")
OutcomeT = TypeVar("OutcomeT")
_MAX_AHEAD = 8  # largest number of loads that a search tries at the same time


class PointGroup(ABC, Generic[FabricT, PointT, OutcomeT]):
    """Points that share a fabric, which stays up for all of them, in one process or in several."""

    @abstractmethod
    def wanted(self, ahead: int = 1) -> Sequence[PointT]:
        """Returns the points to run next, including those already running; empty if all are done.

        Args:
            ahead: number of loads that a search may try at the same time; the result at the first may make
                the others unnecessary.
        """

    @property
    @abstractmethod
    def left(self) -> int:
        """Upper bound of the number of missing points."""

    @abstractmethod
    def fabric_up(self, on_event: OnEvent) -> AbstractContextManager[FabricT]:
        """Brings the fabric up for the duration of a block.

        Args:
            on_event: called with each event.
        """

    @abstractmethod
    def do(self, fabric: FabricT, point: PointT) -> OutcomeT:
        """Runs a point, perhaps in its own process.

        Args:
            fabric: the fabric, up.
            point: the point.
        """

    @abstractmethod
    def keep(self, point: PointT, outcome: OutcomeT, seconds_left: float | None) -> None:
        """Keeps the outcome of a point and removes it from the wanted points.

        Args:
            point: the point.
            outcome: its outcome.
            seconds_left: upper bound of the time of all missing points in s; None if it is not known.
        """

    def load(self, on_event: OnEvent) -> None:  # most groups have nothing to load
        """Loads code that all points need, before processes are forked; otherwise each would load it.

        Args:
            on_event: called with each event.
        """

    @property
    def memory_bytes(self) -> int:
        """Estimated memory of the fabric in bytes."""
        return 0


class ListedGroup(PointGroup[FabricT, PointT, OutcomeT]):
    """Points that are known from the start.

    Attributes:
        missing: the missing points.
    """

    def __init__(self, points: Iterable[PointT]) -> None:
        """Creates a group.

        Args:
            points: the missing points, in their order.
        """
        self.missing = [*points]

    def wanted(self, ahead: int = 1) -> Sequence[PointT]:
        """Returns the missing points."""
        return self.missing

    @property
    def left(self) -> int:
        """Number of missing points."""
        return len(self.missing)

    def keep(self, point: PointT, _outcome: OutcomeT, _seconds_left: float | None) -> None:
        """Removes a point from the missing ones."""
        self.missing.remove(point)


Group = PointGroup[Any, Any, Any]
Ended = tuple[Group, Any, Any]  # a group, its point, and the outcome


class BackEnd(Protocol):
    """Runs points, for example in processes of this machine or on a cluster."""

    @property
    def slots(self) -> int:
        """Maximum number of running points and starting fabrics, in total."""

    def has_room(self, group: Group) -> bool:
        """Returns whether the fabric of a group may come up in addition to others.

        Args:
            group: the group.
        """

    def open(self, group: Group) -> None:
        """Starts to bring up the fabric of a group.

        Args:
            group: the group.
        """

    def is_ready(self, group: Group) -> bool:
        """Returns whether the fabric of a group is up.

        Args:
            group: the group, which was opened.
        """

    def submit(self, group: Group, point: Any) -> None:
        """Starts a point.

        Args:
            group: its group, whose fabric is up.
            point: the point.
        """

    def ended(self, *, wait: bool = True) -> Iterator[Ended]:
        """Yields points that have ended; there may be none even after waiting.

        Args:
            wait: whether to wait until a point ends or a fabric is up.
        """

    def close(self, group: Group) -> None:
        """Ends the fabric of a group.

        Args:
            group: the group, without running points.
        """


def do_points(groups: Iterable[Group], back_end: BackEnd) -> None:
    """Runs the points of groups, and keeps each as it ends.

    Args:
        groups: the groups; those without missing points are skipped.
        back_end: runs them.

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
    """The state of `do_points`: running points, and groups that wait for free slots."""

    def __init__(self, groups: Iterable[Group], back_end: BackEnd) -> None:
        self._groups = [*groups]
        self._waiting = deque(self._groups)  # groups that are not open; they have not listed their points yet
        self._under_way: dict[Group, list[Any]] = {}  # open group, the oldest first -> its running points
        self._back_end = back_end
        self._began_s, self._done = time.monotonic(), 0

    def fill(self) -> bool:
        """Starts as many points as the back end can run at once; returns whether any group is open."""
        for group in [one for one, points in self._under_way.items() if not points and not one.wanted()]:
            self._back_end.close(group)
            del self._under_way[group]
        self._submit()
        while self._free and self._waiting and self._may_open(self._waiting[0]):
            group = self._waiting.popleft()
            if not group.wanted():
                continue
            self._under_way[group] = []
            self._back_end.open(group)
            self._submit()
        for ahead in range(2, _MAX_AHEAD + 1):
            self._submit(ahead)
        return bool(self._under_way)

    @property
    def _free(self) -> int:
        coming_up = sum(not self._back_end.is_ready(group) for group in self._under_way)
        return max(0, self._back_end.slots - coming_up - sum(map(len, self._under_way.values())))

    def _may_open(self, group: Group) -> bool:
        return not self._under_way or self._back_end.has_room(group)

    def _submit(self, ahead: int = 1) -> None:
        """Starts wanted points of open groups while there are free slots."""
        for group, points in self._under_way.items():
            if not self._free:
                return
            if self._back_end.is_ready(group):
                for point in [one for one in group.wanted(ahead) if one not in points][: self._free]:
                    points.append(point)
                    self._back_end.submit(group, point)

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
def report_if_interrupted(
    folder: Path, asked: int, kept: Callable[[], int], on_event: OnEvent
) -> Iterator[None]:
    """If the block is interrupted, reports how many points the output folder has and how many are missing.

    Args:
        folder: the folder.
        asked: number of requested points.
        kept: returns the number of requested points that the folder has.
        on_event: called with the event.
    """
    try:
        yield
    except (KeyboardInterrupt, Terminated):
        points = kept()
        on_event(Notice("sweep-interrupted", folder=folder, points=points, missing=asked - points))
        raise
