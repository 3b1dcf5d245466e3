"""Silences of background traffic around a change of the fabric."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.observation.model import TrafficSilence
from traffic.metrics.silence import Silence

_UNUSUAL = 2
_BEFORE_S = 8.0  # of the time before the change that is compared with


def traffic_silence(
    silences: Sequence[Silence], changed_s: float, hosts: Sequence[str]
) -> TrafficSilence | None:
    """Returns the longest silence of traffic since a change; None before the traffic has told of any.

    Args:
        silences: reports of the traffic, the oldest first.
        changed_s: time of the change on time.monotonic's clock.
        hosts: names of all hosts, in order.
    """
    since = [report for report in silences if report.time_s > changed_s]
    if not since:
        return None
    before = [report for report in silences if report.time_s <= changed_s]
    ended = [(one.longest_s, one.pair) for one in since if one.ended_s > changed_s]
    going_on = since[-1].open_s, since[-1].open_pair
    longest_s, pair = max([*ended, going_on])
    early = (one.longest_s for one in silences if changed_s - _BEFORE_S < one.ended_s <= changed_s)
    before_s = max(early, default=0.0)
    source, destination = divmod(pair, len(hosts))
    return TrafficSilence(
        silence_ms=round(longest_s * 1e3, 1),
        pair=f"{hosts[source]} to {hosts[destination]}" if pair >= 0 else "",
        before_ms=round(before_s * 1e3, 1),
        lost=max(0, since[-1].missing - (before[-1].missing if before else 0)),
        # Where a pair sends seldom, a silence as long as those before is none that a failure makes.
        ongoing=(longest_s, pair) == going_on and longest_s > _UNUSUAL * before_s > 0,
    )
