"""Summary of a run, computed from its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.results.collective import collective_summary
from experiments.results.failure_losses import failure_spans, lost_to_failures
from experiments.results.flows.statistics import (
    bytes_sent_by_hosts,
    flow_doubts,
    flow_fractions,
    flow_summary,
)
from experiments.results.link_loads import directed_links, load_values
from experiments.results.manifest import versions
from experiments.results.model import (
    INTERRUPTED,
    Latencies,
    LinkSummary,
    PacketCounts,
    Predicted,
    Summary,
    share,
)
from experiments.results.parts.host_links import host_link_summary
from experiments.results.record import RunRecord
from experiments.spec.collective import CollectiveOptions
from experiments.spec.flows import FlowOptions
from experiments.spec.programs import ProgramTraffic
from experiments.spec.resolve import RunTraffic
from experiments.spec.traffic import TrafficOptions
from experiments.theory.fluid_model import predict_pattern
from experiments.validity.backlog import backlog_doubt
from experiments.validity.coverage import Coverage
from experiments.validity.foreign_frames import MAX_FRAMES, MAX_FRAMES_OF_FLOWS
from experiments.validity.judgement import MAX_STANDSTILL, Evidence, Standstill, judge
from experiments.validity.link_loss import link_loss_doubt
from experiments.validity.samples import HeldSecond, mean_held, worst_held
from experiments.validity.unasked import listed, unasked_doubt
from routing.registry import routing
from topology.errors import ParameterError
from topology.faults import ComponentKind
from traffic.engine.flows.tcp import MAX_UNREAD_BYTES
from traffic.metrics.histogram import LogHistogram
from traffic.wire.segment_codec import ACKNOWLEDGEMENT_BYTES, SEGMENT_BYTES

NOT_STEADY = "throughput had not reached a steady state when warm-up ended; give a longer --warmup in seconds"


def summarise(record: RunRecord) -> Summary:
    """Returns the result of a run, including all reasons for doubt."""
    fabric, options, received = record.fabric, record.traffic, record.result.received
    begin_s, end_s = record.window_s
    host_links = record.host_links()
    summary = Summary(
        **vars(fabric.options.settings()),
        routing=fabric.options.routing,
        pattern=options.pattern,
        endpoints=len(fabric.hosts),
        frame_bytes=options.frame_bytes,
        **_asked(options),
        warmup_s=round(begin_s, 3),
        measured_s=round(end_s - begin_s, 3),
        **_fractions(record),
        packets=_packets(record),
        latency_ms=_latencies(received.latency),
        hops={int(n): int(received.hops[n]) for n in np.flatnonzero(received.hops)},
        hops_as_distances=_hops_match(record),
        out_of_order=int(received.out_of_order.sum()),
        bringup_s=_rounded_all({**fabric.bringup_s, "verify": record.check.seconds}),
        rules=fabric.rules,
        verified=record.check,
        links=_link_summary(record),
        host_links=None if host_links is None else host_link_summary(host_links),
        fidelity=judge(_evidence(record)),
        seed=options.seed,
        versions=versions(fabric.framework),
        **_optional_fields(record),
    )
    summary = replace(summary, queueing_frame_times=_queueing(record, summary))
    return summary.doubted(*flow_doubts(summary.flows), *_doubts(record))


def _asked(options: RunTraffic) -> dict[str, Any]:
    """Returns the summary's field -> value for requested settings that only the given kind of traffic has."""
    if isinstance(options, ProgramTraffic):
        return {}
    if isinstance(options, CollectiveOptions):
        return {"ranks": options.ranks, "placement": options.placement, "slices": options.slices}
    if isinstance(options, FlowOptions):
        return {"load": options.load, "duration_s": options.duration_s}
    return {"load": options.load, "duration_s": options.duration_s, "arrivals": options.arrivals}


