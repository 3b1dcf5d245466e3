"""TCP flows with published sizes: slowdowns of two routings side by side, and their bytes on links."""

from __future__ import annotations

from rows import Row

from experiments.events.base import ignore
from experiments.live_fabric import live_fabric
from experiments.measurement import measure
from experiments.pair_check import check_all_pairs
from experiments.results.model import Summary
from experiments.results.parts.flows import FlowClass
from experiments.spec.fabric import FabricOptions
from experiments.spec.flows import FlowOptions
from topology.families.low_diameter.polarfly import PolarFly
from topology.links import LinkSpec

_RATE_BPS, _MTU, _MAX_ERROR = 20_000_000, 9000, 0.01
_DURATION_S = 20.0


def web_search_er5() -> list[Row]:
    """Web search flows at 0.4 on ER_5 under `min` and `ugal-pf`, the same flows for both."""
    results = {routing: _measured(routing) for routing in ("min", "ugal-pf")}
    rows = [_bytes_row(routing, summary) for routing, summary in results.items()]
    tables = [{c.name: c for c in summary.flows.classes} for summary in results.values() if summary.flows]
    minimal, adaptive = tables
    for name in (name for name in minimal if name in adaptive):
        rows.append(
            Row(
                f"ER_5, web-search flows at 0.4, links of 20 Mbit/s, flows {name}: slowdown of ugal-pf",
                f"min: {_text(minimal[name])}",
                _text(adaptive[name]),
                "-",
                reached=True,
            )
        )
    return rows


def _measured(routing: str) -> Summary:
    spec = LinkSpec(_RATE_BPS, 32, _MTU)
    options = FabricOptions("polarfly", {"q": 5}, PolarFly(5), 1, routing, spec)
    flows = FlowOptions(
        "uniform",
        0.4,
        "web-search",
        tcp="cubic",
        warmup_s=2.0,
        duration_s=_DURATION_S,
        drain_s=10.0,
        frame_bytes=_MTU + 14,
        seed=1,
    )
    with live_fabric(options, ignore) as fabric:
        return measure(fabric, flows, check_all_pairs(fabric, ignore), ignore).summary


def _bytes_row(routing: str, summary: Summary) -> Row:
    assert summary.flows
    told, error = summary.flows.bytes, summary.flows.bytes.links_error
    idle = summary.fidelity.cpu_idle
    return Row(
        f"ER_5, web-search flows at 0.4, {routing}: bytes times hops of {summary.flows.started} flows, "
        f"{summary.flows.unfinished} unfinished, {0 if idle is None else idle:.0%} of the CPU idle at least",
        f"{(told.links_counted or 0) / 1e6:,.1f} MB counted by the links",
        f"{told.links_by_flows / 1e6:,.1f} MB" + ("" if error is None else f", {error:+.3%}"),
        f"within {_MAX_ERROR:.0%}",
        error is not None and abs(error) <= _MAX_ERROR,
    )


def _text(entry: FlowClass) -> str:
    values = entry.slowdown
    if values.mean is None or values.p50 is None or values.p99 is None:
        return f"none of {entry.flows} completed"
    quantiles = f"mean {values.mean:.1f}, p50 {values.p50:.1f}, p99 {values.p99:.1f}"
    return f"{quantiles} ({entry.completed} of {entry.flows})"
