"""Frames of hosts besides the measured ones make a result not valid, and the hosts are named."""

import numpy as np
import pytest

from experiments.validity.foreign_frames import foreign_doubt

NAMES = ("h1_1", "h2_1", "h3_1", "h4_1")
MEASURED = np.array([1000, 1000, 1000, 1000])


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ([0, 0, 0, 0], None),
        ([12, 12, 12, 12], None),
        ([0, 0, 49, 0], "h3_1 sent 49 frames besides the 4,000 measured ones"),
        ([20, 0, 5000, 0], "h3_1 and 1 other host sent 5,020 frames besides the 4,000 measured ones"),
        ([20, 0, 30, 40], "h4_1 and 2 other hosts sent 90 frames besides the 4,000 measured ones"),
    ],
)
def test_more_than_a_few_frames_besides_the_measured_ones_are_a_reason(more, reason):
    assert foreign_doubt("sent", NAMES, MEASURED + np.array(more), MEASURED, 4000) == reason


def test_acknowledgements_and_refused_packets_are_not_foreign():
    assert foreign_doubt("sent", NAMES, MEASURED + 125, MEASURED, 4500) is None
    assert foreign_doubt("sent", NAMES, MEASURED - np.array([0, 500, 0, 0]), MEASURED, 3500) is None