def _fractions(record: RunRecord) -> dict[str, Any]:
    """Returns the summary's field -> fraction for offered load, accepted load and loss."""
    if not record.generated:
        return {"offered": None, "accepted": None, "loss": None}
    sent, received = record.result.sent, record.result.received
    begin_s, end_s = record.window_s
    capacity_bits = len(record.fabric.hosts) * record.fabric.options.links.rate_bps * (end_s - begin_s)
    frames_sent, frames_received = int(sent.frames.sum()), int(received.frames.sum())
    if record.result.flows:
        packets = _packets(record)
        lost = max(0, packets.sent - packets.received)
        return {**flow_fractions(record), "loss": share(lost, packets.sent)}
    # Frames of a collective have different lengths.
    sent_bytes = int(sent.bytes.sum()) if record.result.outcome else frames_sent * record.traffic.frame_bytes
    return {
        "offered": share(sent_bytes * 8, capacity_bits),
        "accepted": share(int(received.window_bytes.sum()) * 8, capacity_bits),
        "loss": share(frames_sent - frames_received, frames_sent),
    }


def _packets(record: RunRecord) -> PacketCounts:
    sent, received = record.result.sent, record.result.received
    frames_sent, frames_received = int(sent.frames.sum()), int(received.frames.sum())
    if record.result.flows:  # interfaces count the whole run
        frames_sent, frames_received = _frames(record)
        frames_sent += sent.refused
    return PacketCounts(
        sent=frames_sent,
        received=frames_received,
        refused_by_host_queue=sent.refused,
        misdelivered=received.misdelivered,
        damaged=received.damaged,
    )


def _latencies(histogram: LogHistogram) -> Latencies:
    return Latencies(
        mean=_rounded(histogram.mean_ms()),
        p50=_rounded(histogram.quantile_ms(0.5)),
        p99=_rounded(histogram.quantile_ms(0.99)),
        p99_9=_rounded(histogram.quantile_ms(0.999)),
    )


def _queueing(record: RunRecord, summary: Summary) -> float | None:
    """Returns the mean queueing time of a packet in frame times; None if it is not known."""
    held, hops = summary.fidelity.held_frame_times_mean, summary.hops_mean
    latency_ms = summary.latency_ms.mean
    if held is None or hops is None or latency_ms is None or not isinstance(record.traffic, TrafficOptions):
        return None
    links = record.fabric.options.links
    waited_s = (latency_ms - hops * links.delay_ms) / 1e3
    switches = hops + 1
    return _rounded(waited_s / links.packet_s(record.traffic.frame_bytes) - switches * held)


def _link_summary(record: RunRecord) -> LinkSummary | None:
    """Returns the load of links between routers in the measurement window; None if not observed."""
    measured = record.link_loads()
    if measured is None:
        return None
    loads, dropped, lost = measured
    return LinkSummary(
        **load_values(loads),
        dropped_packets=round(float(dropped.sum())),
        lost_packets=round(float(lost.sum())),
    )


def _optional_fields(record: RunRecord) -> dict[str, Any]:
    options, fabric, result = record.traffic, record.fabric, record.result
    oblivious = routing(fabric.options.routing).oblivious
    parts: dict[str, Any] = {
        "adaptation": None if oblivious else record.adaptation,
        "steady": result.steady,
        "interrupted": True if result.interrupted else None,
        "faults": record.faults and replace(record.faults, lost_packets=_lost_elsewhere(record)[1]),
        "programs": record.programs or None,
        "lines": record.lines,
        "background": record.background or None,
    }
    if isinstance(options, CollectiveOptions):
        assert result.outcome
        parts["collective"] = collective_summary(options, result.outcome)
    elif isinstance(options, FlowOptions):
        parts["flows"] = flow_summary(record)
    elif isinstance(options, TrafficOptions) and oblivious and not fabric.options.links.loss:
        parts["predicted"] = _predicted(record, options)
    return parts


