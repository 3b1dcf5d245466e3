"""Links that delay and lose packets: what the kernel is told and says, and how often probes are tried."""

import json

import pytest

from controller.occupancy.queues import QueueState, _with_losses
from emulation.impairment import Impairment, check_impairment
from emulation.shaping import PortShape, reshaping_commands, shaping_commands
from emulation.subprocesses import CommandError
from experiments.link_monitor import LinkLog
from experiments.traffic_jobs import _attempts
from topology.errors import ParameterError

SHAPE = PortShape(2_000_000, 32)
BOTH = Impairment(delay_ms=5.5, loss=0.01)


def test_packets_are_delayed_and_lost_before_the_queue():
    netem, rate, queue = shaping_commands("s1-eth2", SHAPE, BOTH)
    assert netem.startswith("qdisc add dev s1-eth2 root handle 2: netem limit ")
    assert netem.endswith(" delay 5500us loss 1.000000%")
    assert rate.startswith("qdisc add dev s1-eth2 parent 2:1 handle 1: tbf rate 2000000bit ")
    assert queue == "qdisc add dev s1-eth2 parent 1:1 handle 10: pfifo limit 32"
    assert all(line.startswith("qdisc change ") for line in reshaping_commands("s1-eth2", SHAPE, BOTH))


def test_netem_holds_all_that_is_on_its_way():
    words = Impairment(delay_ms=10_000).netem.split()
    # Ten seconds of frames of 60 bytes from ten ports of 100 Mbit/s each.
    assert int(words[words.index("limit") + 1]) >= 10 * 10 * 100_000_000 / 8 / 60 / 21


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((-1, 0), "a link's delay must be 0 to 10000 ms, got -1"),
        ((float("nan"), 0), "a link's delay must be 0 to 10000 ms, got nan"),
        ((10_001, 0), "a link's delay must be 0 to 10000 ms, got 10001"),
        ((0, -0.1), r"a link's loss must be 0 to 0.5 \(a fraction\), got -0.1"),
        ((0, 1), r"a link's loss must be 0 to 0.5 \(a fraction\), got 1"),
    ],
)
def test_what_no_link_can_do_is_refused(values, message):
    with pytest.raises(ParameterError, match=message):
        Impairment(*values)


def shown(delay_s=0.0055, loss=0.01, interface="s1-eth1"):
    options = {"limit": 1000, "delay": {"delay": delay_s, "jitter": 0}, "loss-random": {"loss": loss}}
    return json.dumps([{"kind": "netem", "dev": interface, "options": options}])


def test_what_was_set_passes_the_check():
    check_impairment(["s1-eth1"], BOTH, shown())
    check_impairment(["s1-eth1"], Impairment(), "[]")


@pytest.mark.parametrize("said", [shown(0.005), shown(loss=0.02), shown(interface="s1-eth2"), "[]"])
def test_anything_else_fails_the_check(said):
    with pytest.raises(
        CommandError, match=r"s1-eth1 was to delay packets by 5.5 ms and to lose 0.01 of them"
    ):
        check_impairment(["s1-eth1"], BOTH, said)


def test_what_netem_lost_is_told_from_what_the_queue_behind_it_dropped():
    queues = {7: QueueState(0, 0, 100, 3), 8: QueueState(0, 0, 100, 0)}
    assert [q.lost_packets for q in _with_losses(queues, {7: 10}).values()] == [7, 0]


def test_losses_that_were_asked_for_are_counted_apart():
    log = LinkLog()
    log.note((1, 1), QueueState(0, 0, 0, 2, 5), QueueState(0, 0, 0, 3, 9), 1.0, 1_000_000)
    assert (log.dropped_packets, log.lost_packets) == (1, 4)


def test_probes_are_tried_more_often_the_more_links_lose():
    assert _attempts(0, 2, 650) == 3
    assert _attempts(0.001, 2, 650) == 4
    assert _attempts(0.5, 2, 650) > 50
    for loss in (0.01, 0.1, 0.5):
        assert 650 * (1 - (1 - loss) ** 2) ** _attempts(loss, 2, 650) <= 1e-6
