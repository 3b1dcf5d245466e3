"""Reliable transport between two ranks: acknowledgements, loss detection and the congestion window.

Every transmission, including a retransmission, has a number of its own, so that an acknowledgement states
exactly which of them arrived (as in QUIC, RFC 9000 section 13). A transmission is considered lost if it was
sent well before another one that arrived (RACK, RFC 8985), or if the retransmission timeout expires (RFC
6298). The window grows and shrinks like TCP's (RFC 5681). This module does no I/O: callers pass times and
packets in.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping

from traffic.wire.layout import ACKNOWLEDGED_BITS

MAX_IN_FLIGHT = 96
_INITIAL_WINDOW = 16.0
_MIN_WINDOW = 2.0
_MS = 1_000_000
_MIN_TIMEOUT_NS, _INITIAL_TIMEOUT_NS, _MAX_TIMEOUT_NS = 50 * _MS, 300 * _MS, 2_000 * _MS
_MIN_REORDERING_NS = 2 * _MS
_ALL_BITS = (1 << ACKNOWLEDGED_BITS) - 1
_MAX_REMEMBERED = 512  # lost transmissions to remember, because some arrive after all
# How many of the latest numbers to remember: no queue delays a packet until so many others overtake it.
_LATEST_NUMBERS = 1 << 14
_LATEST_BITS = (1 << _LATEST_NUMBERS) - 1

# (message, segment): the content of a transmission
Segment = tuple[int, int]


class Outgoing:
    """The sending end of a connection.

    Attributes:
        waiting: segments to send, in order; lost segments come first.
        resent: number of retransmissions.
        heard_ns: time of the last acknowledgement of new arrivals; 0 before the first.
        answers: sequence numbers of the acknowledgements that have arrived, to detect duplicates.
    """

    def __init__(self, max_in_flight: int = MAX_IN_FLIGHT, acknowledged_after_ns: int = 0) -> None:
        """Opens an idle connection.

        Args:
            max_in_flight: maximum number of unacknowledged packets.
            acknowledged_after_ns: maximum delay of an acknowledgement by the other end.
        """
        self.waiting: deque[Segment] = deque()
        self.resent = 0
        self.heard_ns = 0
        self.answers = Arrived()
        self._silent_since_ns: int | None = None
        self._in_flight: dict[int, tuple[Segment, int]] = {}
        self._lost: dict[int, tuple[Segment, int]] = {}
        self._sent: set[Segment] = set()
        self._acknowledged: set[Segment] = set()
        self._next = 0
        self._max_window = float(min(max_in_flight, MAX_IN_FLIGHT))
        self._window, self._threshold = min(_INITIAL_WINDOW, self._max_window), self._max_window
        self._recovery_until = 0
        self._round_trip_ns, self._variation_ns = 0.0, 0.0
        self._reordering_ns = float(_MIN_REORDERING_NS)
        self._min_timeout_ns = _MIN_TIMEOUT_NS + 2 * acknowledged_after_ns
        self._timeout_ns, self._backoff = float(_INITIAL_TIMEOUT_NS + acknowledged_after_ns), 1

    @property
    def idle(self) -> bool:
        """Whether all segments have been acknowledged."""
        return not self._in_flight and not self.waiting

    def silent_ns(self, now_ns: int) -> int:
        """Returns the time since the last acknowledgement if one is awaited, else 0."""
        return 0 if self._silent_since_ns is None else now_ns - self._silent_since_ns

    @property
    def room(self) -> int:
        """The number of packets that the window still allows."""
        return int(self._window) - len(self._in_flight)

    def note_sent(self, segment: Segment, now_ns: int) -> int:
        """Records the transmission of a segment and returns the transmission's number."""
        if self._silent_since_ns is None:
            self._silent_since_ns = now_ns
        self.resent += segment in self._sent
        self._sent.add(segment)
        number = self._next
        self._next += 1
        self._in_flight[number] = segment, now_ns
        return number

    def cancel_transmission(self, number: int) -> None:
        """Cancels a transmission for which the host's own queue had no room."""
        segment, _ = self._in_flight.pop(number)
        self._sent.discard(segment)
        self.waiting.appendleft(segment)
        # The queue is full, but nothing was lost: the window shrinks to the number of packets in flight.
        self._window = max(_MIN_WINDOW, float(len(self._in_flight)))
        self._threshold = self._window

    def acknowledge(self, highest: int, bits: int, now_ns: int) -> None:
        """Processes an acknowledgement.

        Args:
            highest: highest transmission number that arrived.
            bits: bit k is set if transmission `highest` - k arrived.
            now_ns: arrival time of the acknowledgement.
        """
        if highest >= self._next:
            return
        newest_ns = newest_spurious_ns = self._undo_losses(highest, bits)
        for number in _covered(self._in_flight, highest, bits):
            segment, sent_ns = self._in_flight.pop(number)
            self._acknowledged.add(segment)
            newest_ns = max(newest_ns, sent_ns)
            if self._window < self._threshold:
                self._window += 1
            else:
                self._window += 1 / self._window
        self._window = min(self._window, self._max_window)
        if newest_ns >= 0:
            self._backoff = 1
            self._measure(now_ns - newest_ns)
        if newest_ns > newest_spurious_ns:
            self._lose_before(newest_ns - self._reordering_ns)
        if newest_ns >= 0:
            self.heard_ns = now_ns
            self._silent_since_ns = None if self.idle else now_ns

    def expire(self, now_ns: int) -> bool:
        """Returns whether the retransmission timeout expired; if so, all packets in flight count as lost."""
        if not self._in_flight:
            return False
        _, oldest_ns = next(iter(self._in_flight.values()))
        last_heard_ns = self._silent_since_ns or 0
        timeout_ns = min(self._timeout_ns * self._backoff, max(_MAX_TIMEOUT_NS, 2 * self._timeout_ns))
        if now_ns - max(oldest_ns, last_heard_ns) < timeout_ns:
            return False
        self._backoff *= 2
        self._lose(list(self._in_flight))
        if self.idle:  # all packets in flight were duplicates of acknowledged segments
            self._silent_since_ns = None
        self._window = _MIN_WINDOW
        return True

    def forget(self) -> None:
        """Forgets the segments that arrived; called when their messages are complete."""
        self._sent.clear()
        self._acknowledged.clear()
        self._lost.clear()

    def _undo_losses(self, highest: int, bits: int) -> int:
        """Widens the reordering window if transmissions considered lost have arrived.

        Returns:
            The latest send time of these transmissions in ns; -1 if there are none.
        """
        newest_ns = -1
        for number in _covered(self._lost, highest, bits):
            segment, sent_ns = self._lost.pop(number)
            self._acknowledged.add(segment)
            newest_ns = max(newest_ns, sent_ns)
        if newest_ns >= 0:
            self._reordering_ns = min(2 * self._reordering_ns, max(self._round_trip_ns, _MIN_REORDERING_NS))
            self.waiting = deque(s for s in self.waiting if s not in self._acknowledged)
        return newest_ns

    def _measure(self, round_trip_ns: int) -> None:
        if not self._round_trip_ns:
            self._round_trip_ns, self._variation_ns = float(round_trip_ns), round_trip_ns / 2
        else:
            deviation_ns = abs(round_trip_ns - self._round_trip_ns)
            self._variation_ns += (deviation_ns - self._variation_ns) / 4
            self._round_trip_ns += (round_trip_ns - self._round_trip_ns) / 8
        self._timeout_ns = max(self._round_trip_ns + 4 * self._variation_ns, self._min_timeout_ns)

    def _lose_before(self, time_ns: float) -> None:
        late = []
        for number, (_, sent_ns) in self._in_flight.items():
            if sent_ns >= time_ns:
                break  # all later entries were sent later
            late.append(number)
        if late:
            self._lose(late)

    def _lose(self, numbers: list[int]) -> None:
        segments = []
        for number in numbers:
            self._lost[number] = self._in_flight.pop(number)
            segments.append(self._lost[number][0])
        while len(self._lost) > _MAX_REMEMBERED:
            del self._lost[next(iter(self._lost))]
        again = [segment for segment in segments if segment not in self._acknowledged]
        self.waiting.extendleft(reversed(again))
        if numbers[-1] >= self._recovery_until:  # at most one loss event per round trip
            self._recovery_until = self._next
            self._window = self._threshold = max(_MIN_WINDOW, self._window / 2)


