"""Measures the throughput between two hosts with iperf3 and its own server."""

from __future__ import annotations

import json
import math
import subprocess
import time
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from emulation.listening import listening_sessions
from emulation.node_shell import LastingNode
from emulation.subprocesses import (
    CommandError,
    Ended,
    complete,
    discard,
    in_one_line,
    require_programs,
    start,
)

_FIRST_PORT, _PORTS = 20_201, 20  # not iperf3's default 5201, where a server of the user may listen
_LISTEN_TIMEOUT_S = 5.0
_POLL_INTERVAL_S = 0.02
_NO_REPORTS = ("-i", "0")  # report only at the end


@dataclass(frozen=True)
class Throughput:
    """Result of one transfer.

    Attributes:
        received_bps: payload received at the destination, in bit/s.
        retransmits: segments that TCP retransmitted; None for UDP.
        lost: fraction of lost datagrams; None for TCP.
    """

    received_bps: float
    retransmits: int | None
    lost: float | None


def measure_throughput(
    source: LastingNode, destination: LastingNode, seconds: float, udp_bps: Decimal | None = None
) -> Throughput:
    """Measures the throughput from one host to another, independent of other servers and transfers.

    Args:
        source: the host that sends.
        destination: the host that receives.
        seconds: duration of the transfer.
        udp_bps: rate of UDP datagrams in bit/s; None for TCP.

    Raises:
        MachineError: iperf3 is not installed.
        CommandError: the transfer failed.
    """
    require_programs({"iperf3": "iperf3"})
    server, port = _start_server(destination)
    words = ["iperf3", "-J", *_NO_REPORTS, "-c", destination.IP(), "-p", str(port), "-t", f"{seconds:g}"]
    words += [] if udp_bps is None else ["-u", "-b", f"{udp_bps:.0f}"]
    try:
        # The replies of the transfer may wait in full queues.
        ended = complete(start(words, begin=source.start_program), timeout_s=2 * seconds + 30)
        return _throughput(ended, udp_bps is not None)
    except CommandError as error:
        raise CommandError(f"iperf3 between {source} and {destination} failed: {error.reason}") from None
    finally:
        discard(server)


def _start_server(host: LastingNode) -> tuple[subprocess.Popen[bytes], int]:
    """Starts a server for one transfer, waits until it listens, and returns it and its port."""
    end_s = time.monotonic() + _LISTEN_TIMEOUT_S
    for port in range(_FIRST_PORT, _FIRST_PORT + _PORTS):
        server = start(["iperf3", "-s", "-1", *_NO_REPORTS, "-p", str(port)], begin=host.start_program)
        try:
            while server.poll() is None and time.monotonic() < end_s:
                if listening_sessions({server.pid}, end_s):
                    return server, port
                time.sleep(_POLL_INTERVAL_S)
        except BaseException:  # Ctrl-C
            discard(server)
            raise
        discard(server)
    raise CommandError(f"cannot start an iperf3 server on {host.name}")


def _throughput(ended: Ended, udp: bool) -> Throughput:
    """Returns the throughput that iperf3 reported.

    Raises:
        CommandError: iperf3 reported an error, or no throughput.
    """
    try:
        report = json.loads(ended.output)
        if "error" in report:
            raise CommandError("iperf3 failed", in_one_line(str(report["error"])))
        end = report["end"]
        if udp:
            lost = _number(end["sum"]["lost_percent"]) / 100
            return Throughput(_number(end["sum"]["bits_per_second"]) * (1 - lost), None, lost)
        resent = int(_number(end["sum_sent"]["retransmits"]))
        return Throughput(_number(end["sum_received"]["bits_per_second"]), resent, None)
    except (ValueError, OverflowError, KeyError, TypeError, RecursionError):
        printed = in_one_line(ended.errors or ended.output) or "nothing"
        raise CommandError("iperf3 failed", f"it printed {printed}") from None


def _number(value: Any) -> float:
    """Returns a number in a report that a host's root may have forged; raises ValueError if invalid."""
    number = float(value)
    if not 0 <= number < math.inf:
        raise ValueError
    return number
