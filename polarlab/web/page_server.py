"""Server of the live page in the fabric's process: starts the web process, reports to it, performs actions.

The web process may end at any time; then the fabric continues and reports it.
"""

from __future__ import annotations

import contextlib
import queue
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import metadata
from typing import TYPE_CHECKING, Any

import msgspec

from experiments.events.base import Event, OnEvent, ignore
from experiments.observation.description import describe
from experiments.observation.model import Entry, FabricState
from experiments.observation.recording import Recording
from experiments.observation.timeline import MAX_ENTRIES, Timeline
from polarlab.error_log import write_log
from polarlab.web.actions import Measure, PageVerbs, ReplayVerbs, actions, page_of
from polarlab.web.address import WebAddress
from polarlab.web.channel import About, Answer, Ask, ToFabric, ToWeb, Watchers, check_length
from polarlab.web.channel import Event as TimelineEvent
from polarlab.web.events import PageEnded, PageReady, PageTrouble, ViewerAwaited
from polarlab.web.handlers import answer
from polarlab.web.web_process import WebProcess

_MAX_WAITING = 64  # limit of waiting requests of each kind
# A request and the process that sent it, as each process numbers its requests anew; None ends the queue.
_Inbox = queue.Queue[tuple[WebProcess, Ask] | None]
_END_S = 2.0  # how long to wait at the end for a request in progress
_POLL_S = 0.1
_DRAWN_S = 2.0  # from a viewer's connection until its page is drawn
_NAME_TIMEOUT_S = 2.0
_MAX_LOGS = 10  # limit of logs of internal errors
_MAX_CHARACTERS = 5_000  # limit of an event's text

if TYPE_CHECKING:  # at run time only where Mininet is known to be there
    from experiments.live_fabric import LiveFabric
    from experiments.observation.observer import Observer
    from experiments.programs.session_record import SessionRecorder
    from experiments.session.fabric_session import FabricSession


