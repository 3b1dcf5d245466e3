"""What a host may not send reaches nobody: forged frames on real switches."""

import contextlib
import os
import select
import socket
import subprocess
import time

import pytest
from conftest import eventually
from scapy.all import ARP, IP, UDP, Dot1Q, Ether, IPv6, Raw

from emulation.network import FabricNetwork
from routing.plan.model import Table
from topology.addressing import format_ip, format_mac
from traffic.engine import sockets

pytestmark = pytest.mark.usefixtures("no_leftovers")

MARK = b"forged-by-a-test"
HOST = "h1_1"


_wires = []


@pytest.fixture
def wire(er3):
    """Sends frames as h1_1 does, and listens at all other hosts."""
    if not _wires or _wires[0].fabric is not er3:
        close_wires()
        _wires.append(Wire(er3))
    return _wires[0]


def close_wires():
    while _wires:
        _wires.pop().close()


@pytest.fixture(scope="module", autouse=True)
def closed_at_the_end():
    """Takes a while for each socket."""
    yield
    close_wires()


class Wire:
    def __init__(self, fabric):
        self.fabric = fabric
        self.network: FabricNetwork = fabric.network
        self.hosts = {host.name: host for host in fabric.hosts}
        self.sender = None
        self.listening = {}
        with sockets.namespaces():
            for name, pid in self.network.namespace_pids().items():
                sockets.enter(pid)
                if name == HOST:
                    self.sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
                    self.sender.bind((f"{name}-eth0", 0))
                else:
                    receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
                    receiver.bind((f"{name}-eth0", 0))
                    self.listening[receiver] = name

    def send(self, frame):
        """Sends a frame and returns at which hosts it, or what became of it, arrived."""
        (reached,) = self.send_all([frame])
        return reached

    def send_all(self, frames):
        """Sends up to 256 frames and returns at which hosts each, or what became of it, arrived."""
        for receiver in select.select(list(self.listening), [], [], 0)[0]:
            while select.select([receiver], [], [], 0)[0]:  # of a test before
                receiver.recv(4096)
        for number, frame in enumerate(frames):
            self.sender.send(bytes(frame / Raw(MARK + bytes([number]))))
        reached = [set() for _ in frames]
        deadline = time.monotonic() + 0.4
        while (left := deadline - time.monotonic()) > 0:
            for receiver in select.select(list(self.listening), [], [], left)[0]:
                _, mark, rest = receiver.recv(4096).partition(MARK)
                if mark:
                    reached[rest[0]].add(self.listening[receiver])
        return reached

    def close(self):
        for opened in (self.sender, *self.listening):
            opened.close()


def ether(wire, destination, source=HOST, **fields):
    source, destination = wire.hosts[source], wire.hosts[destination]
    return Ether(src=format_mac(source.mac), dst=fields.get("dst", format_mac(destination.mac)))


def ip(wire, destination, source=HOST, **fields):
    source, destination = wire.hosts[source], wire.hosts[destination]
    return IP(src=format_ip(source.ip), dst=format_ip(destination.ip), **fields) / UDP(dport=9)


def broadcast(wire, **fields):
    return Ether(src=format_mac(wire.hosts[HOST].mac), dst="ff:ff:ff:ff:ff:ff", **fields)


def arp(wire, asking, **fields):
    return ARP(hwsrc=format_mac(wire.hosts[HOST].mac), psrc=format_ip(wire.hosts[asking].ip), **fields)


def far_away(wire, address):
    return ether(wire, "h5_1") / IP(src=format_ip(wire.hosts[HOST].ip), dst=address) / UDP(dport=9)


def test_an_honest_frame_reaches_its_host_and_no_other(wire):
    assert wire.send(ether(wire, "h5_1") / ip(wire, "h5_1")) == {"h5_1"}


