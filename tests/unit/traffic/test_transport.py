"""Both ends of a connection, with packets that are lost, late or overtaken."""

import random

import pytest

from traffic.engine.transport import Arrived, Incoming, Outgoing, rank_not_reached
from traffic.wire.layout import ACKNOWLEDGED_BITS

MS = 1_000_000


def deliver(loss, delay_ms, segments=400, seed=1, spread_ms=0.0, until_ms=60_000):
    """Sends segments over a link that loses and delays packets; returns arrivals, sender, time in ms.

    `delay_ms` is each way; `spread_ms` at most is added by chance, so that packets overtake one another.
    """
    generator = random.Random(seed)
    outgoing, incoming = Outgoing(), Incoming()
    outgoing.waiting.extend((0, k) for k in range(segments))
    arrived, in_flight = [], []
    for now_ms in range(until_ms):
        now = now_ms * MS
        for item in sorted(item for item in in_flight if item[0] <= now):
            in_flight.remove(item)
            _, kind, content = item
            if kind == "data":
                number, segment = content
                incoming.note_received(number)
                arrived.append(segment)
            else:
                outgoing.acknowledge(*content, now)
        if incoming.owed >= 4 or (incoming.owed and now_ms % 5 == 0):
            content = incoming.acknowledgement()
            if generator.random() >= loss:
                in_flight.append((now + delay_ms * MS, "acknowledgement", content))
        outgoing.expire(now)
        for _ in range(4):
            if outgoing.waiting and outgoing.room > 0:
                segment = outgoing.waiting.popleft()
                number = outgoing.note_sent(segment, now)
                if generator.random() >= loss:
                    late = delay_ms + generator.random() * spread_ms
                    in_flight.append((now + int(late * MS), "data", (number, segment)))
        if outgoing.idle:
            return arrived, outgoing, now_ms
    raise AssertionError("the transfer did not end")


def test_without_loss_every_segment_is_sent_once():
    arrived, outgoing, _ = deliver(0.0, 3)
    assert arrived == [(0, k) for k in range(400)]
    assert outgoing.resent == 0


