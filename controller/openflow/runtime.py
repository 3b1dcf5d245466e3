"""Runtime of the framework (Ryu or os-ken): imports it, and provides its event loop and threads.

The frameworks' own applications are not used: the graph is known, so link discovery is not needed. Importing
this module replaces the process's sockets with cooperative ones.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from controller.openflow.frameworks import load, used
from controller.reports import die
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
    # os-ken 4 uses native threads by default. With them this application would need locks, and the death of
    # a thread would go unnoticed, because each swallows its exceptions.
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
    """Runs threads until one of them ends, and then ends the process: it must not run without one of them."""
    for thread in threads:
        thread.link(_thread_ended)
    hub.joinall(threads)
    die("the controller has no threads")


def spawn(title: str, function: Callable[[], None]) -> Any:
    """Starts a thread and returns it; when the thread ends, the process ends.

    The framework itself would log a thread's exception and continue without the thread.

    Args:
        title: the thread's name in the report of its end.
        function: the thread's work; it must not return.
    """

    def work() -> None:
        try:
            function()
        except KeyboardInterrupt:  # raised in the thread that happens to run
            os._exit(Status.INTERRUPTED)
        except BaseException as error:
            die(f"{type(error).__name__} in {title}: {error}")
        die(f"{title} ended")

    return hub.spawn(work)


def _thread_ended(_thread: Any) -> None:
    die("a thread of the controller ended")


def call_in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Returns a function's result, computed in a native thread while the event loop continues."""
    return tpool.execute(function, *arguments)
