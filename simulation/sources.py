"""Sources of a workload as arrays, with the distribution of gaps between packets as integers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from simulation.kernels.random import seeded
from simulation.kernels.sources import TIME_BITS
from simulation.kernels.state import HOT, IDLE, NONE, PARTNER, SHARES, UNIFORM
from simulation.settings import RouterSettings, Workload
from traffic.workload.patterns import Pattern

_WHOLE = 1 << 32  # probability 1, in units of the 32-bit random numbers
_MAX_GAPS = 4096  # maximum number of thresholds; longer gaps are drawn in several steps
_FRACTIONS = 256
_STREAM = 1  # stream of the sources' random generators; the routers' generators have another one


def gap_thresholds(load: float, flits: int, arrivals: str) -> tuple[npt.NDArray[np.int64], int, int]:
    """Returns the distribution of gaps between consecutive packets of a host.

    Uses integers and exact decimals only, so that the result is the same on every machine.

    Args:
        load: offered load as a fraction of the link's rate, over 0 and at most 1.
        flits: flits per packet.
        arrivals: `bernoulli`, `poisson` or `constant`.

    Returns:
        Cumulative thresholds in units of 2^-32 (int64 array; see `State.gaps`), the minimum gap in cycles,
        and the constant gap in 1/65,536 cycles, or 0.
    """
    rate = Fraction(str(load)) / flits  # packets per cycle
    if arrivals == "constant":
        return np.zeros(0, np.int64), 0, round((1 << TIME_BITS) / rate)
    no_packet = 1 - rate  # probability of a cycle without a packet
    if arrivals == "poisson":
        with localcontext() as context:
            context.prec = 40
            no_packet = Fraction((-Decimal(rate.numerator) / Decimal(rate.denominator)).exp())
    # The probabilities of long gaps are products of many factors: 64 bits leave 32 exact ones.
    whole = 1 << 64
    factor, left = round(no_packet * whole), whole
    thresholds = []
    for _ in range(_MAX_GAPS):
        left = left * factor >> 64
        thresholds.append(_WHOLE - (left >> 32))
        if thresholds[-1] >= _WHOLE - 2:
            break
    return np.array(thresholds, np.int64), int(arrivals == "bernoulli"), 0


def cycle_fractions(load: float, flits: int, arrivals: str) -> npt.NDArray[np.int64]:
    """Returns the distribution of generation times within a cycle.

    The gaps of a Poisson process are exponential. Their integer part is geometric; the fractional part is
    independent of it and has an exponential distribution truncated to one cycle.

    Args:
        load: offered load as a fraction of the link's rate, over 0 and at most 1.
        flits: flits per packet.
        arrivals: `bernoulli`, `poisson` or `constant`.

    Returns:
        int64 array, (257,): quantiles of the fractional part at 0, 1/256 ... 1, in 1/65,536 cycles; all 0
        if gaps are whole cycles.
    """
    if arrivals != "poisson":
        return np.zeros(_FRACTIONS + 1, np.int64)
    rate = Fraction(str(load)) / flits
    with localcontext() as context:
        context.prec = 40
        exact = Decimal(rate.numerator) / Decimal(rate.denominator)
        ends = 1 - (-exact).exp()
        quantiles = [-(1 - ends * step / _FRACTIONS).ln() / exact for step in range(_FRACTIONS + 1)]
        return np.array([round(one * (1 << TIME_BITS)) for one in quantiles], np.int64)


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Sources of a workload; see `simulation.kernels.state` for the arrays.

    Attributes:
        kinds: (H,): how each host chooses destinations.
        partners: (H,): the only destination of each host, or NONE.
        share_starts: (H + 1,): index of each host's first row in `shares`.
        shares: (shares, 2): cumulative share in units of 2^-32, and the destination.
        hot_hosts: hosts that receive the hot packets.
        hot_share: share of hot packets, in units of 2^-32.
        gaps: cumulative thresholds of gaps between packets.
        guide: (257, 2): threshold at which a search starts, and quantiles of generation times within a cycle.
        min_gap: minimum gap, in cycles.
        constant_gap: the constant gap in 1/65,536 cycles, or 0.
        random: (H,): states of the random generators.
    """

    kinds: npt.NDArray[np.int64]
    partners: npt.NDArray[np.int64]
    share_starts: npt.NDArray[np.int64]
    shares: npt.NDArray[np.int64]
    hot_hosts: npt.NDArray[np.int32]
    hot_share: int
    gaps: npt.NDArray[np.int64]
    guide: npt.NDArray[np.int32]
    min_gap: int
    constant_gap: int
    random: npt.NDArray[np.int64]


