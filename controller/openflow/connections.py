"""Switch connections over TCP, TLS or a Unix socket, each behind a door that checks its messages.

A connection is closed and reported if it sends a message that `controller.openflow.door` rejects, if it does
not read the messages sent to it, or if its handshake takes too long. No connection can keep the others from
being served.
"""

from __future__ import annotations

import _socket
import contextlib
import errno
import os
import random
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from controller.openflow.door import Door, MalformedMessage
from controller.openflow.frameworks import load
from controller.openflow.runtime import Application, app_manager, cfg, hub, run_threads, spawn
from controller.reports import Warnings
from topology.addressing import dpid_router, switch_name

_serve_switch = load("controller.controller").datapath_connection_factory

# Interval of the echo requests to one switch, and its least value per switch of the fabric: at most a hundred
# replies arrive per second, even from a thousand switches.
_ECHO_EVERY_S, _ECHO_EVERY_S_PER_SWITCH, _UNANSWERED_ECHOES = 2, 0.01, 3

# The switches of a fabric connect all at once; the framework's own listener accepts 50 and delays the rest by
# a second.
_BACKLOG = 4096

# A connection is served once it is the one in use for a switch of the fabric. Limits of one connection: bytes
# read at once, and messages handled before other connections get a turn; bytes waiting to be sent, before and
# after it is served; time until it is served, including the TLS handshake, and time for the TLS handshake.
_READ_BYTES, _IN_A_ROW = 1 << 16, 64
_UNSENT_BYTES, _UNSENT_BYTES_SERVED = 1 << 17, 1 << 22
_PIECE_BYTES = 64  # memory of a queued piece beyond its content
_SERVED_WITHIN_S, _TLS_WITHIN_S = 60.0, 10.0
_SPARE_CONNECTIONS = 64  # beyond two per switch
_RETRY_EVERY_S = 1.0  # after a connection that could not be accepted
# Errors of accept(2) that concern one connection or pass soon, rather than the listening socket itself.
_TRANSIENT_ERRORS = {
    *(errno.ECONNABORTED, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EPERM),
    *(errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENONET),
    *(errno.EPROTO, errno.ENOPROTOOPT, errno.EOPNOTSUPP, errno.ETIMEDOUT),
}


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


def run(
    listener: Any,
    context: ssl.SSLContext | None,
    switches: int,
    application_class: type[Any],
    *arguments: Any,
) -> NoReturn:
    """Runs an application on the connections of a listening socket until one of its threads ends.

    Args:
        listener: the socket, from `listen`.
        context: TLS context of the connections; None for plain connections.
        switches: number of switches of the fabric; it sets the interval of echo requests.
        application_class: a subclass of `Application`.
        arguments: arguments of the application's constructor.
    """
    cfg.CONF(args=[], project="polarlab")
    # A switch that stays connected but answers no echo requests is disconnected after some seconds.
    echo_every_s = max(_ECHO_EVERY_S, round(switches * _ECHO_EVERY_S_PER_SWITCH))
    cfg.CONF.set_override("echo_request_interval", echo_every_s)
    cfg.CONF.set_override("maximum_unreplied_echo_requests", _UNANSWERED_ECHOES)
    manager = app_manager.AppManager.get_instance()
    handshake = manager.instantiate(_Handshake, listener, context, 2 * switches + _SPARE_CONNECTIONS)
    application = manager.instantiate(application_class, *arguments)
    handshake.start()
    application.start()
    run_threads([*handshake.threads, *application.threads])


class _Handshake(load("controller.ofp_handler").OFPHandler):  # type: ignore[misc]
    """The framework's own handshake, on a listening socket that is already open."""

    error_msg_handler = None  # would only log, which takes a millisecond for each error of a switch

    def __init__(self, listener: Any, context: ssl.SSLContext | None, limit: int) -> None:
        super().__init__()
        self._listener = listener
        self._context = context
        self._limit = limit
        self._open: set[SwitchSocket] = set()
        self._warnings = Warnings()

    def start(self) -> None:
        Application.start(self)
        self.threads.append(spawn("the listening socket", self._accept))

    def _accept(self) -> None:
        while True:
            try:
                connection, address = self._listener.accept()
            except OSError as error:
                if error.errno not in _TRANSIENT_ERRORS:
                    raise
                self._warnings.add(f"a connection could not be accepted: {error}")
                hub.sleep(_RETRY_EVERY_S)
                continue
            connection.settimeout(_TLS_WITHIN_S)
            switch = SwitchSocket(connection, self._warnings.add)
            self._make_room()
            self._open.add(switch)
            hub.spawn(self._serve, switch, address)  # ends with the connection

    def _make_room(self) -> None:
        """Closes a random unserved connection if the limit of open connections is reached.

        A switch is usually served soon, so a random choice rarely hits it. If the oldest connection were
        closed, a flood would keep out switches that answer late. If the newest one were closed, a client
        that opens many connections would keep out everyone else. The datapath id does not help to choose:
        anyone can claim any id, any number of times.
        """
        if len(self._open) >= self._limit:
            unserved = [switch for switch in self._open if not switch.served]
            loser = random.choice(unserved or list(self._open))  # noqa: S311  # no secret
            self._open.remove(loser)
            loser.refuse(f"the limit of {self._limit} open connections is reached")
            hub.sleep(0)  # or all waiting connections would be accepted before any message is handled

    def _serve(self, switch: SwitchSocket, address: Any) -> None:
        try:
            if self._context:
                switch.encrypt(self._context)
            _serve_switch(switch, address or "unix")
        except OSError as error:  # includes TLS errors
            where = address[0] if address else "the Unix socket"
            self._warnings.add(f"a connection from {where} was refused: {error}")
        finally:
            self._open.discard(switch)
            switch.close()


