"""Delay and loss of the links between routers, by the kernel's netem.

A packet is delayed, or lost, where a router sends it toward another, before it comes to that port's queue. So
only congestion makes packets wait in the queue, and adaptive routings see nothing else. Hosts' own links have
neither delay nor loss.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from emulation.subprocesses import CommandError
from topology.links import LinkSpec

# Packets in flight, which all of a switch's other ports may send to one; none may be dropped.
_NO_LIMIT = 10_000_000
_TOLERANCE_S = 1e-6  # the kernel counts in ns, tc in its own ticks
_TOLERANCE_LOSS = 1e-6


def netem_options(spec: LinkSpec) -> str:
    """Returns netem's options, in the form of `tc`, for a link's delay and loss."""
    options = f"limit {_NO_LIMIT} delay {spec.delay_ms * 1e3:.0f}us"
    return f"{options} loss {spec.loss * 100:.6f}%" if spec.loss else options


def check_impairment(interfaces: Iterable[str], spec: LinkSpec, listing: str) -> None:
    """Compares the delays and losses that the kernel reports with those that were set.

    Args:
        interfaces: names of the interfaces between routers.
        spec: the delay and the loss that were set; both may be 0.
        listing: output of `tc -json qdisc show`.

    Raises:
        CommandError: an interface has another delay or another loss.
    """
    netem: dict[str, Any] = {
        entry["dev"]: entry["options"] for entry in json.loads(listing) if entry["kind"] == "netem"
    }
    for interface in interfaces:
        options = netem.get(interface, {})
        delay_s = options.get("delay", {}).get("delay", 0.0)
        loss = options.get("loss-random", {}).get("loss", 0.0)
        same_delay = abs(delay_s - spec.delay_ms / 1e3) <= _TOLERANCE_S
        if not same_delay or abs(loss - spec.loss) > _TOLERANCE_LOSS:
            raise CommandError(
                f"{interface} was set to a delay of {spec.delay_ms:g} ms and a loss of {spec.loss:g}, "
                f"but the kernel reports {delay_s * 1e3:g} ms and {loss:g}"
            )
