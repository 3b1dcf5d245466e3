"""Measurements of a session: loads of links over an interval, and drops in queues and at ingress."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass

from controller.occupancy.queues import QueueState
from experiments.live_fabric import LiveFabric, open_queue_readers, read_host_queues
from experiments.results.link_loads import directed_links
from topology.addressing import switch_name
from topology.errors import MachineError

Place = tuple[int, int]  # datapath id, port


@dataclass(frozen=True)
class LinkLoad:
    """One direction of a link in an interval.

    Attributes:
        link: its ends, like `s3-s7`, or `s3-h3_1` toward a host; parallel links differ in their port.
        port: port of the first end.
        load: bits carried, as a fraction of the link's capacity in the interval.
        rate_bps: bits carried per second.
        waiting_packets: packets that wait in its queue at the end of the interval.
        dropped_packets: packets that its queue dropped in the interval.
        lost_packets: packets that the link lost in the interval, by its configured random loss.
    """

    link: str
    port: int
    load: float
    rate_bps: float
    waiting_packets: int
    dropped_packets: int
    lost_packets: int


@dataclass(frozen=True)
class PortDrops:
    """Packets that one port dropped since the fabric was built.

    Attributes:
        link: the link at the port, as in LinkLoad; like `h3_1-s3` for a host's port.
        port: number of the port; 0 for a host.
        queue_packets: packets dropped because the queue was full.
        lost_packets: packets that the link lost, by its configured random loss.
    """

    link: str
    port: int
    queue_packets: int
    lost_packets: int


@dataclass(frozen=True)
class Drops:
    """Packets dropped by a fabric since it was built.

    Attributes:
        ports: ports of switches and hosts that dropped or lost at least one packet.
        ingress: host -> number of its packets that the switch dropped because hosts may not send them.
    """

    ports: tuple[PortDrops, ...]
    ingress: dict[str, int]


def measure_loads(fabric: LiveFabric, seconds: float) -> tuple[LinkLoad, ...]:
    """Measures the loads of all links in the next `seconds`, one load per direction; highest first.

    Raises:
        MachineError: the queues cannot be read.
    """
    rate_bps = fabric.options.links.rate_bps
    with _Queues(fabric) as queues:
        before, began_s = queues.read(), time.monotonic()
        time.sleep(seconds)
        after, span_s = queues.read(), time.monotonic() - began_s
    loads = []
    for place, name in _names(fabric).items():
        if place in before and place in after:
            old, new = before[place], after[place]
            carried_bps = (new.sent_bytes - old.sent_bytes) * 8 / span_s
            loads.append(
                LinkLoad(
                    name,
                    place[1],
                    carried_bps / rate_bps,
                    carried_bps,
                    new.packets,
                    new.dropped_packets - old.dropped_packets,
                    new.lost_packets - old.lost_packets,
                )
            )
    return tuple(sorted(loads, key=lambda load: -load.load))


def count_drops(fabric: LiveFabric) -> Drops:
    """Returns the packets that were dropped since the fabric was built.

    Raises:
        MachineError: the queues cannot be read.
    """
    with _Queues(fabric) as queues:
        states = queues.read()
    ports = [
        PortDrops(name, place[1], states[place].dropped_packets, states[place].lost_packets)
        for place, name in _names(fabric).items()
        if place in states and (states[place].dropped_packets or states[place].lost_packets)
    ]
    own = read_host_queues(fabric.network)
    ports += [
        PortDrops(f"{host.name}-{switch_name(host.router)}", 0, own[host.name].dropped_packets, 0)
        for host in fabric.hosts
        if host.name in own and own[host.name].dropped_packets
    ]
    return Drops(tuple(ports), fabric.network.ingress_drops())


def missing_ports(fabric: LiveFabric) -> tuple[str, ...]:
    """Returns the links of ports whose interfaces do not exist.

    Raises:
        MachineError: the queues cannot be read.
    """
    with _Queues(fabric) as queues:
        return tuple(name for place, name in _names(fabric).items() if place not in queues.places)


class _Queues:
    """Context manager that opens readers of all switches' queues.

    Attributes:
        places: (datapath id, port) of the ports whose interfaces exist.
    """

    def __init__(self, fabric: LiveFabric) -> None:
        try:
            self._readers = open_queue_readers(fabric.network)
        except OSError as error:
            raise MachineError(f"the queues of switches cannot be read ({error.strerror})") from error
        self.places = {(number, port) for number, reader in self._readers.items() for port in reader.ports}

    def __enter__(self) -> _Queues:
        return self

    def __exit__(self, *_error: object) -> None:
        for reader in self._readers.values():
            reader.close()

    def read(self) -> dict[Place, QueueState]:
        """Returns (datapath id, port) -> state of the port's queue."""
        states: dict[Place, QueueState] = {}
        for number, reader in self._readers.items():
            with contextlib.suppress(OSError):  # raised if the switch's network namespace is gone
                states |= {(number, port): state for port, state in reader.read().items()}
        return states


def _names(fabric: LiveFabric) -> dict[Place, str]:
    """Returns port of a switch -> name of the link there, such as `s3-s7` or, to a host, `s3-h3_1`."""
    topology = fabric.options.topology
    links = {(link.source + 1, link.port): link.name for link in directed_links(topology)}
    hosts = {
        (host.router + 1, topology.host_port(host.router, host.index)): (
            f"{switch_name(host.router)}-{host.name}"
        )
        for host in fabric.hosts
    }
    return links | hosts
