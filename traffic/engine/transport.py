"""Reliable transport between two ranks: acknowledgements, loss detection and the congestion window.

Every transmission has a number of its own, retransmissions included, so that an acknowledgement states
exactly which of them arrived (as in QUIC, RFC 9000 section 13). A transmission counts as lost if it was sent
well before another that arrived (RACK, RFC 8985), or if the retransmission timeout expires (RFC 6298). The
window grows and shrinks as TCP's does (RFC 5681). Pure: time and packets are passed in.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping

from traffic.wire.layout import ACKNOWLEDGED_BITS

MOST_IN_FLIGHT = 96
_FIRST_WINDOW = 16.0
_LEAST_WINDOW = 2.0
_MS = 1_000_000
_LEAST_TIMEOUT_NS, _FIRST_TIMEOUT_NS, _MOST_TIMEOUT_NS = 50 * _MS, 300 * _MS, 2_000 * _MS
_LEAST_REORDERING_NS = 2 * _MS
_ALL_BITS = (1 << ACKNOWLEDGED_BITS) - 1
_REMEMBERED = 512  # transmissions taken for lost that are remembered, as some arrive after all
# More than wait in any queue while later ones go another way.
_LATEST_NUMBERS = 1 << 14
_LATEST_BITS = (1 << _LATEST_NUMBERS) - 1

# (message, segment): the content of a transmission
Segment = tuple[int, int]


class Outgoing:
    """The sending end of a connection.

    Attributes:
        waiting: segments to be sent, in order; lost ones come first.
        resent: transmissions of segments that had been sent before.
        heard_ns: time of the last acknowledgement of anything new; 0 before the first.
        answers: the numbers of the acknowledgements that arrived.
    """

    def __init__(self, most_in_flight: int = MOST_IN_FLIGHT, acknowledged_after_ns: int = 0) -> None:
        """Opens an idle connection.

        Args:
            most_in_flight: most packets that are sent before any is acknowledged.
            acknowledged_after_ns: longest delay of an acknowledgement by the other end.
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
        self._most = float(min(most_in_flight, MOST_IN_FLIGHT))
        self._window, self._threshold = min(_FIRST_WINDOW, self._most), self._most
        self._recovery_until = 0
        self._round_trip_ns, self._variation_ns = 0.0, 0.0
        self._reordering_ns = float(_LEAST_REORDERING_NS)
        self._least_timeout_ns = _LEAST_TIMEOUT_NS + 2 * acknowledged_after_ns
        self._timeout_ns, self._backoff = float(_FIRST_TIMEOUT_NS + acknowledged_after_ns), 1

    @property
    def idle(self) -> bool:
        """Whether every segment was acknowledged."""
        return not self._in_flight and not self.waiting

    def silent_ns(self, now_ns: int) -> int:
        """Returns the time since the last acknowledgement while one is awaited, else 0."""
        return 0 if self._silent_since_ns is None else now_ns - self._silent_since_ns

    @property
    def room(self) -> int:
        """The number of packets that the window still admits."""
        return int(self._window) - len(self._in_flight)

    def note_sent(self, segment: Segment, now_ns: int) -> int:
        """Records that a segment is sent and returns the number of its transmission."""
        if self._silent_since_ns is None:
            self._silent_since_ns = now_ns
        self.resent += segment in self._sent
        self._sent.add(segment)
        number = self._next
        self._next += 1
        self._in_flight[number] = segment, now_ns
        return number

    def take_back(self, number: int) -> None:
        """Withdraws a transmission for which the host's own queue had no room."""
        segment, _ = self._in_flight.pop(number)
        self._sent.discard(segment)
        self.waiting.appendleft(segment)
        # The queue holds as many packets as it can; none was lost.
        self._window = max(_LEAST_WINDOW, float(len(self._in_flight)))
        self._threshold = self._window

    def acknowledge(self, highest: int, bits: int, now_ns: int) -> None:
        """Processes an acknowledgement.

        Args:
            highest: the highest transmission number that arrived.
            bits: bit k is set if transmission `highest` - k arrived.
            now_ns: the time of its arrival.
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
        self._window = min(self._window, self._most)
        if newest_ns >= 0:
            self._backoff = 1
            self._measure(now_ns - newest_ns)
        if newest_ns > newest_spurious_ns:
            self._lose_before(newest_ns - self._reordering_ns)
        if newest_ns >= 0:
            self.heard_ns = now_ns
            self._silent_since_ns = None if self.idle else now_ns

    def expire(self, now_ns: int) -> bool:
        """Takes all in flight for lost if the retransmission timeout has expired; returns whether it has."""
        if not self._in_flight:
            return False
        _, oldest_ns = next(iter(self._in_flight.values()))
        last_heard_ns = self._silent_since_ns or 0
        timeout_ns = min(self._timeout_ns * self._backoff, max(_MOST_TIMEOUT_NS, 2 * self._timeout_ns))
        if now_ns - max(oldest_ns, last_heard_ns) < timeout_ns:
            return False
        self._backoff *= 2
        self._lose(list(self._in_flight))
        if self.idle:  # all in flight were copies of acknowledged segments
            self._silent_since_ns = None
        self._window = _LEAST_WINDOW
        return True

    def forget(self) -> None:
        """Forgets the segments that arrived, once their messages are complete."""
        self._sent.clear()
        self._acknowledged.clear()
        self._lost.clear()

    def _undo_losses(self, highest: int, bits: int) -> int:
        """Widens the reordering window if transmissions taken for lost have arrived.

        Returns:
            The time at which the last of them was sent; -1 if there is none.
        """
        newest_ns = -1
        for number in _covered(self._lost, highest, bits):
            segment, sent_ns = self._lost.pop(number)
            self._acknowledged.add(segment)
            newest_ns = max(newest_ns, sent_ns)
        if newest_ns >= 0:
            self._reordering_ns = min(2 * self._reordering_ns, max(self._round_trip_ns, _LEAST_REORDERING_NS))
            self.waiting = deque(s for s in self.waiting if s not in self._acknowledged)
        return newest_ns

    def _measure(self, round_trip_ns: int) -> None:
        if not self._round_trip_ns:
            self._round_trip_ns, self._variation_ns = float(round_trip_ns), round_trip_ns / 2
        else:
            deviation_ns = abs(round_trip_ns - self._round_trip_ns)
            self._variation_ns += (deviation_ns - self._variation_ns) / 4
            self._round_trip_ns += (round_trip_ns - self._round_trip_ns) / 8
        self._timeout_ns = max(self._round_trip_ns + 4 * self._variation_ns, self._least_timeout_ns)

    def _lose_before(self, time_ns: float) -> None:
        late = []
        for number, (_, sent_ns) in self._in_flight.items():
            if sent_ns >= time_ns:
                break  # the rest was sent later still
            late.append(number)
        if late:
            self._lose(late)

    def _lose(self, numbers: list[int]) -> None:
        segments = []
        for number in numbers:
            self._lost[number] = self._in_flight.pop(number)
            segments.append(self._lost[number][0])
        while len(self._lost) > _REMEMBERED:
            del self._lost[next(iter(self._lost))]
        again = [segment for segment in segments if segment not in self._acknowledged]
        self.waiting.extendleft(reversed(again))
        if numbers[-1] >= self._recovery_until:  # one loss event in a round trip
            self._recovery_until = self._next
            self._window = self._threshold = max(_LEAST_WINDOW, self._window / 2)


def _covered(transmissions: dict[int, tuple[Segment, int]], highest: int, bits: int) -> list[int]:
    """Returns the numbers of those transmissions that an acknowledgement states to have arrived."""
    return [number for number in transmissions if number <= highest and bits >> (highest - number) & 1]


class Arrived:
    """Numbers that arrived, by which copies are recognised: the latest 16,384.

    Attributes:
        highest: the highest of them; -1 before the first.
        bits: bit k is set if `highest` - k arrived.
    """

    def __init__(self) -> None:
        self.highest, self.bits = -1, 0

    def add(self, number: int) -> bool:
        """Remembers a number; returns False if it arrived before, or too late for that to be known."""
        behind = self.highest - number
        if behind >= _LATEST_NUMBERS or (behind >= 0 and self.bits >> behind & 1):
            return False
        if behind < 0:
            self.bits = (self.bits << min(-behind, _LATEST_NUMBERS)) & _LATEST_BITS
            self.highest, behind = number, 0
        self.bits |= 1 << behind
        return True


class Incoming:
    """The receiving end of a connection: the transmissions that arrived.

    Attributes:
        owed: transmissions that arrived since the last acknowledgement.
        answers: number of acknowledgements sent.
    """

    def __init__(self) -> None:
        self.owed = self.answers = 0
        self._arrived = Arrived()

    def note_received(self, number: int) -> bool:
        """Records the arrival of a transmission; returns whether it is none that arrived before."""
        first = self._arrived.add(number)
        self.owed += first
        return first

    def acknowledgement(self) -> tuple[int, int]:
        """Returns the highest number and the bits of an acknowledgement that is sent now."""
        self.owed = 0
        return self._arrived.highest, self._arrived.bits & _ALL_BITS


def rank_not_reached(
    pair: tuple[int, int], silent: Iterable[tuple[int, int]], heard_ns: Mapping[tuple[int, int], int]
) -> int:
    """Returns the one of two ranks with a silent connection between them that is likely not reached.

    Args:
        pair: the two ranks.
        silent: (source, destination) of all silent connections.
        heard_ns: (source, destination) -> when an acknowledgement last came.

    Returns:
        The rank that more of the silent connections have in common; of two alike, the one of which nothing
        was heard for longer.
    """
    counts = Counter(rank for ranks in silent for rank in ranks)
    last_ns = {rank: max((ns for ranks, ns in heard_ns.items() if rank in ranks), default=0) for rank in pair}
    return max(pair, key=lambda rank: (counts[rank], -last_ns[rank]))
