"""Access to a fabric in turns: verbs (operations that change it) run one by one; a measurement runs alone."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar, cast

from topology.errors import UsageError

PAGE, PROGRAM = "the page", "the program"
# Ways to stop a measurement, by who runs it.
_STOPS = {
    PAGE: "`stop measuring` on the page, `traffic stop` at the prompt or Fabric.stop_measurement()",
    PROGRAM: "Ctrl-C or Fabric.stop_measurement()",
}
_LAST_VERB_S = 2.0  # how long the end of a session waits for a verb in another thread
_VERB_ENDS_S = 60.0  # how long a measurement waits for running verbs and probes
_MEASUREMENT_ENDS_S = 30.0  # how long closing a fabric waits for a measurement
_Verb = TypeVar("_Verb", bound=Callable[..., Any])


class FabricBusy(UsageError):
    """A measurement has exclusive use of the fabric, or the fabric is being closed."""


class Measuring:
    """A measurement that has exclusive use of the fabric.

    Attributes:
        by: who runs it, PAGE or PROGRAM.
        seconds: estimated length of its traffic in s; None if that is not known.
        thread: the thread that runs it.
        afterwards: callbacks that this thread runs once the measurement has ended.
    """

    def __init__(self, by: str) -> None:
        self.by = by
        self.seconds: float | None = None
        self.thread = threading.get_ident()
        self.afterwards = contextlib.ExitStack()
        self._began_s = time.monotonic()
        self._stopped = threading.Event()

    def __str__(self) -> str:
        length = "" if self.seconds is None else f" of about {self.seconds:.0f} s"
        elapsed_s = time.monotonic() - self._began_s
        return (
            f"a measurement by {self.by} has had the fabric to itself for {elapsed_s:.0f} s{length}; wait, "
            f"or stop it by {_STOPS[self.by]}"
        )

    def stop(self) -> None:
        """Asks the measurement to stop: its next `check` raises KeyboardInterrupt."""
        self._stopped.set()

    def check(self) -> None:
        """Raises KeyboardInterrupt, once, if the measurement was stopped; results so far are kept."""
        if self._stopped.is_set():
            self._stopped.clear()
            raise KeyboardInterrupt


class Turns:
    """Lets the verbs and measurements of all users and threads use one fabric in turns.

    Attributes:
        measuring: the measurement that has exclusive use of the fabric; None if there is none.
        changed_s: end of the latest verb on time.monotonic's clock.
        on_measurement: called when a measurement starts, before its first packet: each callback ends an
            activity that would disturb it, or refuses the measurement.
    """

    def __init__(self) -> None:
        self.measuring: Measuring | None = None
        self.changed_s = 0.0
        self.on_measurement: list[Callable[[], object]] = []
        self._turn = threading.Lock()
        self._acting: int | None = None  # the thread whose verb has the turn
        self._known = threading.Condition()
        self._measured = 0  # number of measurements so far
        self._probing = 0
        self._closed = False

    @contextlib.contextmanager
    def verb(self) -> Iterator[None]:
        """Runs the block as a verb that changes the fabric, after the verbs of other threads; may be nested.

        Raises:
            FabricBusy: a measurement is running, or has run since this verb was called, or the fabric is
                closed.
        """
        if self._acting == threading.get_ident():
            yield
            return
        self._refuse_if_busy()
        measured = self._measured
        with self._turn:
            self._refuse_if_busy()
            if self._measured != measured:
                raise FabricBusy("a measurement ran while this command was waiting; repeat the command")
            self._acting = threading.get_ident()
            try:
                yield
            finally:
                self._acting, self.changed_s = None, time.monotonic()

    @contextlib.contextmanager
    def probing(self) -> Iterator[None]:
        """Marks the block as sending probes; a measurement waits for its end.

        Raises:
            FabricBusy: a measurement is running, or the fabric is closed.
        """
        with self._known:
            self._refuse_if_busy()
            self._probing += 1
        try:
            yield
        finally:
            with self._known:
                self._probing -= 1
                self._known.notify_all()

    @contextlib.contextmanager
    def measurement(self, by: str) -> Iterator[Measuring]:
        """Reserves the fabric for a measurement, once running verbs and probes have ended.

        Args:
            by: who measures, PAGE or PROGRAM.

        Raises:
            FabricBusy: another measurement is running, a verb does not end, or the fabric is closed.
        """
        with self._known:
            self._refuse_if_busy()
            measuring = self.measuring = Measuring(by)  # no verb starts from now on
            self._measured += 1
        try:
            with self.last_verb(_VERB_ENDS_S) as taken, self._known:
                if not taken or not self._known.wait_for(lambda: not self._probing, _VERB_ENDS_S):
                    raise FabricBusy(f"a command has not ended within {_VERB_ENDS_S:g} s; measure later")
            for clear in tuple(self.on_measurement):
                clear()
            yield measuring
        finally:
            with self._known:
                self.measuring = None
                self._known.notify_all()
            measuring.afterwards.close()

    def stop(self, by: str | None = None) -> None:
        """Stops the running measurement, which keeps its results so far.

        Args:
            by: who must have started the measurement; None for anybody.

        Raises:
            UsageError: no measurement is running, or somebody else started it.
        """
        measuring = self.measuring
        if measuring is None or by not in (None, measuring.by):
            raise UsageError(f"no measurement by {by} is running" if by else "nothing is being measured")
        measuring.stop()

    def stop_own(self, then: Callable[[], object]) -> bool:
        """Stops the measurement of this thread, if there is one, and returns whether there was one.

        Args:
            then: called once the measurement has ended.
        """
        measuring = self.measuring
        if measuring is None or measuring.thread != threading.get_ident():
            return False
        measuring.stop()
        measuring.afterwards.callback(then)
        return True

    def close(self, timeout_s: float = _MEASUREMENT_ENDS_S) -> None:
        """Refuses all verbs, probes and measurements from now on, and stops a measurement in another thread.

        Args:
            timeout_s: how long to wait for that measurement to end, in s.
        """
        with self._known:
            self._closed = True
            if measuring := self.measuring:
                measuring.stop()
                self._known.wait_for(lambda: self.measuring is None, timeout_s)

    @contextlib.contextmanager
    def last_verb(self, timeout_s: float = _LAST_VERB_S) -> Iterator[bool]:
        """Runs a block that ends the session, after waiting for the verbs of other threads.

        Yields whether these verbs ended in time; if not, the block runs beside them.
        """
        taken = self._turn.acquire(timeout=timeout_s)
        try:
            if taken:
                self._acting = threading.get_ident()
            yield taken
        finally:
            if taken:
                self._acting = None
                self._turn.release()

    def _refuse_if_busy(self) -> None:
        if self._closed:
            raise FabricBusy("the fabric is being closed")
        if measuring := self.measuring:
            raise FabricBusy(str(measuring))


class _Session(Protocol):
    """Session whose verbs take turns."""

    turns: Turns


def one_at_a_time(verb: _Verb) -> _Verb:
    """Decorates a verb of a session: it waits for other verbs and is refused during a measurement."""

    @functools.wraps(verb)
    def waiting(session: _Session, *values: Any, **named: Any) -> Any:
        with session.turns.verb():
            return verb(session, *values, **named)

    return cast(_Verb, waiting)
