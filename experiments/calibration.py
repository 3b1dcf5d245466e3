"""`--link-rate auto`: the highest link rate at which this machine carries a fabric and its traffic.

Short runs of the very traffic, the first at the rate that a rule of thumb gives, each other at the one that
the CPU load of those before suggests. What counts in a result is the fraction of a link's capacity: any rate
will do at which the machine keeps up, and higher ones have more packets to count.
"""

from __future__ import annotations

import math
from dataclasses import replace

from emulation.network import FabricNetwork
from experiments.cpu_monitor import CpuMonitor
from experiments.doctor.capacity import link_rate_bps
from experiments.events.base import Notify, ignore
from experiments.events.traffic import RateChosen, RateTried
from experiments.live_fabric import LiveFabric, controlled
from experiments.results.validity import MIN_IDLE
from experiments.spec.fabric import FabricOptions
from experiments.spec.traffic import MAX_PACKETS_PER_S, TrafficOptions
from experiments.traffic_jobs import path_delay_ns, run_measured_traffic
from topology.errors import MachineError
from topology.links import MAX_RATE_BPS, MIN_RATE_BPS

_TRIALS = 6
# Before a trial counts, queues have to fill and routes to adapt.
_WARMUP_QUEUES, _LEAST_WARMUP_S, _MOST_WARMUP_S = 3, 1.0, 8.0
_DURATION_S = 4.0
# The idle share aimed at, and the least that is accepted: a longer run has worse seconds than a short one.
_AIM_IDLE, _ACCEPT_IDLE = MIN_IDLE + 0.16, MIN_IDLE + 0.1
_MOST_ACCEPT_IDLE = _AIM_IDLE + 0.1  # no further trial when the idle share is at most this
_MOST_STEP = 4.0
_NOISE = 0.03  # of an idle share: no slope is taken from two that differ by less


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
    search = RateSearch(link_rate_bps(hosts, traffic.load, traffic.frame_bytes), most_bps)
    while (rate_bps := search.next_bps()) is not None:
        trial = replace(options, links=replace(options.links, rate_bps=rate_bps))
        # A controller of its own: what adapts to the links goes by their rate.
        with controlled(trial, network, ignore) as fabric:
            network.reshape(trial.links)
            idle = _least_idle(fabric, traffic)
        search.tried(rate_bps, idle)
        notify(RateTried(rate_bps, idle))
    if search.highest_carried is None:
        raise MachineError(
            f"this machine is too slow for {hosts} hosts at a load of {traffic.load:g}; "
            "choose a smaller fabric, fewer --hosts or a lower --load"
        )
    spec = replace(options.links, rate_bps=search.highest_carried)
    network.reshape(spec)
    notify(RateChosen(spec.rate_bps))
    return replace(options, links=spec, calibrate=False)


class RateSearch:
    """Search for the highest link rate that the machine carries, from the results of trials."""

    def __init__(self, first_bps: float, most_bps: float) -> None:
        """Starts the search at `first_bps`, a guess; no rate is above `most_bps`, both in bit/s."""
        self._first_bps = first_bps
        self._most_bps = min(most_bps, MAX_RATE_BPS)
        self._idle: dict[int, float] = {}  # by rate, in order of trial

    def tried(self, rate_bps: int, idle: float) -> None:
        """Notes the idle share of the CPU at a rate."""
        self._idle[rate_bps] = idle

    @property
    def highest_carried(self) -> int | None:
        """The highest rate that left the CPU idle enough, if any did."""
        return max((rate for rate, idle in self._idle.items() if idle >= _ACCEPT_IDLE), default=None)

    def next_bps(self) -> int | None:
        """Returns the rate to try next, or None when no further trial is of use."""
        if not self._idle:
            return self._allowed(self._first_bps)
        last_idle = list(self._idle.values())[-1]
        if len(self._idle) == _TRIALS or _ACCEPT_IDLE <= last_idle <= _MOST_ACCEPT_IDLE:
            return None
        rate_bps = self._allowed(self._suggested_bps())
        return None if rate_bps in self._idle else rate_bps

    def _suggested_bps(self) -> float:
        """Returns the rate at which the load should be as aimed at, were it linear in the rate."""
        aim = 1 - _AIM_IDLE
        loads = {rate: 1 - idle for rate, idle in self._idle.items()}
        # At how much more than it can do a machine is all busy is not known: the lowest such rate counts.
        near, *others = sorted(loads, key=lambda rate: (abs(loads[rate] - aim), rate))
        others = [rate for rate in others if loads[rate] < 1 - _NOISE]
        slope = max(loads[near], _NOISE) / near
        if others and abs(loads[near] - loads[others[0]]) >= _NOISE:
            # A machine that sends nothing has a load, too: two trials tell more than the last alone.
            slope = (loads[near] - loads[others[0]]) / (near - others[0])
        wanted = near + (aim - loads[near]) / slope if slope > 0 else near / 2
        too_high = min((rate for rate, idle in self._idle.items() if idle < _ACCEPT_IDLE), default=math.inf)
        return min(max(wanted, near / _MOST_STEP), near * _MOST_STEP, 0.9 * too_high)

    def _allowed(self, rate_bps: float) -> int:
        rounded = float(f"{rate_bps:.2g}")
        return round(max(min(rounded, self._most_bps), MIN_RATE_BPS))


def _least_idle(fabric: LiveFabric, traffic: TrafficOptions) -> float:
    """Returns the least idle share of a second of a short run; 0 if its sender fell behind."""
    packet_s = traffic.frame_bytes * 8 / fabric.options.links.rate_bps
    warmup_s = _WARMUP_QUEUES * fabric.options.links.queue_packets * packet_s
    warmup_s = min(max(warmup_s, _LEAST_WARMUP_S), _MOST_WARMUP_S) + path_delay_ns(fabric) / 1e9
    options = replace(traffic, warmup_s=warmup_s, duration_s=_DURATION_S, steady=False)
    with CpuMonitor() as cpu:
        result = run_measured_traffic(fabric, options, lambda _live: None)
    begin_s = result.clock.monotonic_ns / 1e9 + warmup_s
    lag_ms = result.sent.lag.quantile_ms(0.99)
    if lag_ms is None or lag_ms > packet_s * 1e3:
        return 0.0
    return min(cpu.samples.between(begin_s, begin_s + _DURATION_S), default=0.0)
