"""The handoff of queues to the controller over a local socket."""

import os
import socket

import pytest

from controller.occupancy.queue_handoff import (
    AdaptationRequest,
    Queues,
    channel,
    receive_queues,
    request_adaptation,
    requested_adaptation,
    send_queues,
)
from controller.occupancy.queues import SwitchQueues


def test_sockets_of_many_switches_are_handed_over():
    ours, theirs = channel()
    reading, writing = os.pipe()
    queues = Queues(
        {n: SwitchQueues(reading, {1000 + n: 1, 2000 + n: 2}) for n in range(1, 258)}, 32, 500_000
    )
    try:
        send_queues(ours, queues)
        received = receive_queues(theirs)
        assert (received.queue_packets, received.rate_bps) == (32, 500_000)
        assert {n: s.ports for n, s in received.switches.items()} == {
            n: s.ports for n, s in queues.switches.items()
        }
        os.write(writing, b"x")
        assert os.read(received.switches[257].descriptor, 1) == b"x"
    finally:
        for switch in received.switches.values():
            os.close(switch.descriptor)
        for descriptor in (reading, writing):
            os.close(descriptor)
        ours.close()
        theirs.close()


def test_a_handoff_that_is_cut_short_is_an_error():
    ours, theirs = channel()
    ours.shutdown(socket.SHUT_RDWR)
    ours.close()
    with theirs, pytest.raises(OSError, match="passed the queues"):
        receive_queues(theirs)


def test_requests_to_the_adaptation_are_seen_once_in_order_and_a_closed_end_is_not_a_request():
    ours, theirs = channel()
    with ours, theirs:
        assert requested_adaptation(theirs) is None
        asked = [AdaptationRequest(), AdaptationRequest("ugal-pf:threshold=0.5"), AdaptationRequest()]
        for request in asked:
            request_adaptation(ours, request)
        assert [requested_adaptation(theirs) for _ in asked] == asked
        assert requested_adaptation(theirs) is None
        ours.close()
        assert requested_adaptation(theirs) is None
