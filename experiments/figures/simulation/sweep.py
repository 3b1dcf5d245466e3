"""Figure of a sweep of simulations: accepted and latency against offered; a panel for each pattern."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from matplotlib.figure import Figure

from experiments.figures.style import UNSTABLE, crossed_handle
from experiments.figures.sweeps.axes import Axis, axis_of
from experiments.figures.sweeps.curves import Quantity
from experiments.figures.sweeps.panels import curve_handles, draw_points, new_panels, predicted_handle
from experiments.results.open import SimulatedSweep
from experiments.results.simulation.sweep import SimulatedSweepManifest
from experiments.results.sweep_points import SimulatedPointRow
from experiments.results.tables import damage_named
from experiments.results.text import hosts_text, parameters
from experiments.spec.options import SIMULATED_SWEEP

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
    panels = new_panels(rows, partial(axis_of, kind=SIMULATED_SWEEP))
    axis = panels.axis
    for _, own, accepted, latency in panels.each("cycles"):
        for curve, style in panels.styles.items():
            chosen = [row for row in own if axis.curve(row) == curve]
            unstable = [row for row in chosen if not row.stable]
            draw_points((accepted, latency), chosen, _LATENCY, axis, style, unstable)
    handles = [*curve_handles(panels.styles, "simulated"), predicted_handle()]
    crossed = [] if all(row.stable for row in rows) else [crossed_handle(UNSTABLE)]
    return panels.finish(handles, crossed, _title(manifest, rows, axis))


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
