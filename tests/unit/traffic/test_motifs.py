"""Motifs: grids, programs of their ranks, names, and the dependencies of their messages."""

import math
import random

import numpy as np
import pytest

from topology.errors import ParameterError, UsageError
from traffic.workload.applications import (
    application_name,
    default_ranks,
    is_application,
    make_application,
)
from traffic.workload.collectives.dependencies import program_messages
from traffic.workload.collectives.execution import Iteration, MessageTable
from traffic.workload.collectives.registry import COLLECTIVES
from traffic.workload.motifs import MOTIFS, motif_usage
from traffic.workload.patterns import pattern_name

ALL = [*(f"{name}:{one}" for name, c in COLLECTIVES.items() for one in c.algorithms), *MOTIFS]


def messages_of(pattern, ranks, size=64, compute=0, slices=1):
    """Returns the messages of an application whose rank k is on host k."""
    application = make_application(pattern, ranks)
    return program_messages(application.programs(size, slices), range(ranks), compute)


def finished(graph):
    """Returns when each message arrives if it takes a time of 1, in the order of dependencies."""
    done = np.zeros(len(graph), np.int64)
    starts, successors = graph.successors()
    waits, ready = graph.waits_for(), graph.begin_cycles.copy()
    due = [n for n in range(len(graph)) if not waits[n]]
    while due:
        number = due.pop()
        done[number] = ready[number] + graph.compute_cycles[number] + graph.sent[number]
        for other in successors[starts[number] : starts[number + 1]]:
            ready[other] = max(ready[other], done[number])
            waits[other] -= 1
            due += [other] if not waits[other] else []
    assert not waits.any()
    return done