def _doubts(record: RunRecord) -> list[str]:
    """Returns the reasons for doubt that `_evidence` does not cover."""
    doubts = [NOT_STEADY] if record.result.steady is False else []
    doubts += [INTERRUPTED] if record.result.interrupted else []
    doubts += [unasked_doubt(record.unasked)] if record.unasked else []
    doubts += _clock_doubts(record) + _adaptation_doubts(record)
    doubts += _backlog_doubts(record) + _unsent_doubts(record)
    return [*doubts, *_foreign_doubts(record), *record.troubles]


def _clock_doubts(record: RunRecord) -> list[str]:
    """Returns the reasons to doubt latencies and completion times because of the machine's clock."""
    result = record.result
    early = int(result.received.latency.counts[0])  # 0.1 us or less, mostly below 0
    if result.flows:
        flows = result.flows.flows
        early = int(((flows["finished_ns"] >= 0) & (flows["finished_ns"] < flows["started_ns"])).sum())
    what = "flows ended before they started" if result.flows else "packets arrived before they were sent"
    return record.clock.doubts() + ([f"{early} {what}"] if early else [])


def _adaptation_doubts(record: RunRecord) -> list[str]:
    """Returns the reason to doubt the adaptation: warnings that no fault of the run explains."""
    warnings = record.adaptation.warnings
    if not warnings or record.traffic.faults or routing(record.fabric.options.routing).oblivious:
        return []
    more = f", and {len(warnings) - 1} more warnings" if len(warnings) > 1 else ""
    return [f"the adaptation was impaired: {warnings[0]}{more}"]


def _backlog_doubts(record: RunRecord) -> list[str]:
    """Returns the reason to doubt generated packets because a backlog arrived in the window."""
    options, received = record.traffic, record.result.received
    begin_s, end_s = record.window_s
    # A fault may make a backlog, and is part of the experiment.
    if not isinstance(options, TrafficOptions) or options.faults or record.ended_early or end_s <= begin_s:
        return []
    excess = int(received.window_bytes.sum()) / options.frame_bytes - int(record.result.sent.frames.sum())
    under_way = received.latency.total_ns / 1e9 / (end_s - begin_s)  # Little's law
    doubt = backlog_doubt(excess, under_way, record.fabric.options.links.queue_packets)
    return [doubt] if doubt else []


def _unsent_doubts(record: RunRecord) -> list[str]:
    """Returns the reason to doubt a run because hosts could not send: something set their interfaces down."""
    unsent, hosts = record.result.sent.unsent, record.fabric.hosts
    down = {span.component.host for span in failure_spans(record)}
    alone = [int(host) for host in np.flatnonzero(unsent) if hosts[host] not in down]
    if not alone:
        return []
    whose = listed([hosts[host].name for host in alone])
    return [f"interfaces of {whose} were down: {unsent[alone].sum()} packets could not be sent"]


def _foreign_doubts(record: RunRecord) -> list[str]:
    """Returns the reasons to doubt generated traffic because hosts sent or received further frames."""
    carried = record.host_bytes
    # Programs of the run itself belong to it, and so do probes of the live page after a scheduled failure.
    besides = record.programs or record.traffic.faults
    if carried is None or not record.generated or record.ended_early or besides:
        return []
    max_bytes = record.traffic.frame_bytes * (MAX_FRAMES_OF_FLOWS if record.result.flows else MAX_FRAMES)
    return carried.doubts([host.name for host in record.fabric.hosts], *_host_bytes(record), max_bytes)


def _host_bytes(record: RunRecord) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | None]:
    """Returns two arrays: bytes of all measured frames that each host sent, and received, in the whole run.

    The second array is None for TCP flows, whose ends do not know the lengths of all frames that arrived.
    """
    result = record.result
    if result.flows:
        return bytes_sent_by_hosts(result.flows), None
    sent, received = result.sent.bytes.sum(axis=0), result.received.bytes.sum(axis=0)
    if result.outcome:
        acknowledgement = SEGMENT_BYTES + ACKNOWLEDGEMENT_BYTES
        sent = sent + acknowledgement * result.outcome.acknowledgements_sent
        received = received + acknowledgement * result.outcome.acknowledgements_received
    return sent, received


