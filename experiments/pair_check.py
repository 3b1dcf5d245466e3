"""Check of all pairs of hosts: sends a probe for each and compares its hops with the plan."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from emulation.subprocesses import marked_environment
from experiments.events.base import OnEvent
from experiments.events.notices import Notice
from experiments.events.progress import PairsDelivered
from experiments.live_fabric import LiveFabric
from experiments.results.model import PairCheck
from experiments.traffic_jobs import make_job, naming_ended_process
from routing.registry import routing
from topology.addressing import Host
from topology.errors import NegativeResult
from traffic.engine.engine import run_traffic
from traffic.wire.layout import HEADER_BYTES
from traffic.workload.schedule import AllPairsSchedule

_NS = 1_000_000_000
_CHECK_ATTEMPTS, _MAX_FALSE_ALARMS = 3, 1e-6
# On a slow machine, switches take long to process many probes, so later attempts wait longer for them.
_LATER_WAITS_NS = (0, _NS, 4 * _NS)
_FOREVER_NS = 1 << 62
_CHECK_PROBES_PER_S = 2500  # low, as every probe misses the flow cache of some switch


def check_all_pairs(fabric: LiveFabric, on_event: OnEvent) -> PairCheck:
    """Sends a probe for every ordered pair of hosts and compares its hops with the plan's bound.

    Args:
        fabric: the fabric, up.
        on_event: called with each event.

    Raises:
        NegativeResult: a probe does not arrive, takes more hops than the routing's bound or, under minimal
            routing, fewer (the error names a pair); probes arrive damaged; or a process of the fabric
            ended.
    """
    count = len(fabric.hosts)
    started = time.monotonic()
    on_event(Notice("pair-check-started", pairs=count * (count - 1)))
    with naming_ended_process(fabric):
        check = _probe(fabric, on_event)
    on_event(Notice("pair-check-passed", max_hops=check.longest))
    return replace(check, seconds=round(time.monotonic() - started, 3))


def _probe(fabric: LiveFabric, on_event: OnEvent) -> PairCheck:
    """Sends a probe for each ordered pair of hosts, repeats missing ones, and compares hops with the plan."""
    count = len(fabric.hosts)
    pairs = count * (count - 1)
    expected = fabric.plan.hop_bound(fabric.host_distances())
    hops = np.zeros((count, count), np.uint8)
    arrived = np.eye(count, dtype=bool)
    repeated = 0
    packet_ns = _NS * HEADER_BYTES * 8 // fabric.options.links.rate_bps
    round_ns = max(count * _NS // _CHECK_PROBES_PER_S, 4 * packet_ns)
    for attempt in range(attempts_needed(fabric.options.links.loss, int(expected.max()), count * count)):
        skip = tuple(np.flatnonzero(arrived).tolist())
        if attempt:
            repeated += count * count - len(skip)
        schedule = AllPairsSchedule(count, round_ns, skip)
        # Late probes count, too: the check concerns the switches' rules, not the speed of the machine.
        job = make_job(fabric, schedule, HEADER_BYTES, attempt, 1, (0, _FOREVER_NS))
        job = replace(job, quiet_ns=job.quiet_ns + _LATER_WAITS_NS[min(attempt, 2)])
        result = run_traffic(job, marked_environment(), fabric.network.run_dir)
        if result.received.damaged:
            raise NegativeResult(f"{result.received.damaged} damaged or forged probes arrived")
        new = result.received.frames > 0
        hops[new] = result.received.hops_max[new]
        arrived |= new
        on_event(PairsDelivered(int(arrived.sum()) - count, pairs))
        if arrived.all():
            break
    shortest = routing(fabric.options.routing).shortest
    wrong = arrived & ((hops != expected) if shortest else (hops > expected))
    _raise_if_negative(fabric.hosts, arrived, wrong, hops, expected)
    return PairCheck(pairs, pairs, repeated, 0, int(hops.max()))


def attempts_needed(loss: float, hops: int, pairs: int) -> int:
    """Returns how often to send missing probes, so that random loss rarely looks like a failure.

    If all pairs are connected, the check then fails with a probability of at most 1e-6.

    Args:
        loss: probability that a link loses a packet.
        hops: largest number of links on a path.
        pairs: number of ordered pairs of hosts.
    """
    missed = 1 - (1 - loss) ** hops
    if not missed:
        return _CHECK_ATTEMPTS
    return max(_CHECK_ATTEMPTS, math.ceil(math.log(_MAX_FALSE_ALARMS / pairs) / math.log(missed)))


def _raise_if_negative(
    hosts: tuple[Host, ...],
    arrived: npt.NDArray[np.bool_],
    wrong: npt.NDArray[np.bool_],
    hops: npt.NDArray[np.uint8],
    expected: npt.NDArray[np.int16],
) -> None:
    if not arrived.all():
        source, destination = np.argwhere(~arrived)[0]
        raise NegativeResult(
            f"{int((~arrived).sum())} pairs of hosts do not reach each other, "
            f"{hosts[source].name} to {hosts[destination].name} among them"
        )
    if wrong.any():
        source, destination = np.argwhere(wrong)[0]
        raise NegativeResult(
            f"{int(wrong.sum())} pairs take unplanned paths: {hosts[source].name} to "
            f"{hosts[destination].name} {hops[source, destination]} hops, not "
            f"{expected[source, destination]}"
        )
