"""Shaped ports: a rate and a queue counted in packets, on the sending side of every interface.

A token bucket paces the packets and a FIFO in it holds those that wait. Its `limit` counts packets, so
that the FIFO is the output buffer of the papers' routers. Both are in every kernel. Where links are to
delay or lose packets, netem stands before them; not every kernel has it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from emulation.impairment import NO_IMPAIRMENT, Impairment
from emulation.subprocesses import CommandError
from topology.errors import ParameterError

MIN_RATE_BPS = 10_000
MAX_RATE_BPS = 10_000_000_000
MAX_QUEUE_PACKETS = 100_000
DEFAULT_MTU, LEAST_MTU, MOST_MTU = 1500, 576, 9216
_FRAME_BYTES_BEYOND_MTU = 18  # Ethernet's header and one VLAN tag

_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)(?:bit(?:/s|ps)?)", re.IGNORECASE)


@dataclass(frozen=True)
class PortShape:
    """What every port of a fabric sends like: hosts' ports and switches' ports, in both directions.

    Attributes:
        rate_bps: bits of Ethernet frames (without FCS) per second.
        queue_packets: how many frames may wait; more are dropped.
        mtu: bytes of an Ethernet frame's payload, at most.
    """

    rate_bps: int
    queue_packets: int
    mtu: int = DEFAULT_MTU

    def __post_init__(self) -> None:
        _check_rate(self.rate_bps)
        if not LEAST_MTU <= self.mtu <= MOST_MTU:
            raise ParameterError(f"an MTU must be {LEAST_MTU} to {MOST_MTU} bytes, got {self.mtu}")
        if not 1 <= self.queue_packets <= MAX_QUEUE_PACKETS:
            raise ParameterError(
                f"a queue must hold 1 to {MAX_QUEUE_PACKETS} packets, got {self.queue_packets}"
            )

    @property
    def burst_bytes(self) -> int:
        """The token bucket's depth: two frames, or what passes in 2 ms if that is more.

        A timer may fire late by some 100 us; what the bucket cannot hold by then is lost to the rate.
        """
        return max(2 * self.max_frame_bytes, self.rate_bps // 8 // 500)

    @property
    def max_frame_bytes(self) -> int:
        """The longest frame, with a tag and without FCS."""
        return self.mtu + _FRAME_BYTES_BEYOND_MTU


def _check_rate(rate_bps: float) -> None:
    if not MIN_RATE_BPS <= rate_bps <= MAX_RATE_BPS:
        raise ParameterError(
            f"a link's rate must be {MIN_RATE_BPS // 1000} kbit/s to {MAX_RATE_BPS // 10**9} Gbit/s, "
            f"got {rate_bps:.15g} bit/s"
        )


def parse_rate_bps(text: str) -> int:
    """Returns bits per second for a text like `2Mbit`, `500kbit` or `1.5Gbit/s`.

    Raises:
        ParameterError: the text has another form, or the rate cannot be shaped.
    """
    matched = _RATE.fullmatch(text.strip())
    if not matched:
        raise ParameterError(f"{text!r} is no rate; write it like 2Mbit or 500kbit")
    rate_bps = float(matched[1]) * _UNITS[matched[2].lower()]
    _check_rate(rate_bps)  # before it is rounded: it may be infinite
    return round(rate_bps)


def shaping_commands(interface: str, shape: PortShape, impairment: Impairment = NO_IMPAIRMENT) -> list[str]:
    """Returns the lines for `tc -batch` that shape an interface which has no shaping yet."""
    return _shaping("add", interface, shape, impairment)


def reshaping_commands(interface: str, shape: PortShape, impairment: Impairment = NO_IMPAIRMENT) -> list[str]:
    """Returns the lines for `tc -batch` that give an interface another shape."""
    return _shaping("change", interface, shape, impairment)


def _shaping(verb: str, interface: str, shape: PortShape, impairment: Impairment) -> list[str]:
    # tbf needs a limit of its own; its built-in queue is replaced by the FIFO in the second line.
    limit = shape.burst_bytes + shape.queue_packets * shape.max_frame_bytes
    rate = f"rate {shape.rate_bps}bit burst {shape.burst_bytes} limit {limit}"
    fifo = f"qdisc {verb} dev {interface} parent 1:1 handle 10: pfifo limit {shape.queue_packets}"
    if not impairment:
        return [f"qdisc {verb} dev {interface} root handle 1: tbf {rate}", fifo]
    return [
        f"qdisc {verb} dev {interface} root handle 2: netem {impairment.netem}",
        f"qdisc {verb} dev {interface} parent 2:1 handle 1: tbf {rate}",
        fifo,
    ]


def check_shaping(interfaces: Iterable[str], shape: PortShape, shown: str) -> None:
    """Compares what `tc -json qdisc show` says with what was asked for.

    Raises:
        CommandError: an interface sends at another rate or through another queue.
    """
    disciplines: dict[tuple[str, str], Any] = {
        (entry["dev"], entry["kind"]): entry["options"]
        for entry in json.loads(shown)
        if entry["kind"] in ("tbf", "pfifo")
    }
    for interface in interfaces:
        # tc reports bytes per second, rounded down.
        rate_bps = disciplines.get((interface, "tbf"), {}).get("rate", 0) * 8
        queue = disciplines.get((interface, "pfifo"), {}).get("limit", 0)
        if abs(rate_bps - shape.rate_bps) > 8 or queue != shape.queue_packets:
            raise CommandError(
                f"{interface} was to send {shape.rate_bps} bit/s through a queue of "
                f"{shape.queue_packets} packets; the kernel says {rate_bps} bit/s and {queue} packets"
            )