@pytest.mark.parametrize("loss", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_lost_segments_are_sent_again_until_all_arrive(loss, seed):
    arrived, outgoing, _ = deliver(loss, 3, seed=seed)
    assert set(arrived) == {(0, k) for k in range(400)}
    assert outgoing.resent > 0


def test_few_segments_are_sent_twice_without_need():
    arrived, outgoing, _ = deliver(0.05, 3)
    assert len(arrived) < 1.1 * 400
    assert outgoing.resent < 0.15 * 400


def test_the_reordering_window_adapts_to_packets_that_overtake_one_another():
    arrived, _, _ = deliver(0.0, 5, segments=3000, spread_ms=8.0)
    early, late = arrived[:1000], arrived[2000:]
    assert len(late) - len(set(late)) <= len(early) - len(set(early))
    assert len(arrived) < 1.15 * 3000


def test_a_dead_receiver_is_detected_by_its_silence():
    outgoing = Outgoing()
    outgoing.waiting.append((0, 0))
    assert outgoing.silent_ns(10 * MS) == 0
    for now_ms in range(1000, 7000, 10):
        outgoing.expire(now_ms * MS)
        while outgoing.waiting and outgoing.room > 0:
            outgoing.note_sent(outgoing.waiting.popleft(), now_ms * MS)
    assert outgoing.silent_ns(7000 * MS) == 6000 * MS


def test_a_host_whose_queue_refuses_everything_is_silent_too():
    outgoing = Outgoing()
    outgoing.waiting.append((0, 0))
    for now_ms in range(1000, 3000, 10):
        outgoing.cancel_transmission(outgoing.note_sent(outgoing.waiting.popleft(), now_ms * MS))
    assert outgoing.silent_ns(3000 * MS) == 2000 * MS
    assert list(outgoing.waiting) == [(0, 0)]


def test_no_more_is_in_flight_than_allowed():
    outgoing = Outgoing(max_in_flight=6)
    outgoing.waiting.extend((0, k) for k in range(50))
    numbers = []
    for now in range(20):
        while outgoing.room > 0:
            numbers.append(outgoing.note_sent(outgoing.waiting.popleft(), now * MS))
        assert len(numbers) <= 6 + max(0, now)
        outgoing.acknowledge(now, 1, now * MS)


def test_an_acknowledgement_covers_the_last_numbers_in_any_order():
    incoming = Incoming()
    for number in (0, 2, 1, 5, ACKNOWLEDGED_BITS + 3):
        incoming.note_received(number)
    highest, bits = incoming.acknowledgement()
    assert highest == ACKNOWLEDGED_BITS + 3
    arrived = {highest - k for k in range(ACKNOWLEDGED_BITS) if bits >> k & 1}
    assert arrived == {5, ACKNOWLEDGED_BITS + 3}
    incoming.note_received(1)  # far behind
    assert incoming.acknowledgement()[0] == highest


def test_a_number_far_ahead_takes_no_more_memory_than_any():
    incoming = Incoming()
    incoming.note_received(0)
    incoming.note_received((1 << 62) - 1)  # as many bits would not fit anywhere
    assert incoming.acknowledgement() == ((1 << 62) - 1, 1)


def test_each_number_arrives_once():
    arrived = Arrived()
    assert [arrived.add(number) for number in (0, 2, 2, 1, 0, 5, 4, 4, 1)] == [
        *(True, True, False, True, False, True, True, False, False)
    ]
    assert arrived.add(5 + (1 << 14))
    assert not arrived.add(5)  # too long ago to be known
    assert arrived.add(6)
    assert not arrived.add(6)


def test_a_copy_is_not_owed_an_acknowledgement():
    incoming = Incoming()
    assert [incoming.note_received(number) for number in (0, 1, 0, 1)] == [True, True, False, False]
    assert incoming.owed == 2


def test_an_acknowledgement_of_numbers_never_sent_is_ignored():
    outgoing = Outgoing()
    outgoing.waiting.append((0, 0))
    outgoing.note_sent(outgoing.waiting.popleft(), 0)
    outgoing.acknowledge(77, 1, MS)
    assert not outgoing.idle


def test_an_idle_connection_is_not_silent():
    """A segment taken for lost too early is acknowledged after all: nothing is left to wait for."""
    outgoing = Outgoing()
    outgoing.waiting.extend([(0, 0), (0, 1)])
    first = outgoing.note_sent(outgoing.waiting.popleft(), 0)
    second = outgoing.note_sent(outgoing.waiting.popleft(), 100 * MS)
    outgoing.acknowledge(second, 0b01, 101 * MS)
    assert list(outgoing.waiting) == [(0, 0)]  # the first counts as lost
    outgoing.acknowledge(first, 0b1, 102 * MS)
    assert outgoing.idle
    assert outgoing.silent_ns(60_000 * MS) == 0
    assert outgoing.resent == 0


def test_links_slower_than_any_first_guess_are_not_silent():
    arrived, outgoing, _ = deliver(0.0, 2500, segments=60)
    assert set(arrived) == {(0, k) for k in range(60)}
    assert len(arrived) < 3 * 60
    assert outgoing.silent_ns(10**15) == 0


def test_a_lost_copy_of_a_segment_that_arrived_is_not_awaited():
    outgoing = Outgoing()
    outgoing.waiting.extend([(0, 0), (0, 1)])
    first = outgoing.note_sent(outgoing.waiting.popleft(), 0)
    second = outgoing.note_sent(outgoing.waiting.popleft(), 100 * MS)
    outgoing.acknowledge(second, 0b01, 101 * MS)
    outgoing.note_sent(outgoing.waiting.popleft(), 102 * MS)  # again, and this copy is lost
    outgoing.acknowledge(first, 0b1, 103 * MS)
    assert not outgoing.idle
    for now_ms in range(104, 4000):
        outgoing.expire(now_ms * MS)
    assert outgoing.idle
    assert outgoing.silent_ns(10_000 * MS) == 0


def test_the_rank_that_is_not_reached_is_the_one_that_silent_connections_share():
    heard = {(0, 1): 90, (1, 2): 10, (2, 0): 10, (2, 1): 10}
    assert rank_not_reached((1, 2), [(1, 2), (2, 1), (2, 0)], heard) == 2


@pytest.mark.parametrize("silent", [(1, 2), (2, 1)])
def test_of_two_ranks_with_one_silent_connection_it_is_the_one_that_others_do_not_hear_either(silent):
    heard = {(0, 1): 90, (1, 2): 10, (2, 0): 20, (2, 1): 10}
    assert rank_not_reached(silent, [silent], heard) == 2
