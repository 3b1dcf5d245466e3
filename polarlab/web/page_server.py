"""Server of the live page, in the fabric's process: starts the web process, tells it what happens, and acts.

The web process may end at any time; the fabric goes on, and says so.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from typing import TYPE_CHECKING

import msgspec

from experiments.events.base import Event, Notify, ignore
from experiments.observation.description import describe
from experiments.observation.model import Entry, FabricState
from experiments.observation.recording import Recording
from experiments.observation.timeline import Timeline
from polarlab.web.actions import BY_NAME
from polarlab.web.address import WebAddress
from polarlab.web.channel import About, Answer, Ask, Now, ToWeb, Watchers, line_of, to_fabric
from polarlab.web.channel import Event as Told
from polarlab.web.events import PageEnded, PageReady
from polarlab.web.replay_handlers import ReplayHandlers
from topology.errors import MachineError
from traffic.engine.child_process import start_python

if TYPE_CHECKING:  # at run time only where Mininet is known to be there
    from experiments.live_fabric import LiveFabric
    from experiments.observation.observer import Observer
    from experiments.programs.session_record import SessionRecorder
    from experiments.session.fabric_session import FabricSession
    from polarlab.web.handlers import Handlers, Measure

_SERVICE = ("-m", "polarlab.web.service")
_START_TIMEOUT_S = 30.0
_MOST_WAITING = 10_000  # messages that the web process has not taken


class PageServer:
    """Server of the live page; a context manager that ends the web process.

    Attributes:
        url: the page's address for a browser, with the token where there is one.
        port: the port that is listened on.
    """

    def __init__(self, address: WebAddress, notify: Notify = ignore) -> None:
        """Listens; nothing is answered yet.

        Args:
            address: the address of the page.
            notify: takes PageReady and PageEnded.

        Raises:
            MachineError: the port is taken.
        """
        self._address, self._notify = address, notify
        self._listener = address.listen()
        self.port: int = self._listener.getsockname()[1]
        self.url = address.url(self.port)
        self._outbox: queue.Queue[ToWeb | None] = queue.Queue(_MOST_WAITING)
        self._latest: list[FabricState] = []  # at most one
        self._latest_lock = threading.Lock()
        # What changes the fabric is done one by one, and looks beside it.
        self._changes: queue.Queue[Ask | None] = queue.Queue()
        self._looks: queue.Queue[Ask | None] = queue.Queue()
        self._watchers = 0
        self._ending = False
        self._handlers: Handlers | ReplayHandlers | None = None
        self._observer: Observer | None = None
        self.timeline = Timeline(self._tell_entry)

    def __enter__(self) -> PageServer:
        self._channel, theirs = socket.socketpair()
        fds = (self._listener.fileno(), theirs.fileno())
        # It has no mark of a fabric's processes: the fabric to come would take it for a leftover.
        environment = {"PATH": os.environ.get("PATH", os.defpath)}
        with theirs, self._listener:
            self._process = start_python(
                [*_SERVICE, *map(str, fds)], environment, stderr=sys.stderr, pass_fds=fds
            )
        self._begin()
        inboxes = (self._changes, self._looks)
        self._threads = [threading.Thread(target=one, daemon=True) for one in (self._send, self._receive)]
        self._threads += [threading.Thread(target=self._act, args=(one,), daemon=True) for one in inboxes]
        for thread in self._threads:
            thread.start()
        self._notify(PageReady(self.url))
        return self

    def _begin(self) -> None:
        """Gives the web process its settings, and returns when it serves."""
        address = self._address
        files = [str(path.resolve()) if path else None for path in (address.certificate, address.key)]
        settings = {
            "host": address.host,
            "token": address.token,
            "certificate": files[0],
            "key": files[1],
            "version": metadata.version("polarlab"),
        }
        assert self._process.stdin
        assert self._process.stdout
        with contextlib.suppress(OSError):
            self._process.stdin.write(msgspec.json.encode(settings).decode() + "\n")
            self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], _START_TIMEOUT_S)
        if not ready or self._process.stdout.readline().strip() != "ready":
            self._kill()
            self._channel.close()
            raise MachineError(
                "the process of the live page did not start; are its certificate and key right?"
            )

    def __exit__(self, *_error: object) -> None:
        self._ending = True
        for inbox in (self._changes, self._looks):
            inbox.put(None)
        with contextlib.suppress(queue.Full):
            self._outbox.put_nowait(None)
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        with contextlib.suppress(subprocess.TimeoutExpired):  # it ends by itself when the channel does
            self._process.wait(2.0)
        self._kill()
        self._channel.close()

    def _kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()

    # ---- what is watched ----

    @contextlib.contextmanager
    def watch(
        self,
        fabric: LiveFabric,
        session: FabricSession | None = None,
        recorder: SessionRecorder | None = None,
        measure: Measure | None = None,
    ) -> Iterator[Observer]:
        """Has the page show a fabric during a block.

        Args:
            fabric: the fabric, up.
            session: the session on it, for the page's actions; None where an experiment has it for itself.
            recorder: what keeps the session.
            measure: measures traffic, and returns the folder of the results.
        """
        from experiments.observation.observer import Observer, proof_of
        from polarlab.web.handlers import Handlers

        with Observer(fabric, session, self.timeline, self._tell_state) as observer:
            self._observer, observer.watched = observer, self._watchers > 0
            handlers = Handlers(session, observer, recorder, measure) if session else None
            self._handlers, allowed = handlers, handlers.allowed if handlers else ()
            options = fabric.options
            description = describe(
                options.topology,
                options.settings(),
                options.routing,
                proof=proof_of(fabric),
                actions=allowed,
            )
            self._put(About(msgspec.to_builtins(description)))
            observer.look()
            try:
                yield observer
            finally:
                self._handlers = self._observer = None
                self._put(About(None))

    def replay(self, recording: Recording) -> None:
        """Has the page show finished results.

        Args:
            recording: the results.
        """
        self._handlers = handlers = ReplayHandlers(recording)
        description = replace(recording.description, actions=handlers.allowed)
        self._put(About(msgspec.to_builtins(description)))
        for entry in recording.entries:
            self._tell_entry(entry)

    def notify(self, event: Event) -> None:
        """Takes an event of the fabric or of an experiment, for the timeline."""
        if self._observer:
            self._observer.notify(event)

    # ---- to the web process ----

    def _tell_entry(self, entry: Entry) -> None:
        self._put(Told(msgspec.to_builtins(entry)))

    def _tell_state(self, state: FabricState) -> None:
        """Has a state told, in place of one that waits still."""
        with self._latest_lock:
            waiting = bool(self._latest)
            self._latest[:] = [state]
            if not waiting and not self._put(Now(None)):
                self._latest.clear()  # else no state would be told any more

    def _put(self, message: ToWeb) -> bool:
        """Has a message told, and returns whether there was room for it."""
        try:
            self._outbox.put_nowait(message)
        except queue.Full:  # the web process hangs: it will miss some
            return False
        return True

    def _send(self) -> None:
        with contextlib.suppress(OSError):  # the web process has ended
            while message := self._outbox.get():
                if isinstance(message, Now):
                    with self._latest_lock:
                        latest = self._latest.pop() if self._latest else None
                    message = Now(msgspec.to_builtins(latest))
                self._channel.sendall(line_of(message))

    # ---- from the web process ----

    def _receive(self) -> None:
        with contextlib.suppress(OSError, msgspec.MsgspecError), self._channel.makefile("rb") as lines:
            for line in lines:
                message = to_fabric(line)
                if isinstance(message, Watchers):
                    self._watchers = message.count
                    if self._observer:
                        self._observer.watched = message.count > 0
                else:
                    self._take(message)
        if not self._ending:
            self._notify(PageEnded())

    def _take(self, message: Ask) -> None:
        action = BY_NAME.get(message.action)
        handlers = self._handlers
        if action is None or action.reads:
            self._looks.put(message)
        elif handlers and handlers.busy:
            self._put(Answer(message.number, 409, {"error": f"{handlers.busy}; wait until it has ended"}))
        else:
            self._changes.put(message)

    def _act(self, inbox: queue.Queue[Ask | None]) -> None:
        """Carries requests out, one after another."""
        while message := inbox.get():
            self._put(self._answer(message))

    def _answer(self, message: Ask) -> ToWeb:
        handlers = self._handlers
        if handlers is None:
            return Answer(message.number, 409, {"error": "an experiment has the fabric for itself"})
        try:
            return handlers.do(message.number, message.action, message.arguments)
        except Exception as error:  # the fabric must go on, whatever was asked
            return Answer(message.number, 500, {"error": f"internal error: {type(error).__name__}: {error}"})
