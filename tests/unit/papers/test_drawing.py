"""Drawings of items: the axes of latencies, and figures that are drawn again from the data of a folder."""

import shutil
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

import polarlab
from experiments.papers.figure import draw_item
from experiments.papers.links import failures_plot
from experiments.papers.model import BarChart, Plot
from experiments.papers.performance.model import latency_plot
from experiments.papers.registry import ITEMS
from polarlab.cli.main import main

GALLERY = Path(__file__).resolve().parents[3] / "docs" / "figures" / "papers"


def rows_of_a_curve(pattern, *points):
    return [
        {
            "curve": "PF-MIN",
            "pattern": pattern,
            "load": load,
            "latency_cycles": latency,
            "latency_ci95_cycles": 1.0,
            "stable": stable,
        }
        for load, latency, stable in points
    ]


def test_latencies_of_loads_that_are_not_carried_are_hollow_and_may_leave_the_panel():
    uniform = rows_of_a_curve("uniform", (0.2, 15.0, True), (0.8, 60.0, True), (0.9, 300.0, False))
    tornado = rows_of_a_curve("tornado", (0.2, 20.0, True), (0.4, 1700.0, False))
    panels = draw_item("title", latency_plot(), uniform + tornado).axes
    assert [axes.get_yscale() for axes in panels] == ["log", "log"]
    assert panels[0].get_ylim() == panels[1].get_ylim()
    assert panels[0].get_ylim()[1] == 500
    hollow = [
        [line.get_xydata().tolist() for line in axes.lines if line.get_markerfacecolor() == "white"]
        for axes in panels
    ]
    assert hollow == [[[[0.9, 300.0]]], [[[0.4, 1700.0]]]]


def test_panels_that_share_an_axis_show_the_lowest_point_of_all():
    """A panel's own end, set while the next one was still to be drawn, once cut off what was lower there."""
    uniform = rows_of_a_curve("uniform", (0.2, 30.0, True), (0.8, 60.0, True))
    tornado = rows_of_a_curve("tornado", (0.2, 12.0, True), (0.4, 1700.0, False))
    panels = draw_item("title", latency_plot(), uniform + tornado).axes
    assert all(axes.get_ylim()[0] < 12 for axes in panels)


def labels(axis):
    axis.axes.figure.canvas.draw()
    low, high = sorted(axis.get_view_interval())
    shown = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    return {tick.label1.get_text() for tick in shown if low <= tick.get_loc() <= high} - {""}


def test_loads_far_apart_are_on_a_logarithmic_axis_of_their_panel_alone():
    uniform = rows_of_a_curve("uniform", (0.2, 15.0, True), (1.0, 60.0, True))
    tornado = rows_of_a_curve("tornado", (0.02, 20.0, True), (0.4, 300.0, True))
    panels = draw_item("title", latency_plot(), uniform + tornado).axes
    assert [axes.get_xscale() for axes in panels] == ["linear", "log"]
    assert labels(panels[1].xaxis) == {"0.02", "0.05", "0.1", "0.2"}


def test_a_logarithmic_axis_of_two_decades_has_labels_between_powers_of_ten():
    rows = rows_of_a_curve("uniform", (0.2, 10.0, True), (0.8, 400.0, True))
    [axes] = draw_item("title", latency_plot(), rows).axes
    assert {"10", "20", "100", "200"} <= labels(axes.yaxis)


