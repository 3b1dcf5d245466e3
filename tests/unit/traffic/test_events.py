"""Events: numbers of packets by source."""

import numpy as np

from traffic.workload.arrivals import number_per_source


def test_number_per_source_goes_on_where_it_stopped():
    sent = np.array([5, 0, 2])
    numbers = number_per_source(np.array([2, 0, 2, 2, 0]), sent)
    assert numbers.tolist() == [2, 5, 3, 4, 6]
    assert sent.tolist() == [7, 0, 5]
