"""Figures as options ask for them: formats, width, title, order, axis; intervals; colours in grey."""

import csv
import itertools
import operator

import golden
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from support.builders import result_folders

import polarlab
from experiments.figures.style import PALETTE
from polarlab.cli.main import main
from topology.errors import ParameterError

ROUTINGS, PATTERNS = ("min", "ugal-pf"), ("tornado", "uniform")
KEY = "ugal-pf.threshold"


@pytest.fixture
def sweep(tmp_path):
    return result_folders.write_sweep(tmp_path / "sweep", ROUTINGS, PATTERNS)


def entries(figure):
    """Returns the texts of a figure's legend."""
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def panels(figure):
    return [axes.get_title() for axes in figure.axes if axes.get_title()]


def rewritten(folder, change):
    """Changes the cells of all points of a sweep: `change` returns those of a row that are new."""
    path = folder / "points.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, **change(row)})
    return folder


def with_intervals(folder, accepted, latency):
    """Gives all points of a sweep intervals of these half widths."""
    return rewritten(folder, lambda _: {"accepted_ci95": accepted, "latency_mean_ci95_ms": latency})


def bars(axes):
    """Returns the ends of error bars."""
    return [tuple(path[:, 1]) for one in axes.collections for path in one.get_segments()]


def test_a_figure_of_a_column_has_its_width_its_formats_and_no_title(sweep, capsys):
    before = {path.name for path in sweep.iterdir()}
    assert main(["plot", str(sweep), "--format", "pdf,svg", "--width", "84mm", "--no-title"]) == 0
    assert {path.name for path in sweep.iterdir()} - before == {"sweep.pdf", "sweep.svg"}
    assert (sweep / "sweep.pdf").read_bytes().startswith(b"%PDF")
    assert 'width="238.' in (sweep / "sweep.svg").read_text()  # points
    capsys.readouterr()


@pytest.mark.parametrize("name", ["run-faults", "failover", "simulated-sweep"])
def test_texts_of_a_column_can_be_read_and_are_not_cut_off(name):
    for figure in polarlab.plot(golden.FOLDER / name, width="3.3in", title=False).values():
        assert figure.get_figwidth() == pytest.approx(3.3)
        figure.draw_without_rendering()
        shown = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
        assert min(text.get_fontsize() for text in shown) >= 5
        labels = [label for axes in figure.axes for label in (axes.xaxis.label, axes.yaxis.label)]
        for label in [*labels, *figure.legends]:
            box = label.get_window_extent()
            assert -1 <= box.x0 <= box.x1 <= figure.bbox.x1 + 1
            assert -1 <= box.y0 <= box.y1 <= figure.bbox.y1 + 1


def test_a_column_leaves_room_between_latencies_and_most_of_its_height_to_the_data(tmp_path):
    folders = [golden.copied(tmp_path / name, "simulated-sweep")[0] for name in ("one", "two")]
    for folder in folders:
        rewritten(folder, lambda row: {"latency_mean_cycles": 14 + 25_000 * float(row["offered"]) ** 6})
    figure = polarlab.compare(*folders).plot(width="3.3in", title=False)["comparison"]
    figure.draw_without_rendering()
    ticks = [*figure.axes[2].get_yticklabels(), *figure.axes[2].get_yticklabels(minor=True)]
    low, high = figure.axes[2].get_ylim()
    shown = [one for one in ticks if one.get_text() and low <= one.get_position()[1] <= high]
    boxes = sorted((one.get_window_extent() for one in shown), key=lambda box: box.y0)
    assert len(boxes) >= 2
    assert all(below.y1 < above.y0 for below, above in itertools.pairwise(boxes))
    assert sum(axes.bbox.height for axes in (figure.axes[0], figure.axes[2])) > 0.5 * figure.bbox.height


def test_panels_and_curves_have_the_order_that_is_asked_for(sweep):
    figure = polarlab.plot(sweep, order="uniform,ugal-pf")["sweep"]
    assert panels(figure) == ["uniform", "tornado"]
    assert entries(figure)[:2] == ["ugal-pf, measured", "min, measured"]
    assert panels(polarlab.plot(sweep)["sweep"]) == ["tornado", "uniform"]


