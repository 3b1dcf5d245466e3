"""Packets that come after a later one of their flow, and how much is remembered for that."""

import numpy as np
import pytest

from traffic.metrics import reordering
from traffic.metrics.reordering import FlowOrder


def late(order, flows, numbers):
    return order.reordered(np.array(flows), np.array(numbers)).tolist()


def test_packets_in_order_are_not_late():
    assert late(FlowOrder(4), [0, 1, 0, 1], [0, 0, 1, 1]) == [False] * 4


def test_the_overtaken_one_is_late_and_not_the_one_that_overtook():
    assert late(FlowOrder(4), [2, 2, 2, 2], [0, 2, 1, 3]) == [False, False, True, False]


def test_it_remembers_from_call_to_call():
    order = FlowOrder(4)
    late(order, [3], [10])
    assert late(order, [3, 2], [9, 9]) == [True, False]
    assert late(order, [3], [11]) == [False]


@pytest.mark.parametrize("flows", [64, 1000])
def test_as_by_a_plain_loop(flows, monkeypatch):
    monkeypatch.setattr(reordering, "MAX_SLOTS", 64)
    generator = np.random.default_rng(3)
    order = FlowOrder(flows)
    highest, missed, total = {}, 0, 0
    number = 0
    for _ in range(200):
        # Few flows at a time, as where there are too many to remember each.
        base = int(generator.integers(flows))
        flow = (base + generator.integers(0, 8, 50)) % flows
        numbers = number + generator.permutation(50)
        number += 50
        expected = []
        for f, n in zip(flow.tolist(), numbers.tolist(), strict=True):
            expected.append(n < highest.get(f, -1))
            highest[f] = max(highest.get(f, -1), n)
        found = order.reordered(flow, numbers).tolist()
        assert not any(a and not b for a, b in zip(found, expected, strict=True))
        missed += sum(b and not a for a, b in zip(found, expected, strict=True))
        total += sum(expected)
    assert total > 1000
    assert missed == 0 if flows == 64 else missed < 0.05 * total


def test_memory_is_bounded():
    order = FlowOrder(1000 * 1000 * 64)
    taken = sum(array.nbytes for array in vars(order).values() if isinstance(array, np.ndarray))
    assert taken <= 64 << 20
