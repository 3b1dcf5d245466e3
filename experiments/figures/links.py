"""Figure of link loads between routers: on a drawing of the fabric, and sorted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from experiments.figures.fabric import HEAT, draw_fabric, link_lines
from experiments.figures.style import BLUE, DARK, heading, legend_above, legend_below, new_panels, set_title
from experiments.results.link_loads import LINK_LOADS, directed_links, jain
from experiments.results.open import Run, Simulation
from experiments.results.run_directory import MANIFEST, graph_of_results
from topology.base import Topology
from topology.errors import ParameterError
from topology.faults import ComponentKind, components_of_graph
from topology.layout import Layout

_MAX_DRAWN = 4000  # largest number of links to draw; more would look solid black


def draw_links(run: Run | Simulation) -> Figure:
    """Draws a heat map of links by their busier direction, and the sorted loads of all directions.

    The map is omitted if there are too many links. It is also omitted if the graph's file is missing or has
    changed; the title then names the file.

    Args:
        run: run or simulation with a table of link loads.

    Raises:
        ParameterError: the table is damaged.
    """
    rows = run.link_loads
    if not rows:
        raise ParameterError(f"{run.folder / LINK_LOADS} is damaged")
    loads = np.array([row.load for row in rows])
    topology, missing = _topology(run, [row.link for row in rows])
    if topology:
        figure, [left, right] = new_panels((12.5, 5.6), (3, 2))
        done = run.summary.faults.done if run.summary.faults else ()
        _map(figure, left, topology, loads, [entry.fault for entry in done])
    else:
        figure, [right] = new_panels((7, 4.5), (1,))
    _bars(right, loads)
    set_title(figure, heading(run.summary) + (f"; no map: {missing}" if missing else ""))
    return figure


def _topology(run: Run | Simulation, names: list[str]) -> tuple[Topology | None, str]:
    """Returns the graph (None if no map is drawn), and why it cannot be rebuilt (empty if it can)."""
    manifest = run.folder / MANIFEST
    experiment = run.manifest.experiment if manifest.exists() else None
    try:
        topology = graph_of_results(run.folder, run.summary.name, run.summary.params, experiment)
    except ParameterError as error:  # its file has changed or is gone
        return None, str(error)
    same = [link.name for link in directed_links(topology)] == names
    return (topology if same and topology.links <= _MAX_DRAWN else None), ""


def _map(
    figure: Figure,
    axes: Axes,
    topology: Topology,
    loads: npt.NDArray[np.float64],
    faults: Sequence[str],
) -> None:
    place = {(link.source, link.port): number for number, link in enumerate(directed_links(topology))}
    busier = np.array(
        [
            max(loads[place[link.a, link.port_a]], loads[place[link.b, link.port_b]])
            for link in topology.link_list
        ]
    )
    top = max(1.0, float(busier.max()))
    layout = topology.layout()
    draw_fabric(axes, topology, layout, np.clip(busier / top, 0, 1))
    _mark_failed(axes, topology, layout, faults)
    scale = ScalarMappable(Normalize(0, top), HEAT)
    figure.colorbar(
        scale,
        ax=axes,
        location="left",
        shrink=0.8,
        pad=0.01,
        label="load of the busier direction, fraction of link capacity",
    )
    legend_below(figure, axes.get_legend_handles_labels()[0], max_columns=5, small=True)


def _mark_failed(axes: Axes, topology: Topology, layout: Layout, faults: Sequence[str]) -> None:
    """Draws dashed lines over links that failed during the run, alone or with a switch."""
    words = [fault.partition(" ") for fault in faults]
    components = components_of_graph([name for verb, _, name in words if verb == "fail"], topology)
    if not components:
        return
    down = [one for one in components if one.kind is not ComponentKind.HANG]  # links of a hung switch stay up
    failed = [
        line
        for link, line in zip(topology.link_list, link_lines(topology, layout), strict=True)
        if any(component.covers(link) for component in down)
    ]
    label = f"links that failed during the run: {len(failed)}"
    axes.add_collection(LineCollection(failed, colors=BLUE, linewidths=2, linestyles="--", zorder=2.5))
    axes.plot([], [], color=BLUE, linewidth=2, linestyle="--", label=label)


def _bars(axes: Axes, loads: npt.NDArray[np.float64]) -> None:
    ordered = np.sort(loads)[::-1]
    axes.stairs(ordered, np.arange(len(ordered) + 1) - 0.5, fill=True, color=DARK)
    mean = float(loads.mean())
    axes.axhline(mean, color="0.45", linestyle="--", linewidth=1.2, label=f"mean {mean:.3f}")
    axes.plot([], [], " ", label=f"max {ordered[0]:.3f}")
    fairness = jain(loads)
    axes.plot([], [], " ", label="Jain's index " + ("-" if fairness is None else f"{fairness:.3f}"))
    axes.set(xlabel="directed links, by load", ylabel="load, fraction of link capacity")
    axes.set_xlim(-0.5, len(ordered) - 0.5)
    axes.set_ylim(0, max(1.05, 1.05 * float(ordered[0])))
    legend_above(axes, columns=3)