class PageServer:
    """Server of the live page; a context manager that ends the web process.

    Attributes:
        url: the page's address for a browser, with the token if there is one.
        port: the listening port.
        watchers: number of clients that receive states.
    """

    def __init__(self, address: WebAddress, on_event: OnEvent = ignore) -> None:
        """Starts to listen; requests are answered only after `__enter__`.

        Args:
            address: the address of the page.
            on_event: callback for progress events, such as PageReady and PageEnded.

        Raises:
            MachineError: the port is taken.
        """
        self._address, self._on_event = address, on_event
        # Open as long as the page: if it were closed with a web process, someone else could listen until the
        # next one starts, and pages that reconnect would send them the cookie.
        self._listener = address.listen()
        self.port: int = self._listener.getsockname()[1]
        self.url = address.url(self._listener)
        # Changes of the fabric are performed one by one, and queries in parallel to them.
        self._changes: _Inbox = queue.Queue(_MAX_WAITING)
        self._queries: _Inbox = queue.Queue(_MAX_WAITING)
        self._ending, self._logs = False, 0
        self.watchers = 0
        self._starting = threading.Lock()
        self._recording: Recording | None = None
        self._about: dict[str, Any] | None = None
        self._verbs: PageVerbs | ReplayVerbs | None = None
        self._observer: Observer | None = None
        self.timeline = Timeline(self._send_entry)

    def __enter__(self) -> PageServer:
        try:
            self._web = self._started()
        except BaseException:
            self._listener.close()
            raise
        inboxes = (self._changes, self._queries)
        self._threads = [threading.Thread(target=self._act, args=(one,), daemon=True) for one in inboxes]
        for thread in self._threads:
            thread.start()
        self._on_event(PageReady(self.url))
        return self

    def __exit__(self, *_error: object) -> None:
        self._ending = True
        for inbox in (self._changes, self._queries):
            with contextlib.suppress(queue.Full):  # then its thread sees `_ending` after the current request
                inbox.put_nowait(None)
        deadline_s = time.monotonic() + _END_S
        for thread in self._threads:
            if thread is threading.current_thread():  # the callback for progress events closes the fabric
                continue
            # A request that never ends must not keep the fabric up.
            thread.join(max(0.0, deadline_s - time.monotonic()))
        self._web.end()
        self._listener.close()

    def _started(self) -> WebProcess:
        """Starts a web process that serves on the listening socket."""
        address = self._address
        files = [str(path.resolve()) if path else None for path in (address.certificate, address.key)]
        settings = {
            "hosts": [address.host, self._listener.getsockname()[0]],
            "names": () if address.loopback else _own_names(),
            "token": address.token,
            "certificate": files[0],
            "key": files[1],
            "version": metadata.version("polarlab"),
        }
        return WebProcess(
            self._listener,
            settings,
            self._receive,
            lambda reason: self._on_event(PageEnded(reason)),
            lambda log: self._on_event(PageTrouble(log)),
        )

    def restart(self) -> str:
        """Restarts the web process at the same address if it has ended, and returns the address.

        Raises:
            MachineError: the process does not start, or its listening socket was shut down and the port is
                taken.
        """
        with self._starting:
            if self._web.running:
                return self.url
            self._web.end()
            for inbox in (self._changes, self._queries):
                for _ in _taken(inbox):  # nobody waits for the answers
                    pass
            self.watchers = 0
            if not self._listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                # A compromised process shut it down, on a kernel that does not filter system calls.
                with self._listener:
                    self._listener = replace(self._address, port=self.port).listen()
            web = self._started()

            def replace_web() -> None:
                self._web = web
                self._web.send(About(self._about))

            self.timeline.replay(replace_web)
            if self._recording:
                self._send_recording(self._recording)
            if self._observer:
                self._observer.report_now()
            self._on_event(PageReady(self.url))
        return self.url

    # ---- the watched fabric ----

    @contextlib.contextmanager
    def watch(
        self,
        fabric: LiveFabric,
        session: FabricSession | None = None,
        recorder: SessionRecorder | None = None,
        measure: Measure | None = None,
    ) -> Iterator[Observer]:
        """Shows a fabric on the page during the block.

        Args:
            fabric: the running fabric.
            session: the session on it, for the page's actions; None if an experiment uses it exclusively.
            recorder: records the session.
            measure: measures traffic and returns the results folder.
        """
        from experiments.observation.observer import Observer, proof_of

        with Observer(fabric, session, self.timeline, self._send_state) as observer:
            self._observer, observer.watched = observer, self.watchers > 0
            verbs = PageVerbs(session, observer, recorder, measure) if session else None
            self._verbs, allowed = verbs, verbs.allowed if verbs else ()
            if session:
                session.turns.on_measurement.append(self._refuse_waiting)
            options = fabric.options
            description = describe(
                options.topology,
                options.settings(),
                options.routing,
                proof=proof_of(fabric),
                actions=allowed,
            )
            self._send_about(page_of(description))
            observer.report_now()
            try:
                yield observer
            finally:
                self._verbs = self._observer = None
                self._send_about(None)

    def replay(
        self, recording: Recording, read: Callable[[str], Recording] | None = None, *, ended: bool = False
    ) -> None:
        """Shows finished results on the page, instead of what it showed before.

        Args:
            recording: the results.
            read: returns the recording of another point of the results; None if they have only one.
            ended: whether they have just been measured: their end is shown first.

        Raises:
            UsageError: the description of the fabric or of the points is too long.
        """
        verbs = ReplayVerbs(recording, read and (lambda point: self.replay(read(point), read)))
        first = len(recording.states) - 1 if ended else 0
        description = replace(recording.description, actions=verbs.allowed, shown_first=first)
        page = page_of(description)
        check_length(About(page))
        self._verbs, self._recording = verbs, replace(recording, description=description)
        self._send_about(page)
        self._send_recording(recording)

    def _send_recording(self, recording: Recording) -> None:
        for entry in recording.entries[-MAX_ENTRIES:]:
            self._send_entry(entry)
        self._send_state(recording.states[-1])  # for programs; the page draws the state at its slider

    def wait_for_viewer(self) -> None:
        """Waits until a client receives states, or until Enter is pressed if there is a terminal."""
        terminal = sys.stdin is not None and sys.stdin.isatty()
        if not self.watchers:
            self._on_event(ViewerAwaited(terminal))
        while not self.watchers:
            if terminal and select.select([sys.stdin], [], [], 0)[0]:
                sys.stdin.readline()
                return
            time.sleep(_POLL_S)
        time.sleep(_DRAWN_S)

    def on_event(self, event: Event) -> None:
        """Adds a progress event of the fabric or of an experiment to the timeline."""
        if self._observer and not isinstance(event, PageReady):  # its address contains the token
            self._observer.on_event(event)

    # ---- to the web process ----

    def _send_about(self, fabric: dict[str, Any] | None) -> None:
        self._about = fabric
        self._web.send(About(fabric))

    def _send_entry(self, entry: Entry) -> None:
        if len(entry.text) > _MAX_CHARACTERS:  # of results, for example
            entry = replace(entry, text=f"{entry.text[:_MAX_CHARACTERS]}...")
        self._web.send(TimelineEvent(msgspec.to_builtins(entry)))

    def _send_state(self, state: FabricState) -> None:
        self._web.send_state(state)

    # ---- from the web process ----

    def _receive(self, web: WebProcess, message: ToFabric) -> None:
        if isinstance(message, Watchers):
            self.watchers = message.count
            if self._observer:
                self._observer.watched = message.count > 0
            return
        action, verbs = actions().get(message.action), self._verbs
        is_query = action is None or action.reads or action.http.at_once
        if not is_query and verbs and verbs.busy:
            _refuse(web, message, 409, verbs.busy)
            return
        try:
            (self._queries if is_query else self._changes).put_nowait((web, message))
        except queue.Full:
            _refuse(web, message, 503, "too many requests are waiting; try again later")

    def _refuse_waiting(self) -> None:
        """Refuses the waiting changes, because a measurement starts."""
        for web, message in _taken(self._changes):
            _refuse(web, message, 409, self._verbs.busy if self._verbs else "")

    def _act(self, inbox: _Inbox) -> None:
        """Performs requests, one after another, unless the process that sent them has ended."""
        while (waiting := inbox.get()) and not self._ending:
            web, message = waiting
            if web.running:
                web.send(self._answer(message))

    def _answer(self, message: Ask) -> ToWeb:
        verbs = self._verbs
        if verbs is None:
            return Answer(message.number, 409, {"error": "no running fabric allows this action"})
        try:
            return answer(verbs, message.number, message.action, bytes(message.arguments))
        except Exception as error:  # the fabric must continue, whatever was requested
            return Answer(message.number, 500, {"error": f"internal error{self._log_of(error)}"})

    def _log_of(self, error: Exception) -> str:
        """Logs an error and returns a clause that names the log.

        The clause omits the error's text, which could quote a file.
        """
        self._logs += 1
        if self._logs > _MAX_LOGS:
            return ""
        try:
            return f"; see {write_log(error)}"
        except OSError:
            return ""


def _refuse(web: WebProcess, message: Ask, status: int, text: str) -> None:
    web.send(Answer(message.number, status, {"error": text}))


def _taken(inbox: _Inbox) -> Iterator[tuple[WebProcess, Ask]]:
    """Yields the waiting requests of a queue, which it empties except for the None that ends it."""
    with contextlib.suppress(queue.Empty):
        while waiting := inbox.get_nowait():
            yield waiting
        with contextlib.suppress(queue.Full):  # then its thread sees `_ending` after the current request
            inbox.put_nowait(None)


def _own_names() -> list[str]:
    """Returns the names of this machine; the fully qualified one only if its lookup is fast.

    The lookup may take minutes, in a thread that cannot be ended, so it runs here and not in the web process.
    """
    names = [socket.gethostname()]
    lookup = threading.Thread(target=lambda: names.append(socket.getfqdn()), daemon=True)
    lookup.start()
    lookup.join(_NAME_TIMEOUT_S)
    return list(names)
