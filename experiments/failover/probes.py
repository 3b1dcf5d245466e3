"""Probes of a failover demonstration: arrivals, hops, and the longest silence of a pair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.results.failover import Phase
from experiments.results.tables import STREAMS
from traffic.metrics.measurements import TrafficResult
from traffic.workload.schedule import ProbeSchedule

_STEP_S = 0.01  # of the series
_LATEST_S = 0.1  # span of the last arrivals before an interruption; they show how long probes were in flight


class Probes:
    """Probes of a run, with the times at which each was sent and arrived.

    Attributes:
        streams: probed pairs with their interval; the index of a stream is the flow number of its probes.
        sent_s, pair, flow: arrays over all probes in order of time: due time in s, pair and flow.
        arrived: bool array: whether each probe arrived.
        arrived_s, hops: arrays: time of arrival in s (inf for lost probes), and hops (0 for lost probes).
        lag_s: array: delay behind the schedule in s; 0 for lost probes.
        end_s: end of the observation in s; later probes are left out, as their loss cannot be known.
    """

    def __init__(self, schedule: ProbeSchedule, result: TrafficResult) -> None:
        self.streams = schedule.streams
        chunks = list(schedule.chunks())
        source = np.concatenate([events.source for events in chunks])
        sequence = np.concatenate([events.sequence for events in chunks])
        destination = np.concatenate([events.destination for events in chunks])
        self.sent_s = np.concatenate([events.time_ns for events in chunks]) / 1e9
        self.flow = np.concatenate([events.flow for events in chunks])
        self.pair = source * schedule.hosts + destination
        log = result.received.log
        # The key contains the pair: a frame with a probe's number but another destination is not that probe.
        pairs = log["source"].astype(np.int64) * schedule.hosts + log["destination"]
        keys = pairs << 32 | log["sequence"].astype(np.int64)
        wanted = self.pair << 32 | sequence
        order = np.argsort(keys, kind="stable")
        place = np.minimum(np.searchsorted(keys[order], wanted), max(0, len(order) - 1))
        self.arrived = keys[order][place] == wanted if len(order) else np.zeros(len(wanted), bool)
        index = order[place[self.arrived]]
        self.arrived_s = np.full(len(wanted), np.inf)
        self.arrived_s[self.arrived] = log["arrived_ns"][index] / 1e9
        self.lag_s = np.zeros(len(wanted))
        self.lag_s[self.arrived] = log["sent_ns"][index] / 1e9 - self.sent_s[self.arrived]
        self.hops = np.zeros(len(wanted), log["hops"].dtype)
        self.hops[self.arrived] = log["hops"][index]
        self.end_s = schedule.end_ns / 1e9
        if result.interrupted or result.failed:
            self.end_s = min(result.sent.seconds, _observed_until_s(log))
            self._forget_later()

    def _forget_later(self) -> None:
        kept = self.sent_s < self.end_s
        for name, values in vars(self).items():
            if isinstance(values, np.ndarray):
                setattr(self, name, values[kept])

    def within(self, begin_s: float, end_s: float) -> npt.NDArray[np.bool_]:
        """Returns the mask of the probes sent at `begin_s` or later and before `end_s`."""
        return (self.sent_s >= begin_s) & (self.sent_s < end_s)

    def longest_lag_s(self, begin_s: float, end_s: float) -> float:
        """Returns the longest delay in s among probes that were due in a span and arrived; 0 if none did."""
        return float(self.lag_s[self.within(begin_s, end_s)].max(initial=0.0))

    def longest_silence_s(self, begin_s: float, end_s: float) -> float:
        """Returns the longest gap in s between arrivals of a watched pair's probes sent in a span."""
        chosen = self.within(begin_s, end_s) & (self.flow == 0)
        if not chosen.any():
            return 0.0
        end_s = min(end_s, self.end_s)
        pairs = self.pair[chosen]
        times = np.where(self.arrived[chosen], self.arrived_s[chosen], np.nan)
        longest = 0.0
        for pair in np.unique(pairs):
            arrivals = np.sort(times[(pairs == pair)])
            arrivals = arrivals[~np.isnan(arrivals)]
            edges = np.concatenate(
                [[begin_s], arrivals, [max(end_s, arrivals[-1] if len(arrivals) else end_s)]]
            )
            longest = max(longest, float(np.diff(edges).max()))
        return longest

    def all_recovered_s(self, begin_s: float, end_s: float) -> float | None:
        """Returns the time in s at which the last watched pair delivered again after its last loss in a span.

        Returns:
            The start of the span if nothing was lost; None if a pair stayed silent.
        """
        chosen = self.within(begin_s, end_s) & (self.flow == 0)
        latest_s = begin_s
        for pair in np.unique(self.pair[chosen & ~self.arrived]):
            of_pair = chosen & (self.pair == pair)
            last_lost_s = self.sent_s[of_pair & ~self.arrived].max()
            heard = self.arrived_s[of_pair & self.arrived & (self.sent_s > last_lost_s)]
            if not len(heard):
                return None
            latest_s = max(latest_s, float(heard.min()))
        return latest_s

    def silent_pairs(self, begin_s: float, end_s: float) -> int:
        """Returns the number of watched pairs that lost all their probes in a span."""
        chosen = self.within(begin_s, end_s) & (self.flow == 0)
        return len(set(self.pair[chosen].tolist()) - set(self.pair[chosen & self.arrived].tolist()))

    def phase(self, begin_s: float, end_s: float) -> Phase:
        """Returns the counts of all probes sent in a span, and the silence and hops of watched pairs."""
        inside = self.within(begin_s, end_s)
        arrived = inside & self.arrived & (self.flow == 0)
        hops = self.hops[arrived]
        return Phase(
            sent=int(inside.sum()),
            lost=int((inside & ~self.arrived).sum()),
            longest_silence_ms=milliseconds(self.longest_silence_s(begin_s, end_s)),
            hops_mean=round(float(hops.mean()), 3) if len(hops) else None,
            hops_max=int(hops.max()) if len(hops) else None,
        )

    def series(self, end_s: float) -> Iterator[tuple[Any, ...]]:
        """Yields rows of PROBE_COLUMNS, one per stream and hundredth of a second."""
        edges = np.arange(0.0, min(end_s, self.end_s + _STEP_S) + _STEP_S / 2, _STEP_S)
        for flow, name in enumerate(STREAMS):
            chosen = self.flow == flow
            steps = np.digitize(self.sent_s[chosen], edges) - 1
            arrived, hops = self.arrived[chosen], self.hops[chosen]
            for step in range(len(edges) - 1):
                here = steps == step
                taken = hops[here & arrived]
                mean, most = (round(float(taken.mean()), 3), int(taken.max())) if len(taken) else ("", "")
                lost = int((here & ~arrived).sum())
                yield round(float(edges[step]), 3), name, int(here.sum()), lost, mean, most


def _observed_until_s(log: npt.NDArray[np.void]) -> float:
    """Returns the send time in s from which probes may still have been in flight at an interrupted run's end.

    The last arrival decides, not the end of sending: some hosts stop receiving before others stop sending.

    Args:
        log: ARRIVAL records of all probes.
    """
    if not len(log):
        return 0.0
    arrived_s, sent_s = log["arrived_ns"] / 1e9, log["sent_ns"] / 1e9
    last_s = arrived_s.max()
    latest = arrived_s >= last_s - _LATEST_S
    return float(last_s - (arrived_s - sent_s)[latest].max())


def milliseconds(seconds: float) -> float:
    """Converts seconds to milliseconds, rounded to the microsecond."""
    return round(1e3 * seconds, 3)
