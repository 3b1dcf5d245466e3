"""`--link-rate auto`: the highest link rate at which this machine carries a fabric and its traffic.

The search makes short runs of the same traffic. The first uses a link rate from a rule of thumb; each further
one uses the rate that the strain of the earlier runs suggests. Strain says how close a run is to being
invalid. A busy machine adds several kinds of delays, each of which is measured and has a limit. Strain is the
largest ratio of a delay to its limit.

Results are fractions of a link's capacity, so any rate will do as long as the machine keeps up; at higher
rates, there are more packets to count.
"""

from __future__ import annotations

import math
from dataclasses import replace

from emulation.network import FabricNetwork
from experiments.doctor.default_rate import Demand, carried_rate_bps, takes_detours
from experiments.events.base import OnEvent, ignore
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
# A trial's warm-up lets queues fill and routes adapt.
_WARMUP_QUEUES, _MIN_WARMUP_S, _MAX_WARMUP_S = 3, 1.0, 8.0
DURATION_S = 4.0
_ACCEPT = 0.65  # largest accepted strain; below 1, as a long run has worse seconds than a trial
MIN_FINAL_STRAIN = 0.3  # the search ends at an accepted rate with at least this strain
_MAX_STEP = 4.0
_MIN_STRAIN = 0.01
_MIN_POWER, _MAX_POWER = 1.0, 8.0  # exponent in strain ~ rate^power
# Share of the processors that must stay idle if the time that frames wait in switches cannot be observed.
_MIN_IDLE = 0.35


def with_settled_rate(
    network: FabricNetwork, options: FabricOptions, traffic: TrafficOptions, on_event: OnEvent
) -> FabricOptions:
    """Returns options with a fixed link rate: the requested one, or one calibrated on the network.

    The network's links have that rate afterwards.

    Raises:
        MachineError: the machine cannot carry the traffic at any rate.
    """
    if not options.calibrate:
        return options
    hosts = options.topology.endpoints(options.hosts)
    max_bps = MAX_PACKETS_PER_S * traffic.frame_bytes * 8 / (hosts * traffic.load)
    demand = Demand(hosts, traffic.load, traffic.frame_bytes, takes_detours(options.routing))
    search = RateSearch(carried_rate_bps(options.topology, demand), max_bps)
    while (rate_bps := search.next_bps()) is not None:
        trial = replace(options, links=replace(options.links, rate_bps=rate_bps))
        # A new controller for each trial, as the adaptation depends on the links' rate.
        with controlled(trial, network, ignore) as fabric:
            network.reshape(trial.links)
            strained = _strain(fabric, traffic)
        search.tried(rate_bps, strained)
        on_event(Notice("rate-tried", rate_bps=rate_bps, strain=strained))
    if search.highest_carried is None:
        raise MachineError(
            f"this machine is too slow for {hosts} hosts at a load of {traffic.load:g}; "
            "choose a smaller fabric, fewer --hosts or a lower --load"
        )
    spec = replace(options.links, rate_bps=search.highest_carried)
    network.reshape(spec)
    on_event(Notice("rate-chosen", rate_bps=spec.rate_bps))
    return replace(options, links=spec, calibrate=False)


class RateSearch:
    """Searches for the highest link rate that the machine carries, based on the results of trials."""

    def __init__(self, first_bps: float, max_bps: float) -> None:
        """Starts the search.

        Args:
            first_bps: first rate to try, in bit/s.
            max_bps: upper limit of the rate, in bit/s.
        """
        self._first_bps = first_bps
        self._max_bps = min(max_bps, MAX_RATE_BPS)
        self._strains: dict[int, float] = {}  # link rate in bit/s -> strain, in order of trial

    def tried(self, rate_bps: int, strained: float) -> None:
        """Records the strain that a trial measured at a link rate."""
        self._strains[rate_bps] = max(strained, _MIN_STRAIN)

    @property
    def highest_carried(self) -> int | None:
        """The highest link rate in bit/s with an accepted strain; None if there is none."""
        return max((rate for rate, strained in self._strains.items() if strained <= _ACCEPT), default=None)

    def next_bps(self) -> int | None:
        """Returns the link rate to try next, in bit/s; None if no further trial is useful."""
        if not self._strains:
            return self._allowed(self._first_bps)
        last = list(self._strains.values())[-1]
        if len(self._strains) == _TRIALS or MIN_FINAL_STRAIN <= last <= _ACCEPT:
            return None
        rate_bps = self._allowed(self._suggested_bps())
        return None if rate_bps in self._strains else rate_bps

    def _suggested_bps(self) -> float:
        """Extrapolates the link rate in bit/s at the target strain, assuming strain ~ rate^power."""
        strains = self._strains
        near, *others = sorted(strains, key=lambda rate: (abs(math.log(strains[rate] / AIM_STRAIN)), -rate))
        power = USUAL_POWER
        if others:
            measured = math.log(strains[near] / strains[others[0]]) / math.log(near / others[0])
            power = min(max(measured, _MIN_POWER), _MAX_POWER)
        wanted: float = near * (AIM_STRAIN / strains[near]) ** (1 / power)
        too_high = min((rate for rate, strained in strains.items() if strained > _ACCEPT), default=math.inf)
        return min(max(wanted, near / _MAX_STEP), near * _MAX_STEP, 0.9 * too_high)

    def _allowed(self, rate_bps: float) -> int:
        rounded = float(f"{rate_bps:.2g}")
        return round(max(min(rounded, self._max_bps), MIN_RATE_BPS))


def _strain(fabric: LiveFabric, traffic: TrafficOptions) -> float:
    """Runs the traffic for a few seconds and returns the strain; inf if the strain could not be measured."""
    links = fabric.options.links
    packet_s = links.packet_s(traffic.frame_bytes)
    warmup_s = _WARMUP_QUEUES * links.queue_packets * packet_s
    warmup_s = min(max(warmup_s, _MIN_WARMUP_S), _MAX_WARMUP_S) + path_delay_ns(fabric) / 1e9
    options = replace(traffic, warmup_s=warmup_s, duration_s=DURATION_S, steady=False)
    with CpuMonitor() as cpu, HeldMonitor(fabric.network, packet_s) as held:
        held.wait_until_sampling()
        result = run_measured_traffic(fabric, options, lambda _live: None)
    begin_s = result.clock.monotonic_ns / 1e9 + warmup_s
    span = (begin_s, begin_s + DURATION_S)
    lag_ms = result.sent.lag.quantile_ms(0.99)
    if lag_ms is None:  # the sender sent nothing in the window
        return math.inf
    if held.samples is None:
        busy = 1 - min(cpu.samples.idle_between(*span), default=0.0)
        return max(busy / (1 - _MIN_IDLE), strain(Evidence(packet_s * 1e3, lag_ms_p99=lag_ms)))
    seconds = held.samples.between(*span)
    worst, mean = worst_held(seconds, packet_s), mean_held(seconds, packet_s)
    if worst is None or held.samples.coverage(span).lacking:
        return math.inf
    rms = worst_held(seconds, packet_s, measure=HeldSecond.held_rms_s)
    return strain(Evidence(packet_s * 1e3, worst, mean, rms, lag_ms_p99=lag_ms))
