"""A host's root interferes with TCP flows: the measurement goes on, and others' counts stay true."""

import contextlib
from pathlib import Path

import pytest
from conftest import acting, settle

import polarlab
from topology.addressing import format_ip

pytestmark = [pytest.mark.fabric, pytest.mark.xdist_group("flows-attacked")]

ATTACKS = Path(__file__).with_name("flow_attacks.py").read_text()
FLOWS = {"pattern": "uniform", "tcp": "cubic", "flow_sizes": "fixed:20000", "warmup": 0}


@pytest.fixture(scope="module")
def fabric(tmp_path_factory):
    """ER_2 with one host at each router."""
    with (
        contextlib.chdir(tmp_path_factory.mktemp("flows")),
        polarlab.Fabric("polarfly", q=2, link_rate="5Mbit", routing="min") as up,
    ):
        yield up


@pytest.mark.tried_again
def test_a_host_that_ends_flows_in_the_place_of_others_does_not_end_the_measurement(fabric, tmp_path):
    first, second = fabric.session.fabric.hosts[:2]
    attack = acting(fabric, first.name, ATTACKS, "end", format_ip(first.ip), format_ip(second.ip))
    with contextlib.suppress(polarlab.NegativeResult):
        fabric.traffic(out=tmp_path / "run", load=0.3, duration=6, **FLOWS)
    assert "connected" in attack.stop().output
    summary = polarlab.Run(tmp_path / "run").summary
    assert summary.flows.started > 300  # of about 390: until the end


def test_what_a_host_sends_through_another_interface_is_not_counted(fabric):
    attack = acting(fabric, "h2_1", ATTACKS, "replace", "h2_1-eth0")
    try:
        with contextlib.suppress(polarlab.NegativeResult):
            fabric.traffic(out="replaced", load=0.1, duration=3, **FLOWS)
    finally:
        attack.stop()
    rows = (line.split(",") for line in Path("replaced/throughput.csv").read_text().splitlines())
    titles = next(rows)
    sent = sum(int(row[titles.index("tx_bytes")]) for row in rows if "h2_1" in row)
    assert sent < 300_000  # the flows alone; the other interface sends 200 kB a second


FLOOD = """
import socket, sys, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print("ready", flush=True)
while True:
    sender.sendto(bytes(1400), (sys.argv[1], 9))
    time.sleep(0.01)
"""


def test_frames_that_a_host_sends_beside_flows_make_the_result_not_valid(fabric, tmp_path):
    hosts = {host.name: host for host in fabric.session.fabric.hosts}
    attack = acting(fabric, "h4_1", FLOOD, format_ip(hosts["h5_1"].ip))
    try:
        fidelity = fabric.traffic(out=tmp_path / "run", load=0.1, duration=2, **FLOWS).summary.fidelity
    finally:
        attack.stop()
    assert not fidelity.valid
    assert any(reason.startswith("h4_1 ") and "besides" in reason for reason in fidelity.reasons)


MTU_LIE = """
import socket, struct, sys, time

def with_sum(data, place):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return data[:place] + struct.pack("!H", ~total & 0xFFFF) + data[place + 2 :]

host, other = map(socket.inet_aton, sys.argv[1:])
quoted = with_sum(struct.pack("!BBHHHBBH4s4s", 0x45, 0, 1500, 1, 0x4000, 64, 1, 0, host, other), 10)
quoted += struct.pack("!BBHHH", 0, 0, 0, 1, 1)  # an echo reply that was never sent
sender = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
sender.sendto(with_sum(struct.pack("!BBHHH", 3, 4, 0, 0, 552) + quoted, 2), (sys.argv[1], 0))
print("ready", flush=True)
time.sleep(100)
"""


def test_a_host_does_not_believe_another_ones_claim_about_the_mtu_of_a_path(fabric):
    hosts = [fabric.host(name) for name in ("h1_1", "h2_1")]
    acting(fabric, "h4_1", MTU_LIE, *(host.ip for host in hosts)).stop()
    settle(0.5)
    assert "mtu" not in hosts[0].run(f"ip route get {hosts[1].ip}").output
