"""The default runtime: connections of switches on an asyncio loop, with the parsers of a framework."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

from controller.openflow import codec, connections, door
from controller.openflow.connections import OpenConnections
from controller.openflow.runtime import Application, Endpoint, connection_callback, ends_controller
from controller.reports import Warnings, die
from topology.errors import Status

T = TypeVar("T")


def run(endpoint: Endpoint, application: Application) -> NoReturn:
    """Implements `controller.openflow.runtime.Run`."""
    try:
        loop = asyncio.new_event_loop()
        endpoint.listener.setblocking(False)
        server = _Server(loop, endpoint, application)
        loop.set_exception_handler(server.connection_failed)
        # Loads what computes in threads while there are descriptors for it.
        loop.run_until_complete(loop.run_in_executor(None, int))
        application.start(_EventLoop(loop))
        server.resume()
        loop.run_forever()
    except KeyboardInterrupt:
        os._exit(Status.INTERRUPTED)  # at once: a computation in a thread may take long
    die("the controller's event loop ended")


class _EventLoop:
    """The runtime for the application."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def repeat(self, title: str, step: Callable[[], float]) -> None:
        @ends_controller(title)
        def again() -> None:
            self._loop.call_later(step(), again)

        self._loop.call_soon(again)

    def compute(self, title: str, function: Callable[[], T], then: Callable[[T], None]) -> None:
        @ends_controller(title)
        def computed(done: asyncio.Future[T]) -> None:
            then(done.result())

        self._loop.run_in_executor(None, function).add_done_callback(computed)


class _Server:
    """Accepts connections, one in each turn of the loop, so that earlier ones are served in between."""

    def __init__(self, loop: asyncio.AbstractEventLoop, endpoint: Endpoint, application: Application) -> None:
        self.loop = loop
        self.application = application
        self.open: OpenConnections[Connection] = OpenConnections(endpoint.switches)
        self.unserved = UnservedTurns(loop)
        self.echo_every_s = connections.echo_every_s(endpoint.switches)
        self.warnings = Warnings()
        self._listener = endpoint.listener
        self._context = endpoint.context

    def connection_failed(self, _loop: asyncio.AbstractEventLoop, details: dict[str, Any]) -> None:
        """Reports an error in asyncio's own code (for example, in TLS) that has ended a connection.

        Errors of all other code end the controller (`ends_controller`).
        """
        self.warnings.add(f"a connection failed: {details.get('exception') or details['message']}")

    def resume(self) -> None:
        """Starts accepting connections."""
        self.loop.add_reader(self._listener, self._accept)

    @ends_controller("the listening socket")
    def _accept(self) -> None:
        try:
            accepted, address = self._listener.accept()
        except BlockingIOError:  # it was closed meanwhile
            return
        except OSError as error:
            if error.errno not in connections.TRANSIENT_ERRORS:
                raise
            self.warnings.add(connections.not_accepted(error))
            self.loop.remove_reader(self._listener)
            self.loop.call_later(connections.RETRY_EVERY_S, self.resume)
            return
        if not self.open.make_room():
            accepted.close()
            self.warnings.add(connections.not_accepted(self.open.full))
            return
        connection = Connection(self)
        self.open.add(connection)
        connection.opening = self.loop.create_task(self._open(connection, accepted, address))

    async def _open(self, connection: Connection, accepted: Any, address: Any) -> None:
        try:
            await self.loop.connect_accepted_socket(lambda: connection, accepted, ssl=self._context)
        except (OSError, ValueError) as error:  # TLS errors, and names in certificates that cannot be decoded
            self.warnings.add(connections.not_encrypted(address, error))
        finally:
            if not connection.opened:
                connection.forget()


