"""A host's root makes up measured frames: none counts. Frames of its own make the result not valid."""

import contextlib
from pathlib import Path

import pytest
from conftest import QUIET, acting

import polarlab
from experiments.failover.demonstration import observe_failure
from experiments.spec.failover import FailoverOptions
from topology.addressing import format_ip, format_mac

pytestmark = [pytest.mark.fabric, pytest.mark.xdist_group("made-up")]

ATTACKS = Path(__file__).with_name("frame_attacks.py")
# Sends IPv4 frames to the host's own address, or from another one's, or padded requests for another one.
FLOOD = """
import socket, struct, subprocess, sys, time
kind, device, mac, own, other = sys.argv[1:]
subprocess.run(["tc", "qdisc", "del", "dev", device, "root"], stderr=subprocess.DEVNULL)
sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
sender.bind((device, 0))
mac, own, other = bytes.fromhex(mac.replace(":", "")), socket.inet_aton(own), socket.inet_aton(other)
head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 1014, 0, 0, 64, 17, 0, own, own)
total = sum(struct.unpack("!10H", head))
head = head[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + head[12:]
asked = struct.pack("!HHBBH6s4s6s4s", 1, 0x800, 6, 4, 1, mac, own, bytes(6), other)
frame = {
    "itself": mac + mac + b"\\x08\\x00" + head + bytes(994),
    "another": mac + bytes(6) + b"\\x08\\x00" + head + bytes(994),
    "requests": b"\\xff" * 6 + mac + b"\\x08\\x06" + asked + bytes(1400),
}[kind]
print("ready", flush=True)
while True:
    sender.send(frame)
    time.sleep(0.005)
"""
PROBES = {"pattern": "perm2hop", "warmup": 0.3, "duration": 3}
FAILOVER = FailoverOptions(fail_s=0.3, restore_s=0.9, end_s=1.2)
SEGMENTS = {"pattern": "all-to-all", "message_bytes": "112KiB", "iterations": 2}


@pytest.fixture(scope="module")
def fabric(tmp_path_factory):
    """ER_2 with links that drop some of what perm2hop sends at a high load."""
    with (
        contextlib.chdir(tmp_path_factory.mktemp("made-up")),
        polarlab.Fabric("polarfly", q=2, link_rate="500kbit", routing="min") as up,
    ):
        yield up


@contextlib.contextmanager
def lying(fabric, way, lie):
    """Lets a host lie during the block; yields a list that then holds the number of frames that it made."""
    program = acting(fabric, "h4_1", ATTACKS.read_text(), way, lie, "h4_1-eth0")
    made = []
    yield made
    made.append(int(program.stop().output.split()[-2]))
    assert made[0] > 4


@pytest.mark.tried_again
@pytest.mark.parametrize("lie", ["lost", "sooner", "copy"])
def test_what_a_host_puts_into_its_own_interface_is_not_even_seen(fabric, tmp_path, lie):
    with lying(fabric, "in", lie):
        run = fabric.traffic(out=tmp_path / "run", load=0.9, **PROBES)
    assert run.summary.fidelity.valid
    assert run.summary.packets.damaged == 0
    assert run.summary.loss > 0.05


@pytest.mark.tried_again
def test_segments_that_a_host_puts_into_its_own_interface_are_not_seen(fabric, tmp_path):
    with lying(fabric, "in", "unknown"):
        run = fabric.traffic(out=tmp_path / "run", **SEGMENTS)
    assert (run.summary.packets.damaged, run.summary.collective.wrong_results) == (0, 0)


@pytest.mark.tried_again
@pytest.mark.parametrize(
    ("lie", "traffic"),
    [("sooner", {"load": 0.3, **PROBES}), ("copy", {"load": 0.3, **PROBES}), ("unknown", SEGMENTS)],
)
def test_made_up_frames_that_cross_the_fabric_do_not_count(fabric, tmp_path, lie, traffic):
    with lying(fabric, "out", lie) as made, pytest.raises(polarlab.NegativeResult, match="damaged"):
        fabric.traffic(out=tmp_path / "run", **traffic)
    summary = polarlab.Run(tmp_path / "run").summary
    assert made[0] // 2 < summary.packets.damaged <= made[0]
    assert any("forged" in reason for reason in summary.fidelity.reasons)
    assert summary.loss < 0.5


@contextlib.contextmanager
def flooded(fabric, kind):
    """Lets h4_1 send frames of a kind during the block."""
    host, other = (one for one in fabric.session.fabric.hosts if one.name in ("h4_1", "h5_1"))
    addresses = format_mac(host.mac), format_ip(host.ip), format_ip(other.ip)
    program = acting(fabric, "h4_1", FLOOD, kind, "h4_1-eth0", *addresses)
    yield
    assert program.running, program.output
    program.stop()


@pytest.mark.tried_again
def test_frames_that_are_dropped_at_a_port_are_those_of_the_run(fabric, tmp_path):
    with flooded(fabric, "another"):
        summary = fabric.traffic(out=tmp_path / "flooded", load=0.3, **PROBES).summary
    assert summary.dropped_at_ingress["h4_1"] > 100
    summary = fabric.traffic(out=tmp_path / "quiet", load=0.3, **PROBES).summary
    assert summary.dropped_at_ingress == {}
    assert summary.fidelity.valid


@pytest.mark.parametrize(("kind", "verbs"), [("itself", ["sent"]), ("requests", ["sent", "received"])])
def test_frames_that_a_host_sends_for_its_own_sake_make_the_result_not_valid(fabric, tmp_path, kind, verbs):
    with flooded(fabric, kind):
        fidelity = fabric.traffic(out=tmp_path / "run", load=0.3, **PROBES).summary.fidelity
        failover = observe_failure(fabric.session.fabric, FAILOVER, QUIET, check=False).summary
    assert not fidelity.valid
    assert failover.negative.startswith("h4_1 sent "), failover.negative
    for verb in verbs:
        assert any(reason.startswith(f"h4_1 {verb} ") for reason in fidelity.reasons), fidelity.reasons
