"""Adaptive groups in real switches: how flows divide over buckets, and what moves with a bucket."""

import functools
import re
import time

import pytest

from controller.occupancy.source import NETLINK
from routing.plan.groups import GroupRole, group_number
from topology.addressing import INITIAL_TTL
from traffic.engine import sockets
from traffic.wire.layout import HEADER_BYTES, SOURCE_PORT_BASE, signature
from traffic.wire.probe_codec import read_headers
from traffic.wire.probe_frame import build_probe

FLOWS, RUN = 1024, 200
BUCKETS = 64  # of a group of ugal-pf


@pytest.fixture
def far_pair(adaptive_er3):
    """Two hosts whose routers are two hops apart; between them, no flow takes a detour afterwards."""
    topology = adaptive_er3.options.topology
    source = adaptive_er3.hosts[0]
    far = next(h for h in adaptive_er3.hosts if topology.distances(source.router, h.router) == 2)
    yield source, far
    point(adaptive_er3, source, far, 0)


@functools.cache
def probes_of_flows(source, destination):
    return [build_probe(source, destination, frame_bytes=100, run=RUN, flow=flow) for flow in range(FLOWS)]


def hops_of_flows(fabric, source, destination):
    """Sends one probe of each flow and returns flow -> hops."""
    probes = probes_of_flows(source, destination)
    with sockets.namespaces():
        sockets.enter(fabric.network[source.name].pid)
        sender = sockets.open_sender(f"{source.name}-eth0")
        sockets.enter(fabric.network.switch_interface(destination)[0])
        receiver = sockets.open_receiver(fabric.network.switch_interface(destination)[1], signature(RUN))
    buffer = sockets.ReceiveBuffer(2 * FLOWS, HEADER_BYTES)
    with sender, receiver:
        for probe in probes:
            sender.send(probe)
            time.sleep(0.0005)
        count, last_s = 0, time.monotonic()
        while count < FLOWS and time.monotonic() < last_s + 0.5:
            arrived = buffer.receive(receiver.fileno(), count, 2 * FLOWS - count)
            count, last_s = count + arrived, time.monotonic() if arrived else last_s
            time.sleep(0.01)
    headers = read_headers(buffer.frames[:count])
    flows = (headers["source_port"].astype(int) - SOURCE_PORT_BASE).tolist()
    hops = (INITIAL_TTL - headers["ttl"].astype(int)).tolist()
    return dict(zip(flows, hops, strict=True))


def point(fabric, source, destination, detoured):
    """Points so many buckets of the group toward a destination at detours; the plan's own buckets."""
    topology = fabric.options.topology
    plan = fabric.plan.switches[source.router]
    first = topology.next_hops(source.router, destination.router)
    port = int(topology.ports_toward(source.router, [int(first)])[0])
    group = next(g for g in plan.groups if g.number == group_number(GroupRole.CHOICE_FAR, port))
    chosen = [1 + index % (len(group.candidates) - 1) for index in range(detoured)]
    chosen += [0] * (BUCKETS - detoured)
    buckets = "".join(
        f",bucket=bucket_id:{number},"
        f"actions=group:{group_number(GroupRole.ONWARD_FAR, group.ports[index][0])}"
        for number, index in enumerate(chosen)
    )
    switch = fabric.network[f"s{source.router + 1}"]
    said = switch.dpctl("mod-group", f"'group_id={group.number},type=select{buckets}'")
    assert not re.search("error|invalid", said, re.IGNORECASE), said
    fabric.network.flush_flow_caches()  # a busy machine keeps a decision of before for a moment


@pytest.mark.tried_again
@pytest.mark.parametrize("detoured", [0, 16, 32, 64])
def test_flows_divide_as_buckets_do(adaptive_er3, far_pair, detoured):
    point(adaptive_er3, *far_pair, detoured)
    hops = hops_of_flows(adaptive_er3, *far_pair)
    assert len(hops) == FLOWS
    assert set(hops.values()) <= {2, 3}
    # 64 buckets of about 16 flows each: four standard deviations.
    share = sum(taken == 3 for taken in hops.values()) / FLOWS
    expected = detoured / BUCKETS
    assert share == pytest.approx(expected, abs=0.01 + 4 * (expected * (1 - expected) / FLOWS) ** 0.5)


def test_re_pointing_one_bucket_moves_a_64th_of_the_flows_and_no_other(adaptive_er3, far_pair):
    point(adaptive_er3, *far_pair, 16)
    before = hops_of_flows(adaptive_er3, *far_pair)
    assert before == hops_of_flows(adaptive_er3, *far_pair)
    point(adaptive_er3, *far_pair, 17)
    after = hops_of_flows(adaptive_er3, *far_pair)
    moved = [flow for flow in before if after[flow] != before[flow]]
    assert 0 < len(moved) < 3 * FLOWS / BUCKETS
    assert {(before[flow], after[flow]) for flow in moved} == {(2, 3)}


def test_the_controller_reads_the_queues_themselves(adaptive_er3):
    assert adaptive_er3.occupancy == NETLINK
    adaptive_er3.controller.catch_up()
    assert not adaptive_er3.controller.warnings
