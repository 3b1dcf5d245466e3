"""Runtime of the framework: import, event loop, and switches' connections over TCP, TLS or a Unix socket.

Together with `controller.openflow.codec` the only module that loads a framework, Ryu or os-ken. Their own
applications are not used: the graph is known and needs no link discovery. To import this module replaces the
process's sockets by cooperative ones.
"""

from __future__ import annotations

import os
import socket
import ssl
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from controller.openflow.frameworks import load, used
from controller.reports import Warned, die, report
from topology.exit_status import Status

# Addresses are numbers here: eventlet need not load its own resolver of names, which takes a while.
os.environ["EVENTLET_NO_GREENDNS"] = "yes"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # eventlet announces its own retirement at every import
    import eventlet.wsgi
    from eventlet import tpool

    # Ryu 4.34 imports this name, which eventlet dropped in 0.33; only WebSockets, not used here, need it.
    if not hasattr(eventlet.wsgi, "ALREADY_HANDLED"):
        eventlet.wsgi.ALREADY_HANDLED = object()
    # os-ken 4 has native threads by default. Among them this application would need locks, and the death of
    # one would go unnoticed: each swallows its exceptions.
    os.environ["OSKEN_HUB_TYPE"] = "eventlet"
    hub = load("lib.hub")

hub.patch(thread=False)

cfg = load("cfg")
app_manager = load("base.app_manager")
ofp_event = load("controller.ofp_event")
_HANDLER = load("controller.handler")

CONFIG_DISPATCHER = _HANDLER.CONFIG_DISPATCHER
DEAD_DISPATCHER = _HANDLER.DEAD_DISPATCHER
HANDSHAKE_DISPATCHER = _HANDLER.HANDSHAKE_DISPATCHER
MAIN_DISPATCHER = _HANDLER.MAIN_DISPATCHER
set_ev_cls = _HANDLER.set_ev_cls
_serve_switch = load("controller.controller").datapath_connection_factory

__all__ = [
    "CONFIG_DISPATCHER",
    "DEAD_DISPATCHER",
    "HANDSHAKE_DISPATCHER",
    "MAIN_DISPATCHER",
    "Application",
    "Certificates",
    "call_in_thread",
    "listen",
    "ofp_event",
    "run",
    "set_ev_cls",
    "sleep",
    "spawn",
]

Application = getattr(app_manager, used().application)
sleep = hub.sleep

# Between two echo requests to a switch: the interval, and the least one for each switch of the fabric. At
# most a hundred answers come in a second, also from a thousand switches.
_ECHO_EVERY_S, _ECHO_EVERY_S_PER_SWITCH, _UNANSWERED_ECHOES = 2, 0.01, 3

# Switches of a fabric connect all at once; the framework's own listener accepts 50 and delays the rest by a
# second.
_BACKLOG = 4096


@dataclass(frozen=True)
class Certificates:
    """PEM files for TLS: key and certificate of the controller, certificate of the switches' authority."""

    key: str
    certificate: str
    authority: str

    def context(self) -> ssl.SSLContext:
        """Returns a TLS context that accepts only switches with a certificate signed by the authority.

        Raises:
            OSError: a file cannot be read, or is not of its kind.
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
    """Runs one application on the connections of a listening socket, until one of its threads ends.

    The end of any thread ends the process with a report, as no controller is to run on half alive.

    Args:
        listener: the socket, from `listen`.
        context: for TLS on each connection; None for plain connections.
        switches: number of switches of the fabric; they are asked for signs of life in turn.
        application_class: a subclass of `Application`.
        arguments: for the application's constructor.
    """
    cfg.CONF(args=[], project="polarlab")
    # A switch that keeps its connection but answers no echo request is disconnected after some seconds.
    echo_every_s = max(_ECHO_EVERY_S, round(switches * _ECHO_EVERY_S_PER_SWITCH))
    cfg.CONF.set_override("echo_request_interval", echo_every_s)
    cfg.CONF.set_override("maximum_unreplied_echo_requests", _UNANSWERED_ECHOES)
    manager = app_manager.AppManager.get_instance()
    handshake = manager.instantiate(_Handshake, listener, context)
    application = manager.instantiate(application_class, *arguments)
    handshake.start()
    application.start()
    threads = [*handshake.threads, *application.threads]
    for thread in threads:
        thread.link(_thread_ended)
    hub.joinall(threads)
    die("the controller has no thread")


def spawn(title: str, function: Callable[[], None]) -> Any:
    """Starts a thread that works as long as the process, which ends with it, and returns the thread.

    The framework itself would log a thread's exception and continue without the thread.

    Args:
        title: what the thread does, for the report of its end.
        function: the work, which does not return.
    """

    def work() -> None:
        try:
            function()
        except KeyboardInterrupt:  # it reaches the thread that happens to run
            os._exit(Status.INTERRUPTED)
        except BaseException as error:
            die(f"{type(error).__name__} in {title}: {error}")
        die(f"{title} ended")

    return hub.spawn(work)


def _thread_ended(_thread: Any) -> None:
    die("a thread of the controller ended")


def call_in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Returns a function's result, computed in a thread of the system while the event loop continues."""
    return tpool.execute(function, *arguments)


def listen(path: str | None, host: str, port: int) -> Any:
    """Opens the listening socket: a Unix socket if a path is given, else TCP on host and port.

    Raises:
        OSError: it cannot be opened.
    """
    if path is not None:
        return _listen_unix(path)
    # Not shared: a second controller on the same port must fail instead of taking every other switch.
    return eventlet.listen((host, port), backlog=_BACKLOG, reuse_port=False)


class _Handshake(load("controller.ofp_handler").OFPHandler):  # type: ignore[misc]
    """The framework's own handshake, on a listening socket that was opened beforehand."""

    def __init__(self, listener: Any, context: ssl.SSLContext | None) -> None:
        super().__init__()
        self._listener = listener
        self._context = context

    def start(self) -> None:
        Application.start(self)
        self.threads.append(spawn("the listening socket", self._accept))

    def _accept(self) -> None:
        while True:
            connection, address = self._listener.accept()
            hub.spawn(self._serve, connection, address)  # ends with the connection

    def _serve(self, connection: Any, address: Any) -> None:
        if self._context:
            try:
                connection = self._context.wrap_socket(connection, server_side=True)
            except OSError as error:  # includes TLS errors
                connection.close()
                report(Warned(f"a connection from {address[0]} was refused: {error}"))
                return
        _serve_switch(connection, address)


class _UnixSocket(eventlet.greenio.GreenSocket):  # type: ignore[misc]
    """A Unix stream socket that ignores the TCP options which the framework sets on every connection."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.setsockopt = self._set_option  # eventlet binds the underlying socket's method to each instance

    def _set_option(self, level: int, *rest: Any) -> None:
        if level != socket.IPPROTO_TCP:
            self.fd.setsockopt(level, *rest)

    def accept(self) -> tuple[Any, Any]:
        connection, address = super().accept()  # the connection is of this class, too
        return connection, address or "unix"


def _listen_unix(path: str) -> Any:
    # A process that can open the socket can pose as a switch: only the owner may.
    mask = os.umask(0o077)
    try:
        _remove_stale(path)
        listener = _UnixSocket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        listener.listen(_BACKLOG)
    finally:
        os.umask(mask)
    return listener


def _remove_stale(path: str) -> None:
    """Removes the socket of a controller that was killed: nothing listens on it."""
    with socket.socket(socket.AF_UNIX) as trial:
        try:
            trial.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
        except OSError:
            pass  # nothing there, or not a socket: binding reports it
