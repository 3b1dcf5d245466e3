"""Queueing disciplines of interfaces: sets and reads them in the namespace of a connection, like `tc qdisc`.

Supports only the kinds and options that shaped ports need: tbf (a token bucket), pfifo (a queue of packets)
and netem (delay and loss).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from emulation.kernel.rtnetlink import (
    DELETE_DISCIPLINE,
    GET_DISCIPLINE,
    NEW_DISCIPLINE,
    RouteSocket,
    attribute,
    attributes,
)

ROOT = 0xFFFFFFFF
_BODY = struct.Struct("=BxxxiIII")  # family, interface, handle, parent, information
_KIND, _OPTIONS = 1, 2
# struct tc_tbf_qopt: the rate (cell, link layer, overhead, alignment, smallest packet, bytes per second); the
# peak rate, unused; limit, buffer, MTU. For Ethernet the kernel needs no table of transmission times.
_TBF = struct.Struct("=BBHhHI12xIII")
_TBF_PARAMETERS, _TBF_BURST, _ETHERNET = 1, 6, 1
_FIFO = struct.Struct("=I")
_NETEM = struct.Struct("=IIIIII")  # latency, limit, loss, gap, duplicates, jitter
_NETEM_LATENCY_NS, _NANOSECONDS = 10, struct.Struct("=q")
_CERTAIN = 0xFFFFFFFF  # probability of 1
_TICK_NS = 64


@dataclass(frozen=True)
class Discipline:
    """A queueing discipline of an interface.

    Attributes:
        kind: tbf, pfifo or netem.
        handle, parent: its handle and its parent's, where `1:` is 0x10000 and `1:1` is 0x10001; or ROOT.
        options: its options, encoded for the kernel.
    """

    kind: str
    handle: int
    parent: int
    options: bytes

    def set(self, kernel: RouteSocket, interface: int, *, new: bool) -> None:
        """Sets the discipline of an interface.

        Args:
            kernel: netlink connection in the interface's namespace.
            interface: the interface's index.
            new: whether to create the discipline; otherwise the options of an existing one are changed.

        Raises:
            OSError: the kernel refuses.
        """
        kind = attribute(_KIND, self.kind.encode() + b"\0")
        body = _BODY.pack(0, interface, self.handle, self.parent, 0)
        kernel.request(NEW_DISCIPLINE, body + kind + attribute(_OPTIONS, self.options), new=new)


@dataclass(frozen=True)
class Shaping:
    """The shaping of an interface as the kernel reports it; 0 for a property that is not set.

    Attributes:
        rate_bps: rate of the token bucket, a multiple of 8.
        queue_packets: limit of the queue.
        delay_s, loss: delay and loss (0 to 1) of netem.
    """

    rate_bps: int = 0
    queue_packets: int = 0
    delay_s: float = 0.0
    loss: float = 0.0


def token_bucket(rate_bps: int, burst_bytes: int, limit_bytes: int) -> bytes:
    """Returns the encoded options of a tbf discipline."""
    parameters = _TBF.pack(0, _ETHERNET, 0, 0, 0, rate_bps // 8, limit_bytes, 0, 0)
    burst = attribute(_TBF_BURST, struct.pack("=I", burst_bytes))
    return attribute(_TBF_PARAMETERS, parameters) + burst


def packet_queue(limit: int) -> bytes:
    """Returns the encoded options of a pfifo discipline with a limit in packets."""
    return _FIFO.pack(limit)


def delay_and_loss(delay_ns: int, loss: float, limit: int) -> bytes:
    """Returns the encoded options of a netem discipline; its limit is in packets."""
    latency = attribute(_NETEM_LATENCY_NS, _NANOSECONDS.pack(delay_ns))
    return _NETEM.pack(delay_ns // _TICK_NS, limit, round(loss * _CERTAIN), 0, 0, 0) + latency


def remove_root(kernel: RouteSocket, interface: int) -> None:
    """Removes all disciplines of an interface; raises OSError if it has none."""
    kernel.request(DELETE_DISCIPLINE, _BODY.pack(0, interface, 0, ROOT, 0))


def read_shaping(kernel: RouteSocket) -> dict[int, Shaping]:
    """Returns interface index -> shaping for all shaped interfaces of a namespace.

    Raises:
        OSError: the kernel refuses.
    """
    values: dict[int, dict[str, float]] = {}
    for body in kernel.dump(GET_DISCIPLINE, _BODY.pack(0, 0, 0, 0, 0)):
        interface = _BODY.unpack_from(body)[1]
        by_type = attributes(body[_BODY.size :])
        read = _READERS.get(by_type[_KIND].rstrip(b"\0").decode())
        if read:
            values.setdefault(interface, {}).update(read(by_type.get(_OPTIONS, b"")))
    return {interface: Shaping(**fields) for interface, fields in values.items()}  # type: ignore[arg-type]


def _read_bucket(options: bytes) -> dict[str, float]:
    return {"rate_bps": _TBF.unpack_from(attributes(options)[_TBF_PARAMETERS])[5] * 8}


def _read_queue(options: bytes) -> dict[str, float]:
    return {"queue_packets": _FIFO.unpack_from(options)[0]}


def _read_netem(options: bytes) -> dict[str, float]:
    (delay_ns,) = _NANOSECONDS.unpack_from(attributes(options[_NETEM.size :])[_NETEM_LATENCY_NS])
    return {"delay_s": delay_ns / 1e9, "loss": _NETEM.unpack_from(options)[2] / _CERTAIN}


_READERS = {"tbf": _read_bucket, "pfifo": _read_queue, "netem": _read_netem}
