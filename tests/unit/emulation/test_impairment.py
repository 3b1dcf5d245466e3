"""Links with delay and loss: netem's options, the kernel's report, and the attempts of probes."""

import json

import pytest

from controller.occupancy.queues import QueueState, _with_losses
from emulation.shaping import (
    check_impairment,
    netem_options,
    renewal_commands,
    reshaping_commands,
    shaping_commands,
)
from emulation.subprocesses import CommandError
from experiments.pair_check import _attempts
from experiments.results.link_loads import LinkLog
from topology.links import LinkSpec

BOTH = LinkSpec(2_000_000, 32, delay_ms=5.5, loss=0.01)


def test_packets_are_delayed_and_lost_before_the_queue():
    netem, rate, queue = shaping_commands("s1-eth2", BOTH)
    assert netem.startswith("qdisc add dev s1-eth2 root handle 2: netem limit ")
    assert netem.endswith(" delay 5500us loss 1.000000%")
    assert rate.startswith("qdisc add dev s1-eth2 parent 2:1 handle 1: tbf rate 2000000bit ")
    assert queue == "qdisc add dev s1-eth2 parent 1:1 handle 10: pfifo limit 32"
    assert all(line.startswith("qdisc change ") for line in reshaping_commands("s1-eth2", BOTH))


def test_a_port_that_gets_or_loses_its_delay_gets_new_queues():
    for spec in (BOTH, BOTH.unimpaired()):
        removal, *lines = renewal_commands("s1-eth2", spec)
        assert removal == "qdisc del dev s1-eth2 root"
        assert lines == shaping_commands("s1-eth2", spec)


def test_netem_holds_all_packets_in_flight():
    words = netem_options(LinkSpec(2_000_000, 32, delay_ms=10_000)).split()
    # Ten seconds of frames of 60 bytes from ten ports of 100 Mbit/s each.
    assert int(words[words.index("limit") + 1]) >= 10 * 10 * 100_000_000 / 8 / 60 / 21


def listing(delay_s=0.0055, loss=0.01, interface="s1-eth1"):
    options = {"limit": 1000, "delay": {"delay": delay_s, "jitter": 0}, "loss-random": {"loss": loss}}
    return json.dumps([{"kind": "netem", "dev": interface, "options": options}])


def test_the_delay_and_the_loss_that_were_set_pass_the_check():
    check_impairment(["s1-eth1"], BOTH, listing())
    check_impairment(["s1-eth1"], BOTH.unimpaired(), "[]")


@pytest.mark.parametrize("report", [listing(0.005), listing(loss=0.02), listing(interface="s1-eth2"), "[]"])
def test_anything_else_fails_the_check(report):
    with pytest.raises(CommandError, match=r"s1-eth1 .* delay of 5.5 ms and a loss of 0.01.* kernel"):
        check_impairment(["s1-eth1"], BOTH, report)


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
