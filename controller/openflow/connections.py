"""The listening socket, TLS, and the limits of connections, which the two runtimes share.

A connection is closed and reported if it sends a message that `controller.openflow.door` rejects, if it does
not read the messages sent to it, or if its handshake takes too long. No connection can keep the others from
being served.
"""

from __future__ import annotations

import errno
import os
import random
import resource
import socket
import ssl
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from controller.openflow.door import Door
from topology.addressing import dpid_router, switch_name

# Interval of the echo requests to one switch, and its least value per switch of the fabric: at most a hundred
# replies arrive per second, even from a thousand switches. Number of unanswered ones after which a switch is
# disconnected.
_ECHO_EVERY_S, _ECHO_EVERY_S_PER_SWITCH, UNANSWERED_ECHOES = 2, 0.01, 3

# The switches of a fabric connect all at once.
_BACKLOG = 4096

# A connection is served once it is the one in use for a switch of the fabric. Limits of one connection:
# messages, and bytes of them, handled before other connections get a turn; bytes waiting to be sent, before
# and after it is served; time until it is served, including the TLS handshake. On the default event loop, the
# connections that are not served share the turn of one.
IN_A_ROW, TURN_BYTES = 64, 1 << 14
UNSENT_BYTES, UNSENT_BYTES_SERVED = 1 << 17, 1 << 22
SERVED_WITHIN_S = 60.0
_SPARE_CONNECTIONS = 64  # beyond two per switch
_OTHER_DESCRIPTORS = 64  # that the controller may yet need
RETRY_EVERY_S = 1.0  # after a connection that could not be accepted
# Errors of accept(2) that concern one connection or pass soon, rather than the listening socket itself.
TRANSIENT_ERRORS = {
    *(errno.ECONNABORTED, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EPERM),
    *(errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENONET),
    *(errno.EPROTO, errno.ENOPROTOOPT, errno.EOPNOTSUPP, errno.ETIMEDOUT),
}
LATE = f"it did not identify itself within {SERVED_WITHIN_S:g} s"
DEAF = "it does not read the messages sent to it"


def echo_every_s(switches: int) -> int:
    """Returns the interval of the echo requests to each switch of a fabric, in seconds."""
    return max(_ECHO_EVERY_S, round(switches * _ECHO_EVERY_S_PER_SWITCH))


def cost(message: bytes) -> int:
    """Returns how many of a turn's TURN_BYTES a message uses up; a dropped message is empty, but counts."""
    return max(len(message), TURN_BYTES // IN_A_ROW)


def closed(door: Door, problem: str) -> str:
    """Returns the warning about a connection that is closed because of a problem."""
    number = door.datapath_id
    name = "an unknown switch" if number is None else switch_name(dpid_router(number))
    return f"closed the connection of {name}: {problem}"


def not_accepted(problem: OSError | str) -> str:
    """Returns the warning about a connection that could not be accepted."""
    return f"a connection could not be accepted: {problem}"


def not_encrypted(address: object, error: Exception) -> str:
    """Returns the warning about a connection that ended before its TLS handshake did.

    Args:
        address: the other end, as accept(2) gives it.
        error: what ended it.
    """
    where = address[0] if isinstance(address, tuple) else "the Unix socket"
    return f"a connection from {where} was refused: {error}"


def _free_descriptors() -> int:
    """Raises the process's limit of descriptors as far as possible, and returns how many connections fit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most - len(os.listdir("/proc/self/fd")) - _OTHER_DESCRIPTORS


class _Connection(Protocol):
    served: bool

    def refuse(self, problem: str) -> None: ...


C = TypeVar("C", bound=_Connection)


class OpenConnections(Generic[C]):
    """The open connections, whose number is limited.

    Attributes:
        full: message that says that the limit is reached.
    """

    def __init__(self, switches: int) -> None:
        """Starts without connections; the limit depends on the fabric's number of switches."""
        self._limit = max(switches, min(2 * switches + _SPARE_CONNECTIONS, _free_descriptors()))
        self.full = f"the limit of {self._limit} open connections is reached"
        self._open: dict[C, None] = {}  # the oldest first

    def make_room(self) -> bool:
        """Returns whether another connection can be opened; at the limit, closes a random unserved one.

        A switch is usually served soon, so a random choice rarely hits it. If the oldest connection were
        closed, a flood would keep out switches that answer late. If the newest one were closed, a client
        that opens many connections would keep out everyone else. The datapath id does not help to choose:
        anyone can claim any id, any number of times.
        """
        if len(self._open) < self._limit:
            return True
        unserved = [connection for connection in self._open if not connection.served]
        if not unserved:
            return False
        loser = random.choice(unserved)  # noqa: S311  # no secret
        del self._open[loser]
        loser.refuse(self.full)
        return True

    def add(self, connection: C) -> None:
        """Adds a connection."""
        self._open[connection] = None

    def discard(self, connection: C) -> None:
        """Removes a connection that has ended."""
        self._open.pop(connection, None)


@dataclass(frozen=True)
class Certificates:
    """PEM files for TLS: the controller's key and certificate, and the CA certificate of the switches."""

    key: str
    certificate: str
    authority: str

    def context(self) -> ssl.SSLContext:
        """Returns a TLS context that accepts only switches whose certificate this CA signed.

        Raises:
            OSError: a file cannot be read, or has the wrong content.
        """
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self.authority)
        context.load_cert_chain(self.certificate, self.key)
        context.verify_mode = ssl.CERT_REQUIRED
        return context


def listen(path: str | None, host: str, port: int) -> socket.socket:
    """Opens the listening socket: a Unix socket if a path is given, else TCP on host and port.

    Raises:
        OSError: the socket cannot be opened.
    """
    if path is not None:
        return _listen_unix(path)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # No port sharing: a second controller on the port must fail, rather than receive every other switch.
    listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    # Accepted sockets inherit this. asyncio sets it only on sockets that name their protocol.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _listen_unix(path: str) -> socket.socket:
    # A process that can open the socket can pose as a switch, so only the owner may open it.
    mask = os.umask(0o077)
    try:
        _remove_stale(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        listener.listen(_BACKLOG)
    finally:
        os.umask(mask)
    return listener


def _remove_stale(path: str) -> None:
    """Removes the socket of a killed controller, on which nothing listens."""
    with socket.socket(socket.AF_UNIX) as trial:
        try:
            trial.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
        except OSError:
            pass  # nothing there, or not a socket: binding reports it
