"""Typed results of the links between switches and hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from experiments.results.parts.over_seeds import Sum
from topology.addressing import Host, switch_name

# The rows of HostLinkRow.
HOST_LINKS = "host_links.csv"
_HOST_PORT = 0


@dataclass(frozen=True)
class HostLinkSummary:
    """Drops at the links between switches and hosts, in the whole run with its warm-up.

    Attributes:
        dropped_packets: packets that full queues dropped, those of switches and of hosts together.
        dropped_by_switches: packets that the full queues of switches' ports to hosts dropped.
        dropped_by_hosts: packets that the hosts' own full queues dropped; a program that sends TCP is told of
            such a drop, one that sends UDP may be refused. With generated traffic they are among
            `packets.refused_by_host_queue`.
    """

    dropped_packets: Sum
    dropped_by_switches: Sum
    dropped_by_hosts: Sum


@dataclass(frozen=True)
class HostLinkRow:
    """Link between a switch and a host in one direction, in the whole run, as a row of `host_links.csv`.

    Attributes:
        link: the link by its two ends, the sender first: `s3-h3_1` toward the host, `h3_1-s3` from it.
        port: port of the sender; of a host 0.
        tx_bytes: bytes that the link carried in the whole run with its warm-up.
        dropped_packets: packets that the sender's full queue dropped in that time.
    """

    link: str
    port: int
    tx_bytes: int
    dropped_packets: int


def host_link_rows(
    hosts: Iterable[tuple[Host, int]],
    by_switches: Mapping[tuple[int, int], tuple[int, int]],
    by_hosts: Mapping[str, tuple[int, int]],
) -> list[HostLinkRow]:
    """Returns the links between switches and hosts, two rows for each host.

    Args:
        hosts: every host, and the port of its switch that leads to it.
        by_switches: router and port -> bytes sent and packets dropped.
        by_hosts: name of a host -> bytes sent and packets dropped by its own queue.
    """
    rows = []
    for host, port in hosts:
        switch = switch_name(host.router)
        rows.append(HostLinkRow(f"{switch}-{host.name}", port, *by_switches.get((host.router, port), (0, 0))))
        rows.append(HostLinkRow(f"{host.name}-{switch}", _HOST_PORT, *by_hosts.get(host.name, (0, 0))))
    return rows


def host_link_summary(rows: Sequence[HostLinkRow]) -> HostLinkSummary:
    """Returns the sums of the drops.

    Args:
        rows: the links, as from `host_link_rows`.
    """
    by_hosts = sum(row.dropped_packets for row in rows if row.port == _HOST_PORT)
    every = sum(row.dropped_packets for row in rows)
    return HostLinkSummary(every, every - by_hosts, by_hosts)
