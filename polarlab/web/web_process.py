"""Web process of the live page, as the fabric's process has it: its start, its messages, its end."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from experiments.observation.model import FabricState
from polarlab.web.channel import Now, ToFabric, ToWeb, line_of, to_fabric
from topology.errors import MachineError
from traffic.engine.child_process import start_python

_SERVICE = ("-m", "polarlab.web.service")
_START_TIMEOUT_S = 30.0
_MOST_WAITING = 10_000  # messages that the web process has not taken


class WebProcess:
    """A process that speaks HTTP, from its start to `end`; it may end by itself at any time."""

    def __init__(
        self,
        listener: socket.socket,
        settings: Mapping[str, Any],
        heard: Callable[[ToFabric], object],
        ended: Callable[[], object],
    ) -> None:
        """Starts the process, and returns when it serves.

        Args:
            listener: a socket that listens, which is closed here.
            settings: settings of the process.
            heard: takes its messages, in a thread.
            ended: called in that thread if the process ends by itself.

        Raises:
            MachineError: it does not start.
        """
        self._heard, self._ended = heard, ended
        self._outbox: queue.Queue[ToWeb | None] = queue.Queue(_MOST_WAITING)
        self._latest: list[FabricState] = []  # at most one
        self._latest_lock = threading.Lock()
        self._ending = False
        self._channel, theirs = socket.socketpair()
        fds = (listener.fileno(), theirs.fileno())
        # It has no mark of a fabric's processes: the fabric to come would take it for a leftover.
        environment = {"PATH": os.environ.get("PATH", os.defpath)}
        with theirs, listener:
            self._process = start_python(
                [*_SERVICE, *map(str, fds)], environment, stderr=sys.stderr, pass_fds=fds
            )
        self._begin(settings)
        self._threads = [threading.Thread(target=one, daemon=True) for one in (self._send, self._receive)]
        for thread in self._threads:
            thread.start()

    def _begin(self, settings: Mapping[str, Any]) -> None:
        """Gives the process its settings, and returns when it serves."""
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

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def end(self) -> None:
        """Ends the process."""
        self._ending = True
        with contextlib.suppress(queue.Full):
            self._outbox.put_nowait(None)
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            if thread is not threading.current_thread():
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

    # ---- messages ----

    def tell(self, message: ToWeb) -> bool:
        """Has a message told, and returns whether there was room for it."""
        try:
            self._outbox.put_nowait(message)
        except queue.Full:  # the process hangs, or has ended: it will miss some
            return False
        return True

    def tell_state(self, state: FabricState) -> None:
        """Has a state told, in place of one that waits still."""
        with self._latest_lock:
            waiting = bool(self._latest)
            self._latest[:] = [state]
            if not waiting and not self.tell(Now(None)):
                self._latest.clear()  # else no state would be told any more

    def _send(self) -> None:
        with contextlib.suppress(OSError):  # the process has ended
            while message := self._outbox.get():
                if isinstance(message, Now):
                    with self._latest_lock:
                        latest = self._latest.pop() if self._latest else None
                    message = Now(msgspec.to_builtins(latest))
                self._channel.sendall(line_of(message))

    def _receive(self) -> None:
        with contextlib.suppress(OSError, msgspec.MsgspecError), self._channel.makefile("rb") as lines:
            for line in lines:
                self._heard(to_fabric(line))
        if not self._ending:
            self._ended()
