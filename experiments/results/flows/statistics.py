"""Statistics of TCP flows: completion times and slowdowns by flow size, and bytes on links."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from emulation.shaping import burst_bytes
from experiments.results.link_loads import LinkLog, directed_links
from experiments.results.parts.flows import FlowBytes, FlowClass, FlowSummary, Quantiles
from experiments.results.record import RunRecord
from experiments.results.run_directory import RunDirectory
from experiments.results.tables import Columns
from experiments.spec.flows import FlowOptions
from topology.base import Topology
from traffic.metrics.measurements import FlowOutcome
from traffic.workload.flows.frames import FRAME_HEADER_BYTES, SYN_EXTRA_BYTES, ideal_ns, wire_bytes

# Columns of `LinkHistory.series`.
_BYTES, _DROPS = 0, 1

FLOWS = "flows.csv"
FLOW_COLUMNS: Columns = {
    "time_s": "start of the flow: the source's connect()",
    "source": "sending host",
    "destination": "receiving host",
    "bytes": "payload of the flow in bytes",
    "fct_ms": "flow completion time in ms, until the last byte arrived; empty if it did not complete",
    "ideal_ms": "time of the same flow in the idle fabric in ms (docs/how-to/flows.md)",
    "slowdown": "`fct_ms` / `ideal_ms`; empty if the flow did not complete",
    "hops": "links between routers on a shortest path",
    "received_bytes": "payload that arrived",
    "resent_bytes": "payload that was retransmitted",
}
# Classes of flow sizes: (upper limit in bytes, exclusive; name).
CLASSES = ((10_000, "< 10 KB"), (100_000, "10-100 KB"), (1_000_000, "100 KB-1 MB"), (None, ">= 1 MB"))
# A flow with a slowdown below BELOW_IDEAL is clearly faster than the ideal time computed for it. If a larger
# share of the flows than MAX_BELOW_IDEAL is, the ideal times and so all slowdowns are doubtful.
BELOW_IDEAL = 0.95
MAX_BELOW_IDEAL = 0.01

Booleans = npt.NDArray[np.bool_]
Times = npt.NDArray[np.float64]


def flow_summary(record: RunRecord) -> FlowSummary:
    """Returns the summary of a run's TCP flows.

    Args:
        record: observations of the run.
    """
    options, outcome = record.traffic, _outcome(record)
    assert isinstance(options, FlowOptions)
    flows = outcome.flows
    measured = _measured(record)
    fct_ms, ideal_ms = flow_times_ms(record)
    slowdown, completed = fct_ms / ideal_ms, measured & (flows["finished_ns"] >= 0)
    return FlowSummary(
        tcp=options.tcp,
        started=int(measured.sum()),
        completed=int(completed.sum()),
        unfinished=int((measured & ~completed).sum()),
        failed=int((measured & flows["failed"]).sum()),
        warmup=int((flows["started_ns"] >= 0).sum() - measured.sum()),
        fct_ms=_quantiles(fct_ms[completed]),
        slowdown=_quantiles(slowdown[completed]),
        classes=_classes(flows["bytes"], measured, completed, fct_ms, slowdown),
        base_ms={hops: round(base_ms, 3) for hops, base_ms in sorted(record.flow_base_ms.items())},
        bytes=_bytes(record, outcome),
        below_ideal=round(float((slowdown[completed] < BELOW_IDEAL).mean()), 4) if completed.any() else None,
        flow_sizes=options.flow_sizes,
        flow_size_limit=options.flow_size_limit,
        flow_file=options.flow_file,
        drain_s=options.drain_s,
    )


def flow_fractions(record: RunRecord) -> dict[str, Any]:
    """Returns offered and accepted load in the window; retransmitted frames do not count.

    Args:
        record: observations of the run.
    """
    outcome, rate_bps = _outcome(record), record.fabric.options.links.rate_bps
    begin_s, end_s = record.window_s
    capacity_bits = len(record.fabric.hosts) * rate_bps * (end_s - begin_s)
    mtu, payload = record.fabric.options.links.mtu, outcome.flows["bytes"]
    frames = wire_bytes(payload, mtu)
    asked = int(frames[_asked_in_window(record)].sum())
    accepted = outcome.window_bytes.sum() * (frames.sum() / payload.sum())
    if not capacity_bits:
        return {"offered": None, "accepted": None}
    return {
        "offered": round(asked * 8 / capacity_bits, 6),
        "accepted": round(float(accepted) * 8 / capacity_bits, 6),
    }


def flow_troubles(outcome: FlowOutcome) -> list[str]:
    """Returns the problems of flows, one sentence each."""
    failed = int(outcome.flows["failed"].sum())
    return [f"connections of {failed} flows failed"] if failed else []


def flow_doubts(flows: FlowSummary | None) -> list[str]:
    """Returns the reasons not to trust slowdowns, one sentence each.

    Args:
        flows: summary of the flows; None for other traffic.
    """
    if flows is None or not flows.below_ideal or flows.below_ideal <= MAX_BELOW_IDEAL:
        return []
    return [
        f"{flows.below_ideal:.1%} of the completed flows have a slowdown below {BELOW_IDEAL:g}: times of the "
        "idle fabric were measured on a busy machine; give a lower --link-rate"
    ]


def flow_times_ms(record: RunRecord) -> tuple[Times, Times]:
    """Returns two float64 arrays: completion time (NaN if incomplete) and ideal time of every flow, in ms.

    Args:
        record: observations of the run.
    """
    flows, links = _outcome(record).flows, record.fabric.options.links
    done = flows["finished_ns"] >= 0
    fct_ms = np.where(done, (flows["finished_ns"] - flows["started_ns"]) / 1e6, np.nan)
    base_ns = {hops: base_ms * 1e6 for hops, base_ms in record.flow_base_ms.items()}
    hops = _distances(record)[flows["source"], flows["destination"]]
    ideal = ideal_ns(
        flows["bytes"], hops.astype(np.int64), base_ns, links.rate_bps, links.mtu, burst_bytes(links)
    )
    return fct_ms, ideal / 1e6


def write_flows(directory: RunDirectory, record: RunRecord) -> None:
    """Writes one row per flow that started; incomplete flows have no time.

    Args:
        directory: folder of the run.
        record: observations of the run.

    Raises:
        OSError: the disk is full or was removed.
    """
    names = [host.name for host in record.fabric.hosts]
    flows, distances = _outcome(record).flows, _distances(record)
    fct_ms, ideal_ms = flow_times_ms(record)

    def row(flow: int) -> tuple[object, ...]:
        one, done = flows[flow], not np.isnan(fct_ms[flow])
        return (
            round(int(one["started_ns"]) / 1e9, 6),
            names[one["source"]],
            names[one["destination"]],
            one["bytes"],
            round(float(fct_ms[flow]), 4) if done else "",
            round(float(ideal_ms[flow]), 4),
            round(float(fct_ms[flow] / ideal_ms[flow]), 4) if done else "",
            distances[one["source"], one["destination"]],
            one["received_bytes"],
            one["resent_bytes"],
        )

    started = np.flatnonzero(flows["started_ns"] >= 0).tolist()
    directory.write_csv(FLOWS, FLOW_COLUMNS, map(row, started))


def _outcome(record: RunRecord) -> FlowOutcome:
    assert record.result.flows is not None
    return record.result.flows


def _distances(record: RunRecord) -> npt.NDArray[np.int16]:
    return record.fabric.host_distances()


def _asked_in_window(record: RunRecord) -> Booleans:
    """Returns a mask of the flows whose scheduled start lies in the measurement window."""
    begin_s, end_s = record.window_s
    time_s = _outcome(record).flows["time_ns"] / 1e9
    return np.asarray((begin_s <= time_s) & (time_s < end_s))


def _measured(record: RunRecord) -> Booleans:
    """Returns a mask of the measured flows: they started, and their scheduled start lies in the window."""
    return np.asarray(_asked_in_window(record) & (_outcome(record).flows["started_ns"] >= 0))


def _classes(
    sizes: npt.NDArray[np.int64], measured: Booleans, completed: Booleans, fct_ms: Times, slowdown: Times
) -> tuple[FlowClass, ...]:
    """Returns one FlowClass for each range of flow sizes in CLASSES that contains measured flows."""
    classes, least = [], 0
    for below, name in CLASSES:
        inside = measured & (sizes >= least) & (sizes < (below or np.inf))
        least = below or 0
        done = inside & completed
        if inside.any():
            times = _quantiles(fct_ms[done]), _quantiles(slowdown[done])
            counts = int(inside.sum()), int(done.sum()), int(sizes[inside].sum())
            classes.append(FlowClass(name, *counts, *times))
    return tuple(classes)


def _quantiles(values: Times) -> Quantiles:
    if not len(values):
        return Quantiles(None, None, None)
    p50, p99 = np.quantile(values, (0.5, 0.99), method="inverted_cdf")
    return Quantiles(*(round(float(value), 4) for value in (values.mean(), p50, p99)))


def _bytes(record: RunRecord, outcome: FlowOutcome) -> FlowBytes:
    """Returns the bytes of all flows, and their bytes on all links between routers.

    The bytes on links are given twice: computed from the flows' bytes and hops, and counted by queues.
    """
    flows, there, back = outcome.flows, *_wire_bytes(outcome)
    hops = _mean_hops(record, outcome)
    source, destination = flows["source"], flows["destination"]
    wire = int(there.sum() + back.sum())
    by_flows = float((there * hops[source, destination] + back * hops[destination, source]).sum())
    mean_hops = by_flows / wire if wire else 0.0
    refused = max(0.0, wire - float(outcome.bytes_sent.sum()))
    by_flows -= refused * mean_hops
    counted = None
    if record.links is not None:
        topology = record.fabric.options.topology
        frame_bytes = there.sum() / max(1, flows["sent_segments"].sum())
        dropped = _link_total(record.links, topology, _DROPS)
        # On a path of n links, a frame is dropped before it crosses link 1 to n, so after 0 to n - 1 links.
        by_flows -= dropped * frame_bytes * (mean_hops + 1) / 2
        counted = round(_link_total(record.links, topology, _BYTES))
    return FlowBytes(
        payload=int(flows["received_bytes"].sum()),
        resent=int(flows["resent_bytes"].sum()),
        wire=wire,
        links_by_flows=round(by_flows),
        links_counted=counted,
        links_error=round(float(by_flows) / counted - 1, 5) if counted else None,
    )


def bytes_sent_by_hosts(outcome: FlowOutcome) -> npt.NDArray[np.int64]:
    """Returns an int64 array, one entry per host: the bytes of all frames that it sent for flows.

    The kernel counted these bytes per flow (TCP_INFO). They include acknowledgements.
    """
    there, back = _wire_bytes(outcome)
    total = np.zeros(len(outcome.window_bytes), np.int64)
    np.add.at(total, outcome.flows["source"], there)
    np.add.at(total, outcome.flows["destination"], back)
    return total


def _wire_bytes(outcome: FlowOutcome) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns, for each flow, the bytes of the frames that its source and its destination sent.

    The result is two arrays with one entry per flow, from the kernel's counters (TCP_INFO).
    """
    flows = outcome.flows
    there = flows["sent_bytes"] + FRAME_HEADER_BYTES * flows["sent_segments"]
    back = FRAME_HEADER_BYTES * flows["answer_segments"]
    return (
        there + SYN_EXTRA_BYTES * (flows["sent_segments"] > 0),
        back + SYN_EXTRA_BYTES * (flows["answer_segments"] > 0),
    )


def _mean_hops(record: RunRecord, outcome: FlowOutcome) -> Times:
    """Returns a float64 array, hosts x hosts: the mean hops of the frames of each ordered pair.

    The mean is over sampled frames, weighted by their bytes. For a pair without samples, it is the distance.
    """
    sampled = outcome.sampled_bytes
    measured = outcome.hop_bytes / np.maximum(sampled, 1)
    return np.asarray(np.where(sampled > 0, measured, _distances(record)), np.float64)


def _link_total(log: LinkLog, topology: Topology, column: int) -> float:
    """Returns how much a counter, summed over all links between routers, grew while they were observed.

    Args:
        log: readings of their queues.
        topology: the graph of routers.
        column: `_BYTES` for bytes sent, `_DROPS` for frames that full queues dropped.
    """
    total = 0.0
    for link in directed_links(topology):
        _, amounts = log.history.series(link.source + 1, link.port)
        if len(amounts):
            total += amounts[-1, column] - amounts[0, column]
    return total