def _frames(record: RunRecord) -> tuple[int, int]:
    """Returns (frames sent, frames received) in the whole run, including frames without data."""
    result, outcome = record.result, record.result.outcome
    if outcome:
        sent = int(outcome.sent.frames.sum()) + int(outcome.acknowledgements_sent.sum())
        return sent, int(outcome.received.frames.sum()) + int(outcome.acknowledgements_received.sum())
    if result.flows:
        return int(result.flows.tx_frames.sum()), int(result.flows.rx_frames.sum())
    sent_bytes, received_bytes = int(result.sent.bytes.sum()), int(result.received.bytes.sum())
    # Packets refused by the host's own queue are in sent_bytes but never left the host.
    sent = sent_bytes // record.traffic.frame_bytes - result.sent.refused
    return sent, received_bytes // record.traffic.frame_bytes


def _evidence(record: RunRecord) -> Evidence:
    """Returns the evidence for the validity of a run, from the time in which a stall affects its result.

    Losses refer to the whole run, and the mean of held frames to the window, like the latencies.
    """
    rate_bps, frame_bytes = record.fabric.options.links.rate_bps, record.traffic.frame_bytes
    begin_s, end_s = (record.start_s + time_s for time_s in record.judged_s)
    sent, arrived = _frames(record)
    rate_errors = None
    if record.links and record.links.observable:
        rate_errors = list(record.links.rate_errors(rate_bps, frame_bytes).values())
    packet_s = record.fabric.options.links.packet_s(frame_bytes)
    seconds = record.held.between(begin_s, end_s) if record.held else []
    window_s = record.start_s + record.window_s[0]
    in_window = [second for second in seconds if second.end_s > window_s]
    worst = partial(worst_held, seconds, packet_s, record.start_s, _spans_of_failure(record))
    return Evidence(
        packet_ms=packet_s * 1e3,
        held=worst(),
        held_mean=mean_held(in_window, packet_s),
        held_rms=worst(measure=HeldSecond.held_rms_s),
        holds_observed=record.held is not None,
        idle=record.cpu.idle_between(begin_s, end_s),
        stolen=record.cpu.stolen_between(begin_s, end_s),
        lag_ms_p99=record.result.sent.lag.quantile_ms(0.99),
        standstill=_standstill(record),
        rate_errors=rate_errors,
        sent=sent,
        surplus=_surplus(record, arrived - sent),
        damaged=record.result.received.damaged,
        lost_elsewhere=_lost_elsewhere(record)[0],
        link_loss_doubt=_link_loss_doubt(record),
        scheduled=record.generated and record.result.outcome is None,
        link_rate_bps=record.fabric.options.links.rate_bps,
        coverages=_coverages(record),
    )


def _lost_elsewhere(record: RunRecord) -> tuple[int | None, int | None]:
    """Returns the whole run's losses outside queues, in packets: (not because of failures, because of them).

    Both are None if not known.
    """
    # With programs, queues also count drops of packets that are not in `_frames`.
    if record.links is None or record.ended_early or record.programs or not record.generated:
        return None, None
    sent, arrived = _frames(record)
    # Queues may have dropped other frames of hosts instead, such as a flood's.
    others = max(0, record.host_bytes.frames_sent - sent) if record.host_bytes else 0
    lost = sent - arrived - max(0, record.links.dropped_packets - others) - record.links.lost_packets
    taken = min(lost_to_failures(record), max(0, lost))
    return lost - taken, taken