class UnservedTurns:
    """Turns of the connections that are not served: all of them together get one per turn of the loop.

    So the time that served switches wait does not depend on how many other connections are open.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: OrderedDict[Connection, None] = OrderedDict()
        self._scheduled = False

    def add(self, connection: Connection) -> None:
        """Queues a connection for a turn."""
        self._waiting.setdefault(connection)
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._take)

    @connection_callback
    def _take(self) -> None:
        self._scheduled = False
        cost = 0
        while self._waiting and cost < connections.TURN_BYTES:
            connection, _ = self._waiting.popitem(last=False)
            cost += connection.take_turn()
        if self._waiting:
            self._schedule()


class Connection(asyncio.Protocol):
    """A connection of a switch (`controller.openflow.runtime.Switch`), and its handshake.

    Attributes:
        served: whether this is the connection in use for a switch of the fabric; the application sets it.
        ports: port number -> its description by the switch.
        opening: the TLS handshake.
    """

    opening: asyncio.Task[None]

    def __init__(self, server: _Server) -> None:
        self.served = False
        self.ports: dict[int, Any] = {}
        self._server = server
        self._door = door.Door()
        self._transport: Any = None
        self._received: Iterator[bytes] = iter(())  # messages that are complete and not yet handled
        self._unsent = bytearray()  # sent together at the end of this turn of the loop
        self._identified = self._known = False  # whether the switch has sent its id, and its ports
        self._ended = False
        self._unanswered = 0  # echo requests
        self._timer = server.loop.call_later(connections.SERVED_WITHIN_S, self._time_is_up)

    @property
    def id(self) -> int:
        """The datapath id that the other end claims."""
        assert self._door.datapath_id is not None
        return self._door.datapath_id

    @property
    def version(self) -> int:
        """The negotiated version of OpenFlow."""
        assert self._door.version is not None
        return self._door.version

    @property
    def opened(self) -> bool:
        """Whether the TLS handshake, if any, has ended."""
        return self._transport is not None

    def send(self, data: bytes) -> None:
        """Queues bytes for the switch and returns at once; does nothing once the connection has ended."""
        if self._ended:
            return
        limit = connections.UNSENT_BYTES_SERVED if self.served else connections.UNSENT_BYTES
        # Over TLS this leaves out the buffer of the transport below, which the same limit bounds.
        if len(self._unsent) + self._transport.get_write_buffer_size() > limit:
            self.refuse(connections.DEAF)
            return
        self._door.sent(data)
        if not self._unsent:
            self._server.loop.call_soon(self._flush)
        self._unsent += data

    @connection_callback
    def _flush(self) -> None:
        if not self._ended:
            self._transport.write(self._unsent)
        self._unsent = bytearray()

    def refuse(self, problem: str) -> None:
        """Ends the connection and reports the problem."""
        self._server.warnings.add(connections.closed(self._door, problem))
        self._end()

    def _end(self) -> None:
        self._ended = True
        if self._transport is None:
            self.opening.cancel()
            self.forget()
        else:
            self._transport.abort()

    def forget(self) -> None:
        """Cancels the connection's timer, and removes the connection from the open ones."""
        self._ended = True
        self._timer.cancel()
        self._server.open.discard(self)

    # ---- calls of the loop ----

    @connection_callback
    def connection_made(self, transport: Any) -> None:
        """Greets the switch."""
        self._transport = transport
        self.send(codec.hello())

    @connection_callback
    def data_received(self, data: bytes) -> None:
        """Handles the messages that are complete with these bytes."""
        self._received = self._door.messages(data)  # reading is paused until the ones before are handled
        if self.served:
            self.take_turn()
        else:
            self._wait_for_turn()

    def _wait_for_turn(self) -> None:
        self._transport.pause_reading()
        if self.served:
            self._server.loop.call_soon(self.take_turn)
        else:
            self._server.unserved.add(self)

    @connection_callback
    def take_turn(self) -> int:
        """Handles some messages, and resumes reading when all are handled; returns their cost."""
        cost = 0
        try:
            while cost < connections.TURN_BYTES and not self._ended:
                data = next(self._received, None)
                if data is None:
                    break
                cost += connections.cost(data)
                if data:
                    self._handle(data)
        except door.MalformedMessage as error:
            self.refuse(str(error))
        if self._ended:
            return cost
        if cost < connections.TURN_BYTES:
            self._transport.resume_reading()
        else:
            self._wait_for_turn()
        return cost

    def eof_received(self) -> None:
        """Ends the connection when the switch has closed its half."""
        self._end()

    @connection_callback
    def connection_lost(self, _error: Exception | None) -> None:
        """Forgets the connection, and reports the end of a known switch to the application."""
        self.forget()
        if self._known:
            self._server.application.disconnected(self)

    @connection_callback
    def _time_is_up(self) -> None:
        if not self.served:
            self.refuse(connections.LATE)

    @connection_callback
    def _echo(self) -> None:
        if self._unanswered > connections.UNANSWERED_ECHOES:
            self._end()  # a switch that hangs; the application reports that it has disconnected
            return
        self._unanswered += 1
        self.send(codec.echo_request(self.version))
        self._timer = self._server.loop.call_later(self._server.echo_every_s, self._echo)

    # ---- messages ----

    def _handle(self, data: bytes) -> None:
        kind = data[1]
        if kind == door.HELLO:
            self.send(codec.features_request(self.version))
        elif kind == door.ECHO_REQUEST:
            self.send(codec.echo_reply(data))
        elif kind == door.ECHO_REPLY:
            self._unanswered = 0
        elif kind == door.FEATURES_REPLY:
            self._features_received()
        else:
            self._decoded(data, codec.decode(data))

    def _features_received(self) -> None:
        if not self._identified:
            self._identified = True
            self.send(codec.ports_request(self.version))

    def _decoded(self, data: bytes, message: Any) -> None:
        if door.describes_ports(data):
            if not self._known:
                self._ports_received(message)
            return
        if data[1] == door.PORT_STATUS:
            self._port_changed(message)
        if self._known or data[1] == door.ERROR:
            self._server.application.received(self, message)

    def _ports_received(self, message: Any) -> None:
        self.ports.update((port.port_no, port) for port in message.body)
        if codec.more_follows(message):
            return
        self._known = True
        self._server.application.connected(self)
        if self.served:
            self._timer.cancel()
            self._echo()

    def _port_changed(self, message: Any) -> None:
        if codec.port_is_removed(message):
            self.ports.pop(message.desc.port_no, None)
        else:
            self.ports[message.desc.port_no] = message.desc