@pytest.mark.parametrize("pattern", ALL)
@pytest.mark.parametrize("ranks", [4, 12, 16])
def test_messages_that_arrive_in_any_order_end_all_programs(pattern, ranks):
    application = make_application(pattern, ranks)
    size = application.granule * ranks
    table = MessageTable(application.programs(size, 1), 1 << 20)
    vectors = [np.zeros(2 * size // 4, "<u4") for _ in range(ranks)]
    working = Iteration(table, vectors)
    working.start(0)
    generator = random.Random(1)
    waiting = []
    while waiting := [*waiting, *working.ready]:
        working.ready.clear()
        number = waiting.pop(generator.randrange(len(waiting)))
        working.receive(number, 0, 0, memoryview(working.outgoing[number]), 1)
    assert working.unfinished == 0
    assert len(table.messages) <= application.most_messages


def test_a_halo_exchange_has_a_message_to_each_neighbour_and_waits_for_all():
    graph = messages_of("halo2d:3x4", 12)
    pairs = {
        (int(s), int(d)) for s, d in zip(graph.source[graph.sent], graph.destination[graph.sent], strict=True)
    }
    places = [(rank % 3, rank // 3) for rank in range(12)]
    near = {
        (a, b)
        for a, (ax, ay) in enumerate(places)
        for b, (bx, by) in enumerate(places)
        if abs(ax - bx) + abs(ay - by) == 1
    }
    assert pairs == near
    assert graph.sent.sum() == len(near)
    assert finished(graph).max() == 1
    assert finished(messages_of("halo2d:grid=3x4,steps=5", 12)).max() == 5
    assert finished(messages_of("halo2d:grid=3x4,steps=5", 12, compute=10)).max() == 5 * 11


def test_a_halo_in_three_dimensions_has_six_neighbours():
    graph = messages_of("halo3d", 27)
    counts = np.bincount(graph.source[graph.sent], minlength=27)
    assert counts[13] == counts.max() == 6
    assert counts.min() == 3


@pytest.mark.parametrize(("grid", "blocks"), [((2, 2), 1), ((4, 3), 1), ((4, 3), 6), ((1, 5), 2)])
def test_wavefronts_pass_the_grid_eight_times(grid, blocks):
    x, y = grid
    graph = messages_of(f"sweep3d:grid={x}x{y},blocks={blocks}", x * y)
    links = (x - 1) * y + x * (y - 1)
    assert graph.sent.sum() == 8 * blocks * links
    compute = messages_of(f"sweep3d:grid={x}x{y},blocks={blocks}", x * y, compute=7)
    assert finished(compute).max() >= 8 * blocks * 7 + finished(graph).max() / blocks


def test_a_wavefront_begins_at_its_corner_and_follows_the_diagonals():
    graph = messages_of("sweep3d:grid=3x3,blocks=1", 9)
    done = finished(graph)
    first = {}
    for source, time in zip(graph.source[graph.sent], done[graph.sent], strict=True):
        first.setdefault(int(source), int(time))
    assert [first[rank] for rank in (0, 1, 3, 2, 4, 6, 5, 7)] == [1, 2, 2, 3, 3, 3, 4, 4]


def test_a_ring_of_n_ranks_depends_in_2n_minus_2_steps_and_adds_in_half_of_them():
    graph = messages_of("allreduce:ring", 5, 100)
    assert graph.sent.sum() == 5 * 8
    assert finished(graph).max() == 8
    assert finished(messages_of("allreduce:ring", 5, 100, compute=100)).max() == 8 + 4 * 100
    assert finished(messages_of("all-to-all", 5, 100)).max() == 4


@pytest.mark.parametrize(
    ("pattern", "ranks", "grid"),
    [("halo2d", 16, "4x4"), ("halo2d", 12, "4x3"), ("halo2d", 7, "7x1"), ("halo3d", 64, "4x4x4"),
     ("halo3d", 24, "4x3x2"), ("sweep3d", 2, "2x1"), ("halo2d:2x6", 12, "2x6")],
)  # fmt: skip
def test_a_grid_is_as_near_to_equal_sizes_as_can_be(pattern, ranks, grid):
    assert make_application(pattern, ranks).algorithm == grid


@pytest.mark.parametrize("dimensions", [2, 3])
def test_default_grids_have_all_ranks_and_descend(dimensions):
    motif = MOTIFS[f"halo{dimensions}d"]
    for ranks in range(2, 130):
        grid = motif.default_grid(ranks)
        assert math.prod(grid) == ranks
        assert list(grid) == sorted(grid, reverse=True)


def test_ranks_where_none_are_given():
    assert default_ranks("allreduce:ring", 62) == 62
    assert default_ranks("halo2d", 62) == 49
    assert default_ranks("halo3d", 62) == 27
    assert default_ranks("halo3d", 5) == 2
    assert default_ranks("sweep3d:grid=5x12", 62) == 60


def test_names_say_what_is_no_default():
    assert application_name("allreduce") == "allreduce:ring"
    assert application_name("halo2d:4x4,steps=1") == "halo2d:grid=4x4"
    assert application_name("sweep3d:blocks=3") == "sweep3d:blocks=3"
    assert motif_usage("halo3d") == "halo3d[:grid=PXxPYxPZ,steps=STEPS]"
    assert is_application("halo2d:3x3")
    assert not is_application("uniform")
    with pytest.raises(UsageError, match="`polarlab simulate`"):
        pattern_name("halo2d")


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("halo2d:4", "grid must be 2 sizes with two ranks or more, for example 4x4, got '4'"),
        ("halo3d:4x4", "for example 4x4x4, got '4x4'"),
        ("halo2d:1x1", "got '1x1'"),
        ("halo2d:0x4", "got '0x4'"),
        ("halo2d:steps=0", "steps must be 1 to 10000, got 0"),
        ("sweep3d:steps=2", "the parameters grid, blocks, got 'steps=2'"),
        ("halo2d:3x3", "ranks of halo2d:3x3 must be 9 (its grid), got 4"),
    ],
)
def test_wrong_names_are_refused(pattern, said):
    with pytest.raises(UsageError) as raised:
        make_application(pattern, 4)
    assert said in str(raised.value)


def test_a_message_is_a_multiple_of_what_it_is_divided_into():
    make_application("halo2d", 4).check_message(8)
    with pytest.raises(ParameterError, match="4 bytes, got 6"):
        make_application("halo2d", 4).check_message(6)
    with pytest.raises(ParameterError, match="16 bytes, got 8"):
        make_application("all-to-all", 4).check_message(8)
