"""Guards of the application's handlers: whose messages they handle, and what becomes of their exceptions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from controller.reports import die

Application = TypeVar("Application")
Handler = Callable[[Application, Any], None]


def fatal_on_error(handler: Handler[Application]) -> Handler[Application]:
    """Returns a handler whose exceptions end the controller; the framework would log them and continue."""

    @functools.wraps(handler)
    def guarded(self: Application, event: Any) -> None:
        try:
            handler(self, event)
        except Exception as error:  # the boundary to the framework's event loop, which swallows exceptions
            die(f"{type(error).__name__} in {handler.__name__}: {error}")

    return guarded


def from_served(handler: Handler[Any]) -> Handler[Any]:
    """Returns a handler that ignores messages of connections other than those that its application serves."""

    @functools.wraps(handler)
    def guarded(self: Any, event: Any) -> None:
        if self.serves(event.msg.datapath):
            handler(self, event)

    return guarded