def test_a_key_is_on_the_horizontal_axis_though_the_load_varies(tmp_path):
    vary = ("ugal-pf.threshold=0.3,0.5",)
    folder = result_folders.write_sweep(tmp_path / "sweep", ("ugal-pf",), ("tornado",), vary=vary)
    assert polarlab.plot(folder)["sweep"].axes[1].get_xlabel() == "offered"
    figure = polarlab.plot(folder, x=KEY)["sweep"]
    assert figure.axes[1].get_xlabel() == KEY
    assert [f"ugal-pf, load {load:g}, measured" for load in (0.2, 0.6, 1.0)] == entries(figure)[:3]
    assert [list(line.get_xdata()) for line in figure.axes[1].lines] == [[0.3, 0.5]] * 3
    first = polarlab.plot(folder, x=KEY, order="ugal-pf, load 1,ugal-pf, load 0.6")["sweep"]
    assert entries(first)[:2] == ["ugal-pf, load 1, measured", "ugal-pf, load 0.6, measured"]


def test_intervals_are_drawn_and_named_where_there_are_some(sweep):
    assert "95 % confidence interval" not in entries(polarlab.plot(sweep)["sweep"])
    figure = polarlab.plot(with_intervals(sweep, 0.02, 0.5))["sweep"]
    assert "95 % confidence interval" in entries(figure)
    assert bars(figure.axes[0])[0] == pytest.approx((0.18, 0.22))
    compared = polarlab.compare(sweep, golden.copied(sweep.parent / "other", "sweep")[0]).plot()["comparison"]
    assert "95 % confidence interval" in entries(compared)


def test_an_interval_below_zero_ends_at_the_edge_of_a_logarithmic_axis(sweep):
    figure = polarlab.plot(with_intervals(sweep, 0.02, 9.9999))["sweep"]
    least = min(y for axes in figure.axes[2:] for line in axes.lines for y in line.get_ydata() if y > 1)
    assert figure.axes[2].get_ylim()[0] >= least / 2.5


def test_latencies_that_hardly_differ_do_not_fill_their_axis(sweep):
    rewritten(sweep, lambda row: {"latency_mean_ms": 10 + float(row["offered"])})
    low, high = polarlab.plot(sweep)["sweep"].axes[2].get_ylim()
    assert high / low >= 4


def test_the_legend_names_the_model_where_it_is_drawn_and_by_what_it_means():
    figure = polarlab.plot(golden.FOLDER / "simulated-sweep")["sweep"]
    assert "dotted: fluid model of routers that drop" in entries(figure)
    varied = polarlab.plot(golden.FOLDER / "sweep-varied")["sweep"]
    assert not any("model" in text for text in entries(varied))


def test_the_legend_names_no_line_that_is_not_seen(tmp_path):
    folder = golden.copied(tmp_path, "simulated-sweep")[0]
    rewritten(folder, lambda row: {"predicted_accepted": row["accepted"]})
    assert not any("model" in text for text in entries(polarlab.plot(folder, width="3.3in")["sweep"]))
    alone = result_folders.write_sweep(tmp_path / "sweep", ("min",), ("uniform",), loads=(0.6,))
    assert "diamond: fluid model" in (texts := entries(polarlab.plot(alone)["sweep"]))
    assert not any("dotted" in text for text in texts)


def test_the_authors_points_are_drawn_when_asked_for(tmp_path):
    fabric = {"params": {"q": 5}, "hosts": 3}
    folder = result_folders.write_sweep(tmp_path / "sweep", ("min",), ("uniform",), **fabric)
    hollow = "hollow: the authors' simulator"
    assert hollow not in entries(polarlab.plot(folder)["sweep"])
    assert hollow in entries(polarlab.plot(folder, booksim=True)["sweep"])


def test_colours_are_not_equally_dark():
    weights = (0.30, 0.59, 0.11)
    grey = sorted(sum(map(operator.mul, weights, to_rgb(color))) for color in PALETTE)
    assert min(b - a for a, b in itertools.pairwise(grey)) > 0.04


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"format": "gif"}, "format"),
        ({"width": "3.3"}, "width"),
        ({"width": "300cm"}, "width"),
        ({"order": "minn"}, "order"),
        ({"x": "queue"}, "x"),
    ],
)
def test_wrong_options_are_named(sweep, options, wrong):
    with pytest.raises(ParameterError, match=f"^{wrong} must be"):
        polarlab.plot(sweep, **options)


@pytest.mark.parametrize("options", [["--order", "min"], ["--x", "queue"]])
def test_options_that_results_cannot_have_are_refused(options, capsys):
    assert main(["plot", str(golden.FOLDER / "failovers"), *options]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"polarlab: {options[0].strip('-')} ")


def test_options_of_a_comparison_need_its_figure(sweep, capsys):
    assert main(["compare", str(sweep), str(golden.FOLDER / "sweep"), "--width", "3.3in"]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "--figure" in line
