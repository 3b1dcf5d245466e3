"""Rates and queues: how they are written, their limits, and the comparison with what the kernel says."""

import json

import pytest

from emulation.shaping import PortShape, check_shaping, parse_rate_bps, shaping_commands
from emulation.subprocesses import CommandError
from topology.errors import ParameterError

SHAPE = PortShape(2_000_000, 32)


@pytest.mark.parametrize(
    ("text", "rate_bps"),
    [
        ("2Mbit", 2_000_000),
        ("500kbit", 500_000),
        ("1.5Gbit/s", 1_500_000_000),
        ("0.5 Mbit", 500_000),
        (" 2mbit ", 2_000_000),
        ("10000bit", 10_000),
        ("10Gbitps", 10_000_000_000),
        ("64Kbit/s", 64_000),
    ],
)
def test_rates_are_read_in_bits_per_second(text, rate_bps):
    assert parse_rate_bps(text) == rate_bps


@pytest.mark.parametrize(
    "text",
    ["", "fast", "2", "2M", "0", "-2Mbit", "1e6Gbit", "2MB", "2Mbyte", "Mbit", "2,5Mbit", "nan", "2Tbit"],
)
def test_other_texts_are_no_rates(text):
    with pytest.raises(ParameterError, match="is no rate; write it like 2Mbit or 500kbit"):
        parse_rate_bps(text)


@pytest.mark.parametrize(
    "text", ["0Mbit", "9.9kbit", "9999bit", "10.1Gbit", "1000000Gbit", "9" * 400 + "Gbit"]
)
def test_rates_that_cannot_be_shaped_are_refused(text):
    with pytest.raises(ParameterError, match=r"a link's rate must be 10 kbit/s to 10 Gbit/s, got"):
        parse_rate_bps(text)


@pytest.mark.parametrize("rate_bps", [9_999, 0, -1, 10_000_000_001])
def test_port_shape_refuses_other_rates(rate_bps):
    with pytest.raises(ParameterError, match=f"10 kbit/s to 10 Gbit/s, got {rate_bps} bit/s"):
        PortShape(rate_bps, 32)


@pytest.mark.parametrize("packets", [0, -1, 100_001])
def test_port_shape_refuses_other_queues(packets):
    with pytest.raises(ParameterError, match=f"a queue must hold 1 to 100000 packets, got {packets}"):
        PortShape(2_000_000, packets)


def test_limits_themselves_are_possible():
    for rate_bps in (10_000, 10_000_000_000):
        for packets in (1, 100_000):
            PortShape(rate_bps, packets)


@pytest.mark.parametrize(("rate_bps", "burst_bytes"), [(10_000, 3036), (2_000_000, 3036), (10**9, 250_000)])
def test_burst_is_two_frames_or_two_milliseconds(rate_bps, burst_bytes):
    assert PortShape(rate_bps, 32).burst_bytes == burst_bytes


def test_commands_set_the_rate_and_the_queue():
    root, queue = shaping_commands("s1-eth2", SHAPE)
    assert root.startswith("qdisc add dev s1-eth2 root handle 1: tbf rate 2000000bit burst 3036 limit ")
    assert queue == "qdisc add dev s1-eth2 parent 1:1 handle 10: pfifo limit 32"


def shown(interface: str = "s1-eth1", rate: int = 250_000, limit: int = 32) -> str:
    return json.dumps(
        [
            {"kind": "noqueue", "dev": "lo", "options": {}},
            {"kind": "tbf", "dev": interface, "options": {"rate": rate}},
            {"kind": "pfifo", "dev": interface, "options": {"limit": limit}},
        ]
    )


def test_what_was_set_passes_the_check():
    check_shaping(["s1-eth1"], SHAPE, shown())


def test_the_kernels_rounding_passes_the_check():
    check_shaping(["s1-eth1"], PortShape(2_000_007, 32), shown())


@pytest.mark.parametrize(
    "said",
    [shown(rate=249_998), shown(rate=250_002), shown(limit=31), shown(interface="s1-eth2"), "[]"],
    ids=["slower", "faster", "other queue", "other interface", "nothing"],
)
def test_another_shape_fails_the_check(said):
    with pytest.raises(CommandError, match=r"s1-eth1 was to send 2000000 bit/s .*; the kernel says"):
        check_shaping(["s1-eth1"], SHAPE, said)
