"""The runtime of `--framework ryu`: a Ryu application, with Ryu's event loop, green threads and handshake.

Ryu's own listening socket is not used, because its connections need a door and limits; nor is its discovery
of links, because the graph is known. Importing this module replaces the process's sockets with cooperative
ones.
"""

from __future__ import annotations

import _socket
import contextlib
import os
import socket
import ssl
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

from controller.openflow import codec, connections
from controller.openflow.connections import OpenConnections
from controller.openflow.door import HELLO, Door, MalformedMessage
from controller.openflow.frameworks import load
from controller.openflow.runtime import Application, Endpoint, connection_callback, ends_controller
from controller.reports import Warnings, die
from topology.errors import Status

# All addresses are numeric, so eventlet need not load its own name resolver, which takes a while.
os.environ["EVENTLET_NO_GREENDNS"] = "yes"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # eventlet announces its own retirement at every import
    import eventlet.wsgi
    from eventlet import tpool

    # Ryu 4.34 imports this name, which eventlet dropped in 0.33; only WebSockets, not used here, need it.
    if not hasattr(eventlet.wsgi, "ALREADY_HANDLED"):
        eventlet.wsgi.ALREADY_HANDLED = object()
    hub = load("lib.hub")

hub.patch(thread=False)

_cfg = load("cfg")
_app_manager = load("base.app_manager")
RyuApplication: Any = _app_manager.RyuApp
_events = load("controller.ofp_event")
_handler = load("controller.handler")
_on: Callable[..., Callable[[Callable[..., None]], Callable[..., None]]] = _handler.set_ev_cls
_serve_switch = load("controller.controller").datapath_connection_factory

T = TypeVar("T")

_READ_BYTES = 1 << 16
_PIECE_BYTES = 64  # memory of a queued piece beyond its content
_READ_WITHIN_S = 10.0  # of one read during the TLS handshake


def run(endpoint: Endpoint, application: Application) -> NoReturn:
    """Implements `controller.openflow.runtime.Run`; the end of any of Ryu's threads ends the process."""
    _cfg.CONF(args=[], project="polarlab")
    # A switch that stays connected but answers no echo requests is disconnected after some seconds.
    _cfg.CONF.set_override("echo_request_interval", connections.echo_every_s(endpoint.switches))
    _cfg.CONF.set_override("maximum_unreplied_echo_requests", connections.UNANSWERED_ECHOES)
    tpool.execute(int)  # starts its threads while there are descriptors for them
    manager = _app_manager.AppManager.get_instance()
    handshake = manager.instantiate(Handshake, endpoint)
    forwarder = manager.instantiate(_Forwarder, application)
    handshake.start()
    forwarder.start()
    threads = [*handshake.threads, *forwarder.threads]
    for thread in threads:
        thread.link(_thread_ended)
    hub.joinall(threads)
    die("the controller has no threads")


def _thread_ended(_thread: Any) -> None:
    die("a thread of the controller ended")


def _spawn(title: str, function: Callable[[], object]) -> Any:
    """Starts a thread whose exceptions end the process, and returns it."""

    @ends_controller(title)
    def work() -> None:
        try:
            function()
        except KeyboardInterrupt:  # raised in the thread that happens to run
            os._exit(Status.INTERRUPTED)

    return hub.spawn(work)


