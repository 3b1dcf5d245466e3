"""Shaping of ports, read back by `tc`, and the comparison with the kernel's report."""

import json
import os
import socket
import subprocess

import pytest

from emulation.kernel.disciplines import ROOT, Shaping, read_shaping
from emulation.kernel.namespaces import in_new_namespaces
from emulation.kernel.rtnetlink import RouteSocket
from emulation.requirements import qdisc_available
from emulation.shaping import burst_bytes, check_impairment, check_shaping, disciplines, renew, reshape, shape
from emulation.subprocesses import CommandError
from topology.links import LinkSpec

SPEC = LinkSpec(2_000_000, 32)
OTHER = LinkSpec(30_000_000, 5)
IMPAIRED = LinkSpec(2_000_000, 32, delay_ms=5.5, loss=0.01)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")


def shaped(*steps):
    """Shapes a loopback by each of (function, properties); returns tc's listing and our own reading of it."""

    def act():
        interface = socket.if_nametoindex("lo")
        with RouteSocket() as kernel:
            for step, spec in steps:
                step(kernel, interface, spec)
            reported = read_shaping(kernel)[interface]
        listing = subprocess.run(["tc", "-json", "qdisc", "show"], capture_output=True, check=True).stdout
        return {entry["kind"]: entry for entry in json.loads(listing)}, reported

    return in_new_namespaces(act)


@pytest.mark.parametrize(("rate_bps", "expected"), [(10_000, 3036), (2_000_000, 3036), (10**9, 250_000)])
def test_burst_is_two_frames_or_two_milliseconds(rate_bps, expected):
    assert burst_bytes(LinkSpec(rate_bps, 32)) == expected


@needs_root
@pytest.mark.parametrize("steps", [[(shape, SPEC)], [(shape, OTHER), (reshape, SPEC)]])
def test_the_rate_and_the_queue_are_set(steps):
    listing, reported = shaped(*steps)
    assert listing["tbf"]["handle"] == "1:"
    assert listing["tbf"]["options"]["rate"] == 250_000
    assert listing["tbf"]["options"]["burst"] == pytest.approx(3036, abs=2)  # the kernel counts in time
    assert (listing["pfifo"]["parent"], listing["pfifo"]["handle"]) == ("1:1", "10:")
    assert listing["pfifo"]["options"] == {"limit": 32}
    assert reported == Shaping(2_000_000, 32)


@needs_root
def test_the_fastest_links_keep_their_rate():
    assert shaped((shape, LinkSpec(10_000_000_000, 100_000)))[1] == Shaping(10_000_000_000, 100_000)


@needs_root
@pytest.mark.skipif(os.geteuid() != 0 or not qdisc_available("netem delay 1ms"), reason="no netem")
@pytest.mark.parametrize(
    "steps",
    [
        [(shape, IMPAIRED)],
        [(shape, LinkSpec(10**6, 9, loss=0.5)), (reshape, IMPAIRED)],
        [(shape, SPEC), (renew, IMPAIRED)],
    ],
)
def test_packets_are_delayed_and_lost_before_the_queue(steps):
    listing, reported = shaped(*steps)
    assert listing["netem"]["root"]
    assert listing["netem"]["options"]["delay"]["delay"] == 0.0055
    assert listing["netem"]["options"]["loss-random"]["loss"] == pytest.approx(0.01)
    assert (listing["tbf"]["parent"], listing["pfifo"]["parent"]) == ("2:1", "1:1")
    check_shaping(["lo"], IMPAIRED, {"lo": reported})
    check_impairment(["lo"], IMPAIRED, {"lo": reported})


@needs_root
@pytest.mark.skipif(os.geteuid() != 0 or not qdisc_available("netem delay 1ms"), reason="no netem")
def test_a_port_loses_its_delay():
    listing, reported = shaped((shape, IMPAIRED), (renew, SPEC))
    assert set(listing) == {"tbf", "pfifo"}
    assert reported == Shaping(2_000_000, 32)


@needs_root
@pytest.mark.skipif(os.geteuid() != 0 or not qdisc_available("netem delay 1ms"), reason="no netem")
def test_netem_holds_all_packets_in_flight():
    listing, _ = shaped((shape, LinkSpec(2_000_000, 32, delay_ms=10_000)))
    # Ten seconds of frames of 60 bytes from ten ports of 100 Mbit/s each.
    assert listing["netem"]["options"]["limit"] >= 10 * 10 * 100_000_000 / 8 / 60 / 21


def test_delay_and_loss_are_in_the_form_in_which_tc_sends_them():
    """As strace(1) shows of `tc qdisc add dev lo root netem limit 10000000 delay 5500us loss 1%`."""
    sent = bytes.fromhex("b14f0100 80969800 295c8f02 00000000 00000000 00000000")
    netem = disciplines(IMPAIRED)[0]
    assert netem.options[: len(sent)] == sent
    assert (netem.handle, netem.parent) == (0x20000, ROOT)


@needs_root
def test_a_port_is_not_shaped_twice():
    with pytest.raises(FileExistsError):
        shaped((shape, SPEC), (shape, SPEC))


def report(interface="s1-eth1", rate_bps=2_000_000, queue=32):
    return {interface: Shaping(rate_bps, queue)}


def test_the_rate_and_the_queue_that_were_set_pass_the_check():
    check_shaping(["s1-eth1"], SPEC, report())


def test_the_kernels_rounding_passes_the_check():
    check_shaping(["s1-eth1"], LinkSpec(2_000_007, 32), report())


@pytest.mark.parametrize(
    "reported",
    [report(rate_bps=1_999_984), report(rate_bps=2_000_016), report(queue=31), report("s1-eth2"), {}],
    ids=["slower", "faster", "other queue", "other interface", "nothing"],
)
def test_another_rate_or_queue_fails_the_check(reported):
    with pytest.raises(CommandError, match=r"s1-eth1 .* 2000000 bit/s .* 32 packets"):
        check_shaping(["s1-eth1"], SPEC, reported)
