"""Arrival processes: the times at which hosts inject packets.

An arrival process is a function in this module and an entry in ARRIVALS. It yields chunks of times and
sending hosts, endlessly or until the duration has passed. All sending hosts inject at the same mean rate.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CHUNK_EVENTS = 2048  # maximum number of packets in one Events object

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Events:
    """Scheduled packets in the order of sending; arrays of the same length.

    Attributes:
        time_ns: time since the schedule's start in nanoseconds (int64, ascending).
        source: index of the sending host (int64).
        destination: index of the receiving host (int64).
        flow: index of the flow within the host pair (int64, from 0).
        sequence: index of the packet among its source's packets (int64, from 0).
    """

    time_ns: Indices
    source: Indices
    destination: Indices
    flow: Indices
    sequence: Indices

    def __len__(self) -> int:
        return len(self.time_ns)


def number_per_source(sources: Indices, sent: Indices) -> Indices:
    """Returns the position of each packet in its source's sequence, and adds the packets to `sent`.

    Args:
        sources: index of each packet's sending host, in the order of sending; shape (packets,).
        sent: number of packets that each host has sent before; shape (hosts,). Updated in place.

    Returns:
        int64 array of shape (packets,): consecutive numbers for every source, starting from `sent`.
    """
    order = np.argsort(sources, kind="stable")
    ordered = sources[order]
    # Within a run of equal sources, numbers count up from the run's start.
    starts = np.searchsorted(ordered, ordered)
    numbers = np.empty(len(sources), np.int64)
    numbers[order] = sent[ordered] + np.arange(len(sources)) - starts
    sent += np.bincount(sources, minlength=len(sent))
    return numbers


_NS = 1_000_000_000


@dataclass(frozen=True)
class InjectionSettings:
    """Hosts that inject packets, and their rate.

    Attributes:
        senders: indices of the sending hosts, ascending (int64).
        packets_per_s: mean rate per host, over 0.
        max_packets_per_s: rate of a host that sends without pause; used by Bernoulli arrivals only.
        duration_ns: length of time to cover, in nanoseconds.
    """

    senders: npt.NDArray[np.int64]
    packets_per_s: float
    max_packets_per_s: float
    duration_ns: int


# Times of packets in nanoseconds since the start, ascending, and the hosts that send them.
Injections = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]
ArrivalProcess = Callable[[InjectionSettings, np.random.Generator], Iterator[Injections]]


def poisson(settings: InjectionSettings, generator: np.random.Generator) -> Iterator[Injections]:
    """Yields packets of independent Poisson processes, one per host.

    The superposition of the hosts' processes is a Poisson process with the sum of their rates, in which each
    packet's source is uniformly random. The gaps between packets of a single host are then exponential, too.

    Args:
        settings: the sending hosts and their rate.
        generator: random generator of the times and senders.

    Yields:
        Times in nanoseconds and hosts of CHUNK_EVENTS packets, endlessly.
    """
    senders = settings.senders
    mean_gap_ns = _NS / (settings.packets_per_s * len(senders))
    now_ns = 0.0
    while True:
        times = now_ns + np.cumsum(generator.exponential(mean_gap_ns, CHUNK_EVENTS))
        now_ns = float(times[-1])
        yield times, senders[generator.integers(len(senders), size=CHUNK_EVENTS)]


def bernoulli(settings: InjectionSettings, generator: np.random.Generator) -> Iterator[Injections]:
    """Yields packets of independent Bernoulli processes: a host injects at most one packet per packet time.

    The packet time is the time between packets of a host that sends without pause. The hosts' packet times
    are staggered in a random order.

    Args:
        settings: the sending hosts, their rate and the rate without pause.
        generator: random generator of the order and of the decisions.

    Yields:
        Times in nanoseconds and hosts of at most about CHUNK_EVENTS packets, until the duration has passed.

    Source:
        Dally and Towles, Principles and Practices of Interconnection Networks, section 24.2.
    """
    senders = generator.permutation(settings.senders)
    slot_ns = _NS / settings.max_packets_per_s
    probability = settings.packets_per_s / settings.max_packets_per_s
    slots = max(1, CHUNK_EVENTS // len(senders))
    for first in range(0, math.ceil(settings.duration_ns / slot_ns) + 1, slots):
        slot, place = np.nonzero(generator.random((slots, len(senders))) < probability)
        yield (first + slot + place / len(senders)) * slot_ns, senders[place]


def constant(settings: InjectionSettings, generator: np.random.Generator) -> Iterator[Injections]:
    """Yields packets at constant intervals for every host, with a random phase.

    Args:
        settings: the sending hosts and their rate.
        generator: random generator of the phases.

    Yields:
        Times in nanoseconds and hosts of complete rounds of packets, endlessly.
    """
    senders = settings.senders
    gap_ns = _NS / settings.packets_per_s
    phases = np.sort(generator.random(len(senders)))
    sources = generator.permutation(senders)
    rounds = max(1, CHUNK_EVENTS // len(senders))
    for first in itertools.count(step=rounds):
        turns = first + np.arange(rounds)[:, None]
        yield ((turns + phases) * gap_ns).ravel(), np.tile(sources, rounds)


ARRIVALS: Mapping[str, ArrivalProcess] = {"poisson": poisson, "bernoulli": bernoulli, "constant": constant}