def _standstill(record: RunRecord) -> Standstill | None:
    """Returns the longest standstill of the process that runs a collective or TCP flows; None otherwise."""
    outcome, flows = record.result.outcome, record.result.flows
    if flows:
        # The kernel receives at least this much more after it has woken the process.
        unread_ms = MAX_UNREAD_BYTES * 8 / record.fabric.options.links.rate_bps * 1e3
        return Standstill(flows.gap_ns / 1e6, unread_ms, "the process of all flows")
    if outcome is None:
        return None
    measured = outcome.iterations[outcome.iterations["iteration"] >= 0]
    if not len(measured):
        return None
    completion_ns = np.maximum(measured["completion_ns"], 1)
    worst = np.argmax(measured["gap_ns"] / completion_ns)
    gap_ms, completion_ms = measured["gap_ns"][worst] / 1e6, completion_ns[worst] / 1e6
    return Standstill(float(gap_ms), float(MAX_STANDSTILL * completion_ms), "the process of all ranks")


def _surplus(record: RunRecord, frames: int) -> int:
    """Returns how many more frames arrived than were sent; 0 if the counts are incomplete.

    The surplus is also computed for each pair of hosts, because losses of other pairs can hide it in the
    total.

    Args:
        record: the run's record.
        frames: received minus sent frames of the whole run.
    """
    # Counts of TCP flows are from interfaces and include frames in flight at the start.
    if record.ended_early or record.result.flows:
        return 0
    sent, received = record.result.sent, record.result.received
    of_window, of_run = received.frames - sent.frames, received.run_frames - sent.run_frames
    return max(0, frames, *(int(of_pairs.clip(min=0).sum()) for of_pairs in (of_window, of_run)))


def _coverages(record: RunRecord) -> list[Coverage]:
    """Returns, for each monitor, how much of the judged time it observed.

    If paths can change during the run, a further entry says how long the controller ran.
    """
    begin_s, end_s = (record.start_s + time_s for time_s in record.judged_s)
    done = record.faults.done if record.faults else ()
    observers = (record.held, record.cpu, record.links)
    coverages = [observer.coverage((begin_s, end_s)) for observer in observers if observer is not None]
    if record.controller is not None and (record.fabric.occupancy is not None or done):
        # The controller's changes during warm-up affect the window.
        coverages.append(record.controller.coverage((record.start_s, end_s)))
    return coverages


def _link_loss_doubt(record: RunRecord) -> str | None:
    """Returns the reason to doubt that links lost as much as requested; None if there is none."""
    asked, log = record.fabric.options.links.loss, record.links
    if not asked or log is None:
        return None
    return link_loss_doubt(asked, log.losses(directed_links(record.fabric.options.topology)))


def _spans_of_failure(record: RunRecord) -> dict[str, list[tuple[float, float]]]:
    """Returns switch -> (start, end) of each time when it was down or starting, on time.monotonic's clock."""
    spans: dict[str, list[tuple[float, float]]] = {}
    for component, begin_s, end_s in failure_spans(record):
        if component.kind is not ComponentKind.LINK:  # `switch:s4` and `hang:s4`
            spans.setdefault(component.location, []).append(
                (record.start_s + begin_s, record.start_s + end_s)
            )
    return spans


def _predicted(record: RunRecord, options: TrafficOptions) -> Predicted | None:
    """Returns the fluid model's prediction for the same plan, pattern and load.

    It is None if the file of the pattern has changed or is gone.
    """
    try:
        pattern = record.fabric.options.pattern(options.pattern, options.seed)
    except ParameterError:  # its file has changed or is gone since the traffic began
        return None
    return Predicted.of(predict_pattern(record.fabric.plan, pattern, options.load))


def _hops_match(record: RunRecord) -> bool | None:
    """Returns whether each packet's hops equal the distance between its two routers; None without packets."""
    if not record.generated:
        return None
    expected, received = record.fabric.host_distances(), record.result.received
    seen = received.hops_min != 255
    low, high = received.hops_min[seen], received.hops_max[seen]
    return bool((low == expected[seen]).all() and (high == expected[seen]).all())


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _rounded_all(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in values.items()}
