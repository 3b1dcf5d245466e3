"""One rank's data on its way to another: what is in flight, what was lost, how much may be sent.

Every transmission has a number of its own, also of what is sent again, so that an acknowledgement tells
exactly which of them arrived (as in QUIC, RFC 9000 section 13). Lost is what was sent well before something
that arrived (RACK, RFC 8985), or what nothing was heard of for long (RFC 6298). The window grows and shrinks
as TCP's does (RFC 5681). Pure: time and packets come from outside.
"""

from __future__ import annotations

from collections import deque

from traffic.wire.layout import ACKNOWLEDGED_BITS

MOST_IN_FLIGHT = 96
_FIRST_WINDOW = 16.0
_LEAST_WINDOW = 2.0
_MS = 1_000_000
_LEAST_TIMEOUT_NS, _FIRST_TIMEOUT_NS, _MOST_TIMEOUT_NS = 50 * _MS, 300 * _MS, 2_000 * _MS
_LEAST_REORDERING_NS = 2 * _MS
_REMEMBERED = 512  # transmissions given up, in case they arrive all the same

# (message, segment): what a transmission carries
Segment = tuple[int, int]


class Outgoing:
    """The sending end of a connection.

    Attributes:
        waiting: segments to be sent, in order; what was lost comes first.
        resent: how many transmissions were of segments sent before.
    """

    def __init__(self, most_in_flight: int = MOST_IN_FLIGHT, acknowledged_after_ns: int = 0) -> None:
        """Begins an idle connection.

        Args:
            most_in_flight: packets that are sent at most before any is acknowledged.
            acknowledged_after_ns: how long the other end may wait with an acknowledgement.
        """
        self.waiting: deque[Segment] = deque()
        self.resent = 0
        self._silent_since_ns: int | None = None
        self._in_flight: dict[int, tuple[Segment, int]] = {}
        self._given_up: dict[int, tuple[Segment, int]] = {}
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
        """Whether everything was acknowledged."""
        return not self._in_flight and not self.waiting

    def silent_ns(self, now_ns: int) -> int:
        """Returns for how long nothing was acknowledged, though something should have been."""
        return 0 if self._silent_since_ns is None else now_ns - self._silent_since_ns

    @property
    def room(self) -> int:
        """How many more packets may be sent now."""
        return int(self._window) - len(self._in_flight)

    def sent(self, segment: Segment, now_ns: int) -> int:
        """Notes that a segment leaves and returns the number of its transmission."""
        if self._silent_since_ns is None:
            self._silent_since_ns = now_ns
        self.resent += segment in self._sent
        self._sent.add(segment)
        number = self._next
        self._next += 1
        self._in_flight[number] = segment, now_ns
        return number

    def refused(self, number: int) -> None:
        """Takes a transmission back that the host's own queue had no room for."""
        segment, _ = self._in_flight.pop(number)
        self._sent.discard(segment)
        self.waiting.appendleft(segment)
        # What the queue holds is enough; no packet was lost.
        self._window = max(_LEAST_WINDOW, float(len(self._in_flight)))
        self._threshold = self._window

    def acknowledged(self, highest: int, bits: int, now_ns: int) -> None:
        """Takes an acknowledgement: bit k of `bits` tells whether number `highest - k` arrived."""
        if highest >= self._next:
            return
        newest_ns = heard_ns = self._forgive(highest, bits)
        for number in self._told(highest, bits):
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
        if newest_ns > heard_ns:
            self._give_up_before(newest_ns - self._reordering_ns)
        if newest_ns >= 0:
            self._silent_since_ns = None if self.idle else now_ns

    def timed_out(self, now_ns: int) -> bool:
        """Gives everything in flight up if nothing was heard for too long; returns whether so."""
        if not self._in_flight:
            return False
        _, oldest_ns = next(iter(self._in_flight.values()))
        heard_ns = self._silent_since_ns or 0
        patience_ns = min(self._timeout_ns * self._backoff, max(_MOST_TIMEOUT_NS, 2 * self._timeout_ns))
        if now_ns - max(oldest_ns, heard_ns) < patience_ns:
            return False
        self._backoff *= 2
        self._lose(list(self._in_flight))
        if self.idle:  # what was in flight had been sent, and acknowledged, before
            self._silent_since_ns = None
        self._window = _LEAST_WINDOW
        return True

    def forget(self) -> None:
        """Forgets which segments arrived, once no message of theirs is needed any more."""
        self._sent.clear()
        self._acknowledged.clear()
        self._given_up.clear()

    def _told(self, highest: int, bits: int) -> list[int]:
        return [n for n in self._in_flight if n <= highest and bits >> (highest - n) & 1]

    def _forgive(self, highest: int, bits: int) -> int:
        """Learns from what was given up too early: paths differ by more than was thought, or are slower.

        Returns when the last of it was sent, -1 if there was none.
        """
        newest_ns = -1
        for number in [n for n in self._given_up if n <= highest and bits >> (highest - n) & 1]:
            segment, sent_ns = self._given_up.pop(number)
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
            off = abs(round_trip_ns - self._round_trip_ns)
            self._variation_ns += (off - self._variation_ns) / 4
            self._round_trip_ns += (round_trip_ns - self._round_trip_ns) / 8
        self._timeout_ns = max(self._round_trip_ns + 4 * self._variation_ns, self._least_timeout_ns)

    def _give_up_before(self, time_ns: float) -> None:
        late = []
        for number, (_, sent_ns) in self._in_flight.items():
            if sent_ns >= time_ns:
                break  # the others were sent later still
            late.append(number)
        if late:
            self._lose(late)

    def _lose(self, numbers: list[int]) -> None:
        segments = []
        for number in numbers:
            self._given_up[number] = self._in_flight.pop(number)
            segments.append(self._given_up[number][0])
        while len(self._given_up) > _REMEMBERED:
            del self._given_up[next(iter(self._given_up))]
        again = [segment for segment in segments if segment not in self._acknowledged]
        self.waiting.extendleft(reversed(again))
        if numbers[-1] >= self._recovery_until:  # one loss event in a round trip
            self._recovery_until = self._next
            self._window = self._threshold = max(_LEAST_WINDOW, self._window / 2)


class Incoming:
    """The receiving end of a connection: which transmissions arrived.

    Attributes:
        owed: how many arrived since the last acknowledgement.
    """

    def __init__(self) -> None:
        self.owed = 0
        self._highest = -1
        self._bits = 0

    def received(self, number: int) -> None:
        """Notes a transmission."""
        self.owed += 1
        if number > self._highest:
            self._bits = (self._bits << (number - self._highest) | 1) & (1 << ACKNOWLEDGED_BITS) - 1
            self._highest = number
        elif self._highest - number < ACKNOWLEDGED_BITS:
            self._bits |= 1 << (self._highest - number)

    def acknowledge(self) -> tuple[int, int]:
        """Returns the highest number and the bits to be sent."""
        self.owed = 0
        return self._highest, self._bits
