"""Server of the live page, in the fabric's process: starts the web process, tells it what happens, and acts.

The web process may end at any time; the fabric goes on, and says so.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from typing import TYPE_CHECKING, Any

import msgspec

from experiments.events.base import Event, Notify, ignore
from experiments.observation.description import describe
from experiments.observation.model import Entry, FabricState
from experiments.observation.recording import Recording
from experiments.observation.timeline import Timeline
from polarlab.error_log import write_log
from polarlab.web.actions import Measure, PageVerbs, ReplayVerbs, actions, page_of
from polarlab.web.address import WebAddress
from polarlab.web.channel import About, Answer, Ask, ToFabric, ToWeb, Watchers
from polarlab.web.channel import Event as Told
from polarlab.web.events import PageEnded, PageReady, PageTrouble
from polarlab.web.handlers import answer
from polarlab.web.web_process import WebProcess

_MOST_WAITING = 64  # requests of each kind that wait
_END_S = 2.0  # for which a request that is under way is awaited at the end
_MOST_LOGS = 10  # of internal errors

if TYPE_CHECKING:  # at run time only where Mininet is known to be there
    from experiments.live_fabric import LiveFabric
    from experiments.observation.observer import Observer
    from experiments.programs.session_record import SessionRecorder
    from experiments.session.fabric_session import FabricSession


class PageServer:
    """Server of the live page; a context manager that ends the web process.

    Attributes:
        url: the page's address for a browser, with the token where there is one.
        port: the port that is listened on.
        watchers: number of clients that are sent states.
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
        # Open for the page's life: if it were closed with a web process, somebody else could listen until the
        # next one is started, and pages that connect again would give them their cookie.
        self._listener = address.listen()
        self.port: int = self._listener.getsockname()[1]
        self.url = address.url(self.port)
        # What changes the fabric is done one by one, and looks beside it.
        self._changes: queue.Queue[Ask | None] = queue.Queue(_MOST_WAITING)
        self._looks: queue.Queue[Ask | None] = queue.Queue(_MOST_WAITING)
        self._ending, self._logs = False, 0
        self.watchers = 0
        self._starting = threading.Lock()
        self._recording: Recording | None = None
        self._about: dict[str, Any] | None = None
        self._verbs: PageVerbs | ReplayVerbs | None = None
        self._observer: Observer | None = None
        self.timeline = Timeline(self._tell_entry)

    def __enter__(self) -> PageServer:
        try:
            self._web = self._started()
        except BaseException:
            self._listener.close()
            raise
        inboxes = (self._changes, self._looks)
        self._threads = [threading.Thread(target=self._act, args=(one,), daemon=True) for one in inboxes]
        for thread in self._threads:
            thread.start()
        self._notify(PageReady(self.url))
        return self

    def __exit__(self, *_error: object) -> None:
        self._ending = True
        for inbox in (self._changes, self._looks):
            with contextlib.suppress(queue.Full):  # then its thread sees `_ending` after the present request
                inbox.put_nowait(None)
        deadline_s = time.monotonic() + _END_S
        for thread in self._threads:
            if thread is threading.current_thread():  # `progress` closes the fabric
                continue
            # A request that never ends must not keep the fabric up.
            thread.join(max(0.0, deadline_s - time.monotonic()))
        self._web.end()
        self._listener.close()

    def _started(self) -> WebProcess:
        """Returns a web process that serves at the listening socket."""
        address = self._address
        files = [str(path.resolve()) if path else None for path in (address.certificate, address.key)]
        settings = {
            "host": address.host,
            "token": address.token,
            "certificate": files[0],
            "key": files[1],
            "version": metadata.version("polarlab"),
        }
        return WebProcess(
            self._listener,
            settings,
            self._take,
            lambda reason: self._notify(PageEnded(reason)),
            lambda log: self._notify(PageTrouble(log)),
        )

    def start_again(self) -> str:
        """Starts the web process again if it has ended, at the same address, and returns that.

        Raises:
            MachineError: the process does not start, or had given the port up and it is taken.
        """
        with self._starting:
            if self._web.running:
                return self.url
            self._web.end()
            self.watchers = 0
            if not self._listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                # Taken over, on a kernel without filters of calls, the process has shut it down.
                with self._listener:
                    self._listener = replace(self._address, port=self.port).listen()
            web = self._started()

            def begin() -> None:
                self._web = web
                self._web.tell(About(self._about))

            self.timeline.tell_again(begin)
            if self._recording:
                self._tell_recording(self._recording)
            if self._observer:
                self._observer.look()
            self._notify(PageReady(self.url))
        return self.url

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

        with Observer(fabric, session, self.timeline, self._tell_state) as observer:
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
            self._tell_about(page_of(description))
            observer.look()
            try:
                yield observer
            finally:
                self._verbs = self._observer = None
                self._tell_about(None)

    def replay(self, recording: Recording) -> None:
        """Has the page show finished results.

        Args:
            recording: the results.
        """
        self._verbs = verbs = ReplayVerbs(recording)
        description = replace(recording.description, actions=verbs.allowed)
        self._recording = recording
        self._tell_about(page_of(description))
        self._tell_recording(recording)

    def _tell_recording(self, recording: Recording) -> None:
        for entry in recording.entries:
            self._tell_entry(entry)
        self._tell_state(recording.states[-1])  # for programs; a page draws those that its slider is at

    def notify(self, event: Event) -> None:
        """Takes an event of the fabric or of an experiment, for the timeline."""
        if self._observer and not isinstance(event, PageReady):  # whose address has the token
            self._observer.notify(event)

    # ---- to the web process ----

    def _tell_about(self, fabric: dict[str, Any] | None) -> None:
        self._about = fabric
        self._web.tell(About(fabric))

    def _tell_entry(self, entry: Entry) -> None:
        self._web.tell(Told(msgspec.to_builtins(entry)))

    def _tell_state(self, state: FabricState) -> None:
        self._web.tell_state(state)

    # ---- from the web process ----

    def _take(self, message: ToFabric) -> None:
        if isinstance(message, Watchers):
            self.watchers = message.count
            if self._observer:
                self._observer.watched = message.count > 0
            return
        action, verbs = actions().get(message.action), self._verbs
        looks = action is None or action.reads or action.http.at_once
        if not looks and verbs and verbs.busy:
            self._refuse(message, 409, verbs.busy)
            return
        try:
            (self._looks if looks else self._changes).put_nowait(message)
        except queue.Full:
            self._refuse(message, 503, "too many requests wait; try again when some are answered")

    def _refuse_waiting(self) -> None:
        """Refuses the changes that wait, as a measurement begins."""
        with contextlib.suppress(queue.Empty):
            while message := self._changes.get_nowait():
                self._refuse(message, 409, self._verbs.busy if self._verbs else "")

    def _refuse(self, message: Ask, status: int, text: str) -> None:
        self._web.tell(Answer(message.number, status, {"error": text}))

    def _act(self, inbox: queue.Queue[Ask | None]) -> None:
        """Carries requests out, one after another."""
        while (message := inbox.get()) and not self._ending:
            self._web.tell(self._answer(message))

    def _answer(self, message: Ask) -> ToWeb:
        verbs = self._verbs
        if verbs is None:
            return Answer(message.number, 409, {"error": "no fabric is up that allows it"})
        try:
            return answer(verbs, message.number, message.action, bytes(message.arguments))
        except Exception as error:  # the fabric must go on, whatever was asked
            return Answer(message.number, 500, {"error": f"internal error{self._log_of(error)}"})

    def _log_of(self, error: Exception) -> str:
        """Returns the place of an error's traceback, in words; its text could quote a file."""
        self._logs += 1
        if self._logs > _MOST_LOGS:
            return ""
        try:
            return f"; {write_log(error)} has it"
        except OSError:
            return ""
