"""The pace of events: those of what goes on come now and then, all others at once."""

from experiments.events.notices import Notice
from experiments.events.pace import Pace, Unthrottled, paced
from experiments.events.progress import PairsDelivered

GOING_ON, AT_ONCE = PairsDelivered(1, 9), Notice("pair-check-passed", max_hops=4)


def test_events_of_what_goes_on_are_due_five_seconds_after_the_last_that_was():
    times = iter([0.0, 4.9, 5.1, 5.2, 6.0, 10.9, 11.0])
    pace = Pace(lambda: next(times))
    events = [GOING_ON, GOING_ON, GOING_ON, AT_ONCE, GOING_ON, GOING_ON]
    assert [pace.due(event) for event in events] == [False, True, False, True, False, True]


def test_a_taker_gets_what_is_due_and_one_of_every_event_all():
    readable, every = [], []
    for on_event in (paced(readable.append), paced(Unthrottled(every.append))):
        for event in (GOING_ON, AT_ONCE, GOING_ON, AT_ONCE):
            on_event(event)
    assert readable == [AT_ONCE, AT_ONCE]
    assert every == [GOING_ON, AT_ONCE, GOING_ON, AT_ONCE]