def make_sources(workload: Workload | None, hosts: int, flits: int, seed: int) -> Sources:
    """Returns the sources of a workload before their first packets.

    Args:
        workload: the workload; None if hosts send only messages of an application.
        hosts: number of hosts.
        flits: flits per packet.
        seed: seed of the run, at least 0.
    """
    if workload is None:
        return _silent_sources(hosts, seed)
    pattern = workload.pattern
    gaps, least, constant = gap_thresholds(workload.load, flits, workload.arrivals)
    fractions = cycle_fractions(workload.load, flits, workload.arrivals)
    first = np.searchsorted(gaps, np.arange(_FRACTIONS + 1) << 24, "right")
    starts, shares = _shares(pattern)
    kinds, partners = _kinds(pattern)
    if workload.schedule is not None:
        kinds[:] = IDLE
    hot = pattern.hot
    return Sources(
        kinds=kinds,
        partners=partners,
        share_starts=starts,
        shares=shares,
        hot_hosts=np.array(hot.hosts if hot else (), np.int32),
        hot_share=round(Fraction(str(hot.share)) * _WHOLE) if hot else 0,
        gaps=gaps,
        guide=np.stack((first, fractions), axis=1).astype(np.int32),
        min_gap=least,
        constant_gap=constant,
        random=seeded(seed, _STREAM, hosts),
    )


def _silent_sources(hosts: int, seed: int) -> Sources:
    """Returns sources that generate no packets by themselves."""
    return Sources(
        kinds=np.full(hosts, IDLE, np.int64),
        partners=np.full(hosts, NONE, np.int64),
        share_starts=np.zeros(hosts + 1, np.int64),
        shares=np.zeros((0, 2), np.int64),
        hot_hosts=np.zeros(0, np.int32),
        hot_share=0,
        gaps=np.zeros(0, np.int64),
        guide=np.zeros((_FRACTIONS + 1, 2), np.int32),
        min_gap=0,
        constant_gap=0,
        random=seeded(seed, _STREAM, hosts),
    )


def scheduled_packets(workload: Workload | None, routers: RouterSettings) -> npt.NDArray[np.int64]:
    """Returns the packets of a workload's schedule as `State.schedule`; empty without a schedule.

    Args:
        workload: the workload; None if hosts send only messages of an application.
        routers: settings of routers and links.
    """
    if workload is None or workload.schedule is None:
        return np.zeros((0, 3), np.int64)
    duration_ticks = routers.packet_flits * routers.ticks
    parts = [
        (events.time_ns * duration_ticks // workload.frame_ns, events.source, events.destination)
        for events in workload.schedule.chunks()
    ]
    return np.concatenate([np.stack(part, axis=1) for part in parts]).astype(np.int64)


def _kinds(pattern: Pattern) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns `Sources.kinds` and `Sources.partners` of a pattern."""
    kinds = np.full(pattern.hosts, IDLE, np.int64)
    partners = np.full(pattern.hosts, NONE, np.int64)
    if pattern.partners is not None:
        partners[:] = pattern.partners
        kinds[pattern.senders] = PARTNER
    elif pattern.matrix is not None:
        kinds[pattern.senders] = SHARES
    else:
        kinds[:] = HOT if pattern.hot else UNIFORM
    return kinds, partners


def _shares(pattern: Pattern) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns `share_starts` and `shares` of a demand matrix."""
    rows = pattern.matrix or ()
    sources = np.array([source for source, _, _ in rows], np.int64)
    starts = np.searchsorted(sources, np.arange(pattern.hosts + 1))
    shares: list[tuple[int, int]] = []
    for host in range(pattern.hosts):
        own = rows[starts[host] : starts[host + 1]]
        total = sum((Fraction(share) for _, _, share in own), Fraction(0))
        cumulative = Fraction(0)
        for _, destination, share in own:
            cumulative += Fraction(share)
            shares.append((round(cumulative / total * _WHOLE), destination))
    return starts, np.array(shares, np.int64).reshape(-1, 2)