class SwitchSocket:
    """A connection with the interface of a socket: receives checked messages, and sends without blocking.

    Attributes:
        served: whether this is the connection in use for a switch of the fabric; the application sets it.
    """

    def __init__(self, connection: Any, warn: Callable[[str], None]) -> None:
        """Takes over a connection.

        Args:
            connection: a socket of the framework's event loop.
            warn: called with a message when this class closes the connection because of a problem.
        """
        self._connection = connection
        self._warn = warn
        self._door = Door()
        self._messages: deque[bytes] = deque()  # received and checked
        self._problem: str | None = None  # why the message after these is rejected
        self._served_by_s = time.monotonic() + _SERVED_WITHIN_S
        self.served = False
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._sending = self._ended = False

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Performs the TLS handshake as the server.

        Raises:
            OSError: the other end has no valid certificate, has disconnected, or takes too long.
        """
        self._connection = context.wrap_socket(
            self._connection, server_side=True, do_handshake_on_connect=False
        )
        late = TimeoutError(f"the TLS handshake took longer than {_SERVED_WITHIN_S:g} s")
        # The socket's own timeout applies to each read, which a single byte ends.
        with hub.Timeout(self._served_by_s - time.monotonic(), late):
            self._connection.do_handshake()

    def setsockopt(self, level: int, *rest: Any) -> None:
        """Sets a socket option; ignores the framework's TCP options on a Unix socket."""
        if level != socket.IPPROTO_TCP or self._connection.family != socket.AF_UNIX:
            self._connection.setsockopt(level, *rest)

    def settimeout(self, seconds: float) -> None:
        """Sets the timeout for one read or write."""
        self._connection.settimeout(seconds)

    def recv(self, _size: int) -> bytes:
        """Returns one or more whole, checked messages; empty at the end of the connection."""
        while True:
            # Other connections get their turn, even if this switch never stops sending.
            hub.sleep(0)
            if self._messages:
                break
            if not self.served and time.monotonic() > self._served_by_s:
                self._problem = f"it did not identify itself within {_SERVED_WITHIN_S:g} s"
            if self._problem:
                self.refuse(self._problem)
                return b""
            received = self._connection.recv(_READ_BYTES)
            if not received:
                return b""
            try:
                self._messages.extend(self._door.messages(received))
            except MalformedMessage as error:
                self._problem = str(error)
        return b"".join(self._messages.popleft() for _ in range(min(_IN_A_ROW, len(self._messages))))

    def refuse(self, problem: str) -> None:
        """Ends the connection and reports the problem."""
        number = self._door.datapath_id
        name = "an unknown switch" if number is None else switch_name(dpid_router(number))
        self._warn(f"closed the connection of {name}: {problem}")
        self._messages.clear()
        self._end()

    def sendall(self, data: bytes) -> None:
        """Queues bytes for the switch and returns at once.

        Raises:
            OSError: the connection has ended.
        """
        if self._unsent_bytes > (_UNSENT_BYTES_SERVED if self.served else _UNSENT_BYTES):
            self.refuse("it does not read the messages sent to it")
        if self._ended:
            raise OSError("the connection has ended")
        self._unsent.append(data)
        self._unsent_bytes += len(data) + _PIECE_BYTES
        if not self._sending:
            self._sending = True
            hub.spawn(self._send)

    def _send(self) -> None:
        try:
            while self._unsent:
                data = self._unsent.popleft()
                self._connection.sendall(data)
                self._unsent_bytes -= len(data) + _PIECE_BYTES
        except OSError:  # includes timeouts
            self._end()
        self._sending = False
        if self._ended:
            self.shutdown(socket.SHUT_WR)

    def _end(self) -> None:
        self._unsent.clear()
        self._ended = True
        self._shut(socket.SHUT_RDWR)

    def shutdown(self, how: int) -> None:
        """Shuts the connection down once everything is sent."""
        self._ended = True
        if not self._sending:
            self._shut(how)

    def _shut(self, how: int) -> None:
        with contextlib.suppress(OSError):  # the switch closed it first
            if isinstance(self._connection, ssl.SSLSocket):
                # Its own method would discard the TLS state, which another thread is using.
                _socket.socket.shutdown(self._connection, how)
            else:
                self._connection.shutdown(how)

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()


def listen(path: str | None, host: str, port: int) -> Any:
    """Opens the listening socket: a Unix socket if a path is given, else TCP on host and port.

    Raises:
        OSError: the socket cannot be opened.
    """
    if path is not None:
        return _listen_unix(path)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # No port sharing: a second controller on the port must fail, rather than receive every other switch.
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


def _listen_unix(path: str) -> Any:
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
