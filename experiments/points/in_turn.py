"""Back end that runs points one after another, on a fabric that stays up for all points of its group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from experiments.events.base import OnEvent
from experiments.points.engine import Ended, Group


class InTurn:
    """Back end that runs points in this process; leaving its block takes the fabric down."""

    slots = 1

    def __init__(self, on_event: OnEvent) -> None:
        """Prepares the back end.

        Args:
            on_event: called with the events of fabrics that come up.
        """
        self._on_event = on_event
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
        """Returns False: only one fabric is up at a time."""
        return False

    def open(self, group: Group) -> None:
        """Brings up the fabric of a group."""
        self._fabric = self._stack.enter_context(group.fabric_up(self._on_event))

    def is_ready(self, _group: Group) -> bool:
        """Returns True: a fabric that was opened is up."""
        return True

    def submit(self, group: Group, point: Any) -> None:
        """Stores a point, which `ended` runs."""
        self._given = group, point

    def ended(self, *, wait: bool = True) -> Iterator[Ended]:
        """Runs the point stored by `submit` and yields it; yields nothing without `wait`."""
        if wait and self._given:
            (group, point), self._given = self._given, None
            yield group, point, group.do(self._fabric, point)

    def close(self, _group: Group) -> None:
        """Takes down the fabric."""
        self._fabric = None
        self._stack.close()
