"""Silences of host pairs (times between two arrivals), and packets missing although later ones arrived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

_NEVER = 1 << 62
_SHORTEST_NS = 3_000_000  # outages are longer
_MAX_OUTAGES = 500  # in a report


class Silence(NamedTuple):
    """Silences and losses of running traffic at one moment; times in s on the monotonic clock.

    Attributes:
        time_s: the moment.
        ended_s: end of the longest silence that has ended since the previous report; 0 if none has.
        longest_s: length of that silence.
        pair: host pair of that silence, source x number of hosts + destination; -1 if there is none.
        open_s: length of the longest ongoing silence.
        open_pair: host pair of the longest ongoing silence; -1 before the first packet.
        missing: packets that have not arrived although a later packet of their source has.
        open_watched_s: length of the longest ongoing silence of a watched pair; 0 if none is watched.
        outages: (start, end) of the silences of watched pairs that have ended since the previous report and
            in which packets were lost.
    """

    time_s: float
    ended_s: float
    longest_s: float
    pair: int
    open_s: float
    open_pair: int
    missing: int
    open_watched_s: float = 0.0
    outages: Sequence[tuple[float, float]] = ()


class PairSilences:
    """Tracks the silences of all host pairs in constant memory."""

    def __init__(self, hosts: int) -> None:
        """Creates a tracker before the first packet.

        Args:
            hosts: number of hosts, at least 1.
        """
        self._hosts = hosts
        self._last_ns = np.full(hosts * hosts, _NEVER, np.int64)
        self._next = np.zeros(hosts, np.int64)  # for each source, the highest sequence number so far + 1
        self._arrived = 0
        self._longest_ns, self._ended_ns, self._pair = 0, 0, -1

    def add(self, source: Numbers, destination: Numbers, number: Numbers, arrived_ns: Numbers) -> None:
        """Adds packets in the order of arrival; packets of different pairs may be in any order.

        Args:
            source: index of each packet's sending host; shape (packets,).
            destination: index of each packet's receiving host; shape (packets,).
            number: each packet's sequence number among its source's packets, from 0; shape (packets,).
            arrived_ns: arrival times in nanoseconds, on any clock; shape (packets,).
        """
        if not len(source):
            return
        pairs = source * self._hosts + destination
        longest_ns = max(int((arrived_ns - self._last_ns[pairs]).max()), int(np.ptp(arrived_ns)))
        # `longest_ns` is an upper bound: the exact search is needed only if it exceeds the longest silence.
        if longest_ns > self._longest_ns:
            self._find_longest(pairs, arrived_ns)
        self._last_ns[pairs] = arrived_ns
        np.maximum.at(self._next, source, number + 1)
        self._arrived += len(source)

    def _find_longest(self, pairs: Numbers, arrived_ns: Numbers) -> None:
        """Records the longest silence that these packets ended, unless a longer one is already recorded."""
        order = np.argsort(pairs, kind="stable")
        pairs, arrived_ns = pairs[order], arrived_ns[order]
        before_ns = self._last_ns[pairs]
        again = np.flatnonzero(pairs[1:] == pairs[:-1]) + 1
        before_ns[again] = arrived_ns[again - 1]
        silent_ns = arrived_ns - before_ns
        longest = int(silent_ns.argmax())
        if silent_ns[longest] > self._longest_ns:
            self._longest_ns, self._ended_ns = int(silent_ns[longest]), int(arrived_ns[longest])
            self._pair = int(pairs[longest])

    def take(self, now_ns: int, to_monotonic_ns: int = 0) -> Silence:
        """Returns the silences since the last call, and resets those that have ended.

        Args:
            now_ns: current time in nanoseconds, on the clock of the arrivals.
            to_monotonic_ns: offset of the monotonic clock from that clock, in nanoseconds.
        """
        oldest = int(self._last_ns.argmin())
        any_arrived = self._last_ns[oldest] < _NEVER
        silence = Silence(
            time_s=(now_ns + to_monotonic_ns) / 1e9,
            ended_s=(self._ended_ns + to_monotonic_ns) / 1e9 if self._pair >= 0 else 0.0,
            longest_s=self._longest_ns / 1e9,
            pair=self._pair,
            open_s=max(0.0, (now_ns - int(self._last_ns[oldest])) / 1e9) if any_arrived else 0.0,
            open_pair=oldest if any_arrived else -1,
            missing=max(0, int(self._next.sum()) - self._arrived),
        )
        self._longest_ns, self._ended_ns, self._pair = 0, 0, -1
        return silence


class PairOutages:
    """Tracks the silences in which packets of pairs were lost, for pairs that send at constant intervals.

    A silence does not count if packets were only delayed, that is, if the packet that ends it was sent
    shortly after the pair's previous packet.
    """

    def __init__(self, hosts: int) -> None:
        """Creates a tracker before the first packet.

        Args:
            hosts: number of hosts, at least 1.
        """
        self._hosts = hosts
        self._last_ns = np.full((2, hosts * hosts), _NEVER, np.int64)  # sent, arrived
        self._ended: list[tuple[int, int]] = []

    def add(self, source: Numbers, destination: Numbers, sent_ns: Numbers, arrived_ns: Numbers) -> None:
        """Adds packets, those of a pair in the order of arrival.

        Args:
            source: index of each packet's sending host; shape (packets,).
            destination: index of each packet's receiving host; shape (packets,).
            sent_ns: times at which they were sent in nanoseconds; shape (packets,).
            arrived_ns: arrival times in nanoseconds, on the same clock; shape (packets,).
        """
        if not len(source):
            return
        pairs = source * self._hosts + destination
        order = np.argsort(pairs, kind="stable")
        pairs, times_ns = pairs[order], np.array([sent_ns[order], arrived_ns[order]])
        before_ns = self._last_ns[:, pairs]
        again = np.flatnonzero(pairs[1:] == pairs[:-1]) + 1
        before_ns[:, again] = times_ns[:, again - 1]
        unsent_ns, silent_ns = times_ns - before_ns
        for place in np.flatnonzero((silent_ns > _SHORTEST_NS) & (2 * unsent_ns > silent_ns)).tolist():
            self._ended.append((int(before_ns[1, place]), int(times_ns[1, place])))
        del self._ended[:-_MAX_OUTAGES]
        self._last_ns[:, pairs] = times_ns

    def take(self, now_ns: int, to_monotonic_ns: int = 0) -> tuple[float, list[tuple[float, float]]]:
        """Returns the length of the longest ongoing silence, and the outages since the last call, in s.

        Args:
            now_ns: current time in nanoseconds, on the clock of the arrivals.
            to_monotonic_ns: offset of the monotonic clock from that clock, in nanoseconds.
        """
        ended, self._ended = self._ended, []
        outages = [((a + to_monotonic_ns) / 1e9, (b + to_monotonic_ns) / 1e9) for a, b in ended]
        return max(0.0, (now_ns - int(self._last_ns[1].min())) / 1e9), outages