FORGED = {
    "another host's MAC address": lambda w: ether(w, "h5_1", source="h1_2") / ip(w, "h5_1"),
    "another host's IP address": lambda w: ether(w, "h5_1") / ip(w, "h5_1", source="h1_2"),
    "another router's host": lambda w: ether(w, "h5_1", source="h7_1") / ip(w, "h5_1", source="h7_1"),
    "a tag": lambda w: ether(w, "h5_1") / Dot1Q(vlan=8) / ip(w, "h5_1"),
    "a tag of priority only": lambda w: ether(w, "h5_1") / Dot1Q(vlan=0, prio=3) / ip(w, "h5_1"),
    "two tags": lambda w: ether(w, "h5_1") / Dot1Q(vlan=8) / Dot1Q(vlan=9) / ip(w, "h5_1"),
    "IPv6": lambda w: ether(w, "h5_1") / IPv6(dst="ff02::1") / UDP(dport=9),
    "an unknown protocol": lambda w: broadcast(w, type=0x88B5),
    "an Ethernet broadcast": lambda w: broadcast(w) / ip(w, "h5_1"),
    "an Ethernet multicast": lambda w: ether(w, "h5_1", dst="01:00:5e:00:00:01") / ip(w, "h5_1"),
    "an IP broadcast": lambda w: far_away(w, "255.255.255.255"),
    "an IP multicast": lambda w: far_away(w, "224.0.0.1"),
    "an address of no host": lambda w: far_away(w, "10.200.0.1"),
    "an address of no sibling": lambda w: far_away(w, "10.0.0.9"),
    "an address outside": lambda w: far_away(w, "192.0.2.1"),
    "an ARP answer": lambda w: broadcast(w) / arp(w, "h5_1", op=2),
    "an ARP request in another's name": lambda w: broadcast(w) / arp(w, "h5_1", op=1, pdst="10.0.6.1"),
}


def test_forged_frames_reach_nobody_and_are_counted(wire):
    before = wire.network.ingress_drops().get(HOST, 0)
    reached = wire.send_all([make(wire) for make in FORGED.values()])
    assert dict(zip(FORGED, reached, strict=True)) == {name: set() for name in FORGED}
    # A switch counts what its datapath passed within half a second.
    eventually(lambda: wire.network.ingress_drops().get(HOST, 0) >= before + len(FORGED))
    assert wire.network.ingress_drops().get(HOST, 0) == before + len(FORGED)


def test_a_host_cannot_pretend_that_its_packet_was_repaired(wire):
    """Such packets are not sent around a dead link; the mark is taken off at the ingress."""
    switch = wire.network["s1"]
    marked = ether(wire, "h5_1") / ip(wire, "h5_1", tos=0b000011 << 2)
    counted = f"table={Table.MINIMAL:d},ip,nw_tos=12"
    assert wire.send(marked) == {"h5_1"}
    time.sleep(1)
    for name in ("s1", "s5"):
        shown = wire.network[name].dpctl("dump-flows", counted)
        assert all("n_packets=0" in line for line in shown.splitlines() if "nw_tos" in line), shown
    assert switch is not None


def test_nothing_that_a_host_sends_becomes_a_packet_in(wire):
    switch = wire.network["s1"]
    monitor = subprocess.Popen(
        ["ovs-ofctl", "-OOpenFlow13", "monitor", switch.vswitch.management, "65534"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    os.set_blocking(monitor.stdout.fileno(), False)
    try:
        time.sleep(0.5)
        honest = [ip(wire, "h5_1", ttl=1), ip(wire, "h5_1", options=b"\x94\x04\x00\x00")]
        wire.send_all(
            [*(make(wire) for make in FORGED.values()), *(ether(wire, "h5_1") / packet for packet in honest)]
        )
        said = monitor.stdout.read() or b""
        # This would show it, were there any.
        switch.dpctl("add-flow", "priority=999,cookie=0x77,eth_type=0x88b5,actions=CONTROLLER")
        shown = b""
        deadline = time.monotonic() + 10
        # Again, because the switch may still remember that it drops such frames.
        while b"PACKET_IN" not in shown and time.monotonic() < deadline:
            wire.send(FORGED["an unknown protocol"](wire))
            shown += monitor.stdout.read() or b""
        switch.dpctl("del-flows", "cookie=0x77/-1")
    finally:
        monitor.kill()
        monitor.communicate()
    assert b"PACKET_IN" not in said, said
    assert b"PACKET_IN" in shown


def test_a_flood_of_broadcasts_reaches_nobody_and_hurts_nobody(wire):
    frame = bytes(
        Ether(src=format_mac(wire.hosts[HOST].mac), dst="ff:ff:ff:ff:ff:ff") / ip(wire, "h5_1") / Raw(MARK)
    )
    for _ in range(2000):
        with contextlib.suppress(OSError):  # more than the host's own queue takes
            wire.sender.send(frame)
    time.sleep(0.5)
    assert wire.send(ether(wire, "h5_1") / ip(wire, "h5_1")) == {"h5_1"}
