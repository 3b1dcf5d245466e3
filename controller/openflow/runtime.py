"""Interface between a runtime and the application: connections, repeated steps, computations.

There are two runtimes: `event_loop` (asyncio, with the parsers of os-ken) and `ryu_runtime` (Ryu's own). With
both, everything but long computations runs in one thread, so that the application needs no locks.
"""

from __future__ import annotations

import functools
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, ParamSpec, Protocol, TypeVar

from controller.reports import die

P = ParamSpec("P")
T = TypeVar("T")


class Switch(Protocol):
    """A connection that claims to be a switch; only `refuse` may be called before the end of its handshake.

    Attributes:
        served: whether this is the connection in use for a switch of the fabric; the application sets it.
    """

    served: bool

    @property
    def id(self) -> int:
        """The datapath id that the other end claims."""

    @property
    def version(self) -> int:
        """The negotiated version of OpenFlow."""

    @property
    def ports(self) -> Mapping[int, Any]:
        """Port number -> the switch's description of the port."""

    def send(self, data: bytes) -> None:
        """Queues bytes for the switch and returns at once; does nothing once the connection has ended."""

    def refuse(self, problem: str) -> None:
        """Ends the connection and reports the problem."""


class Runtime(Protocol):
    """An event loop."""

    def repeat(self, title: str, step: Callable[[], float]) -> None:
        """Calls a function again and again.

        Args:
            title: name of the activity in the report of an error.
            step: returns the seconds until its next call.
        """

    def compute(self, title: str, function: Callable[[], T], then: Callable[[T], None]) -> None:
        """Calls `function` in a native thread while the loop continues, then calls `then` with its result.

        Args:
            title: name of the activity in the report of an error.
            function: the computation; it must not use data that the loop's functions change.
            then: called in the loop, with the result.
        """


class Application(Protocol):
    """Handler of connections and messages; a runtime never calls two of its methods at the same time."""

    def start(self, runtime: Runtime) -> None:
        """Starts the application's repeated steps."""

    def connected(self, switch: Switch) -> None:
        """Handles the end of a handshake."""

    def disconnected(self, switch: Switch) -> None:
        """Handles the end of a connection whose handshake had ended."""

    def received(self, switch: Switch, message: Any) -> None:
        """Handles a message in the framework's form, except messages of the handshake and echoes.

        Errors may arrive at any time, other messages only after the handshake.
        """


@dataclass(frozen=True)
class Endpoint:
    """The socket to which the switches of a fabric connect, with its settings.

    Attributes:
        listener: the socket, from `connections.listen`.
        context: TLS context of the connections; None for plain connections.
        switches: number of switches of the fabric.
    """

    listener: socket.socket
    context: ssl.SSLContext | None
    switches: int


class Run(Protocol):
    """The function `run` of a runtime's module."""

    def __call__(self, endpoint: Endpoint, application: Application) -> NoReturn:
        """Runs an application on the connections of an endpoint until the process ends."""


def ends_controller(title: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Returns a decorator that makes exceptions of a function end the controller.

    By themselves, event loops only log the exceptions of what they call, and continue.

    Args:
        title: name of the activity in the report of the error.
    """

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def guarded(*arguments: P.args, **named: P.kwargs) -> T:
            try:
                return function(*arguments, **named)
            except Exception as error:  # the boundary to the event loop
                die(f"{type(error).__name__} in {title}: {error}")

        return guarded

    return decorated


connection_callback = ends_controller("a switch's connection")
