"""The measured window: unset, set late, and its ends."""

import numpy as np

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
