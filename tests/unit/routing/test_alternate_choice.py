"""The choice of alternates for all next hops at once, against a plain search for one after another."""

import numpy as np
import pytest

from routing.reroute.alternate_choice import UNSAFE, choose_alternates


def plain_choices(extra_hops, rows, most):
    """Returns (destinations, rows of neighbours, most hops) in the order of the choices, for one next hop."""
    neighbours, destinations = extra_hops.shape
    rest = [d for d in range(destinations) if extra_hops[:, d].min() < UNSAFE]
    choices = []
    while rest:
        best = [[d for d in rest if extra_hops[n, d] == extra_hops[:, d].min()] for n in range(neighbours)]
        first = max(range(neighbours), key=lambda n: len(best[n]))
        served = best[first]
        safe = [n for n in range(neighbours) if n != first and (extra_hops[n, served] < UNSAFE).all()]
        taken = [first, *safe][:most]
        hops = max(int(extra_hops[n, d]) for n in taken for d in served)
        choices.append((served, [int(rows[n]) for n in taken], hops))
        rest = [d for d in rest if d not in served]
    return choices


@pytest.mark.parametrize("seed", range(40))
def test_choices_are_those_of_a_plain_search(seed):
    rng = np.random.default_rng(seed)
    neighbours, next_hops = int(rng.integers(1, 7)), int(rng.integers(1, 6))
    counts = rng.integers(1, 9, next_hops)
    behind = np.repeat(np.arange(next_hops), counts)
    extra_hops = rng.integers(0, 4, (neighbours, len(behind))).astype(np.int16)
    extra_hops[rng.random(extra_hops.shape) < rng.random()] = UNSAFE
    rows = rng.permuted(np.tile(np.arange(10, 10 + neighbours)[:, None], next_hops), axis=0)
    most = int(rng.integers(1, 4))
    choices = choose_alternates(extra_hops, behind, rows, most)
    found = [(one.next_hop, one.columns.tolist(), one.rows, one.extra_hops) for one in choices]
    expected = []
    for next_hop in range(next_hops):
        own = np.flatnonzero(behind == next_hop)
        for served, taken, hops in plain_choices(extra_hops[:, own], rows[:, next_hop], most):
            expected.append((next_hop, own[served].tolist(), taken, hops))
    assert found == expected


def test_without_neighbours_there_are_no_alternates():
    nobody = np.empty((0, 3), np.int16), np.zeros(3, np.intp), np.empty((0, 1), np.intp)
    assert choose_alternates(*nobody, 2) == []
