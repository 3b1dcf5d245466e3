"""Turns: verbs of a session that wait for one another, from whatever thread they are called."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar, cast

_LAST_TURN_S = 2.0  # for which a verb in another thread is awaited at the end
_Verb = TypeVar("_Verb", bound=Callable[..., Any])


class _Acting(Protocol):
    """Session whose verbs take turns."""

    acting: threading.RLock


def one_at_a_time(verb: _Verb) -> _Verb:
    """Returns a verb of a session that waits for those in other threads."""

    @functools.wraps(verb)
    def waiting(session: _Acting, *values: Any, **named: Any) -> Any:
        with session.acting:
            return verb(session, *values, **named)

    return cast(_Verb, waiting)


@contextlib.contextmanager
def last_turn(session: _Acting) -> Iterator[bool]:
    """Takes the last turn of a session; yields False if a verb in another thread does not end in time."""
    turn = session.acting.acquire(timeout=_LAST_TURN_S)
    try:
        yield turn
    finally:
        if turn:
            session.acting.release()
