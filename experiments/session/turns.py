"""Turns: verbs of a session that wait for one another, from whatever thread they are called."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

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
