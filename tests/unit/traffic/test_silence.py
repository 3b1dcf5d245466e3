"""Silences of host pairs and overtaken packets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traffic.metrics.silence import PairOutages, PairSilences

MS = 1_000_000
HOSTS = 3


def added(silences, rows):
    """Adds packets, each (source, destination, number, arrival in ms)."""
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    silences.add(*columns[:3], columns[3] * MS)


def test_the_longest_silence_is_told_once_with_its_pair_and_end():
    silences = PairSilences(HOSTS)
    added(silences, [(0, 1, 0, 10), (0, 2, 1, 12)])
    assert silences.take(20 * MS)[:4] == (0.02, 0.0, 0.0, -1)  # one arrival of a pair is no silence
    added(silences, [(0, 2, 2, 30), (0, 1, 3, 50), (0, 1, 4, 51)])
    told = silences.take(60 * MS, 1000 * MS)
    assert (told.pair, told.longest_s, told.ended_s) == (1, pytest.approx(0.04), pytest.approx(1.05))
    assert (told.open_pair, told.open_s) == (2, pytest.approx(0.03))
    assert silences.take(61 * MS).pair == -1


def test_packets_of_a_pair_that_are_read_together_end_silences_of_their_own():
    silences = PairSilences(HOSTS)
    added(silences, [(0, 1, 0, 10)])
    added(silences, [(0, 1, 1, 20), (0, 2, 2, 60), (0, 1, 3, 90)])
    told = silences.take(100 * MS)
    assert (told.pair, told.longest_s, told.ended_s) == (1, pytest.approx(0.07), pytest.approx(0.09))


def test_what_later_packets_of_a_source_have_overtaken_is_missing():
    silences = PairSilences(HOSTS)
    added(silences, [(0, 1, 0, 1), (0, 2, 3, 2), (1, 0, 0, 3)])
    assert silences.take(4 * MS).missing == 2
    added(silences, [(0, 1, 1, 5)])
    assert silences.take(6 * MS).missing == 1


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 9)), max_size=6),
        min_size=1,
        max_size=8,
    )
)
def test_silences_are_those_of_a_plain_count(batches):
    """However packets are read together, the longest of the gaps that a dictionary finds is told."""
    silences, last, longest, now = PairSilences(HOSTS), {}, 0, 0
    for batch in batches:
        rows = []
        for source, destination, gap in batch:
            now += gap
            pair = source, destination
            longest = max(longest, now - last.get(pair, now))
            last[pair] = now
            rows.append((source, destination, 0, now))
        added(silences, rows)
    assert silences.take(now * MS).longest_s == pytest.approx(longest / 1e3)


def test_a_silence_is_an_outage_only_if_packets_were_lost_in_it():
    """Two pairs send every millisecond: packets of one are lost for 20 ms, those of the other are late."""
    outages = PairOutages(HOSTS)
    lost = [(0, 1, ms, ms + 1) for ms in range(100) if not 30 <= ms < 50]
    late = [(0, 2, ms, max(ms + 1, 75) if ms >= 40 else ms + 1) for ms in range(100)]
    for part in range(0, 200, 7):
        rows = sorted([*lost, *late], key=lambda row: row[3])[part : part + 7]
        columns = np.array(rows, np.int64).reshape(-1, 4).T
        outages.add(*columns[:2], *(columns[2:] * MS))
    open_s, told = outages.take(110 * MS, 1000 * MS)
    assert told == [(pytest.approx(1.03), pytest.approx(1.051))]
    assert open_s == pytest.approx(0.01)
    assert outages.take(111 * MS)[1] == []
