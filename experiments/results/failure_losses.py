"""Packets lost to a run's failures, estimated from host pairs' losses and the times of failures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from experiments.results.record import RunRecord
from experiments.validity.unasked import Asked, Plan
from routing.registry import routing
from routing.replan.surviving_graph import crossing_pairs
from topology.addressing import Host
from topology.base import Topology
from topology.failures import failure_of
from topology.faults import CONTROLLER, Component, ComponentKind, parse_components
from topology.shortest_paths import connected_components

# A restarted switch accepts frames once it has its ports; its rules are installed within this time.
_COMES_BACK_S = 3.0
# Added to the estimated number of packets that a pair sent in some time, which varies as Poisson arrivals do.
_DEVIATIONS = 2

Pairs = npt.NDArray[np.bool_]


class FailureSpan(NamedTuple):
    """A failed component, and the begin and end of its failure in s since traffic started (inf: no end)."""

    component: Component
    begin_s: float
    end_s: float


def failure_spans(record: RunRecord) -> list[FailureSpan]:
    """Returns the failures of a run; a restored switch counts as failed until it has started."""
    begun: dict[Component, float] = {}
    spans: list[FailureSpan] = []
    for fault in record.faults.done if record.faults else ():
        verb, _, name = fault.fault.partition(" ")
        if verb not in ("fail", "restore"):
            continue
        for component in parse_components(name, record.fabric.options.topology, 1, record.fabric.hosts):
            if verb == "fail":
                begun.setdefault(component, fault.time_s)
            elif component in begun:
                starts_s = 0.0 if component.kind is ComponentKind.LINK else _COMES_BACK_S
                spans.append(FailureSpan(component, begun.pop(component), fault.time_s + starts_s))
    spans += [FailureSpan(component, begin_s, math.inf) for component, begin_s in begun.items()]
    return [span for span in spans if span.component != CONTROLLER]


def lost_to_failures(record: RunRecord) -> int:
    """Returns an upper bound on the packets of the whole run that were lost to its failures.

    It counts packets of pairs of hosts that were cut off and, until the controller had planned around a
    failed component, of pairs with a path over it. For each pair, the bound is the smaller of two numbers:
    the packets that it lost, and an estimate of those that it sent in that time plus two standard
    deviations. If the plan avoided a component before the traffic started, only pairs that its failure cut
    off count.

    Args:
        record: the run's record; the numbers of packets of each pair are those of the whole run.
    """
    sent, received = record.result.sent, record.result.received
    lost = (sent.run_frames - received.run_frames).clip(min=0)
    exposed = np.zeros(lost.shape)
    spans = failure_spans(record)
    # Packets that wait in a queue when their link fails were sent earlier.
    links = record.fabric.options.links
    queue_s = links.queue_packets * links.packet_s(record.traffic.frame_bytes)
    risks = [*_cut_off(record, spans, queue_s), *_not_rerouted(record, spans, queue_s)]
    edges = sorted({edge for begin_s, end_s, _ in risks for edge in (begin_s, end_s)})
    for begin_s, end_s in itertools.pairwise(edges):
        pairs = [mask for first_s, last_s, mask in risks if first_s <= begin_s and end_s <= last_s]
        if pairs:
            share = _share_sent(record, begin_s, end_s)
            exposed += np.logical_or.reduce(pairs) * share[:, None] * sent.run_frames
    most = exposed.sum() + _DEVIATIONS * math.sqrt(exposed.sum())
    return int(min(np.minimum(lost, np.ceil(exposed + _DEVIATIONS * np.sqrt(exposed))).sum(), np.ceil(most)))


def _cut_off(
    record: RunRecord, spans: Sequence[FailureSpan], queue_s: float
) -> list[tuple[float, float, Pairs]]:
    """Returns (begin, end, pairs of hosts without a path) of spans of time, in s since traffic started."""
    topology, hosts = record.fabric.options.topology, record.fabric.hosts
    edges = sorted({edge for span in spans for edge in span[1:]})
    cut_off = []
    for begin_s, end_s in itertools.pairwise(edges):
        down = [span.component for span in spans if span.begin_s <= begin_s and end_s <= span.end_s]
        cut_off.append((begin_s - queue_s, end_s, _without_path(topology, hosts, down)))
    return cut_off


def _without_path(topology: Topology, hosts: Sequence[Host], down: Sequence[Component]) -> Pairs:
    failure = failure_of(topology, [component for component in down if component.host is None])
    alone = {component.host for component in down}
    dead = np.array([host.router in failure.failed_routers or host in alone for host in hosts])
    part = np.array(connected_components(topology, failure))[[host.router for host in hosts]]
    cut_off: Pairs = (part[:, None] != part) | dead[:, None] | dead
    return cut_off


def _not_rerouted(
    record: RunRecord, spans: Sequence[FailureSpan], queue_s: float
) -> list[tuple[float, float, Pairs]]:
    """Returns (begin, end, pairs of hosts whose packets may cross a failed component) of spans of time."""
    topology = record.fabric.options.topology
    routers = np.array([host.router for host in record.fabric.hosts])
    planned = [plan.time_s for plan in record.faults.replanned] if record.faults else []
    shortest = routing(record.fabric.options.routing).shortest
    avoided = Plan(record.avoided, "none")
    crossing = []
    for span in spans:
        rerouted = span.begin_s <= 0 and not Asked(topology, (span.component,)).lacking(avoided)
        if span.component.host is None and not rerouted:
            end_s = min([span.end_s, *(time_s for time_s in planned if time_s > span.begin_s)])
            others = any(one.begin_s < end_s and one.end_s > span.begin_s for one in spans if one != span)
            pairs = np.ones((len(routers), len(routers)), bool)
            if shortest and not others:  # otherwise packets may be on detours, which can be anywhere
                pairs = crossing_pairs(topology, failure_of(topology, [span.component]))[
                    routers[:, None], routers
                ]
            crossing.append((span.begin_s - queue_s, end_s, pairs))
    return crossing


def _share_sent(record: RunRecord, begin_s: float, end_s: float) -> npt.NDArray[np.float64]:
    """Returns a float64 array, one entry per host: the share of its packets sent in a span of time."""
    sent = record.result.sent.bytes.cumsum(axis=0)
    times_s = np.arange(len(sent) + 1) * record.result.interval_ns / 1e9
    until = [
        np.array([np.interp(edge_s, times_s, [0, *column]) for column in sent.T])
        for edge_s in (begin_s, end_s)
    ]
    share: npt.NDArray[np.float64] = (until[1] - until[0]) / np.maximum(sent[-1], 1)
    return share
