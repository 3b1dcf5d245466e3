"""Commands that shape ports, and the comparison with the kernel's report."""

import json

import pytest

from emulation.shaping import burst_bytes, check_shaping, shaping_commands
from emulation.subprocesses import CommandError
from topology.links import LinkSpec

SPEC = LinkSpec(2_000_000, 32)


@pytest.mark.parametrize(("rate_bps", "expected"), [(10_000, 3036), (2_000_000, 3036), (10**9, 250_000)])
def test_burst_is_two_frames_or_two_milliseconds(rate_bps, expected):
    assert burst_bytes(LinkSpec(rate_bps, 32)) == expected


def test_commands_set_the_rate_and_the_queue():
    root, queue = shaping_commands("s1-eth2", SPEC)
    assert root.startswith("qdisc add dev s1-eth2 root handle 1: tbf rate 2000000bit burst 3036 limit ")
    assert queue == "qdisc add dev s1-eth2 parent 1:1 handle 10: pfifo limit 32"


def listing(interface: str = "s1-eth1", rate: int = 250_000, limit: int = 32) -> str:
    return json.dumps(
        [
            {"kind": "noqueue", "dev": "lo", "options": {}},
            {"kind": "tbf", "dev": interface, "options": {"rate": rate}},
            {"kind": "pfifo", "dev": interface, "options": {"limit": limit}},
        ]
    )


def test_the_rate_and_the_queue_that_were_set_pass_the_check():
    check_shaping(["s1-eth1"], SPEC, listing())


def test_the_kernels_rounding_passes_the_check():
    check_shaping(["s1-eth1"], LinkSpec(2_000_007, 32), listing())


@pytest.mark.parametrize(
    "report",
    [listing(rate=249_998), listing(rate=250_002), listing(limit=31), listing(interface="s1-eth2"), "[]"],
    ids=["slower", "faster", "other queue", "other interface", "nothing"],
)
def test_another_rate_or_queue_fails_the_check(report):
    with pytest.raises(CommandError, match=r"s1-eth1 .* 2000000 bit/s .* 32 packets, .*kernel"):
        check_shaping(["s1-eth1"], SPEC, report)
