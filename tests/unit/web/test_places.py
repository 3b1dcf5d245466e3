"""Places of the page's connections: who keeps one, and who loses it."""

import math
import random

import pytest

from polarlab.web.service.places import Places, machine_of

HERE, THERE, ELSEWHERE = "127.0.0.1", "192.0.2.7", "2001:db8::7"


class Guest:
    """A connection that does nothing."""

    def __init__(self, *, idle=True):
        self.idle, self.ended = idle, False

    def end(self):
        """Ends it."""
        self.ended = True


def entered(places, host, count=1, **options):
    guests = [Guest(**options) for _ in range(count)]
    for guest in guests:
        places.enter(guest, host)
    return guests


def open_ones(guests):
    return [guest for guest in guests if not guest.ended]


def test_no_more_have_a_place_than_there_are():
    guests = entered(Places(10), HERE, 100)
    assert len(open_ones(guests)) == 10
    assert not guests[-1].ended


def test_who_loses_a_place_is_drawn_at_random():
    """After n arrivals on m places, a connection has its place with probability (1 - 1/m)^n."""
    places, stayed, rounds = 50, 0, 1_000
    for seed in range(rounds):
        room = Places(places, random.Random(seed))
        [early] = entered(room, HERE)
        entered(room, HERE, places - 1 + 50)
        stayed += not early.ended
    assert stayed / rounds == pytest.approx(math.exp(-1), abs=0.05)


def test_those_with_the_token_are_not_among_them():
    places = Places(10)
    known = entered(places, HERE, 3)
    for guest in known:
        places.keep(guest)
    entered(places, HERE, 1_000)
    assert open_ones(known) == known


def test_the_machine_with_the_most_connections_loses_one():
    places = Places(10)
    few = entered(places, THERE, 3) + entered(places, ELSEWHERE, 3)
    entered(places, HERE, 1_000)
    assert open_ones(few) == few


def test_of_connections_with_the_token_only_an_idle_one_makes_room_for_another():
    places = Places(4)
    [idle], busy = entered(places, HERE), entered(places, HERE, 3, idle=False)
    for guest in (idle, *busy):
        places.keep(guest)
    [first] = entered(places, HERE)
    assert [idle.ended, first.ended] == [True, False]
    places.keep(first)
    first.idle = False
    [second] = entered(places, HERE)
    assert open_ones([*busy, first, second]) == [*busy, first]


def test_places_that_were_left_are_free_again():
    places = Places(10)
    for host in (HERE, THERE):
        guests = entered(places, host, 10)
        assert open_ones(guests) == guests
        for guest in guests:
            places.leave(guest)
            places.leave(guest)  # twice does no harm


@pytest.mark.parametrize(
    ("host", "machine"),
    [
        (HERE, ""),
        ("::1", ""),
        ("::ffff:127.0.0.9", ""),
        (THERE, THERE),
        ("::ffff:192.0.2.7", THERE),
        (ELSEWHERE, "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_the_machine_of_an_address(host, machine):
    assert machine_of(host) == machine
