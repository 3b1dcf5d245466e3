"""Collectives as programs: run in memory, with messages that come in any order, lost and twice."""

import random

import numpy as np
import pytest

from topology.errors import ParameterError, UsageError
from traffic.workload.collectives.algorithms import sliced_programs
from traffic.workload.collectives.execution import Iteration, MessageTable
from traffic.workload.collectives.registry import COLLECTIVES, check_message, split_collective

ALGORITHMS = [(name, algorithm) for name, c in COLLECTIVES.items() for algorithm in c.algorithms]
SEGMENT_BYTES = 40


def complete(name, algorithm, ranks, message_bytes, slices=1, seed=1):
    """Runs a collective to its end; returns its results, those wanted, and its messages."""
    collective = COLLECTIVES[name]
    elements = collective.vector_elements(message_bytes)
    programs = sliced_programs(collective.algorithms[algorithm], ranks, elements, slices)
    messages = MessageTable(programs, SEGMENT_BYTES)
    vectors = collective.initial_vectors(ranks, elements, seed)
    wanted = collective.expected_results(vectors)
    working = Iteration(messages, vectors)
    working.start(0)
    generator = random.Random(seed)
    on_the_way = []
    for now in range(1_000_000):
        on_the_way += [(n, k) for n in working.ready for k in range(messages.messages[n].segments)]
        working.ready.clear()
        if not on_the_way:
            break
        number, segment = on_the_way.pop(generator.randrange(len(on_the_way)))
        offset = segment * SEGMENT_BYTES
        payload = memoryview(working.outgoing[number])[offset : offset + SEGMENT_BYTES]
        working.receive(number, segment, offset, payload, now)
        if generator.random() < 0.1:
            on_the_way.append((number, segment))  # it comes once more
    assert working.unfinished == 0
    return [collective.result_part(vector) for vector in vectors], wanted, messages


@pytest.mark.parametrize(("name", "algorithm"), ALGORITHMS)
@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 17])
def test_every_rank_has_the_right_result(name, algorithm, ranks):
    size = COLLECTIVES[name].granule(ranks) * 37
    results, wanted, _ = complete(name, algorithm, ranks, size)
    for result, right in zip(results, wanted, strict=True):
        assert np.array_equal(result, right)


@pytest.mark.parametrize("algorithm", COLLECTIVES["allreduce"].algorithms)
@pytest.mark.parametrize("slices", [2, 3, 7])
def test_slices_change_nothing_of_the_result(algorithm, slices):
    results, wanted, _ = complete("allreduce", algorithm, 6, 4 * 41, slices)
    assert all(np.array_equal(a, b) for a, b in zip(results, wanted, strict=True))


@pytest.mark.parametrize("algorithm", COLLECTIVES["allreduce"].algorithms)
def test_a_message_of_one_element_is_reduced_by_any_number_of_ranks(algorithm):
    results, wanted, _ = complete("allreduce", algorithm, 9, 4)
    assert all(np.array_equal(a, b) for a, b in zip(results, wanted, strict=True))


def test_the_sum_is_the_sum():
    results, _, _ = complete("allreduce", "ring", 5, 4 * 20)
    start = COLLECTIVES["allreduce"].initial_vectors(5, 20, 1)
    assert np.array_equal(results[3], np.sum(start, axis=0, dtype=np.uint32))


def test_all_to_all_transposes_the_parts():
    start = COLLECTIVES["all-to-all"].initial_vectors(3, 2 * 6, 1)
    results, _, _ = complete("all-to-all", "pairwise", 3, 4 * 6)
    for rank in range(3):
        parts = [start[source][2 * rank : 2 * rank + 2] for source in range(3)]
        assert results[rank].tolist() == np.concatenate(parts).tolist()


def sent_bytes(messages, rank):
    return sum(message.size for message in messages.messages if message.source == rank)


@pytest.mark.parametrize(("algorithm", "share"), [("ring", 2 * 15 / 16), ("rabenseifner", 2 * 15 / 16)])
def test_bandwidth_optimal_algorithms_send_no_more_than_they_have_to(algorithm, share):
    _, _, messages = complete("allreduce", algorithm, 16, 4 * 160)
    assert {sent_bytes(messages, rank) for rank in range(16)} == {4 * 160 * share}


def test_recursive_doubling_takes_as_many_rounds_as_the_ranks_have_bits():
    _, _, messages = complete("allreduce", "recursive-doubling", 16, 4 * 16)
    assert {sent_bytes(messages, rank) for rank in range(16)} == {4 * 4 * 16}
    assert sum(message.source == 3 for message in messages.messages) == 4


def test_a_tree_sends_a_vector_over_each_of_its_edges_up_and_down():
    _, _, messages = complete("allreduce", "tree", 12, 4 * 12)
    edges = {(child, (child - 1) // 2) for child in range(1, 12)}
    sent = [(message.source, message.destination) for message in messages.messages]
    assert sorted(sent) == sorted([*edges, *((parent, child) for child, parent in edges)])
    assert {message.size for message in messages.messages} == {4 * 12}


def test_a_ring_only_ever_sends_to_the_next_rank():
    _, _, messages = complete("allreduce", "ring", 7, 4 * 70)
    assert {(m.destination - m.source) % 7 for m in messages.messages} == {1}
    assert len(messages.messages) == 7 * 2 * 6


def test_bus_bandwidth_is_defined_as_nccls_tests_do():
    assert COLLECTIVES["allreduce"].bus_factor(16) == pytest.approx(1.875)
    assert COLLECTIVES["all-to-all"].bus_factor(16) == pytest.approx(0.9375)


def test_names_have_an_algorithm_or_the_default():
    assert split_collective("allreduce") == ("allreduce", "ring")
    assert split_collective("allreduce:rabenseifner") == ("allreduce", "rabenseifner")
    with pytest.raises(UsageError, match=r"ring, recursive-doubling, .*'star'"):
        split_collective("allreduce:star")


def test_messages_that_cannot_be_divided_are_refused_with_one_that_can():
    check_message("allreduce", 16, 4)
    with pytest.raises(ParameterError, match=r"4 bytes, got 10; .* 8$"):
        check_message("allreduce", 16, 10)
    with pytest.raises(ParameterError, match=r"12 bytes, got 0; .* 12$"):
        check_message("all-to-all", 3, 0)
