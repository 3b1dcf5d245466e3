"""Figure of a sweep of simulations: accepted and latency against offered; a panel for each pattern."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.figures.style import (
    UNSTABLE,
    cross_out,
    crossed_handle,
    legend_below,
    new_figure,
    plain_log_labels,
    printable,
    set_title,
)
from experiments.figures.sweeps.axes import Axis, axis_of, curve_styles
from experiments.figures.sweeps.curves import (
    CURVE_INCHES,
    FEW_CURVES,
    LEVEL,
    PANEL_INCHES,
    PREDICTED,
    Quantity,
    draw_curve,
    draw_line,
    is_level,
    places,
)
from experiments.results.open import SimulatedSweep
from experiments.results.simulation.sweep import SimulatedPointRow, SimulatedSweepManifest
from experiments.results.tables import damage_named
from experiments.results.text import hosts_text, parameters
from experiments.spec.options import SIMULATED_SWEEP

_ACCEPTED = Quantity("accepted", "accepted_ci95")
_LATENCY = Quantity("latency_mean_cycles", "latency_mean_ci95_cycles")


def draw_simulated_sweep(results: SimulatedSweep) -> dict[str, Figure]:
    """Returns the figure of a sweep of simulations by its name.

    Args:
        results: the sweep.

    Raises:
        ParameterError: its files are damaged.
    """
    with damage_named(results.folder):
        return {"sweep": _draw(list(results.points.values()), results.manifest)}


def _draw(rows: Sequence[SimulatedPointRow], manifest: SimulatedSweepManifest) -> Figure:
    axis = axis_of(rows, SIMULATED_SWEEP)
    panels: dict[str, list[SimulatedPointRow]] = {}
    for row in rows:
        panels.setdefault(axis.panel(row), []).append(row)
    styles = curve_styles(axis.curve(row) for row in rows)
    height = 6.8 + CURVE_INCHES * max(0, len(styles) - FEW_CURVES)
    figure = new_figure((max(7.5, 1.2 + PANEL_INCHES * len(panels)), height))
    axes = figure.subplots(2, len(panels), sharex=True, sharey="row", squeeze=False)
    for (pattern, own), accepted, latency in zip(panels.items(), axes[0], axes[1], strict=True):
        latency.set(xlabel=axis.label, yscale="log")
        for curve, (marker, color) in styles.items():
            chosen = [row for row in own if axis.curve(row) == curve]
            for panel, quantity in ((accepted, _ACCEPTED), (latency, _LATENCY)):
                draw_curve(panel, chosen, quantity, axis, (marker, color))
                unstable = [row for row in chosen if not row.stable]
                cross_out(panel, places(unstable, quantity.column, axis), marker, color)
            predicted = places(chosen, "predicted_accepted", axis)
            draw_line(accepted, predicted, {**PREDICTED, "color": color})
        if not axis.key:
            accepted.plot([0, 1], [0, 1], color="0.85", linewidth=0.8, zorder=0)
            accepted.set(xlim=(0, 1.03))
        accepted.set_title(printable(pattern), parse_math=False)
        accepted.set(ylim=(0, 1.03))
        plain_log_labels(latency.yaxis)
    axes[0][0].set_ylabel("accepted")
    axes[1][0].set_ylabel("mean latency in cycles")
    handles = [
        Line2D([], [], marker=marker, color=color, label=printable(f"{curve}, simulated"))
        for curve, (marker, color) in styles.items()
    ]
    handles.append(Line2D([], [], color="0.3", **PREDICTED, label="dotted, bars: fluid model"))
    if any(is_level(row, axis) for row in rows):
        handles.append(Line2D([], [], color="0.3", **LEVEL, label=f"dashed: without {axis.key}"))
    handles += [] if all(row.stable for row in rows) else [crossed_handle(UNSTABLE)]
    legend_below(figure, handles, small=len(styles) > FEW_CURVES)
    set_title(figure, _title(manifest, rows, axis))
    return figure


def _title(manifest: SimulatedSweepManifest, rows: Sequence[SimulatedPointRow], axis: Axis) -> str:
    routers, sweep = manifest.sweep.routers, manifest.sweep
    words = [f"{manifest.name} ({parameters(manifest.params)})", hosts_text(manifest.name, manifest.hosts)]
    fixed = {"packet_flits": f"packets of {routers.packet_flits} flits"}
    if routers.flow_control == "credit":
        fixed |= {
            "virtual_channels": f"{routers.virtual_channels} virtual channels",
            "buffer_flits": f"buffers of {routers.buffer_flits} flits",
        }
    else:
        fixed |= {"queue_packets": f"{routers.queue_packets}-packet queues"}
    words += [text for name, text in fixed.items() if not sweep.varies(name)]
    load = f" at a load of {rows[0].load:g}" if axis.key else ""
    return f"{', '.join(words)}{load}, simulated; fractions of the hosts' injection capacity"
