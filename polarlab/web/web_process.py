"""Web process of the live page, as the fabric's process has it: its start, its messages, its end."""

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
from emulation.kernel.namespaces import first_of_its_own
from emulation.kernel.system_calls import name_thread
from experiments.observation.model import FabricState
from polarlab.error_log import escaped, new_log, write_text
from polarlab.web.channel import MOST_ASKED_BYTES, ChannelError, Now, ToFabric, ToWeb, line_of, to_fabric
from topology.errors import MachineError
from traffic.engine.child_process import start_python

_SERVICE = ("-m", "polarlab.web.service")
_START_TIMEOUT_S = 30.0
_MOST_WAITING = 10_000  # messages that the web process has not taken
_MOST_WAITING_BYTES = 64 << 20  # of these messages, beyond the first
_MOST_HEARD, _HEARD_S = 200, 0.1  # messages of the web process are taken no faster
_MOST_SAID_BYTES, _SAID_S = (
    64 << 10,
    3600.0,
)  # on its standard error, and the time after which it may say more
_END_S = 2.0


class Outbox:
    """Messages that the web process has not taken; a state among them gives way to a newer one."""

    def __init__(self, most: int = _MOST_WAITING) -> None:
        """Begins empty.

        Args:
            most: number of messages that can wait.
        """
        self._lines: queue.Queue[Now | bytes | None] = queue.Queue(most)
        self._bytes, self._bytes_lock = 0, threading.Lock()
        self._latest: list[FabricState] = []  # at most one
        self._latest_lock = threading.Lock()

    def put(self, message: ToWeb) -> bool:
        """Has a message wait, and returns whether there was room for it."""
        # A state is filled in when it is sent, so it has no length yet.
        line = message if isinstance(message, Now) else line_of(message)
        length = len(line) if isinstance(line, bytes) else 0
        with self._bytes_lock:
            if self._bytes and self._bytes + length > _MOST_WAITING_BYTES:
                return False
            try:
                self._lines.put_nowait(line)
            except queue.Full:  # the process hangs, or has ended: it will miss some
                return False
            self._bytes += length
        return True

    def put_state(self, state: FabricState) -> None:
        """Has a state wait, in place of one that waits still."""
        with self._latest_lock:
            waiting = bool(self._latest)
            self._latest[:] = [state]
            if not waiting and not self.put(Now(None)):
                self._latest.clear()  # else no state would be told any more

    def end(self) -> None:
        """Lets `lines` end."""
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(None)

    def lines(self) -> Iterator[bytes]:
        """Yields the messages as lines, each once its turn has come, until the end."""
        while (line := self._lines.get()) is not None:
            if isinstance(line, bytes):
                yield line
                with self._bytes_lock:
                    self._bytes -= len(line)
            else:
                with self._latest_lock:
                    latest = self._latest.pop() if self._latest else None
                yield line_of(Now(msgspec.to_builtins(latest)))


