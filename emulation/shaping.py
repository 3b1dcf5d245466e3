"""Shaped ports: the rate and the queue of every interface, set on its sending side by `tc`.

A token bucket paces the packets, and a FIFO in it holds those that wait. The FIFO's limit counts packets, so
that it is the output buffer of the papers' routers. Every kernel has both.

Delay and loss of the links between routers come from the kernel's netem, which stands before the token
bucket: a packet is delayed, or lost, where a router sends it toward another, before it comes to that port's
queue. So only congestion makes packets wait in the queue, and adaptive routings see nothing else. Hosts' own
links have neither delay nor loss.
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


def netem_options(spec: LinkSpec) -> str:
    """Returns netem's options, in the form of `tc`, for a link's delay and loss."""
    options = f"limit {_NO_LIMIT} delay {spec.delay_ms * 1e3:.0f}us"
    return f"{options} loss {spec.loss * 100:.6f}%" if spec.loss else options


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