class _Forwarder(RyuApplication):  # type: ignore[misc]
    """The application's runtime, which forwards Ryu's events to it."""

    OFP_VERSIONS = codec.OPENFLOW_VERSIONS

    def __init__(self, application: Application) -> None:
        super().__init__()
        self._application = application

    def start(self) -> None:
        super().start()
        self._application.start(self)

    def repeat(self, title: str, step: Callable[[], float]) -> None:
        def again() -> NoReturn:
            while True:
                hub.sleep(step())

        self.threads.append(_spawn(title, again))

    def compute(self, title: str, function: Callable[[], T], then: Callable[[T], None]) -> None:
        _spawn(title, lambda: then(tpool.execute(function)))

    @_on(_events.EventOFPStateChange, [_handler.MAIN_DISPATCHER, _handler.DEAD_DISPATCHER])
    @connection_callback
    def state_changed(self, event: Any) -> None:
        """Forwards the end of a handshake or of a connection."""
        switch = event.datapath.socket
        if event.state == _handler.MAIN_DISPATCHER:
            switch.identified(event.datapath)
            self._application.connected(switch)
        elif switch.is_identified:
            self._application.disconnected(switch)

    @_on(
        [
            _events.EventOFPPortStatus,
            _events.EventOFPGroupDescStatsReply,
            _events.EventOFPFlowStatsReply,
            _events.EventOFPFlowDescStatsReply,
            _events.EventOFPPortStatsReply,
            _events.EventOFPBarrierReply,
        ],
        _handler.MAIN_DISPATCHER,
    )
    @connection_callback
    def received(self, event: Any) -> None:
        """Forwards a message."""
        self._application.received(event.msg.datapath.socket, event.msg)

    @_on(
        _events.EventOFPErrorMsg,
        [_handler.HANDSHAKE_DISPATCHER, _handler.CONFIG_DISPATCHER, _handler.MAIN_DISPATCHER],
    )
    @connection_callback
    def error_received(self, event: Any) -> None:
        """Forwards an error."""
        self._application.received(event.msg.datapath.socket, event.msg)


class Handshake(load("controller.ofp_handler").OFPHandler):  # type: ignore[misc]
    """Ryu's own handshake, on a listening socket that is already open."""

    error_msg_handler = None  # would only log, which takes a millisecond for each error of a switch

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__()
        self._listener = endpoint.listener
        self._context = endpoint.context
        self._open: OpenConnections[SwitchSocket] = OpenConnections(endpoint.switches)
        self._warnings = Warnings()

    def start(self) -> None:
        """Starts Ryu's thread of events, and accepts connections."""
        RyuApplication.start(self)
        self.threads.append(_spawn("the listening socket", self._accept))

    def _accept(self) -> None:
        while True:
            try:
                connection, address = self._listener.accept()
            except OSError as error:
                if error.errno not in connections.TRANSIENT_ERRORS:
                    raise
                self._warnings.add(connections.not_accepted(error))
                hub.sleep(connections.RETRY_EVERY_S)
                continue
            hub.sleep(0)  # or all waiting connections would be accepted before any message is handled
            if not self._open.make_room():
                connection.close()
                self._warnings.add(connections.not_accepted(self._open.full))
                continue
            connection.settimeout(_READ_WITHIN_S)
            switch = SwitchSocket(connection, self._warnings.add)
            self._open.add(switch)
            hub.spawn(self._serve, switch, address)  # ends with the connection

    def _serve(self, switch: SwitchSocket, address: Any) -> None:
        try:
            if self._context:
                switch.encrypt(self._context)
            _serve_switch(switch, address or "unix")
        except OSError as error:  # includes TLS errors
            self._warnings.add(connections.not_encrypted(address, error))
        finally:
            self._open.discard(switch)
            switch.close()


