"""Runtime of the framework, Ryu or os-ken: its import, its event loop, and its threads.

The frameworks' own applications are not used: the graph is known and needs no link discovery. To import this
module replaces the process's sockets by cooperative ones.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from controller.openflow.frameworks import load, used
from controller.reports import die
from topology.errors import Status

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

__all__ = [
    "CONFIG_DISPATCHER",
    "DEAD_DISPATCHER",
    "HANDSHAKE_DISPATCHER",
    "MAIN_DISPATCHER",
    "Application",
    "app_manager",
    "call_in_thread",
    "cfg",
    "hub",
    "ofp_event",
    "run_threads",
    "set_ev_cls",
    "sleep",
    "spawn",
]

Application = getattr(app_manager, used().application)
sleep = hub.sleep


def run_threads(threads: list[Any]) -> NoReturn:
    """Runs threads until one of them ends, which ends the process: no controller is to run on half alive."""
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
