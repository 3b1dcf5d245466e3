"""States of switches' ports, which the kernel reports at each change; up means enabled and with carrier."""

from __future__ import annotations

import contextlib
import os
import select
import struct
import threading
import time
from collections.abc import Callable

from emulation.network import FabricNetwork
from experiments.live_fabric import open_queues
from experiments.session.interfaces import RUNNING, UP

# Callback for changes: (datapath id, port, whether it is up, time on time.monotonic's clock).
Changed = Callable[[int, int, bool, float], object]

_NEW, _GONE, _GET = 16, 17, 18  # RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK
_LINKS = 1  # RTMGRP_LINK
_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_HEAD = struct.Struct("=IHHII")
_INTERFACE = struct.Struct("=BxHiII")  # family, type, number, flags, changed flags
_REQUEST = _HEAD.pack(_HEAD.size + _INTERFACE.size, _GET, _DUMP, 1, 0) + bytes(_INTERFACE.size)
_RECEIVE_BYTES = 1 << 16
_UP = UP | RUNNING


class PortStates:
    """States of all ports of a fabric's switches, updated by a thread of its own; a context manager."""

    def __init__(self, network: FabricNetwork, changed: Changed) -> None:
        """Prepares to listen.

        Args:
            network: the fabric's network, started.
            changed: called with each change, in the thread of this object.
        """
        self._network, self._changed = network, changed
        self._opened = contextlib.ExitStack()
        self._up: dict[tuple[int, int], bool] = {}
        self._ending, self._end = os.pipe()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> PortStates:
        sockets = open_queues(self._network, self._opened, groups=_LINKS)
        self._places = {queues.descriptor: (number, queues.ports) for number, queues in sockets.items()}
        for descriptor in self._places:
            os.write(descriptor, _REQUEST)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self._end)
        self._thread.join()
        os.close(self._ending)
        self._opened.close()

    def down(self) -> frozenset[tuple[int, int]]:
        """Returns datapath id and port of all ports that are down."""
        return frozenset(place for place, up in list(self._up.items()) if not up)

    def _run(self) -> None:
        with select.epoll() as waiting:
            for descriptor in (self._ending, *self._places):
                waiting.register(descriptor, select.EPOLLIN)
            while True:
                for descriptor, _ in waiting.poll():
                    if descriptor == self._ending:
                        return
                    self._read(descriptor)

    def _read(self, descriptor: int) -> None:
        number, ports = self._places[descriptor]
        now_s = time.monotonic()
        try:
            data = os.read(descriptor, _RECEIVE_BYTES)
        except OSError:  # changes came faster than they were read: request all states again
            with contextlib.suppress(OSError):
                os.write(descriptor, _REQUEST)
            return
        position = 0
        while position < len(data):
            size, kind, *_ = _HEAD.unpack_from(data, position)
            if kind in (_NEW, _GONE):
                _, _, interface, flags, _ = _INTERFACE.unpack_from(data, position + _HEAD.size)
                if interface in ports:
                    self._note((number, ports[interface]), kind == _NEW and flags & _UP == _UP, now_s)
            position += max(_HEAD.size, (size + 3) & ~3)

    def _note(self, place: tuple[int, int], up: bool, now_s: float) -> None:
        before = self._up.get(place, True)
        self._up[place] = up
        if before != up:
            self._changed(*place, up, now_s)
