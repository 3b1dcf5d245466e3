"""`--link-rate auto`: the highest link rate at which this machine carries a fabric and its traffic.

Short runs of the very traffic, the first at the rate that a rule of thumb gives, each other at the one that
the strain of those before suggests: the largest of the measures by which results are judged, over the most
that is right. What counts in a result is the fraction of a link's capacity: any rate
will do at which the machine keeps up, and higher ones have more packets to count.
"""

from __future__ import annotations

import math
from dataclasses import replace

from emulation.network import FabricNetwork
from experiments.doctor.default_rate import Demand, carried_rate_bps, takes_detours
from experiments.events.base import Notify, ignore
from experiments.events.notices import Notice
from experiments.live_fabric import LiveFabric, controlled
from experiments.spec.fabric import FabricOptions
from experiments.spec.traffic import MAX_PACKETS_PER_S, TrafficOptions
from experiments.traffic_jobs import path_delay_ns, run_measured_traffic
from experiments.validity.held_monitor import HeldMonitor
from experiments.validity.judgement import AIM_STRAIN, USUAL_POWER, Evidence, strain
from experiments.validity.monitors import CpuMonitor
from experiments.validity.samples import HeldSecond, mean_held, worst_held
from topology.errors import MachineError
from topology.links import MAX_RATE_BPS, MIN_RATE_BPS

_TRIALS = 6
# Before a trial counts, queues have to fill and routes to adapt.
_WARMUP_QUEUES, _LEAST_WARMUP_S, _MOST_WARMUP_S = 3, 1.0, 8.0
DURATION_S = 4.0
_ACCEPT = 0.65  # the most strain; a longer run has worse seconds than a short one
ENOUGH = 0.3  # no further trial when the strain is at least this, and accepted
_MOST_STEP = 4.0
_LEAST_STRAIN = 0.01
_LEAST_POWER, _MOST_POWER = 1.0, 8.0  # of the rate, of which strain is a power
# Where it cannot be observed how long switches hold frames, so much of the CPU has to stay idle.
_LEAST_IDLE = 0.35


def with_settled_rate(
    network: FabricNetwork, options: FabricOptions, traffic: TrafficOptions, notify: Notify
) -> FabricOptions:
    """Returns options with the link rate that the network has by then: as asked for, or calibrated.

    Raises:
        MachineError: the machine carries the traffic at no rate.
    """
    if not options.calibrate:
        return options
    hosts = options.topology.endpoints(options.hosts)
    most_bps = MAX_PACKETS_PER_S * traffic.frame_bytes * 8 / (hosts * traffic.load)
    demand = Demand(hosts, traffic.load, traffic.frame_bytes, takes_detours(options.routing))
    search = RateSearch(carried_rate_bps(options.topology, demand), most_bps)
    while (rate_bps := search.next_bps()) is not None:
        trial = replace(options, links=replace(options.links, rate_bps=rate_bps))
        # A controller of its own: what adapts to the links goes by their rate.
        with controlled(trial, network, ignore) as fabric:
            network.reshape(trial.links)
            strained = _strain(fabric, traffic)
        search.tried(rate_bps, strained)
        notify(Notice("rate-tried", rate_bps=rate_bps, strain=strained))
    if search.highest_carried is None:
        raise MachineError(
            f"this machine is too slow for {hosts} hosts at a load of {traffic.load:g}; "
            "choose a smaller fabric, fewer --hosts or a lower --load"
        )
    spec = replace(options.links, rate_bps=search.highest_carried)
    network.reshape(spec)
    notify(Notice("rate-chosen", rate_bps=spec.rate_bps))
    return replace(options, links=spec, calibrate=False)


class RateSearch:
    """Search for the highest link rate that the machine carries, from the results of trials."""

    def __init__(self, first_bps: float, most_bps: float) -> None:
        """Starts the search at `first_bps`, a guess; no rate is above `most_bps`, both in bit/s."""
        self._first_bps = first_bps
        self._most_bps = min(most_bps, MAX_RATE_BPS)
        self._strains: dict[int, float] = {}  # by rate, in order of trial

    def tried(self, rate_bps: int, strained: float) -> None:
        """Notes the strain of the machine at a rate."""
        self._strains[rate_bps] = max(strained, _LEAST_STRAIN)

    @property
    def highest_carried(self) -> int | None:
        """The highest rate that strained the machine little enough, if any did."""
        return max((rate for rate, strained in self._strains.items() if strained <= _ACCEPT), default=None)

    def next_bps(self) -> int | None:
        """Returns the rate to try next, or None when no further trial is of use."""
        if not self._strains:
            return self._allowed(self._first_bps)
        last = list(self._strains.values())[-1]
        if len(self._strains) == _TRIALS or ENOUGH <= last <= _ACCEPT:
            return None
        rate_bps = self._allowed(self._suggested_bps())
        return None if rate_bps in self._strains else rate_bps

    def _suggested_bps(self) -> float:
        """Returns the rate at which the strain should be as aimed at, were it a power of the rate."""
        strains = self._strains
        near, *others = sorted(strains, key=lambda rate: (abs(math.log(strains[rate] / AIM_STRAIN)), -rate))
        power = USUAL_POWER
        if others:
            measured = math.log(strains[near] / strains[others[0]]) / math.log(near / others[0])
            power = min(max(measured, _LEAST_POWER), _MOST_POWER)
        wanted: float = near * (AIM_STRAIN / strains[near]) ** (1 / power)
        too_high = min((rate for rate, strained in strains.items() if strained > _ACCEPT), default=math.inf)
        return min(max(wanted, near / _MOST_STEP), near * _MOST_STEP, 0.9 * too_high)

    def _allowed(self, rate_bps: float) -> int:
        rounded = float(f"{rate_bps:.2g}")
        return round(max(min(rounded, self._most_bps), MIN_RATE_BPS))


def _strain(fabric: LiveFabric, traffic: TrafficOptions) -> float:
    """Returns the strain of the machine in a short run."""
    links = fabric.options.links
    packet_s = links.packet_s(traffic.frame_bytes)
    warmup_s = _WARMUP_QUEUES * links.queue_packets * packet_s
    warmup_s = min(max(warmup_s, _LEAST_WARMUP_S), _MOST_WARMUP_S) + path_delay_ns(fabric) / 1e9
    options = replace(traffic, warmup_s=warmup_s, duration_s=DURATION_S, steady=False)
    with CpuMonitor() as cpu, HeldMonitor(fabric.network, packet_s) as held:
        held.wait_until_looking()
        result = run_measured_traffic(fabric, options, lambda _live: None)
    begin_s = result.clock.monotonic_ns / 1e9 + warmup_s
    span = (begin_s, begin_s + DURATION_S)
    lag_ms = result.sent.lag.quantile_ms(0.99)
    if lag_ms is None:  # the sender has sent nothing in time
        return math.inf
    if held.samples is None:
        busy = 1 - min(cpu.samples.idle_between(*span), default=0.0)
        return max(busy / (1 - _LEAST_IDLE), strain(Evidence(packet_s * 1e3, lag_ms_p99=lag_ms)))
    seconds = held.samples.between(*span)
    worst, mean = worst_held(seconds, packet_s), mean_held(seconds, packet_s)
    if worst is None or held.samples.coverage(span).lacking:
        return math.inf
    rms = worst_held(seconds, packet_s, measure=HeldSecond.held_rms_s)
    return strain(Evidence(packet_s * 1e3, worst, mean, rms, lag_ms_p99=lag_ms))