def test_of_many_curves_those_of_a_network_have_a_colour_and_those_of_a_routing_a_line():
    plot = Plot("x", "y", "x", "y", by="curve")
    names = [
        f"{one}-{routing}" for one in ("PS-IQ", "HX", "DF1", "SF") for routing in ("MIN", "UGAL_PF", "UGAL-L")
    ]
    rows = [{"x": x, "y": number, "curve": name} for number, name in enumerate(names) for x in (1, 2)]
    lines = {one.get_label(): one for one in draw_item("title", plot, rows).axes[0].lines}
    styles = {name: (one.get_color(), one.get_marker(), one.get_linestyle()) for name, one in lines.items()}
    assert len(set(styles.values())) == len(names)
    assert len({(colour, marker) for colour, marker, _ in styles.values()}) == 4
    assert {styles[f"{one}-MIN"][2] for one in ("PS-IQ", "HX", "DF1", "SF")} == {"-"}
    few = draw_item("title", plot, rows[:8]).axes[0].lines
    assert len({one.get_color() for one in few}) == 4
    assert {one.get_linestyle() for one in few} == {"-"}


def test_numbers_of_bars_are_beyond_their_intervals():
    sheet = BarChart(["name"], {"load": "saturation, uniform"})
    rows = [
        {"name": "a", "load": 0.01, "load_low": 0.0, "load_high": 0.2},
        {"name": "b", "load": 999.7, "load_low": "", "load_high": ""},
    ]
    figure = draw_item("title", sheet, rows)
    [axes] = figure.axes
    assert [(text.get_text(), text.xy) for text in axes.texts] == [("0.01", (0.2, 0)), ("1,000", (999.7, 1))]
    figure.canvas.draw()
    right = axes.get_window_extent().x1
    assert all(text.get_window_extent().x1 < right for text in axes.texts)
    assert axes.get_title() == "saturation\nuniform"


def test_failures_are_drawn_with_a_panel_for_the_diameter():
    rows = [
        {"network": "PF", "failed": failed, "average_path_length": path, "diameter": diameter}
        for failed, path, diameter in ((0.0, 1.9, 2), (0.05, 2.0, 4))
    ]
    path, diameter = draw_item("title", failures_plot(), rows).axes
    assert (path.get_ylabel(), diameter.get_ylabel()) == ("average path length", "diameter")
    assert diameter.lines[0].get_xydata().tolist() == [[0.0, 2.0], [0.05, 4.0]]
    assert path.lines[0].get_xydata().tolist() == [[0.0, 1.9], [0.05, 2.0]]


def test_the_figures_of_a_paper_are_drawn_again_from_its_data(tmp_path, capsys):
    for item in ("fig1", "table5"):
        polarlab.reproduce("polarfly", item, out=tmp_path)
    before = matplotlib.image.imread(tmp_path / "fig1.png")
    (tmp_path / "fig1.png").unlink()
    assert main(["plot", str(tmp_path)]) == 0
    assert "fig1.png" in capsys.readouterr().out
    assert np.array_equal(matplotlib.image.imread(tmp_path / "fig1.png"), before)
    assert not list(tmp_path.glob("table5.*g"))


def test_the_gallery_is_drawn_again_from_the_data_of_the_docs():
    drawn = {name for paper, items in ITEMS.items() for name in _drawn(paper, items)}
    assert set(polarlab.plot(GALLERY)) == drawn


def _drawn(paper, items):
    return [f"{paper}-{name}" for name, item in items.items() if item.plot is not None]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("polarfly-fig2.csv", lambda text: text.replace("radix", "degree")),
        ("polarfly-fig2.csv", lambda text: text.replace("PolarFly,3,", "PolarFly,three,")),
        ("polarfly-fig2.json", lambda _text: "{"),
        ("polarfly-fig2.csv", lambda text: text),  # another one than that of the record
    ],
)
def test_damaged_data_are_one_line(name, change, tmp_path, capsys):
    for kept in GALLERY.glob("polarfly-fig2*.*"):
        shutil.copy(kept, tmp_path)
    file = tmp_path / name
    changed = change(file.read_text())
    if changed == file.read_text():
        record = tmp_path / "polarfly-fig2.json"
        record.write_text(record.read_text().replace("{", '{"data": "0000", ', 1))
    file.write_text(changed)
    assert main(["plot", str(tmp_path)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert f"{name} is damaged" in line
