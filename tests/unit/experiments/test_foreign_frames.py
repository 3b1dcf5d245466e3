"""Frames of hosts besides the measured ones make a result not valid, and the hosts are named."""

import numpy as np
import pytest

from experiments.validity.foreign_frames import foreign_doubt

NAMES = ("h1_1", "h2_1", "h3_1", "h4_1")
MEASURED = np.array([100_000, 100_000, 100_000, 100_000])


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ([0, 0, 0, 0], None),
        ([1200, 1200, 1200, 1200], None),
        ([0, 0, 1201, 0], "h3_1 sent 1,201 bytes besides the 100,000 measured ones"),
        ([1000, 0, 5000, 1500], "h3_1 and 1 other host sent 6,500 bytes besides the 200,000 measured ones"),
        ([2000, 0, 3000, 4000], "h4_1 and 2 other hosts sent 9,000 bytes besides the 300,000 measured ones"),
        # Frames that one host sends do not make up for those that another loses.
        ([-50_000, 0, 5000, 0], "h3_1 sent 5,000 bytes besides the 100,000 measured ones"),
    ],
)
def test_more_than_a_few_bytes_besides_the_measured_ones_are_a_reason(more, reason):
    assert foreign_doubt("sent", NAMES, MEASURED + np.array(more), MEASURED, 200) == reason
