"""Background traffic of a session: generated traffic of a pattern that runs until it is stopped."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from experiments.events.base import OnEvent
from experiments.events.notices import Notice
from experiments.live_fabric import LiveFabric
from experiments.results.parts.programs import TrafficOutcome
from experiments.spec.options import DEFAULT_FLOWS, RUN, default_frame_bytes, option_of
from experiments.spec.traffic import TrafficOptions, check_traffic
from experiments.traffic_jobs import naming_ended_process, run_measured_traffic
from topology.errors import PolarLabError, UsageError
from topology.plugins import naming_plugins
from traffic.engine.engine import TrafficBroken, TrafficInterrupted
from traffic.engine.telemetry import TrafficSnapshot
from traffic.metrics.measurements import TrafficResult
from traffic.metrics.silence import Silence
from traffic.workload.patterns import pattern_name

_LONGEST_S = 86_400.0


@dataclass(frozen=True)
class TrafficStatus:
    """State of current background traffic.

    Attributes:
        pattern, load: the pattern and load with which the traffic was started.
        seconds: time since its start in s.
        offered, accepted: load of about the last second, as fractions of the injection capacity.
        loss: fraction of overdue packets that have not arrived; None before any is overdue.
        latency_p50_ms, latency_p99_ms: percentiles of recent latencies; None before the first packet.
        out_of_order: fraction of the packets of the last second that arrived after a later one of their flow.
    """

    pattern: str
    load: float
    seconds: float
    offered: float
    accepted: float
    loss: float | None
    latency_p50_ms: float | None
    latency_p99_ms: float | None
    out_of_order: float | None = None


def background_options(fabric: LiveFabric, pattern: str, load: float, seed: int) -> TrafficOptions:
    """Returns the checked specification of background traffic.

    Args:
        fabric: the fabric.
        pattern: name of a pattern, with its argument where it has one.
        load: offered load as a fraction of the injection capacity, over 0 and at most 1.
        seed: seed of the random generator.

    Raises:
        UsageError: the pattern or the load is outside its domain.
    """
    frame_bytes = default_frame_bytes(fabric.options.links.mtu)
    option_of("load", RUN).check(load)
    option_of("seed", RUN).check(seed)
    options = TrafficOptions(
        pattern_name(pattern),
        load,
        frame_bytes,
        DEFAULT_FLOWS,
        warmup_s=0.0,
        duration_s=_LONGEST_S,
        seed=seed,
    )
    check_traffic(options, fabric.options)
    return options


class BackgroundTraffic:
    """Traffic of a pattern in its own thread, from its creation until `stop`."""

    def __init__(self, fabric: LiveFabric, pattern: str, load: float, seed: int, on_event: OnEvent) -> None:
        """Starts the traffic and returns when its first packets go out.

        Args:
            fabric: the fabric.
            pattern: name of a pattern, with its argument where it has one.
            load: offered load as a fraction of the injection capacity, over 0 and at most 1.
            seed: seed of the random generator.
            on_event: called in the traffic's thread if the traffic ends by itself.

        Raises:
            UsageError: the pattern or the load is outside its domain.
            PolarLabError: the traffic's processes do not start.
        """
        self._options = background_options(fabric, pattern, load, seed)
        self._fabric, self._on_event = fabric, on_event
        self._snapshot: TrafficSnapshot | None = None
        self._result: TrafficResult | None = None
        self._error: PolarLabError | None = None
        self._stopping, self._killed, self._started = threading.Event(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        try:
            self._started.wait()
        except BaseException:  # Ctrl-C: the caller has no object yet to end the traffic
            self.kill()
            raise
        if self._error:
            raise self._error

    @property
    def running(self) -> bool:
        """Whether the traffic is running."""
        return self._thread.is_alive()

    def status(self) -> TrafficStatus:
        """Returns the traffic's current load, loss and latencies."""
        live = self._snapshot or TrafficSnapshot(0.0, 0.0, 0.0, None, None)
        capacity_bps = self._capacity_bps
        return TrafficStatus(
            self._options.pattern,
            self._options.load,
            max(0.0, live.seconds),
            live.offered_bps / capacity_bps,
            live.accepted_bps / capacity_bps,
            live.loss,
            live.p50_ms,
            live.p99_ms,
            live.out_of_order,
        )

    @property
    def silences(self) -> tuple[Silence, ...]:
        """The last half minute's reports on host pairs that received nothing for a while, oldest first."""
        return self._snapshot.silences if self._snapshot else ()

    def stop(self) -> TrafficOutcome:
        """Ends the traffic, waits for packets on their way, and returns its outcome.

        Raises:
            PolarLabError: the traffic had failed.
        """
        self._stopping.set()
        try:
            self._thread.join()
        except BaseException:  # Ctrl-C while packets of full queues are awaited
            self.kill()
            raise
        if self._error or self._result is None:
            raise self._error or UsageError("the traffic has no result")
        return self._outcome(self._result)

    def kill(self) -> TrafficOutcome | None:
        """Ends the traffic at once, and returns its outcome so far; None if the traffic had failed."""
        self._stopping.set()
        self._killed.set()
        self._thread.join()
        return self._outcome(self._result) if self._result else None

    @property
    def _capacity_bps(self) -> float:
        return float(len(self._fabric.hosts) * self._fabric.options.links.rate_bps)

    def _run(self) -> None:
        try:
            with naming_plugins(), naming_ended_process(self._fabric):
                self._result = self._flowed()
        except PolarLabError as error:
            self._error = error
            if self._started.is_set() and not self._stopping.is_set():
                self._on_event(Notice("traffic-ended", reason=str(error)))
        finally:
            self._started.set()

    def _flowed(self) -> TrafficResult:
        """Runs the traffic until it is stopped, and returns its measurements.

        If the traffic fails, the measurements so far are kept in `_result`.
        """
        try:
            return run_measured_traffic(
                self._fabric,
                self._options,
                self._on_snapshot,
                lambda _clock: self._started.set(),
                self._stopping.is_set,
            )
        except TrafficInterrupted as interruption:
            return interruption.result
        except TrafficBroken as broken:
            self._result = broken.result
            raise

    def _on_snapshot(self, snapshot: TrafficSnapshot) -> None:
        self._snapshot = snapshot
        if self._killed.is_set():
            raise KeyboardInterrupt  # the way to end the engine's run from its callback

    def _outcome(self, result: TrafficResult) -> TrafficOutcome:
        sent, received = int(result.sent.frames.sum()), int(result.received.frames.sum())
        begin_ns, end_ns = result.window_ns or (0, 0)
        seconds = min(result.sent.seconds, (end_ns - begin_ns) / 1e9) or 1.0
        bits = self._options.frame_bytes * 8 / (self._capacity_bps * seconds)
        latency, hops = result.received.latency, result.received.hops
        return TrafficOutcome(
            pattern=self._options.pattern,
            load=self._options.load,
            seconds=round(seconds, 3),
            sent_packets=sent,
            received_packets=received,
            loss=round((sent - received) / sent, 6) if sent else None,
            offered=round(sent * bits, 6),
            accepted=round(received * bits, 6),
            latency_mean_ms=latency.mean_ms(),
            latency_p99_ms=latency.quantile_ms(0.99),
            hops={number: int(hops[number]) for number in hops.nonzero()[0].tolist()},
            failed=result.failed or None,
        )
