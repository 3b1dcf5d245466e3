"""Shaped ports: sets the rate and the queue of each interface on its sending side.

A token bucket paces the packets, and a FIFO inside it buffers waiting packets. The FIFO's limit counts
packets, like the output buffers of the routers in the papers. Every kernel has both.

Delay and loss of the links between routers come from the kernel's netem, placed before the token bucket: a
packet that a router sends to another one is delayed or lost before it reaches the port's queue. So only
congestion fills the queue, and adaptive routings react to nothing else. Host links have no delay or loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from emulation.kernel.disciplines import (
    ROOT,
    Discipline,
    Shaping,
    delay_and_loss,
    packet_queue,
    remove_root,
    token_bucket,
)
from emulation.kernel.rtnetlink import RouteSocket
from emulation.subprocesses import CommandError
from topology.links import LinkSpec

# netem's own limit of packets in flight. It must never drop any, even if all other ports send to one.
_NO_LIMIT = 10_000_000
_NETEM, _BUCKET, _QUEUE = 2 << 16, 1 << 16, 0x10 << 16  # handles: `tc` shows them as 2:, 1: and 10:
_TOLERANCE_S = 1e-6
_TOLERANCE_LOSS = 1e-6
_NONE = Shaping()


def burst_bytes(spec: LinkSpec) -> int:
    """Returns the token bucket's depth: two frames, or the bytes sent in 2 ms if that is more.

    A timer may fire some 100 us late. Tokens that arrive meanwhile and do not fit into the bucket are lost,
    which reduces the rate.
    """
    return max(2 * spec.max_frame_bytes, spec.rate_bps // 8 // 500)


def shape(kernel: RouteSocket, interface: int, spec: LinkSpec) -> None:
    """Shapes an interface that has no shaping yet.

    Args:
        kernel: netlink connection in the interface's namespace.
        interface: the interface's index.
        spec: properties of its link.

    Raises:
        OSError: the kernel refuses.
    """
    for discipline in disciplines(spec):
        discipline.set(kernel, interface, new=True)


def reshape(kernel: RouteSocket, interface: int, spec: LinkSpec) -> None:
    """Changes the shaping of an interface with the same disciplines; raises OSError if the kernel refuses."""
    for discipline in disciplines(spec):
        discipline.set(kernel, interface, new=False)


def renew(kernel: RouteSocket, interface: int, spec: LinkSpec) -> None:
    """Replaces the shaping of an interface by different disciplines; raises OSError if the kernel refuses.

    Packets waiting at the interface are lost, and its counters restart at 0.
    """
    remove_root(kernel, interface)
    shape(kernel, interface, spec)


def disciplines(spec: LinkSpec) -> list[Discipline]:
    """Returns the queueing disciplines of a link's sending side, outermost first."""
    # tbf requires a limit, although the FIFO replaces its built-in queue.
    burst = burst_bytes(spec)
    bucket = token_bucket(spec.rate_bps, burst, burst + spec.queue_packets * spec.max_frame_bytes)
    outer = []
    if spec.impaired:
        options = delay_and_loss(round(spec.delay_ms * 1e3) * 1000, spec.loss, _NO_LIMIT)
        outer.append(Discipline("netem", _NETEM, ROOT, options))
    return [
        *outer,
        Discipline("tbf", _BUCKET, _NETEM + 1 if outer else ROOT, bucket),
        Discipline("pfifo", _QUEUE, _BUCKET + 1, packet_queue(spec.queue_packets)),
    ]


def check_shaping(interfaces: Iterable[str], spec: LinkSpec, reported: Mapping[str, Shaping]) -> None:
    """Checks that the kernel reports the intended rates and queues.

    Args:
        interfaces: names of the shaped interfaces.
        spec: the intended rate and queue.
        reported: interface name -> the kernel's report.

    Raises:
        CommandError: an interface has a different rate or queue.
    """
    for interface in interfaces:
        found = reported.get(interface, _NONE)
        # The kernel counts bytes per second, rounded down.
        if abs(found.rate_bps - spec.rate_bps) > 8 or found.queue_packets != spec.queue_packets:
            raise CommandError(
                f"{interface} was set to {spec.rate_bps} bit/s and a queue of {spec.queue_packets} packets, "
                f"but the kernel reports {found.rate_bps} bit/s and {found.queue_packets} packets"
            )


def check_impairment(interfaces: Iterable[str], spec: LinkSpec, reported: Mapping[str, Shaping]) -> None:
    """Checks that the kernel reports the intended delays and losses.

    Args:
        interfaces: names of the interfaces between routers.
        spec: the intended delay and loss; both may be 0.
        reported: interface name -> the kernel's report.

    Raises:
        CommandError: an interface has a different delay or loss.
    """
    for interface in interfaces:
        found = reported.get(interface, _NONE)
        same_delay = abs(found.delay_s - spec.delay_ms / 1e3) <= _TOLERANCE_S
        if not same_delay or abs(found.loss - spec.loss) > _TOLERANCE_LOSS:
            raise CommandError(
                f"{interface} was set to a delay of {spec.delay_ms:g} ms and a loss of {spec.loss:g}, "
                f"but the kernel reports {found.delay_s * 1e3:g} ms and {found.loss:g}"
            )
