"""Periodic probes of pairs of hosts, and the arrivals of each pair.

A pair is probed every 10 ms, or less often if the probes of all pairs would take more than a twentieth of a
link, as all of them may cross the same link. A probe counts as lost once a later one of its pair has arrived
or half a second has passed; if it arrives later, it no longer counts as lost.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Sequence

import numpy as np

from experiments.live_fabric import LiveFabric
from topology.addressing import Host
from traffic.engine.receivers import Receivers
from traffic.engine.sockets import open_all, open_sender
from traffic.wire.layout import HEADER_BYTES
from traffic.wire.probe_codec import FrameBuffer, genuine, intact, read_headers
from traffic.wire.probe_frame import build_probe
from traffic.wire.tags import Tagger, new_key

INTERVAL_S = 0.01
BEFORE_S = 0.03  # time of probing before the change
_MAX_SHARE = 0.05  # largest share of a link's rate that probes may use
_PATIENCE_S = 0.5  # a probe that has not arrived in this time is overdue


def probe_interval_s(pairs: int, rate_bps: int) -> float:
    """Returns the time in s between two probes of a pair, so that all probes take at most 5 % of a link.

    Args:
        pairs: number of pairs.
        rate_bps: rate of the links.
    """
    return max(INTERVAL_S, pairs * HEADER_BYTES * 8 / (_MAX_SHARE * rate_bps))


def fitting_pairs(rate_bps: int) -> int:
    """Returns the number of pairs whose probes every 10 ms take at most 5 % of a link of the given rate."""
    return int(_MAX_SHARE * rate_bps * INTERVAL_S / (HEADER_BYTES * 8))


class ProbeArrivals:
    """Arrivals of the probes of some pairs.

    Attributes:
        sent_s: the times at which each pair sent a probe, on time.monotonic's clock.
        arrived: for each pair, the probes that arrived, as (sequence number, time).
    """

    def __init__(self, pairs: int, interval_s: float, begun_s: float) -> None:
        """Starts without arrivals.

        Args:
            pairs: number of pairs.
            interval_s: time between two probes of a pair.
            begun_s: time from which on probes are expected.
        """
        self._interval_s, self._begun_s = interval_s, begun_s
        self.sent_s: list[float] = []
        self.arrived: list[list[tuple[int, float]]] = [[] for _ in range(pairs)]

    @property
    def sent(self) -> int:
        """Number of probes sent."""
        return len(self.sent_s) * len(self.arrived)

    def lost(self, now_s: float) -> int:
        """Returns the number of probes that were overtaken or are overdue."""
        overdue = sum(sent_s < now_s - _PATIENCE_S for sent_s in self.sent_s)
        lost = 0
        for arrivals in self.arrived:
            due = max(overdue, max((sequence for sequence, _ in arrivals), default=-1) + 1)
            lost += due - len(arrivals)
        return max(0, lost)

    def silent(self, now_s: float) -> bool:
        """Returns whether any pair has had no arrivals for more than three intervals."""
        return any(self._since_s(arrivals, now_s) > 3 * self._interval_s for arrivals in self.arrived)

    def longest_silence_s(self, now_s: float, changed_s: float | None) -> float:
        """Returns the longest time in s between two arrivals of a pair, from shortly before the change on.

        Delays of the sender are subtracted: they are not the fabric's silence.
        """
        begin_s = (changed_s or now_s) - BEFORE_S
        late_s = self._lateness_s()
        longest = 0.0
        for arrivals in self.arrived:
            # The silence that contains the change may have started before it.
            before = [(number, time_s) for number, time_s in arrivals if time_s < begin_s]
            heard = [before[-1] if before else (0, self._begun_s)]
            heard += [(number, time_s) for number, time_s in arrivals if time_s >= begin_s]
            heard += [(len(late_s) - 1, now_s - max(0.0, now_s - self.sent_s[-1] - self._interval_s))]
            for (one, from_s), (other, until_s) in itertools.pairwise(heard):
                longest = max(longest, until_s - from_s - max(0.0, late_s[other] - late_s[one]))
        return longest

    def _lateness_s(self) -> list[float]:
        """Returns, for each probe, the sum of the sender's delays in s up to this probe."""
        gaps = [after - before for before, after in itertools.pairwise(self.sent_s)]
        late = [max(0.0, gap - self._interval_s) for gap in gaps]
        return [0.0, *itertools.accumulate(late)]

    def recovered_s(self, changed_s: float, now_s: float) -> float | None:
        """Returns the time when the last pair delivered again after a change; None while a pair is silent."""
        latest_s = changed_s
        for arrivals in self.arrived:
            after = [(sequence, time_s) for sequence, time_s in arrivals if time_s >= changed_s]
            if not after or self._since_s(arrivals, now_s) > 3 * self._interval_s:
                return None
            for (before, _), (sequence, time_s) in itertools.pairwise(after):
                if sequence > before + 1:
                    latest_s = max(latest_s, time_s)
            first, time_s = after[0]
            if self.sent_s[first] > changed_s + self._interval_s:  # earlier ones were lost
                latest_s = max(latest_s, time_s)
        # A failure may take effect with a delay: wait a few intervals before the pairs count as repaired.
        return latest_s if now_s > latest_s + 5 * self._interval_s else None

    def _since_s(self, arrivals: list[tuple[int, float]], now_s: float) -> float:
        return now_s - (arrivals[-1][1] if arrivals else self._begun_s)


