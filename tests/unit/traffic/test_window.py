"""The measured window: unset, set late, and its ends."""

from types import SimpleNamespace

import numpy as np

from traffic.engine import engine
from traffic.metrics.window import Window

TIMES_NS = np.array([0, 9, 10, 19, 20])


def test_a_window_that_is_not_set_contains_no_packet():
    assert not Window(None).contains(TIMES_NS).any()


def test_a_window_contains_its_begin_and_not_its_end():
    window = Window((10, 20))
    assert window.contains(TIMES_NS).tolist() == [False, False, True, True, False]


def test_a_window_can_be_set_later():
    window = Window(None)
    window.set(0, 10)
    assert window.contains(TIMES_NS).tolist() == [True, True, False, False, False]


def test_a_window_that_is_to_end_early_ends_once_all_processes_know_of_it():
    told = []
    process = SimpleNamespace(send=lambda content: told.append(content["window_ns"]))
    ends = iter([False, True])
    window = engine.MeasuredWindow(
        SimpleNamespace(window_ns=(0, 86_400 * 10**9)), None, [process], lambda: next(ends)
    )
    window.update(1.0)
    assert told == []
    for seconds in (2.0, 3.0):
        window.update(seconds)
    ((begin_ns, end_ns),) = told
    assert begin_ns == 0
    assert 2.1 * 10**9 < end_ns < 3 * 10**9
    assert window.window_ns == (begin_ns, end_ns)
