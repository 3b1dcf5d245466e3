"""The measured window: unset, set late, and its ends."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from traffic.engine import engine
from traffic.engine.telemetry import LiveCounts
from traffic.metrics.steady_state import SteadyState
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


QUARTER_S = 0.25


def window_after(gaps, seconds):
    """Returns when the window of even traffic began, by processes that stalled: (process, from, to) in s."""
    processes = [SimpleNamespace(counts=LiveCounts(), send=lambda _content: None) for _ in range(2)]
    criterion = SteadyState(span_s=2.0, max_s=60.0, duration_ns=10**9)
    window = engine.MeasuredWindow(SimpleNamespace(window_ns=None), criterion, processes, lambda: False)
    for step in range(round(seconds / QUARTER_S)):
        now_s = step * QUARTER_S
        for number, process in enumerate(processes):
            if not any(one == number and begin_s < now_s < end_s for one, begin_s, end_s in gaps):
                process.counts.read(
                    json.dumps([now_s, 100 * step, 100_000 * step, None, None, 0, None, None])
                )
        window.update(now_s)
    return window.window_ns and window.window_ns[0] / 1e9


@pytest.mark.parametrize("stalled", [[0], [1], [0, 1]])
def test_a_warmup_in_which_a_process_stalls_begins_anew(stalled):
    """Even if the mean throughput before and after is the same."""
    assert 4 < window_after([], 20) < 5
    assert 7 < window_after([(process, 1.9, 3.1) for process in stalled], 20) < 8.5
    assert 4 < window_after([(process, 1.9, 2.4) for process in stalled], 20) < 5
