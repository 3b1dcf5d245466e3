"""Web process of the live page, as seen by the fabric's process: its start, messages and end."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any

import msgspec

from emulation.cleanup import page_keeper
from emulation.kernel.namespaces import in_new_pid_namespace
from emulation.kernel.system_calls import name_thread
from experiments.observation.model import FabricState
from polarlab.error_log import escaped, new_log, write_text
from polarlab.web.channel import (
    MAX_ASKED_BYTES,
    MAX_BYTES,
    Answer,
    ChannelError,
    Now,
    ToFabric,
    ToWeb,
    check_length,
    line_of,
    to_fabric,
)
from topology.errors import MachineError, UsageError
from traffic.engine.child_process import start_python

_SERVICE = ("-m", "polarlab.web.service")
_START_TIMEOUT_S = 30.0
_MAX_WAITING = 10_000  # limit of messages that the web process has not received
_MAX_WAITING_BYTES = MAX_BYTES  # limit of their bytes
_MAX_RECEIVED, _RECEIVED_S = 200, 0.1  # limit of messages received from the web process, and its interval
_MAX_LOGGED_BYTES, _LOGGED_S = 64 << 10, 3600.0  # limit of its standard error, and the interval of that
_END_S = 2.0


class Outbox:
    """Queue of messages for the web process; a newer state replaces a waiting one."""

    def __init__(self, most: int = _MAX_WAITING) -> None:
        """Creates an empty queue.

        Args:
            most: limit of waiting messages.
        """
        self._lines: queue.Queue[Now | bytes | None] = queue.Queue(most)
        self._bytes, self._bytes_lock = 0, threading.Lock()
        self._latest: list[FabricState] = []  # at most one
        self._latest_lock = threading.Lock()

    def put(self, message: ToWeb) -> bool:
        """Queues a message; an answer that does not fit becomes an error. Returns whether there was room."""
        # A state is filled in when it is sent, so it has no length yet.
        fits = self._put(message if isinstance(message, Now) else line_of(message))
        if fits or not isinstance(message, Answer):
            return fits
        try:
            check_length(message)
            status, text = 503, "too many answers are waiting; try again later"
        except UsageError as error:
            status, text = 400, str(error)
        return self._put(line_of(Answer(message.number, status, {"error": text})))

    def _put(self, line: Now | bytes) -> bool:
        length = len(line) if isinstance(line, bytes) else 0
        with self._bytes_lock:
            if self._bytes + length > _MAX_WAITING_BYTES:
                return False
            try:
                self._lines.put_nowait(line)
            except queue.Full:  # the process hangs or has ended: it will miss messages
                return False
            self._bytes += length
        return True

    def put_state(self, state: FabricState) -> None:
        """Queues a state; it replaces a waiting one."""
        with self._latest_lock:
            waiting = bool(self._latest)
            self._latest[:] = [state]
            if not waiting and not self.put(Now(None)):
                self._latest.clear()  # or no state would ever be sent again

    def end(self) -> None:
        """Makes `lines` end."""
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(None)

    def lines(self) -> Iterator[bytes]:
        """Yields the messages as lines, in order, until `end`; waits for new ones."""
        while (line := self._lines.get()) is not None:
            if isinstance(line, bytes):
                yield line
                with self._bytes_lock:
                    self._bytes -= len(line)
            else:
                with self._latest_lock:
                    latest = self._latest.pop() if self._latest else None
                line = line_of(Now(msgspec.to_builtins(latest)))
                if len(line) <= MAX_BYTES:
                    yield line


class WebProcess:
    """A process that speaks HTTP, from its start to `end`; it may end by itself at any time.

    It is not trusted: it does not share this process's terminal, and the length, rate and kind of its lines
    are limited.
    """

    def __init__(
        self,
        listener: socket.socket,
        settings: Mapping[str, Any],
        on_message: Callable[[ToFabric], object],
        on_end: Callable[[str], object],
        on_log: Callable[[Path], object],
    ) -> None:
        """Starts the process and returns when it serves.

        Args:
            listener: a listening socket.
            settings: settings of the process.
            on_message: called with each message of the process, in a thread.
            on_end: called in that thread when the process has ended: with the reason if it was killed for a
                violation, else with an empty text.
            on_log: called with the path of a log when the process first writes to its standard error.

        Raises:
            MachineError: the process does not start.
        """
        self._on_message, self._on_end, self._on_log = on_message, on_end, on_log
        self._outbox = Outbox()
        self._ending = self._over = False
        self._channel, theirs = socket.socketpair()
        fds = (listener.fileno(), theirs.fileno())
        environment = {"PATH": os.environ.get("PATH", os.defpath)}
        with theirs:
            self._process = _started_by_keeper(
                lambda: start_python([*_SERVICE, *map(str, fds)], environment, pass_fds=fds)
            )
        self._configure(settings)
        tasks = (self._send, self._receive, self._log_errors)
        self._threads = [threading.Thread(target=one, daemon=True) for one in tasks]
        for thread in self._threads:
            thread.start()

    def _configure(self, settings: Mapping[str, Any]) -> None:
        """Sends the process its settings and waits until it serves."""
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        with contextlib.suppress(OSError):
            self._process.stdin.write(msgspec.json.encode(settings).decode() + "\n")
            self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], _START_TIMEOUT_S)
        if not ready or self._process.stdout.readline().strip() != "ready":
            self._process.kill()
            printed = os.read(self._process.stderr.fileno(), _MAX_LOGGED_BYTES)
            self._kill()
            self._channel.close()
            if printed:
                remedy = f"see {write_text(escaped(printed.decode(errors='backslashreplace')))}"
            else:
                remedy = "check its certificate and key"
            raise MachineError(f"the process of the live page did not start; {remedy}")

    @property
    def running(self) -> bool:
        """Whether the process runs and its channel is open."""
        return not self._over and self._process.poll() is None

    def end(self) -> None:
        """Ends the process."""
        self._ending = True
        self._outbox.end()
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(subprocess.TimeoutExpired):  # it ends by itself when the channel closes
            self._process.wait(_END_S)
        self._process.kill()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_END_S)
        self._kill()
        self._channel.close()

    def _kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()

    # ---- messages ----

    def send(self, message: ToWeb) -> bool:
        """Queues a message for the process, and returns whether there was room for it."""
        return self._outbox.put(message)

    def send_state(self, state: FabricState) -> None:
        """Queues a state for the process; it replaces a waiting one."""
        self._outbox.put_state(state)

    def _send(self) -> None:
        with contextlib.suppress(OSError):  # the process has ended
            for line in self._outbox.lines():
                self._channel.sendall(line)

    def _receive(self) -> None:
        """Receives the messages of the process until it ends; kills it at the first invalid line."""
        reason = ""
        try:
            self._receive_messages()
        except ChannelError as error:
            reason = f"sent an invalid message ({error})"
        except OSError:  # it has ended
            pass
        self._over = True
        if not self._ending:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # the user may restart it at once
                self._process.wait(_END_S)
            with contextlib.suppress(OSError):
                self._channel.shutdown(socket.SHUT_RDWR)
            self._on_end(reason)

    def _receive_messages(self) -> None:
        with self._channel.makefile("rb") as lines:
            received, since_s = 0, time.monotonic()
            while line := lines.readline(MAX_ASKED_BYTES + 1):
                if not line.endswith(b"\n") and len(line) <= MAX_ASKED_BYTES:
                    return  # the process ended in the middle of a line
                self._on_message(to_fabric(line))
                received += 1
                if received == _MAX_RECEIVED:  # limits the CPU time that a flood costs
                    time.sleep(max(0.0, since_s + _RECEIVED_S - time.monotonic()))
                    received, since_s = 0, time.monotonic()

    def _log_errors(self) -> None:
        """Logs the process's standard error, up to a limit per hour, and discards the rest."""
        assert self._process.stderr
        room, since_s = _MAX_LOGGED_BYTES, time.monotonic()
        with contextlib.ExitStack() as opened, contextlib.suppress(OSError):  # the process has ended
            log: IO[str] | None = None
            while printed := os.read(self._process.stderr.fileno(), 4096):
                if time.monotonic() - since_s > _LOGGED_S:
                    room, since_s = _MAX_LOGGED_BYTES, time.monotonic()
                text = escaped(printed[:room].decode(errors="backslashreplace"))
                room = max(0, room - len(printed))
                if not text:
                    continue
                first = log is None
                try:
                    log = log or opened.enter_context(new_log())
                    log.write(text)
                    log.flush()
                except OSError:  # no space; the process must not wait because nobody reads what it prints
                    continue
                if first and not self._ending:
                    self._on_log(Path(log.name))


def _started_by_keeper(start: Callable[[], subprocess.Popen[str]]) -> subprocess.Popen[str]:
    """Returns a process started by its own keeper thread; the kernel kills it when that thread ends."""
    started: Future[subprocess.Popen[str]] = Future()

    def keep() -> None:
        try:
            process = _isolated(start)
            name_thread(page_keeper(process.pid))  # or clean-up would take the process for a leftover
        except BaseException as error:
            started.set_exception(error)
            return
        started.set_result(process)
        with contextlib.suppress(ChildProcessError):  # another thread has reaped it
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    threading.Thread(target=keep, daemon=True).start()
    return started.result()


def _isolated(start: Callable[[], subprocess.Popen[str]]) -> subprocess.Popen[str]:
    """Starts a process; if this one is root's, isolates the new one from others where the kernel can."""
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):  # some containers forbid it
            return in_new_pid_namespace(start)
    return start()