def _covered(transmissions: dict[int, tuple[Segment, int]], highest: int, bits: int) -> list[int]:
    """Returns the numbers of the transmissions that an acknowledgement reports as arrived."""
    return [number for number in transmissions if number <= highest and bits >> (highest - number) & 1]


class Arrived:
    """Detects duplicates by remembering which of the latest 16,384 numbers have arrived.

    Attributes:
        highest: the highest number that arrived; -1 before the first.
        bits: bit k is set if `highest` - k arrived.
    """

    def __init__(self) -> None:
        self.highest, self.bits = -1, 0

    def add(self, number: int) -> bool:
        """Records a number; returns False if it arrived before, or is older than the remembered numbers."""
        behind = self.highest - number
        if behind >= _LATEST_NUMBERS or (behind >= 0 and self.bits >> behind & 1):
            return False
        if behind < 0:
            self.bits = (self.bits << min(-behind, _LATEST_NUMBERS)) & _LATEST_BITS
            self.highest, behind = number, 0
        self.bits |= 1 << behind
        return True


class Incoming:
    """The receiving end of a connection.

    Attributes:
        owed: number of transmissions that arrived since the last acknowledgement.
        answers: number of acknowledgements sent.
    """

    def __init__(self) -> None:
        self.owed = self.answers = 0
        self._arrived = Arrived()

    def note_received(self, number: int) -> bool:
        """Records the arrival of a transmission; returns False if it is a duplicate."""
        first = self._arrived.add(number)
        self.owed += first
        return first

    def acknowledgement(self) -> tuple[int, int]:
        """Returns the contents of an acknowledgement that is sent now, and sets `owed` to 0.

        Returns:
            The highest transmission number that arrived, and the bitmap of the numbers up to it.
        """
        self.owed = 0
        return self._arrived.highest, self._arrived.bits & _ALL_BITS


def rank_not_reached(
    pair: tuple[int, int], silent: Iterable[tuple[int, int]], heard_ns: Mapping[tuple[int, int], int]
) -> int:
    """Returns which of two ranks with a silent connection is probably unreachable.

    Args:
        pair: the two ranks.
        silent: (source, destination) of all silent connections.
        heard_ns: (source, destination) -> time of the last acknowledgement.

    Returns:
        The rank with more silent connections; in case of a tie, the one with the older last acknowledgement.
    """
    counts = Counter(rank for ranks in silent for rank in ranks)
    last_ns = {rank: max((ns for ranks, ns in heard_ns.items() if rank in ranks), default=0) for rank in pair}
    return max(pair, key=lambda rank: (counts[rank], -last_ns[rank]))