class SwitchSocket:
    """A connection of a switch (`controller.openflow.runtime.Switch`), which Ryu uses as a socket.

    It receives checked messages, and sends without blocking.

    Attributes:
        served: whether this is the connection in use for a switch of the fabric; the application sets it.
    """

    def __init__(self, connection: Any, warn: Callable[[str], None]) -> None:
        """Takes over a connection.

        Args:
            connection: a cooperative socket.
            warn: called with a message when this class closes the connection because of a problem.
        """
        self._connection = connection
        self._warn = warn
        self._door = Door()
        self._received: Iterator[bytes] = iter(())  # messages that are complete and not yet taken
        self._problem: str | None = None  # why the message after these is rejected
        self._served_by_s = time.monotonic() + connections.SERVED_WITHIN_S
        self._datapath: Any = None
        self.served = False
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._sending = self._ended = False

    def identified(self, datapath: Any) -> None:
        """Records Ryu's view of the switch, at the end of the handshake."""
        self._datapath = datapath

    @property
    def is_identified(self) -> bool:
        """Whether the handshake has ended."""
        return self._datapath is not None

    @property
    def id(self) -> int:
        """The datapath id that the other end claims."""
        return int(self._datapath.id)

    @property
    def version(self) -> int:
        """The negotiated version of OpenFlow."""
        return int(self._datapath.ofproto.OFP_VERSION)

    @property
    def ports(self) -> Mapping[int, Any]:
        """Port number -> the switch's description of the port."""
        return self._datapath.ports  # type: ignore[no-any-return]

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Performs the TLS handshake as the server.

        Raises:
            OSError: the other end has no valid certificate, has disconnected, or takes too long.
        """
        self._connection = context.wrap_socket(
            self._connection, server_side=True, do_handshake_on_connect=False
        )
        late = TimeoutError(f"the TLS handshake took longer than {connections.SERVED_WITHIN_S:g} s")
        # The socket's own timeout applies to each read, which a single byte ends.
        try:
            with hub.Timeout(self._served_by_s - time.monotonic(), late):
                self._connection.do_handshake()
        except ValueError as error:  # asyncio's handshake meets it; this one decodes no names in certificates
            raise OSError(str(error)) from error

    def setsockopt(self, level: int, *rest: Any) -> None:
        """Sets a socket option; ignores Ryu's TCP options on a Unix socket."""
        if level != socket.IPPROTO_TCP or self._connection.family != socket.AF_UNIX:
            self._connection.setsockopt(level, *rest)

    def settimeout(self, seconds: float) -> None:
        """Sets the timeout for one read or write."""
        self._connection.settimeout(seconds)

    def recv(self, _size: int) -> bytes:
        """Returns one or more whole, checked messages; empty bytes once the connection has ended."""
        while True:
            # Other connections get their turn, even if this switch never stops sending.
            hub.sleep(0)
            taken, messages = self._take_some()
            if messages:
                return messages
            if taken:  # all of them are dropped
                continue
            if not self.served and time.monotonic() > self._served_by_s:
                self._problem = connections.LATE
            if self._problem:
                self.refuse(self._problem)
                return b""
            received = self._connection.recv(_READ_BYTES)
            if not received:
                return b""
            self._received = self._door.messages(received)

    def _take_some(self) -> tuple[int, bytes]:
        """Takes some messages; returns their number, and the bytes of those that the controller reads."""
        taken, cost, messages = 0, 0, bytearray()
        try:
            while cost < connections.TURN_BYTES and (message := next(self._received, None)) is not None:
                taken += 1
                cost += connections.cost(message)
                messages += message
        except MalformedMessage as error:
            self._problem = str(error)
        return taken, bytes(messages)

    def refuse(self, problem: str) -> None:
        """Ends the connection and reports the problem."""
        self._warn(connections.closed(self._door, problem))
        self._received = iter(())
        self._end()

    def send(self, data: bytes) -> None:
        """Queues bytes for the switch and returns at once; does nothing once the connection has ended."""
        with contextlib.suppress(OSError):
            self.sendall(data)

    def sendall(self, data: bytes) -> None:
        """Queues bytes for the switch and returns at once.

        Raises:
            OSError: the connection has ended.
        """
        limit = connections.UNSENT_BYTES_SERVED if self.served else connections.UNSENT_BYTES
        if self._unsent_bytes > limit:
            self.refuse(connections.DEAF)
        if self._ended:
            raise OSError("the connection has ended")
        if data[1] == HELLO:
            data = codec.hello()  # Ryu's does not list the versions
        self._door.sent(data)
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
