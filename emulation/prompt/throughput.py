"""The throughput between two hosts, measured by iperf3 with a server of its own."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from typing import Any

from emulation.node_shell import LastingNode
from emulation.subprocesses import CommandError, finish, require_programs, run, start

_FIRST_PORT, _PORTS = 20_201, 20  # beside iperf3's own 5201, where a server of the user may listen
_LISTEN_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Throughput:
    """One transfer.

    Attributes:
        received_bps: bits of payload that the destination received per second.
        retransmits: segments that TCP sent again; None for UDP.
        lost: fraction of the datagrams that were lost; None for TCP.
    """

    received_bps: float
    retransmits: int | None
    lost: float | None


def measure_throughput(
    source: LastingNode, destination: LastingNode, seconds: float, udp_rate: str | None = None
) -> Throughput:
    """Measures the throughput from one host to another; other servers and transfers are left alone.

    Args:
        source: the host that sends.
        destination: the host that receives.
        seconds: duration of the transfer.
        udp_rate: rate of UDP datagrams as iperf3 writes it, such as `10M`; None for TCP.

    Raises:
        MachineError: iperf3 is not installed.
        CommandError: the transfer failed.
    """
    require_programs({"iperf3": "iperf3"})
    server, port = _start_server(destination)
    words = ["iperf3", "-J", "-c", destination.IP(), "-p", str(port), "-t", f"{seconds:g}"]
    words += [] if udp_rate is None else ["-u", "-b", udp_rate]
    client = start(words, begin=source.start_program)
    try:
        # The transfer's answers may wait in full queues.
        result = json.loads(finish(client, timeout_s=2 * seconds + 30))
    except CommandError as error:
        raise CommandError(f"iperf3 between {source} and {destination} failed: {_reason(error)}") from None
    finally:
        for process in (client, server):
            process.kill()
            process.communicate()
    return _throughput(result["end"], udp_rate is not None)


def _start_server(host: LastingNode) -> tuple[subprocess.Popen[str], int]:
    """Starts a server for one transfer on a free port, and returns it with its port when it listens."""
    for port in range(_FIRST_PORT, _FIRST_PORT + _PORTS):
        words = ["iperf3", "-s", "-1", "-p", str(port), "--forceflush"]
        server = start(words, begin=host.start_program)
        end_s = time.monotonic() + _LISTEN_TIMEOUT_S
        while server.poll() is None and time.monotonic() < end_s:
            listening = run(["ss", "-Hltn", f"sport = :{port}"], begin=host.start_program)
            if listening.strip() and server.poll() is None:
                return server, port
            time.sleep(0.02)
        server.kill()
        server.communicate()
    raise CommandError(f"no iperf3 server could be started on {host.name}")


def _reason(error: CommandError) -> str:
    """Returns the error that iperf3 reported in its JSON, or all that it printed."""
    try:
        return str(json.loads(error.reason)["error"])
    except (ValueError, KeyError, TypeError):
        return error.reason


def _throughput(end: dict[str, Any], udp: bool) -> Throughput:
    if udp:
        total = end["sum"]
        lost = total["lost_percent"] / 100
        return Throughput(total["bits_per_second"] * (1 - lost), None, lost)
    return Throughput(end["sum_received"]["bits_per_second"], end["sum_sent"].get("retransmits"), None)
