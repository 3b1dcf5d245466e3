"""Spans over which the steady warm-up compares throughput."""

import pytest

from experiments.spec.experiment import Experiment
from experiments.spec.warmup import max_warmup_s, settling_s, steady_span_s
from topology.links import LinkSpec

FRAME_BYTES = 1000


def queue_s(links):
    return links.queue_packets * links.packet_s(FRAME_BYTES)


@pytest.mark.parametrize("rate_bps", [50_000, 170_000, 250_000])
def test_detours_get_more_time_to_settle_than_queues_to_fill(rate_bps):
    links = LinkSpec(rate_bps, 32)
    assert steady_span_s(links, FRAME_BYTES) == pytest.approx(3 * queue_s(links))
    assert steady_span_s(links, FRAME_BYTES, adaptive=True) == pytest.approx(8 * queue_s(links))


@pytest.mark.parametrize("rate_bps", [50_000, 170_000, 1_000_000, 100_000_000])
@pytest.mark.parametrize("queue", [1, 32, 1000])
def test_the_limit_leaves_time_for_several_spans_of_an_adaptive_routing(rate_bps, queue):
    links = LinkSpec(rate_bps, queue)
    assert max_warmup_s(links, FRAME_BYTES) >= 7 * steady_span_s(links, FRAME_BYTES, adaptive=True)


def test_the_warmup_of_a_very_long_queue_is_no_longer_than_its_option_allows():
    given = {
        "topology": "polarfly",
        "q": 2,
        "faults": "2 fail link:s1-s2",
        "link_rate": "500kbit",
        "queue": 75002,
    }
    assert Experiment("run", given).complete.values["warmup"] == 3600


@pytest.mark.parametrize(("load", "queues"), [(0.5, 6), (0.75, 6), (0.95, 20), (1.0, 6), (2.0, 6)])
def test_a_stall_acts_until_the_queues_that_it_filled_have_drained(load, queues):
    links = LinkSpec(170_000, 32)
    span_s = steady_span_s(links, FRAME_BYTES)
    assert settling_s(links, FRAME_BYTES, load, span_s) == pytest.approx(queues * queue_s(links))


def test_a_load_just_below_the_capacity_settles_within_the_longest_warmup():
    assert settling_s(LinkSpec(10_000, 100_000), FRAME_BYTES, 1 - 1e-12, 2.0) == 3600