class WebProcess:
    """A process that speaks HTTP, from its start to `end`; it may end by itself at any time.

    It is not trusted: it has no terminal of this process, and its lines are bounded in length, rate and kind.
    """

    def __init__(
        self,
        listener: socket.socket,
        settings: Mapping[str, Any],
        heard: Callable[[ToFabric], object],
        ended: Callable[[str], object],
        said: Callable[[Path], object],
    ) -> None:
        """Starts the process, and returns when it serves.

        Args:
            listener: a socket that listens.
            settings: settings of the process.
            heard: takes its messages, in a thread.
            ended: called in that thread when the process has ended; with the reason if it was killed for a
                violation, else with an empty text.
            said: called with the path of a log when the process first writes to its standard error.

        Raises:
            MachineError: it does not start.
        """
        self._heard, self._ended, self._said = heard, ended, said
        self._outbox = Outbox()
        self._ending = self._over = False
        self._channel, theirs = socket.socketpair()
        fds = (listener.fileno(), theirs.fileno())
        environment = {"PATH": os.environ.get("PATH", os.defpath)}
        with theirs:
            self._process = _kept(
                lambda: start_python([*_SERVICE, *map(str, fds)], environment, pass_fds=fds)
            )
        self._begin(settings)
        tasks = (self._send, self._receive, self._listen)
        self._threads = [threading.Thread(target=one, daemon=True) for one in tasks]
        for thread in self._threads:
            thread.start()

    def _begin(self, settings: Mapping[str, Any]) -> None:
        """Gives the process its settings, and returns when it serves."""
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        with contextlib.suppress(OSError):
            self._process.stdin.write(msgspec.json.encode(settings).decode() + "\n")
            self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], _START_TIMEOUT_S)
        if not ready or self._process.stdout.readline().strip() != "ready":
            self._process.kill()
            said = os.read(self._process.stderr.fileno(), _MOST_SAID_BYTES).decode(errors="backslashreplace")
            self._kill()
            self._channel.close()
            remedy = (
                f"{write_text(escaped(said))} has its error" if said else "are its certificate and key right?"
            )
            raise MachineError(f"the process of the live page did not start; {remedy}")

    @property
    def running(self) -> bool:
        """Whether it runs, and speaks with this one."""
        return not self._over and self._process.poll() is None

    def end(self) -> None:
        """Ends the process."""
        self._ending = True
        self._outbox.end()
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(subprocess.TimeoutExpired):  # it ends by itself when the channel does
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

    def tell(self, message: ToWeb) -> bool:
        """Has a message told, and returns whether there was room for it."""
        return self._outbox.put(message)

    def tell_state(self, state: FabricState) -> None:
        """Has a state told, in place of one that waits still."""
        self._outbox.put_state(state)

    def _send(self) -> None:
        with contextlib.suppress(OSError):  # the process has ended
            for line in self._outbox.lines():
                self._channel.sendall(line)

    def _receive(self) -> None:
        """Takes the messages of the process until it ends; kills it at the first invalid line."""
        reason = ""
        try:
            self._take_messages()
        except ChannelError as error:
            reason = f"broke the rules of its channel ({error})"
        except OSError:  # it has ended
            pass
        self._over = True
        if not self._ending:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # the user may restart it at once
                self._process.wait(_END_S)
            with contextlib.suppress(OSError):
                self._channel.shutdown(socket.SHUT_RDWR)
            self._ended(reason)

    def _take_messages(self) -> None:
        with self._channel.makefile("rb") as lines:
            taken, since_s = 0, time.monotonic()
            while line := lines.readline(MOST_ASKED_BYTES + 1):
                if not line.endswith(b"\n") and len(line) <= MOST_ASKED_BYTES:
                    return  # the process ended in the middle of a line
                self._heard(to_fabric(line))
                taken += 1
                if taken == _MOST_HEARD:  # limits the processor time that a flood costs
                    time.sleep(max(0.0, since_s + _HEARD_S - time.monotonic()))
                    taken, since_s = 0, time.monotonic()

    def _listen(self) -> None:
        """Logs what the process writes to its standard error, so much an hour, and discards the rest."""
        assert self._process.stderr
        room, since_s = _MOST_SAID_BYTES, time.monotonic()
        with contextlib.ExitStack() as opened, contextlib.suppress(OSError):  # there is no room for a log
            log: IO[str] | None = None
            while said := os.read(self._process.stderr.fileno(), 4096):
                if time.monotonic() - since_s > _SAID_S:
                    room, since_s = _MOST_SAID_BYTES, time.monotonic()
                text = escaped(said[:room].decode(errors="backslashreplace"))
                room = max(0, room - len(said))
                if not text:
                    continue
                first = log is None
                log = log or opened.enter_context(new_log())
                log.write(text)
                log.flush()
                if first and not self._ending:
                    self._said(Path(log.name))


def _kept(start: Callable[[], subprocess.Popen[str]]) -> subprocess.Popen[str]:
    """Returns a process that a thread of its own has started, with whose end the kernel ends it."""
    started: Future[subprocess.Popen[str]] = Future()

    def keep() -> None:
        try:
            process = _apart(start)
            name_thread(page_keeper(process.pid))  # else clean-up takes the process for a leftover
        except BaseException as error:
            started.set_exception(error)
            return
        started.set_result(process)
        with contextlib.suppress(ChildProcessError):  # another thread has its status
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    threading.Thread(target=keep, daemon=True).start()
    return started.result()


def _apart(start: Callable[[], subprocess.Popen[str]]) -> subprocess.Popen[str]:
    """Returns a process that is started; root's sees no other processes, where the kernel allows that."""
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):  # some containers forbid it
            return first_of_its_own(start)
    return start()
