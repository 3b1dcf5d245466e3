"""Runs whose traffic is that of programs alone: a clock, and a result without generated packets."""

from __future__ import annotations

import time
from collections.abc import Callable

from experiments.programs.running import RunningPrograms
from traffic.metrics.measurements import Clock, TrafficResult, no_packets_received, no_packets_sent

_INTERVAL_NS = 250_000_000


def run_program_traffic(
    hosts: int, programs: RunningPrograms, starts: Callable[[Clock], None]
) -> TrafficResult:
    """Starts the clock and returns when the programs have ended.

    Args:
        hosts: number of hosts of the fabric.
        programs: the programs.
        starts: called once with the clock, at the start.
    """
    clock = Clock(time.monotonic_ns(), time.time_ns())
    starts(clock)
    interrupted = programs.wait()
    elapsed_ns = time.monotonic_ns() - clock.monotonic_ns
    seconds = elapsed_ns / 1e9 if interrupted else programs.ended_s
    return result_without_packets(hosts, clock, seconds, interrupted=interrupted)


def result_without_packets(hosts: int, clock: Clock, seconds: float, *, interrupted: bool) -> TrafficResult:
    """Returns the result of traffic without generated packets, whose window is all of its time.

    Args:
        hosts: number of hosts of the fabric.
        clock: its start.
        seconds: its duration.
        interrupted: whether it was ended early.
    """
    return TrafficResult(
        sent=no_packets_sent(hosts, seconds),
        received=no_packets_received(hosts),
        clock=clock,
        interval_ns=_INTERVAL_NS,
        window_ns=(0, round(seconds * 1e9)),
        interrupted=interrupted,
    )
