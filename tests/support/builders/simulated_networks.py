"""Small simulated networks for tests: tables, patterns, and what the kernel's arrays say of them."""

from __future__ import annotations

import hashlib
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
from support.fixtures.documents import ROOT

from routing.registry import make_plan
from simulation.arrays.ports import link_ports
from simulation.kernels import state as of
from simulation.result import SimulationResult
from simulation.settings import Arrivals, Decision, RouterSettings, Times, Workload
from simulation.simulator import simulate
from simulation.tables.compiler import compile_tables
from simulation.tables.model import ForwardingTables
from topology.families.low_diameter.polarfly import PolarFly
from traffic.workload.patterns import Pattern, make_pattern

DATA = ROOT / "tests" / "unit" / "data"


@cache
def polarfly_tables(q: int, hosts: int, routing: str) -> ForwardingTables:
    """Returns the tables of an ER_q with some hosts a router."""
    return compile_tables(make_plan(PolarFly(q), hosts, routing))


@cache
def polarfly_pattern(q: int, hosts: int, name: str) -> Pattern:
    """Returns a pattern on an ER_q; `shares` is a demand matrix of several unequal shares a host."""
    topology = PolarFly(q)
    if name != "shares":
        return make_pattern(name, topology, hosts, 1)
    count = topology.endpoints(hosts)
    rows = [(host, (host + gap) % count, gap / 6) for host in range(0, count, 2) for gap in (1, 2, 3)]
    return Pattern(name, count, matrix=tuple(sorted(rows)))


def simulated(
    tables: ForwardingTables,
    pattern: Pattern,
    load: float = 0.5,
    *,
    arrivals: Arrivals = "bernoulli",
    decision: Decision | None = None,
    warmup: int | None = 1000,
    window: int = 2000,
    seed: int = 1,
    most_drain: int = 5000,
    **settings: Any,
) -> SimulationResult:
    """Returns the result of a simulation."""
    return simulate(
        tables,
        Workload(pattern=pattern, load=load, arrivals=arrivals),
        RouterSettings(**settings),
        decision or Decision(),
        Times(warmup=warmup, window=window, most_drain=most_drain),
        seed,
    )


def digest(result: SimulationResult) -> str:
    """Returns a digest of all that a result says, but for its wall time; times are in 1/16 cycles."""
    found = hashlib.sha256()
    for field in fields(result):
        value = getattr(result, field.name)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, float):
            value = round(value * 16)
        if field.name in ("link_drops", "batch_drops") and not np.any(value):
            continue  # nothing was dropped
        if field.name not in ("seconds", "batch_hops", "batch_paths"):  # digests are older than these
            text = str(value).replace("cyclic_dependency=", "circle=")  # its name in the digests
            found.update(f"{field.name} {text}\n".encode())
    return found.hexdigest()[:16]


def mean_latency(result: SimulationResult) -> float:
    """Returns the mean latency in cycles."""
    return result.latency_sum / result.delivered


def mean_hops(result: SimulationResult) -> float:
    """Returns the mean number of links between routers."""
    return float(np.arange(len(result.hops)) @ result.hops / result.delivered)


class Watch:
    """The packets, queues and credits of a network between two ticks."""

    def __init__(self, network: of.State, tables: ForwardingTables) -> None:
        self._network = network
        self.shift = int(network.settings[of.CHANNEL_SHIFT])
        self.flits = int(network.settings[of.FLITS])
        self.capacity = int(network.settings[of.QUEUE_PLACES]) * self.flits
        channels = int(network.settings[of.CHANNELS])
        self.exists = np.arange(len(network.queues)) % (1 << self.shift) < channels
        inputs = network.outputs[link_ports(tables), of.PEER]
        self.link_of = {int(port): link for link, port in enumerate(inputs.tolist())}

    def queued(self, queue: int) -> list[int]:
        """Returns the packets of a queue, the head first."""
        first, count = self._network.queues[queue, [of.FIRST, of.COUNT]].tolist()
        places = int(self._network.settings[of.QUEUE_PLACES])
        return [int(self._network.queues[queue, of.PACKETS + (first + k) % places]) for k in range(count)]

    def on_links(self) -> list[int]:
        """Returns the packets that are on their way to a queue."""
        found = []
        for first in self._network.wheel[:, of.ARRIVALS].tolist():
            packet = first
            while packet != of.NONE:
                found.append(packet)
                packet = int(self._network.next_packet[packet])
        return found

    def credits_on_the_way(self) -> np.ndarray:
        """Returns the number of credits that are on their way, by queue."""
        network, found = self._network, []
        size = network.credits.shape[1]
        for ring, row in zip(network.credits, network.credit_rings.tolist(), strict=True):
            count = (row[of.RING_END] - row[of.RING_BEGIN]) % size
            found.append(ring[(row[of.RING_BEGIN] + np.arange(count)) % size])
        return np.bincount(np.concatenate(found), minlength=len(network.queues))
