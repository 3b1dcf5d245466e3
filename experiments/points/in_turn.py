"""Points one after another, on a fabric that stays up for all points of its group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from experiments.events.base import Notify
from experiments.points.engine import Ended, Group


class InTurn:
    """Back end that does points in this process; its block ends with the fabric that stands."""

    slots = 1

    def __init__(self, notify: Notify) -> None:
        """Prepares the back end; `notify` takes the events of fabrics that come up."""
        self._notify = notify
        self._stack = ExitStack()
        self._fabric: Any = None
        self._given: tuple[Group, Any] | None = None

    def __enter__(self) -> InTurn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return bool(self._stack.__exit__(kind, error, trace))

    def has_room(self, _group: Group) -> bool:
        """Returns False: one fabric stands at a time."""
        return False

    def open(self, group: Group) -> None:
        """Brings up the fabric of a group."""
        self._fabric = self._stack.enter_context(group.standing(self._notify))

    def is_ready(self, _group: Group) -> bool:
        """Returns True: a fabric that was opened is up."""
        return True

    def give(self, group: Group, point: Any) -> None:
        """Takes a point, which is done when its end is asked for."""
        self._given = group, point

    def ended(self, *, wait: bool = True) -> Iterator[Ended]:
        """Does the point that was given, and yields it; nothing if nobody waits for it."""
        if wait and self._given:
            (group, point), self._given = self._given, None
            yield group, point, group.do(self._fabric, point)

    def close(self, _group: Group) -> None:
        """Takes the fabric down."""
        self._fabric = None
        self._stack.close()
