"""Shaped ports: the rate and the queue of every interface, set on its sending side by `tc`.

A token bucket paces the packets, and a FIFO in it holds those that wait. The FIFO's limit counts packets, so
that it is the output buffer of the papers' routers. Every kernel has both. Delay and loss of links come from
netem (`emulation.impairment`), which stands before the token bucket.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from emulation.impairment import netem_options
from emulation.subprocesses import CommandError
from topology.links import LinkSpec


def burst_bytes(spec: LinkSpec) -> int:
    """Returns the token bucket's depth: two frames, or the bytes that pass in 2 ms if these are more.

    A timer may fire some 100 us late; tokens that do not fit into the bucket by then are lost to the rate.
    """
    return max(2 * spec.max_frame_bytes, spec.rate_bps // 8 // 500)


def shaping_commands(interface: str, spec: LinkSpec) -> list[str]:
    """Returns the lines for `tc -batch` that shape an interface which has no shaping yet."""
    return _commands("add", interface, spec)


def reshaping_commands(interface: str, spec: LinkSpec) -> list[str]:
    """Returns the lines for `tc -batch` that change the shaping of an interface."""
    return _commands("change", interface, spec)


def renewal_commands(interface: str, spec: LinkSpec) -> list[str]:
    """Returns the lines for `tc -batch` that replace the shaping of an interface by one of another structure.

    Packets that wait at the interface are lost, and its counters begin at 0.
    """
    return [f"qdisc del dev {interface} root", *shaping_commands(interface, spec)]


def _commands(verb: str, interface: str, spec: LinkSpec) -> list[str]:
    # tbf needs a limit of its own; its built-in queue is replaced by the FIFO in the second line.
    burst = burst_bytes(spec)
    limit = burst + spec.queue_packets * spec.max_frame_bytes
    rate = f"rate {spec.rate_bps}bit burst {burst} limit {limit}"
    fifo = f"qdisc {verb} dev {interface} parent 1:1 handle 10: pfifo limit {spec.queue_packets}"
    if not spec.impaired:
        return [f"qdisc {verb} dev {interface} root handle 1: tbf {rate}", fifo]
    return [
        f"qdisc {verb} dev {interface} root handle 2: netem {netem_options(spec)}",
        f"qdisc {verb} dev {interface} parent 2:1 handle 1: tbf {rate}",
        fifo,
    ]


def check_shaping(interfaces: Iterable[str], spec: LinkSpec, listing: str) -> None:
    """Compares the rates and queues that the kernel reports with those that were set.

    Args:
        interfaces: names of the shaped interfaces.
        spec: the rate and the queue that were set.
        listing: output of `tc -json qdisc show`.

    Raises:
        CommandError: an interface has another rate or another queue.
    """
    disciplines: dict[tuple[str, str], Any] = {
        (entry["dev"], entry["kind"]): entry["options"]
        for entry in json.loads(listing)
        if entry["kind"] in ("tbf", "pfifo")
    }
    for interface in interfaces:
        # tc reports bytes per second, rounded down.
        rate_bps = disciplines.get((interface, "tbf"), {}).get("rate", 0) * 8
        queue = disciplines.get((interface, "pfifo"), {}).get("limit", 0)
        if abs(rate_bps - spec.rate_bps) > 8 or queue != spec.queue_packets:
            raise CommandError(
                f"{interface} was set to {spec.rate_bps} bit/s and a queue of {spec.queue_packets} packets, "
                f"but the kernel reports {rate_bps} bit/s and {queue} packets"
            )
