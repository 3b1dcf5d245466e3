"""The sample of frames that arrive while TCP flows pass, among frames that a host makes up."""

import random

import pytest
from fuzz.frames import Air
from support.fixtures.alarms import no_longer_than

from topology.addressing import Host
from traffic.engine.flows import observers
from traffic.engine.flows.observers import HopSampler
from traffic.engine.jobs import HostSocket
from traffic.wire.layout import offset_of
from traffic.wire.probe_frame import build_probe

HOSTS = tuple(Host(router, 0, router) for router in range(2))
FRAME = build_probe(*HOSTS, frame_bytes=1000)  # its addresses and its TTL are as those of TCP


def sampler(monkeypatch, air):
    monkeypatch.setattr(observers, "Receivers", air.receivers)
    return HopSampler([HostSocket(host.name, host.ip, f"{host.name}-eth0", 1, "", 1) for host in HOSTS])


def with_ttl(ttl):
    at = offset_of("ttl")
    return FRAME[:at] + bytes([ttl]) + FRAME[at + 1 :]


@pytest.mark.parametrize("hostile", [FRAME[:40], with_ttl(0), with_ttl(65)], ids=["short", "0", "65"])
def test_frames_that_no_host_has_sent_are_not_in_the_sample(hostile, monkeypatch):
    air = Air(random.Random(1), made_up=20, lies=lambda _frame, _rng: hostile)
    sample = sampler(monkeypatch, air)
    air.send(with_ttl(62))
    sample.read_waiting()
    assert sample.sampled_bytes.tolist() == [[0, 1000], [0, 0]]
    assert (sample.hops_min[0, 1], sample.hops_max[0, 1]) == (2, 2)


class Endless(Air):
    """Has a frame arrive whenever somebody looks."""

    def receive(self):
        self.send(FRAME)
        return super().receive()


def test_frames_without_end_do_not_hold_a_look_up(monkeypatch):
    sample = sampler(monkeypatch, Endless(random.Random(1), made_up=0))
    with no_longer_than(5):
        sample.read_waiting()
    assert sample.sampled_bytes.sum() > 0
