"""The search for the link rate that a machine carries, on machines that are a formula."""

import random

import pytest

from experiments.calibration import RateSearch
from experiments.results.validity import MIN_IDLE
from topology.links import MAX_RATE_BPS, MIN_RATE_BPS


def searched(first_bps, carried_bps, standing_load=0.05, most_bps=MAX_RATE_BPS, noise=0.0, seed=1):
    """Returns the rates that are tried on a machine that is fully busy at some rate, and the one found."""
    chance = random.Random(seed)
    search, tried = RateSearch(first_bps, most_bps), []
    while (rate_bps := search.next_bps()) is not None:
        load = standing_load + (1 - standing_load) * rate_bps / carried_bps + chance.uniform(-noise, noise)
        search.tried(rate_bps, 1 - min(max(load, 0.0), 1.0))
        tried.append(rate_bps)
        assert len(tried) <= 6
    return tried, search.highest_carried


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("factor", [0.05, 0.3, 0.9, 1.1, 3.0, 10.0])
@pytest.mark.parametrize("standing_load", [0.02, 0.15])
def test_a_rate_is_found_that_leaves_enough_and_not_much_more_idle(factor, standing_load, seed):
    carried_bps = 5e6
    tried, found = searched(factor * carried_bps, carried_bps, standing_load, noise=0.02, seed=seed)
    idle = (1 - standing_load) * (1 - found / carried_bps)
    assert MIN_IDLE + 0.05 < idle < MIN_IDLE + 0.3
    assert len(set(tried)) == len(tried)


def test_a_good_guess_is_the_only_trial():
    tried, found = searched(2.4e6, 5e6)
    assert tried == [found] == [2_400_000]


def test_a_guess_that_is_somewhat_wrong_takes_one_or_two_more():
    for first_bps in (1.2e6, 4e6):
        assert len(searched(first_bps, 5e6)[0]) <= 3


def test_no_rate_is_above_what_the_sender_can_do():
    assert searched(1e6, 1e9, most_bps=3e6) == ([1_000_000, 3_000_000], 3_000_000)


def test_a_machine_that_carries_nothing_is_told_of():
    tried, found = searched(1e6, MIN_RATE_BPS / 10)
    assert found is None
    assert min(tried) >= MIN_RATE_BPS
