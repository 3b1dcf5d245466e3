"""Properties of links: their notation on the command line and their domains."""

import re

import pytest

from topology.errors import ParameterError
from topology.links import LinkSpec, parse_rate_bps


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
        ("10M", 10_000_000),
        ("10Mbps", 10_000_000),
        ("2Mb/s", 2_000_000),
        ("64k", 64_000),
        ("1Mibit", 1_048_576),
    ],
)
def test_rates_are_read_in_bits_per_second(text, rate_bps):
    assert parse_rate_bps(text) == rate_bps


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fast",
        "2",
        "0",
        "-2Mbit",
        "1e6Gbit",
        "2MB",
        "2MBps",
        "2Mbyte",
        "5s",
        "Mbit",
        "2,5Mbit",
        "nan",
        "2Tbit",
    ],
)
def test_other_texts_are_refused_as_rates(text):
    with pytest.raises(ParameterError, match=f"rate .* got {re.escape(repr(text))}"):
        parse_rate_bps(text)


@pytest.mark.parametrize("text", ["0Mbit", "9.9kbit", "9999bit", "10.1Gbit", "1000000Gbit"])
def test_rates_out_of_range_are_refused(text):
    with pytest.raises(ParameterError, match="10 kbit/s to 10 Gbit/s"):
        parse_rate_bps(text)


@pytest.mark.parametrize("rate_bps", [9_999, 0, -1, 10_000_000_001])
def test_a_link_spec_refuses_other_rates(rate_bps):
    with pytest.raises(ParameterError, match=f"10 Gbit/s, got {rate_bps} bit/s"):
        LinkSpec(rate_bps, 32)


@pytest.mark.parametrize("packets", [0, -1, 100_001])
def test_a_link_spec_refuses_other_queues(packets):
    with pytest.raises(ParameterError, match=f"queue .* 100000 packets long, got {packets}"):
        LinkSpec(2_000_000, packets)


def test_limits_themselves_are_accepted():
    for rate_bps in (10_000, 10_000_000_000):
        for packets in (1, 100_000):
            LinkSpec(rate_bps, packets)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((-1, 0), "link delay must be 0 to 10000 ms, got -1"),
        ((float("nan"), 0), "link delay must be 0 to 10000 ms, got nan"),
        ((10_001, 0), "link delay must be 0 to 10000 ms, got 10001"),
        ((0, -0.1), r"link loss must be a fraction, 0 to 0.5, got -0.1"),
        ((0, 1), r"link loss must be a fraction, 0 to 0.5, got 1"),
    ],
)
def test_delays_and_losses_out_of_range_are_refused(values, message):
    with pytest.raises(ParameterError, match=message):
        LinkSpec(2_000_000, 32, 1500, *values)


@pytest.mark.parametrize("mtu", [575, 9217])
def test_other_mtus_are_refused(mtu):
    with pytest.raises(ParameterError, match=f"MTU .* 576 to 9216 bytes, got {mtu}"):
        LinkSpec(2_000_000, 32, mtu)


def test_hosts_links_have_neither_delay_nor_loss():
    spec = LinkSpec(2_000_000, 32, 1500, 5.0, 0.1)
    assert spec.impaired
    assert not spec.unimpaired().impaired
    assert spec.unimpaired() == LinkSpec(2_000_000, 32)
