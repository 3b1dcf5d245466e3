"""Links with delay and loss: the kernel's report, and the attempts of probes."""

import pytest

from controller.occupancy.queues import QueueState, _with_losses
from emulation.kernel.disciplines import Shaping
from emulation.shaping import check_impairment
from emulation.subprocesses import CommandError
from experiments.pair_check import _attempts
from experiments.results.link_loads import LinkLog
from topology.links import LinkSpec

BOTH = LinkSpec(2_000_000, 32, delay_ms=5.5, loss=0.01)


def report(delay_s=0.0055, loss=0.01, interface="s1-eth1"):
    return {interface: Shaping(delay_s=delay_s, loss=loss)}


def test_the_delay_and_the_loss_that_were_set_pass_the_check():
    check_impairment(["s1-eth1"], BOTH, report())
    check_impairment(["s1-eth1"], BOTH.unimpaired(), {})


@pytest.mark.parametrize("reported", [report(0.005), report(loss=0.02), report(interface="s1-eth2"), {}])
def test_anything_else_fails_the_check(reported):
    with pytest.raises(CommandError, match=r"s1-eth1 .* delay of 5.5 ms and a loss of 0.01.* kernel"):
        check_impairment(["s1-eth1"], BOTH, reported)


def test_losses_of_netem_are_told_from_drops_of_the_queue_behind_it():
    queues = {7: QueueState(0, 0, 100, 3), 8: QueueState(0, 0, 100, 0)}
    assert [q.lost_packets for q in _with_losses(queues, {7: 10}).values()] == [7, 0]


def test_losses_of_netem_are_counted_apart_from_drops():
    log = LinkLog()
    log.note((1, 1), QueueState(0, 0, 0, 2, 5), QueueState(0, 0, 0, 3, 9), 1.0, 1_000_000)
    assert (log.dropped_packets, log.lost_packets) == (1, 4)


def test_probes_are_tried_more_often_the_more_links_lose():
    assert _attempts(0, 2, 650) == 3
    assert _attempts(0.001, 2, 650) == 4
    assert _attempts(0.5, 2, 650) > 50
    for loss in (0.01, 0.1, 0.5):
        assert 650 * (1 - (1 - loss) ** 2) ** _attempts(loss, 2, 650) <= 1e-6
