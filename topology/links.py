"""Properties of the links of a network: rate, queue, MTU, delay and loss."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from topology.errors import ParameterError
from topology.files.escaping import quoted
from topology.units import RATE, quantity

MIN_RATE_BPS = 10_000
MAX_RATE_BPS = 10_000_000_000
MAX_QUEUE_PACKETS = 100_000
DEFAULT_MTU, MIN_MTU, MAX_MTU = 1500, 576, 9216
MAX_DELAY_MS = 10_000.0
MAX_LOSS = 0.5
_SIGN_OR_EXPONENT = re.compile(r"[-+]|[\d.]+e[-+]?\d", re.IGNORECASE)
_FRAME_BYTES_BEYOND_MTU = 18  # Ethernet's header and one VLAN tag


@dataclass(frozen=True)
class LinkSpec:
    """The properties of all links of a network, the same in both directions.

    Every port of a host or a router sends at this rate, from a queue of this length. Only links between
    routers have delay and loss.

    Attributes:
        rate_bps: bits of Ethernet frames (without FCS) per second, MIN_RATE_BPS to MAX_RATE_BPS.
        queue_packets: maximum number of frames that wait at a port, 1 to MAX_QUEUE_PACKETS; more are dropped.
        mtu: maximum payload of an Ethernet frame in bytes, MIN_MTU to MAX_MTU.
        delay_ms: propagation delay of a link between routers in ms, without the time to send, 0 to
            MAX_DELAY_MS.
        loss: probability that a link between routers loses a packet, independently, 0 to MAX_LOSS.

    Raises:
        ParameterError: a property is outside its domain.
    """

    rate_bps: int
    queue_packets: int
    mtu: int = DEFAULT_MTU
    delay_ms: float = 0.0
    loss: float = 0.0

    def __post_init__(self) -> None:
        _check_rate(self.rate_bps)
        if not MIN_MTU <= self.mtu <= MAX_MTU:
            raise ParameterError(f"MTU must be {MIN_MTU} to {MAX_MTU} bytes, got {self.mtu}")
        if not 1 <= self.queue_packets <= MAX_QUEUE_PACKETS:
            raise ParameterError(
                f"queue must be 1 to {MAX_QUEUE_PACKETS} packets long, got {self.queue_packets}"
            )
        if not 0 <= self.delay_ms <= MAX_DELAY_MS:  # also false for nan
            raise ParameterError(f"link delay must be 0 to {MAX_DELAY_MS:g} ms, got {self.delay_ms:g}")
        if not 0 <= self.loss <= MAX_LOSS:
            raise ParameterError(f"link loss must be a fraction, 0 to {MAX_LOSS:g}, got {self.loss:g}")

    @property
    def impaired(self) -> bool:
        """Whether links between routers delay or lose packets."""
        return bool(self.delay_ms or self.loss)

    @property
    def max_frame_bytes(self) -> int:
        """The length of the longest frame, with a VLAN tag and without FCS."""
        return self.mtu + _FRAME_BYTES_BEYOND_MTU

    def packet_s(self, frame_bytes: int) -> float:
        """Returns the time, in s, to send a frame of this many bytes on a link."""
        return frame_bytes * 8 / self.rate_bps

    def unimpaired(self) -> LinkSpec:
        """Returns the properties of the links to hosts.

        Returns:
            The same rate, queue and MTU, without delay and loss.
        """
        return replace(self, delay_ms=0.0, loss=0.0)


def parse_rate_bps(text: str) -> int:
    """Returns the rate that a text specifies.

    Args:
        text: a number and a unit, such as `2Mbit`, `500k` or `1.5Gbps`.

    Returns:
        The rate in bit/s, rounded.

    Raises:
        ParameterError: the text is malformed or ambiguous, or the rate is outside LinkSpec's domain.
    """
    rate_bps = quantity("link rate", text, RATE)
    if rate_bps is None:
        plain = " without sign or exponent" if _SIGN_OR_EXPONENT.match(text.strip()) else ""
        raise ParameterError(
            f"link rate must be a number{plain} and a unit, such as 2Mbit or 500kbit, got {quoted(text)}"
        )
    _check_rate(float(rate_bps))
    return round(rate_bps)


def rate_text(rate_bps: int) -> str:
    """Returns a rate as `parse_rate_bps` reads it: `2Mbit` for 2,000,000 bit/s."""
    units = (("G", 10**9), ("M", 10**6), ("k", 1000))
    unit, factor = next((one for one in units if rate_bps >= one[1]), ("", 1))
    return f"{rate_bps / factor:.15g}{unit}bit"


def even_rate_bps(rate_bps: float) -> int:
    """Rounds a rate down to 1, 2 or 5 times a power of 10; returns at least MIN_RATE_BPS."""
    power: int = 10 ** (len(str(int(max(rate_bps, 1)))) - 1)  # a logarithm rounds 9,999,999,999.999998 up
    return max([MIN_RATE_BPS, *(step * power for step in (1, 2, 5) if step * power <= rate_bps)])


def _check_rate(rate_bps: float) -> None:
    if not MIN_RATE_BPS <= rate_bps <= MAX_RATE_BPS:
        raise ParameterError(
            f"link rate must be {MIN_RATE_BPS // 1000} kbit/s to {MAX_RATE_BPS // 10**9} Gbit/s, "
            f"got {rate_bps:.15g} bit/s"
        )
