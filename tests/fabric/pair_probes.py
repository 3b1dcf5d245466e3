"""Probes for every ordered pair of hosts, sent and received by the tests' own process.

`check_all_pairs` starts two processes for this. Tests that break one link after the other ask many times: the
sockets of a fabric stay open from one time to the next, because the kernel takes 10 ms to close each.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time

import numpy as np
import numpy.typing as npt

from emulation.network import FabricNetwork
from experiments.live_fabric import LiveFabric
from topology.addressing import INITIAL_TTL
from traffic.engine.receivers import Receivers
from traffic.engine.sockets import open_all, open_sender
from traffic.wire.layout import HEADER_BYTES
from traffic.wire.probe_codec import FrameBuffer, intact, read_headers
from traffic.wire.probe_frame import build_probe
from traffic.wire.tags import Tagger, new_key

# How many times longer than on a real machine things may take: an emulated one is slow.
PATIENCE = float(os.environ.get("POLARLAB_TEST_PATIENCE", "1"))
# How long nothing has to arrive before what is missing counts as lost.
_QUIET_S = 0.25 * PATIENCE
# Every probe is the first of its kind: the kernel's datapath asks its switch's program about each.
_ROUND_S = 0.008 * PATIENCE

_runs = itertools.count(1000)


def next_run() -> int:
    """Returns a run id that no other probes of this session have."""
    return next(_runs)


class Prober:
    """The open sockets of all hosts of a fabric."""

    def __init__(self, fabric: LiveFabric) -> None:
        self.network = fabric.network
        self._names = [host.name for host in fabric.hosts]
        self._ips = np.array([host.ip for host in fabric.hosts], np.uint32)
        count, run = len(self._names), next_run()
        probe = build_probe(fabric.hosts[0], fabric.hosts[1], frame_bytes=HEADER_BYTES, run=run)
        self._frames = FrameBuffer(probe, count, Tagger(new_key()))
        self._receivers = Receivers(map(fabric.network.switch_interface, fabric.hosts), run, count * count)
        self._senders = open_all(map(fabric.network.host_interface, fabric.hosts), open_sender)
        self._probed = 0

    def close(self) -> None:
        """Closes the sockets."""
        self._receivers.close()
        for sender in self._senders:
            sender.close()

    def probe(self) -> tuple[list[tuple[str, str]], int]:
        """Sends one probe for every ordered pair of hosts and returns (missing pairs, most hops).

        In round k every host sends to the one k places after it, as in `AllPairsSchedule`.
        """
        count = len(self._names)
        self._probed += 1
        hops = np.full((count, count), -1)
        for number in range(1, count):
            self._send_round(number)
        last_s = time.monotonic()
        while (hops < 0).sum() > count and time.monotonic() < last_s + _QUIET_S:
            if self._receive(hops):
                last_s = time.monotonic()
            else:
                time.sleep(0.002)
        missing = np.argwhere((hops < 0) & ~np.eye(count, dtype=bool))
        return [(self._names[s], self._names[d]) for s, d in missing], int(hops.max())

    def _send_round(self, number: int) -> None:
        count = len(self._names)
        destinations = (np.arange(count) + number) % count
        sequences = np.full(count, self._probed * count + number)
        self._frames.fill(self._ips, self._ips[destinations], np.zeros(count, int), sequences)
        self._frames.stamp(0, count, time.time_ns())
        for sender, frame in zip(self._senders, self._frames.views, strict=True):
            with contextlib.suppress(OSError):  # its interface may be down
                sender.send(frame)
            time.sleep(_ROUND_S / count)

    def _receive(self, hops: npt.NDArray[np.int64]) -> int:
        """Enters the hops of what waits, by source and destination; returns how many frames there were."""
        count = len(self._names)
        arrived = self._receivers.receive()
        headers, owners = (
            read_headers(self._receivers.buffer.frames[:arrived]),
            self._receivers.owners[:arrived],
        )
        probed, number = np.divmod(headers["sequence"].astype(int), count)
        sources = (owners - number) % count
        good = intact(headers) & (probed == self._probed)
        good &= (headers["ip_src"] == self._ips[sources]) & (headers["ip_dst"] == self._ips[owners])
        hops[sources[good], owners[good]] = INITIAL_TTL - headers["ttl"][good].astype(int)
        self._receivers.buffer.reset(arrived)
        return arrived


_prober: Prober | None = None


def close_prober() -> None:
    """Closes the sockets that are open, if any are."""
    global _prober  # noqa: PLW0603  # one fabric at a time, one prober at a time
    if _prober:
        _prober.close()
        _prober = None


def probe_all_pairs(fabric: LiveFabric) -> tuple[list[tuple[str, str]], int]:
    """Sends one probe for every ordered pair of hosts and returns (missing pairs, most hops)."""
    global _prober  # noqa: PLW0603
    network: FabricNetwork = fabric.network
    if _prober is None or _prober.network is not network:
        close_prober()
        _prober = Prober(fabric)
    return _prober.probe()
