"""Figure of a sweep of simulations: accepted and latency against offered; a panel for each pattern."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from experiments.figures.sweeps.axes import Axis
from experiments.figures.sweeps.panels import curve_handles, new_sweep_panels
from experiments.results.open import SimulatedSweep
from experiments.results.simulation.sweep import SimulatedSweepManifest
from experiments.results.sweep_points import SimulatedPointRow
from experiments.results.tables import damage_named
from experiments.results.text import hosts_text, parameters
from experiments.spec.simulation.model import CREDIT


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
    panels = new_sweep_panels(rows, "cycles")
    panels.draw(rows)
    lossless = manifest.sweep.routers.flow_control == CREDIT
    model = "fluid model of routers that drop" if lossless else "fluid model"
    handles = curve_handles(panels.styles, "simulated")
    return panels.finish(handles, _title(manifest, rows, panels.axis), model)


def _title(manifest: SimulatedSweepManifest, rows: Sequence[SimulatedPointRow], axis: Axis) -> str:
    routers, sweep = manifest.sweep.routers, manifest.sweep
    words = [f"{manifest.name} ({parameters(manifest.params)})", hosts_text(manifest.name, manifest.hosts)]
    fixed = {"packet_flits": f"packets of {routers.packet_flits} flits"}
    if routers.flow_control == CREDIT:
        fixed |= {
            "virtual_channels": f"{routers.virtual_channels} virtual channels",
            "buffer_flits": f"buffers of {routers.buffer_flits} flits",
        }
    else:
        fixed |= {"queue_packets": f"{routers.queue_packets}-packet queues"}
    words += [text for name, text in fixed.items() if not sweep.varies(name)]
    load = f" at a load of {rows[0].load:g}" if axis.key and not axis.loads else ""
    return f"{', '.join(words)}{load}, simulated; fractions of the hosts' injection capacity"
