"""`--link-rate auto`: the highest link rate at which this machine carries a fabric and its traffic.

Short runs of the very traffic, each at the rate that the last one's CPU load suggests. What counts in a
result is the fraction of a link's capacity: any rate will do at which the machine keeps up, and higher ones
have more packets to count.
"""

from __future__ import annotations

from dataclasses import replace

from emulation.network import FabricNetwork
from emulation.shaping import MAX_RATE_BPS, MIN_RATE_BPS
from experiments.fabric import LiveFabric, controlled
from experiments.fabric_options import FabricOptions
from experiments.fidelity import MIN_IDLE, CpuSampler
from experiments.progress import Progress
from experiments.traffic_jobs import path_delay_ns, run_measured_traffic
from experiments.traffic_options import MAX_PACKETS_PER_S, TrafficOptions
from topology.errors import MachineError

_TRIALS = 6
# Before a trial counts, queues have to fill and routes to adapt.
_WARMUP_QUEUES, _LEAST_WARMUP_S, _MOST_WARMUP_S = 3, 1.0, 8.0
_DURATION_S = 4.0
# The idle share aimed at, and the least that is accepted: a longer run has worse seconds than a short one.
_AIM_IDLE, _ACCEPT_IDLE = MIN_IDLE + 0.16, MIN_IDLE + 0.1
_CLOSE = 0.06  # no further trial when the idle share is so near what is aimed at
_MOST_STEP = 4.0


def with_settled_rate(
    network: FabricNetwork, options: FabricOptions, traffic: TrafficOptions, progress: Progress
) -> FabricOptions:
    """Returns options with the link rate that the network has by then: as asked for, or calibrated.

    Raises:
        MachineError: the machine carries the traffic at no rate.
    """
    if not options.calibrate:
        return options
    trials: dict[int, float] = {}
    rate_bps = options.shape.rate_bps
    hosts = options.topology.routers * options.hosts
    while len(trials) < _TRIALS and rate_bps not in trials:
        trial = replace(options, shape=replace(options.shape, rate_bps=rate_bps))
        if network.started:
            network.reshape(trial.shape)
        # A controller of its own: what adapts to the links goes by their rate.
        with controlled(trial, network, Progress(quiet=True)) as fabric:
            idle = trials[rate_bps] = _least_idle(fabric, traffic)
        progress(f"calibrating: {idle:.0%} of the CPU idle at {rate_bps / 1e6:g} Mbit/s")
        if abs(idle - _AIM_IDLE) < _CLOSE:
            break
        highest = MAX_PACKETS_PER_S * traffic.frame_bytes * 8 / (hosts * traffic.load)
        rate_bps = _next_rate(rate_bps, idle, min(MAX_RATE_BPS, highest))
    carried = [rate for rate, idle in trials.items() if idle >= _ACCEPT_IDLE]
    if not carried:
        raise MachineError(
            f"this machine is too slow for {hosts} hosts at a load of {traffic.load:g}; "
            "choose a smaller fabric, fewer --hosts or a lower --load"
        )
    shape = replace(options.shape, rate_bps=max(carried))
    network.reshape(shape)
    progress(f"links of {shape.rate_bps / 1e6:g} Mbit/s")
    return replace(options, shape=shape, calibrate=False)


def _least_idle(fabric: LiveFabric, traffic: TrafficOptions) -> float:
    """Returns the least idle share of a second of a short run; 0 if its sender fell behind."""
    packet_s = traffic.frame_bytes * 8 / fabric.options.shape.rate_bps
    warmup_s = _WARMUP_QUEUES * fabric.options.shape.queue_packets * packet_s
    warmup_s = min(max(warmup_s, _LEAST_WARMUP_S), _MOST_WARMUP_S) + path_delay_ns(fabric) / 1e9
    options = replace(traffic, warmup_s=warmup_s, duration_s=_DURATION_S, steady=False)
    with CpuSampler() as cpu:
        result = run_measured_traffic(fabric, options, lambda _live: None)
    begin_s = result.clock.monotonic_ns / 1e9 + warmup_s
    lag_ms = result.sent.lag.quantile_ms(0.99)
    if lag_ms is None or lag_ms > packet_s * 1e3:
        return 0.0
    return min(cpu.samples.between(begin_s, begin_s + _DURATION_S), default=0.0)


def _next_rate(rate_bps: int, idle: float, highest_bps: float) -> int:
    """Returns the rate at which the idle share should be as aimed at, were the load proportional to it."""
    factor = (1 - _AIM_IDLE) / max(1 - idle, 0.01)
    wanted = rate_bps * min(max(factor, 1 / _MOST_STEP), _MOST_STEP)
    rounded = float(f"{wanted:.2g}")
    return round(min(max(rounded, MIN_RATE_BPS), highest_bps))
