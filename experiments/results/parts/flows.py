"""Typed results of TCP flows, parts of a run's summary."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from experiments.codec import omitted
from experiments.results.parts.over_seeds import Mean, Sum, combined, means_by_key

# All flows beside the classes of their sizes, in tables and comparisons.
ALL = "all"


@dataclass(frozen=True)
class Quantiles:
    """Mean and quantiles of completed flows; None if none was completed.

    Attributes:
        mean: arithmetic mean.
        p50, p99: quantiles of 50 and 99 %, values of flows (rank ceil(fraction x flows)).
    """

    mean: Mean | None
    p50: Mean | None
    p99: Mean | None


@dataclass(frozen=True)
class FlowClass:
    """Measured flows of one class of sizes.

    Attributes:
        name: range of the sizes, as `10-100 KB`: from 10,000 bytes to less than 100,000.
        flows: flows that started in the measured window.
        completed: of these, flows whose last byte arrived before the run's end.
        bytes: payload of these flows in bytes, complete or not.
        fct_ms: flow completion time in ms, from the source's connect() to the last byte's arrival.
        slowdown: flow completion time over the ideal time of the same flow in the empty fabric.
    """

    name: str
    flows: Sum
    completed: Sum
    bytes: Sum
    fct_ms: Quantiles
    slowdown: Quantiles


def combined_by_name(of_seeds: Sequence[Sequence[FlowClass]]) -> tuple[FlowClass, ...]:
    """Returns the classes of several seeds, those of one name as one."""
    by_name: dict[str, list[FlowClass]] = {}
    for entry in itertools.chain.from_iterable(of_seeds):
        by_name.setdefault(entry.name, []).append(entry)
    return tuple(map(combined, by_name.values()))


@dataclass(frozen=True)
class FlowBytes:
    """Bytes of all flows, the warm-up's included, in the whole run.

    Attributes:
        payload: payload that arrived.
        resent: payload that was sent again.
        wire: frames without FCS that sources and destinations sent, by the kernel's counts (TCP_INFO).
        links_by_flows: sum over flows of these bytes times their hops, less what lost frames did not reach.
        links_counted: bytes that the queues of the links between routers counted; None if not observed.
        links_error: links_by_flows over links_counted, less one.
    """

    payload: Sum
    resent: Sum
    wire: Sum
    links_by_flows: Sum
    links_counted: Sum | None = None
    links_error: float | None = None

    def over_seeds(self, entries: Sequence[FlowBytes]) -> FlowBytes:
        """Returns the sums of several seeds with the error that follows from them."""
        counted = self.links_counted if all(e.links_counted is not None for e in entries) else None
        error = round(self.links_by_flows / counted - 1, 5) if counted else None
        return replace(self, links_counted=counted, links_error=error)


@dataclass(frozen=True, kw_only=True)
class FlowSummary:
    """Result of TCP flows.

    Attributes:
        tcp: congestion control algorithm.
        started: flows that started in the measured window.
        completed: of these, flows that were completed.
        unfinished: of these, flows that were not; they are in no time and no slowdown.
        failed: of the unfinished flows, those whose connection failed.
        warmup: flows that started before the measured window.
        fct_ms, slowdown: of all classes together, as in FlowClass.
        classes: the result by size of the flows.
        base_ms: hops -> least time of a flow of one byte in the empty fabric in ms, measured before the run.
        bytes: bytes of the flows, and of the links.
        below_ideal: share of the completed flows whose slowdown is below 0.95, for which `base_ms` is too
            long; null if none was completed.
        flow_sizes, flow_size_limit, flow_file, drain_s: as asked for.
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
        """Result of the flows of all sizes."""
        payload = sum(entry.bytes for entry in self.classes)
        return FlowClass(ALL, self.started, self.completed, payload, self.fct_ms, self.slowdown)


def class_rows(classes: Sequence[FlowClass]) -> list[dict[str, Any]]:
    """Returns the rows of a table of classes of sizes, for people."""
    rows = []
    for entry in classes:
        row: dict[str, Any] = {"flow size": entry.name, "flows": entry.flows, "completed": entry.completed}
        for name, values in (("slowdown", entry.slowdown), ("fct_ms", entry.fct_ms)):
            row |= {f"{name}_{key}": value for key, value in vars(values).items()}
        rows.append(row)
    return rows


def flow_results(flows: FlowSummary) -> dict[str, float | None]:
    """Returns counts, slowdowns and times of all flows and by class, as comparisons show them."""
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
