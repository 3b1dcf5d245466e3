"""Loads of links from readings of their queues."""

import numpy as np
import pytest

from controller.occupancy.queues import QueueState
from experiments.results.link_loads import LinkHistory, directed_links, jain, link_loads
from topology.families.low_diameter.polarfly import PolarFly


def steady(bytes_per_s, times):
    history = LinkHistory()
    for time_s in times:
        history.note(
            1, time_s, {1: QueueState(0, 0, round(bytes_per_s * time_s), int(time_s), int(2 * time_s))}
        )
    return history


def test_the_load_in_a_window_between_readings():
    links = directed_links(PolarFly(2))[:1]
    history = steady(50_000, np.arange(0, 10, 0.3))
    found = link_loads(history, links, 2.1, 7.77, 1_000_000)
    assert found.loads[0] == pytest.approx(0.4, rel=1e-3)
    assert found.dropped[0] == pytest.approx(5.67, abs=1)
    assert found.lost[0] == pytest.approx(11.34, abs=1)


def test_a_link_that_nobody_read_has_no_load():
    links = directed_links(PolarFly(2))
    for amounts in link_loads(LinkHistory(), links, 0, 1, 1_000_000):
        assert amounts.tolist() == [0.0] * len(links)


def test_however_long_a_run_is_a_few_hundred_readings_are_kept():
    history = steady(1000, np.arange(0, 5000, 0.25))
    times, amounts = history.series(1, 1)
    assert 100 < len(times) <= 481
    assert times[0] == 0
    assert times[-1] > 4950
    assert (np.diff(amounts[:, 0]) > 0).all()


def test_directed_links_are_named_by_their_ends():
    names = [link.name for link in directed_links(PolarFly(2))]
    assert len(names) == 2 * PolarFly(2).links == len(set(names))


def test_jains_index():
    assert jain(np.array([1.0, 1.0, 1.0])) == pytest.approx(1)
    assert jain(np.array([1.0, 0.0, 0.0, 0.0])) == pytest.approx(0.25)
    assert jain(np.zeros(3)) is None
