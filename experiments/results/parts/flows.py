"""Typed results of TCP flows, included in a run's summary."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from experiments.codec import omitted
from experiments.results.parts.over_seeds import Mean, Sum, combined, means_by_key

# Name of the class of all flows, in tables and comparisons.
ALL = "all"


@dataclass(frozen=True)
class Quantiles:
    """Mean and quantiles over complete flows; None if there are none.

    Attributes:
        mean: arithmetic mean.
        p50, p99: 50 % and 99 % quantiles: the value with rank ceil(fraction x flows).
    """

    mean: Mean | None
    p50: Mean | None
    p99: Mean | None


@dataclass(frozen=True)
class FlowClass:
    """Measured flows in one class of sizes.

    Attributes:
        name: range of sizes, such as `10-100 KB`: from 10,000 to less than 100,000 bytes.
        flows: number of flows that started in the measurement window.
        completed: number of these whose last byte arrived before the end of the run.
        bytes: total size of these flows in bytes, complete or not.
        fct_ms: flow completion time in ms, from the source's connect() to the last byte's arrival.
        slowdown: flow completion time / ideal time of the same flow in the idle fabric.
    """

    name: str
    flows: Sum
    completed: Sum
    bytes: Sum
    fct_ms: Quantiles
    slowdown: Quantiles


def combined_by_name(of_seeds: Sequence[Sequence[FlowClass]]) -> tuple[FlowClass, ...]:
    """Combines the classes of several seeds by name."""
    by_name: dict[str, list[FlowClass]] = {}
    for entry in itertools.chain.from_iterable(of_seeds):
        by_name.setdefault(entry.name, []).append(entry)
    return tuple(map(combined, by_name.values()))


@dataclass(frozen=True)
class FlowBytes:
    """Bytes of all flows in the whole run, including warm-up.

    Attributes:
        payload: payload that arrived.
        resent: payload that was retransmitted.
        wire: bytes of frames, without FCS, that sources and destinations sent, by the kernel's counters
            (TCP_INFO).
        links_by_flows: sum over flows of their bytes in `wire` times the hops of their paths, minus the bytes
            of lost frames on links that these frames did not reach.
        links_counted: bytes counted by the queues of links between routers; None if not observed.
        links_error: links_by_flows / links_counted - 1.
    """

    payload: Sum
    resent: Sum
    wire: Sum
    links_by_flows: Sum
    links_counted: Sum | None = None
    links_error: float | None = None

    def over_seeds(self, entries: Sequence[FlowBytes]) -> FlowBytes:
        """Returns the sums over several seeds, with the error of the summed bytes on links."""
        counted = self.links_counted if all(e.links_counted is not None for e in entries) else None
        error = round(self.links_by_flows / counted - 1, 5) if counted else None
        return replace(self, links_counted=counted, links_error=error)


@dataclass(frozen=True, kw_only=True)
class FlowSummary:
    """Result of TCP flows.

    Attributes:
        tcp: congestion control algorithm.
        started: number of flows that started in the measurement window.
        completed: number of flows that started in the measurement window and completed.
        unfinished: number of flows that started in the measurement window but did not complete; times and
            slowdowns exclude them.
        failed: number of unfinished flows whose connection failed.
        warmup: number of flows that started before the measurement window.
        fct_ms, slowdown: completion time in ms and slowdown over all classes.
        classes: the result by flow size.
        base_ms: hops -> minimum time in ms of a one-byte flow in the idle fabric, measured before the run.
        bytes: bytes of flows and of links.
        below_ideal: share of complete flows with a slowdown below 0.95; for these, `base_ms` is too long.
            Null if there are no complete flows.
        flow_sizes, flow_size_limit, flow_file, drain_s: requested settings.
    """

    tcp: str
    started: Sum
    completed: Sum
    unfinished: Sum
    failed: Sum
    warmup: Sum
    fct_ms: Quantiles
    slowdown: Quantiles
    classes: Annotated[tuple[FlowClass, ...], combined_by_name]
    base_ms: Annotated[Mapping[int, float], means_by_key]
    bytes: FlowBytes
    below_ideal: Mean | None = None
    flow_sizes: str | None = omitted()
    flow_size_limit: int | None = omitted()
    flow_file: str | None = omitted()
    drain_s: float = 0.0

    @property
    def together(self) -> FlowClass:
        """The result of all flows, as one class."""
        payload = sum(entry.bytes for entry in self.classes)
        return FlowClass(ALL, self.started, self.completed, payload, self.fct_ms, self.slowdown)


def class_rows(classes: Sequence[FlowClass]) -> list[dict[str, Any]]:
    """Returns a row, column -> value, for each class of flow sizes, for reports and the command line."""
    rows = []
    for entry in classes:
        row: dict[str, Any] = {"flow size": entry.name, "flows": entry.flows, "completed": entry.completed}
        for name, values in (("slowdown", entry.slowdown), ("fct_ms", entry.fct_ms)):
            row |= {f"{name}_{key}": value for key, value in vars(values).items()}
        rows.append(row)
    return rows


def flow_results(flows: FlowSummary) -> dict[str, float | None]:
    """Returns name -> number of flows, slowdown or time, for all flows and for each class of sizes.

    The names are those that comparisons show.
    """
    counts: dict[str, float | None] = {}
    slowdowns: dict[str, float | None] = {}
    times: dict[str, float | None] = {}
    for part in (flows.together, *flows.classes):
        left = part.flows - part.completed
        amounts = {"started": part.flows, "completed": part.completed, "unfinished": left}
        counts |= {f"flows_{key}, {part.name}": value for key, value in amounts.items()}
        slowdowns |= {f"slowdown_{key}, {part.name}": value for key, value in vars(part.slowdown).items()}
        times |= {f"fct_{key}_ms, {part.name}": value for key, value in vars(part.fct_ms).items()}
    return counts | slowdowns | times