class PairProbes(ProbeArrivals):
    """Sends and receives the probes of some pairs of hosts, and records the arrivals of each pair."""

    def __init__(
        self, fabric: LiveFabric, pairs: Sequence[tuple[Host, Host]], run: int, interval_s: float
    ) -> None:
        """Opens the sockets.

        Args:
            fabric: the fabric.
            pairs: pairs of hosts.
            run: the id of the probes.
            interval_s: time between two probes of a pair.
        """
        count = len(pairs)
        network = fabric.network
        senders = [network.host_interface(source) for source, _ in pairs]
        receivers = dict.fromkeys(network.switch_interface(destination) for _, destination in pairs)
        self._tagger = Tagger(new_key())
        template = build_probe(*pairs[0], frame_bytes=HEADER_BYTES, run=run)
        self._frames = FrameBuffer(template, count, self._tagger)
        self._sources = np.array([source.ip for source, _ in pairs], np.uint32)
        self._destinations = np.array([destination.ip for _, destination in pairs], np.uint32)
        self._receivers = Receivers(receivers, run, 32 * count)
        self._senders = open_all(senders, open_sender)
        self._pair_of = {(source.ip, target.ip): place for place, (source, target) in enumerate(pairs)}
        self._sequence = 0
        self._seen: set[tuple[int, int]] = set()
        super().__init__(count, interval_s, time.monotonic())

    def send(self, now_s: float) -> None:
        """Sends a probe of each pair."""
        count = len(self._senders)
        sequences = np.full(count, self._sequence)
        self._frames.fill(self._sources, self._destinations, np.zeros(count, int), sequences)
        self._frames.stamp(0, count, time.time_ns())
        for sender, frame in zip(self._senders, self._frames.views, strict=True):
            with contextlib.suppress(OSError):  # no carrier: the probe counts as lost
                sender.send(frame)
        self._sequence += 1
        self.sent_s.append(now_s)

    def receive(self) -> None:
        """Records the probes that have arrived."""
        count = self._receivers.receive()
        if not count:
            return
        now_s = time.monotonic()
        frames = self._receivers.buffer.frames[:count]
        headers = read_headers(frames)
        # Hosts may send copies or forged frames: only the first arrival of a genuine probe counts.
        good = intact(headers) & (self._receivers.buffer.lengths(count) == HEADER_BYTES)
        headers = headers[good & genuine(frames, self._tagger)]
        for source, destination, sequence in zip(
            headers["ip_src"].tolist(), headers["ip_dst"].tolist(), headers["sequence"].tolist(), strict=True
        ):
            pair = self._pair_of.get((source, destination))
            if pair is not None and (pair, sequence) not in self._seen:
                self._seen.add((pair, sequence))
                self.arrived[pair].append((sequence, now_s))
        self._receivers.buffer.reset(count)

    def close(self) -> None:
        """Closes all sockets."""
        self._receivers.close()
        for sender in self._senders:
            sender.close()
