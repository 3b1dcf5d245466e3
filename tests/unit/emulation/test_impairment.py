"""Links with delay and loss: the kernel's report, and the attempts of probes."""

import contextlib
import socket
import struct

import pytest

from controller.occupancy.queues import QueueReader, QueueState, SwitchQueues
from emulation.kernel.disciplines import Shaping
from emulation.shaping import check_impairment
from emulation.subprocesses import CommandError
from experiments.pair_check import attempts_needed
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
    with pytest.raises(CommandError, match=r"s1-eth1 .* 5\.5 ms .* 0\.01"):
        check_impairment(["s1-eth1"], BOTH, reported)


def attribute(kind, content):
    return struct.pack("=HH", 4 + len(content), kind) + content + bytes(-len(content) % 4)


def discipline(interface, name, dropped):
    """Returns the kernel's message on a queueing discipline of an interface (rtnetlink(7), tc-stats)."""
    basic, queue = struct.pack("=QI4x", 100, 2), struct.pack("=5I", 0, 0, dropped, 0, 0)
    statistics = attribute(1, basic) + attribute(3, queue)
    body = struct.pack("=BxxxiIII", 0, interface, 0, 0, 0) + attribute(1, name) + attribute(7, statistics)
    return struct.pack("=IHHII", 16 + len(body), 36, 2, 1, 0) + body


def test_losses_of_netem_are_told_from_drops_of_the_queue_behind_it():
    ours, kernel = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    reader = QueueReader(SwitchQueues(ours.detach(), {7: 1, 8: 2}))
    messages = [(7, b"netem\0", 10), (7, b"pfifo\0", 3), (8, b"pfifo\0", 0), (9, b"pfifo\0", 5)]
    with kernel, contextlib.closing(reader):
        kernel.send(b"".join(discipline(*one) for one in messages))
        kernel.send(struct.pack("=IHHIIi", 20, 3, 2, 1, 0, 0))  # the end of the dump
        queues = reader.read()
    assert {port: queue.lost_packets for port, queue in queues.items()} == {1: 7, 2: 0}
    assert {port: queue.dropped_packets for port, queue in queues.items()} == {1: 3, 2: 0}
    assert queues[1].sent_bytes == 100


def test_losses_of_netem_are_counted_apart_from_drops():
    log = LinkLog()
    log.note((1, 1), QueueState(0, 0, 0, 2, 5), QueueState(0, 0, 0, 3, 9), 1.0, 1_000_000)
    assert (log.dropped_packets, log.lost_packets) == (1, 4)


def test_probes_are_tried_more_often_the_more_links_lose():
    assert attempts_needed(0, 2, 650) == 3
    assert attempts_needed(0.001, 2, 650) == 4
    assert attempts_needed(0.5, 2, 650) > 50
    for loss in (0.01, 0.1, 0.5):
        assert 650 * (1 - (1 - loss) ** 2) ** attempts_needed(loss, 2, 650) <= 1e-6
