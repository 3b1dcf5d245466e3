"""Links that delay and lose packets as long cables and bad ones do, by the kernel's netem.

A packet is delayed, or lost, where a router sends it toward another, before it comes to that port's queue: so
that what waits in the queue is what congestion makes wait, and adaptive routings see nothing else. Hosts'
own links have neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from emulation.subprocesses import CommandError
from topology.errors import ParameterError

MAX_DELAY_MS = 10_000.0
MAX_LOSS = 0.5
# Packets that are on their way, which all of a switch's other ports may send to one; none is to be dropped.
_NO_LIMIT = 10_000_000
_TOLERANCE_S = 1e-6  # the kernel counts in ns, tc in its own ticks
_TOLERANCE_LOSS = 1e-6


@dataclass(frozen=True)
class Impairment:
    """What every link between routers does to packets, in each direction.

    Attributes:
        delay_ms: how long it takes to cross the link, besides the time that it takes to send.
        loss: the chance of a packet to be lost, each by itself, 0 to MAX_LOSS.
    """

    delay_ms: float = 0.0
    loss: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.delay_ms <= MAX_DELAY_MS:  # false for nan, too
            raise ParameterError(f"a link's delay must be 0 to {MAX_DELAY_MS:g} ms, got {self.delay_ms:g}")
        if not 0 <= self.loss <= MAX_LOSS:
            raise ParameterError(f"a link's loss must be 0 to {MAX_LOSS:g} (a fraction), got {self.loss:g}")

    def __bool__(self) -> bool:
        return bool(self.delay_ms or self.loss)

    @property
    def netem(self) -> str:
        """The same in netem's words."""
        words = f"limit {_NO_LIMIT} delay {self.delay_ms * 1e3:.0f}us"
        return f"{words} loss {self.loss * 100:.6f}%" if self.loss else words


def check_impairment(interfaces: Iterable[str], impairment: Impairment, shown: str) -> None:
    """Compares what `tc -json qdisc show` says with what was asked for.

    Raises:
        CommandError: an interface delays or loses packets otherwise.
    """
    found: dict[str, Any] = {
        entry["dev"]: entry["options"] for entry in json.loads(shown) if entry["kind"] == "netem"
    }
    for interface in interfaces:
        options = found.get(interface, {})
        delay_s = options.get("delay", {}).get("delay", 0.0)
        loss = options.get("loss-random", {}).get("loss", 0.0)
        delays_right = abs(delay_s - impairment.delay_ms / 1e3) <= _TOLERANCE_S
        if not delays_right or abs(loss - impairment.loss) > _TOLERANCE_LOSS:
            raise CommandError(
                f"{interface} was to delay packets by {impairment.delay_ms:g} ms and to lose "
                f"{impairment.loss:g} of them; the kernel says {delay_s * 1e3:g} ms and {loss:g}"
            )


NO_IMPAIRMENT = Impairment()
