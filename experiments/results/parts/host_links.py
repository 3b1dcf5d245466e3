"""Typed results of the links between switches and hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from experiments.results.parts.over_seeds import Sum
from topology.addressing import Host, switch_name

# Table with rows of HostLinkRow.
HOST_LINKS = "host_links.csv"
_HOST_PORT = 0


@dataclass(frozen=True)
class HostLinkSummary:
    """Drops at the links between switches and hosts, in the whole run including warm-up.

    Attributes:
        dropped_packets: packets dropped by full queues of switches and hosts.
        dropped_by_switches: packets dropped by full queues of switch ports to hosts.
        dropped_by_hosts: packets dropped by the hosts' own full queues; TCP senders retransmit them, UDP
            senders may get an error. Generated packets are also counted in `packets.refused_by_host_queue`.
    """

    dropped_packets: Sum
    dropped_by_switches: Sum
    dropped_by_hosts: Sum


@dataclass(frozen=True)
class HostLinkRow:
    """One direction of a link between a switch and a host, in the whole run, a row of `host_links.csv`.

    Attributes:
        link: both ends, sender first: `s3-h3_1` to the host, `h3_1-s3` from it.
        port: port of the sender; 0 for a host.
        tx_bytes: bytes carried in the whole run including warm-up.
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
    """Returns the rows of links between switches and hosts, two per host.

    Args:
        hosts: (host, port of its switch that connects it).
        by_switches: (router, port) -> (bytes sent, packets dropped).
        by_hosts: name of a host -> (bytes sent, packets dropped) of its own queue.
    """
    rows = []
    for host, port in hosts:
        switch = switch_name(host.router)
        rows.append(HostLinkRow(f"{switch}-{host.name}", port, *by_switches.get((host.router, port), (0, 0))))
        rows.append(HostLinkRow(f"{host.name}-{switch}", _HOST_PORT, *by_hosts.get(host.name, (0, 0))))
    return rows


def host_link_summary(rows: Sequence[HostLinkRow]) -> HostLinkSummary:
    """Returns the drops summed over all links between switches and hosts.

    Args:
        rows: result of `host_link_rows`.
    """
    by_hosts = sum(row.dropped_packets for row in rows if row.port == _HOST_PORT)
    every = sum(row.dropped_packets for row in rows)
    return HostLinkSummary(every, every - by_hosts, by_hosts)
