"""The search for the link rate that a machine carries, on machines that are a formula."""

import random

import pytest

from experiments.calibration import RateSearch
from topology.links import MAX_RATE_BPS, MIN_RATE_BPS


def searched(first_bps, carried_bps, power=2.0, max_bps=MAX_RATE_BPS, noise=0.0, seed=1):
    """Returns the rates that are tried on a machine whose strain is 1 at some rate, and the one found."""
    chance = random.Random(seed)
    search, tried = RateSearch(first_bps, max_bps), []
    while (rate_bps := search.next_bps()) is not None:
        strained = (rate_bps / carried_bps) ** power * (1 + chance.uniform(-noise, noise))
        search.tried(rate_bps, strained)
        tried.append(rate_bps)
        assert len(tried) <= 6
    return tried, search.highest_carried


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("factor", [0.05, 0.3, 0.9, 1.1, 3.0, 10.0])
@pytest.mark.parametrize("power", [1.0, 2.0, 5.0])
def test_a_rate_is_found_that_strains_the_machine_neither_too_much_nor_too_little(factor, power, seed):
    carried_bps = 5e6
    tried, found = searched(factor * carried_bps, carried_bps, power, noise=0.15, seed=seed)
    assert 0.2 < (found / carried_bps) ** power < 0.85
    assert len(set(tried)) == len(tried)


def test_a_good_guess_is_the_only_trial():
    tried, found = searched(3.4e6, 5e6)
    assert tried == [found] == [3_400_000]


def test_a_guess_that_is_somewhat_wrong_takes_one_or_two_more():
    for first_bps in (1.2e6, 6e6):
        assert len(searched(first_bps, 5e6)[0]) <= 3


def test_the_steeper_the_strain_the_smaller_the_steps():
    tried, found = searched(1e6, 5e6, power=6.0)
    assert len(tried) <= 5
    assert 0.3 <= (found / 5e6) ** 6 <= 0.65


def test_no_rate_is_above_what_the_sender_can_do():
    assert searched(1e6, 1e9, max_bps=3e6) == ([1_000_000, 3_000_000], 3_000_000)


def test_a_machine_that_carries_nothing_is_told_of():
    tried, found = searched(1e6, MIN_RATE_BPS / 10)
    assert found is None
    assert min(tried) >= MIN_RATE_BPS
