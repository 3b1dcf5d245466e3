"""Turns on a fabric: verbs one at a time, and none, nor a probe, while something is measured."""

import threading
from contextlib import ExitStack

import pytest

from experiments.session.turns import PAGE, PROGRAM, FabricBusy, Turns
from topology.errors import UsageError

_PATIENCE_S = 10.0


@pytest.fixture
def turns():
    """Turns of a fabric that nobody uses."""
    return Turns()


@pytest.fixture
def elsewhere():
    """Calls functions in threads of their own, and awaits them at the end; returns an event of each's end."""
    threads = []

    def call(function):
        ended = threading.Event()

        def run():
            try:
                function()
            finally:
                ended.set()

        threads.append(threading.Thread(target=run, daemon=True))
        threads[-1].start()
        return ended

    yield call
    for thread in threads:
        thread.join(_PATIENCE_S)
        assert not thread.is_alive()


def refusals(*actions):
    """Returns the texts with which actions are refused."""
    texts = []
    for action in actions:
        with pytest.raises(FabricBusy) as caught, action:
            pass
        texts.append(str(caught.value))
    return texts


def test_what_is_asked_for_during_a_measurement_is_refused_at_once(turns):
    with turns.measurement(PAGE) as measuring:
        measuring.seconds = 3600.0
        texts = refusals(turns.verb(), turns.probing(), turns.measurement(PROGRAM))
    assert all("the page" in text and "3600 s" in text and "stop_measurement" in text for text in texts)
    with turns.verb(), turns.probing():
        pass
    with turns.measurement(PROGRAM):
        pass


def test_a_verb_within_a_verb_shares_its_turn_also_when_a_measurement_waits(turns, elsewhere):
    begun = threading.Event()

    def measure():
        with turns.measurement(PROGRAM):
            begun.set()

    with turns.verb():
        elsewhere(measure)
        while turns.measuring is None:
            pass
        with turns.verb():
            assert not begun.is_set()
    assert begun.wait(_PATIENCE_S)


def test_a_verb_that_waits_when_a_measurement_begins_runs_neither_in_it_nor_after_it(turns, elsewhere):
    acted, refused, asked = [], [], threading.Event()

    def act():
        asked.set()
        try:
            with turns.verb():
                acted.append(turns)
        except FabricBusy as error:
            refused.append(error)

    with ExitStack() as verb:
        verb.enter_context(turns.verb())
        waits = elsewhere(act)
        asked.wait(_PATIENCE_S)
        assert not waits.wait(0.1)  # for the verb

        def measure():
            with turns.measurement(PAGE):
                pass

        measured = elsewhere(measure)
        while turns.measuring is None and not measured.is_set():
            pass
        verb.close()
        assert measured.wait(_PATIENCE_S)
        assert waits.wait(_PATIENCE_S)
    assert not acted
    assert len(refused) == 1


def test_a_measurement_waits_for_probes_that_are_under_way(turns, elsewhere):
    begun = threading.Event()

    def measure():
        with turns.measurement(PROGRAM):
            begun.set()

    with turns.probing():
        elsewhere(measure)
        assert not begun.wait(0.1)
    assert begun.wait(_PATIENCE_S)


def test_what_would_disturb_a_measurement_is_ended_before_it(turns):
    ended = []
    turns.on_measurement.append(lambda: ended.append(turns.measuring.by))
    with turns.measurement(PAGE):
        assert ended == [PAGE]


def test_a_stop_ends_the_measurement_once(turns):
    with turns.measurement(PAGE) as measuring:
        measuring.check()
        turns.stop()
        with pytest.raises(KeyboardInterrupt):
            measuring.check()
        measuring.check()  # as one Ctrl-C


@pytest.mark.parametrize("by", [None, PAGE])
def test_only_what_is_measured_can_be_stopped(turns, by):
    with pytest.raises(UsageError, match="measure"):
        turns.stop(by)
    with turns.measurement(PROGRAM) as measuring:
        with pytest.raises(UsageError, match="the page"):
            turns.stop(PAGE)
        measuring.check()


def test_the_end_of_a_session_waits_for_a_verb_only_so_long(turns, elsewhere):
    held, free = threading.Event(), threading.Event()

    def hold():
        with turns.verb():
            held.set()
            free.wait(_PATIENCE_S)

    elsewhere(hold)
    held.wait(_PATIENCE_S)
    with turns.last_verb(0.05) as taken:
        assert not taken
    free.set()
    with turns.last_verb(_PATIENCE_S) as taken, turns.verb():  # that stops the traffic
        assert taken


def test_what_is_closed_refuses_everything_from_then_on(turns):
    turns.close()
    assert all("closed" in text for text in refusals(turns.verb(), turns.probing(), turns.measurement(PAGE)))


def test_a_close_stops_the_measurement_of_another_thread_and_waits_for_its_end(turns, elsewhere):
    kept, begun = [], threading.Event()

    def check_for_ever(measuring):
        while True:
            measuring.check()

    def measure():
        with turns.measurement(PAGE) as measuring:
            begun.set()
            with pytest.raises(KeyboardInterrupt):
                check_for_ever(measuring)
            kept.append(measuring)

    ended = elsewhere(measure)
    begun.wait(_PATIENCE_S)
    turns.close(_PATIENCE_S)
    assert kept
    assert ended.wait(_PATIENCE_S)


def test_a_close_waits_only_so_long(turns, elsewhere):
    begun, free = threading.Event(), threading.Event()

    def measure():
        with turns.measurement(PAGE):
            begun.set()
            free.wait(_PATIENCE_S)

    ended = elsewhere(measure)
    begun.wait(_PATIENCE_S)
    turns.close(0.05)
    assert not ended.is_set()
    free.set()


@pytest.mark.parametrize("use", ["verb", "probing"])
def test_a_close_waits_for_a_verb_and_for_probes_of_other_threads(turns, elsewhere, use):
    begun, closing, ended = threading.Event(), threading.Event(), []

    def act():
        with getattr(turns, use)():
            begun.set()
            closing.wait(_PATIENCE_S)
            ended.append(use)

    elsewhere(act)
    begun.wait(_PATIENCE_S)
    threading.Timer(0.1, closing.set).start()
    turns.close()
    assert ended == [use]


@pytest.mark.parametrize("use", ["verb", "probing"])
def test_a_close_waits_for_a_verb_and_for_probes_only_so_long(turns, elsewhere, use):
    begun, free = threading.Event(), threading.Event()

    def act():
        with getattr(turns, use)():
            begun.set()
            free.wait(_PATIENCE_S)

    ended = elsewhere(act)
    begun.wait(_PATIENCE_S)
    turns.close(verb_timeout_s=0.05)
    assert not ended.is_set()
    free.set()


def test_a_verb_can_close_and_does_not_continue_after_that(turns):
    with turns.verb():
        turns.check_open()
        turns.close()
        with pytest.raises(FabricBusy):
            turns.check_open()


def test_the_thread_that_measures_stops_itself_and_goes_on_after_the_measurement(turns, elsewhere):
    after, others = [], []
    with turns.measurement(PROGRAM) as measuring:
        assert elsewhere(lambda: others.append(turns.stop_own(others.clear))).wait(_PATIENCE_S)
        assert others == [False]
        measuring.check()
        assert turns.stop_own(then=lambda: after.append(turns.measuring))
        with pytest.raises(KeyboardInterrupt):
            measuring.check()
        assert not after
    assert after == [None]
    assert not turns.stop_own(then=after.clear)
