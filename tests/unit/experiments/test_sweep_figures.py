"""Figures of sweeps that vary options: what is on the x axis, and which points a curve joins."""

from types import SimpleNamespace

import pytest
from support.builders import result_folders

import polarlab
from experiments.figures.style import curve_styles
from experiments.figures.sweeps.axes import Axis


def drawn(folder):
    return polarlab.plot(folder)["sweep"]


def curves_of(axes):
    """Returns the places on the x axis of each measured curve."""
    return [list(line.get_xdata()) for line in axes.lines if line.get_marker() not in ("None", "_", "")]


def point(routing, pattern="uniform"):
    return SimpleNamespace(routing=routing, pattern=pattern, load=0.5, varied=None)


def labels_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize(
    ("vary", "label", "places", "curves"),
    [
        (("queue=8,32,100",), "queue in packets", [8, 32, 100], ["min"]),
        (("link-rate=500kbit,2Mbit",), "link-rate in Mbit/s", [0.5, 2], ["min"]),
        (
            ("arrivals=poisson,constant", "flows=1,9"),
            "flows",
            [1, 9],
            ["min, arrivals constant", "min, arrivals poisson"],
        ),
    ],
)
def test_a_sweep_of_one_load_is_drawn_over_the_number_that_varies(vary, label, places, curves, tmp_path):
    folder = result_folders.write_sweep(tmp_path / "sweep", ("min",), ("tornado",), loads=(0.5,), vary=vary)
    figure = drawn(folder)
    accepted, latency = figure.axes
    assert latency.get_xlabel() == label
    assert curves_of(accepted) == [places] * len(curves)
    assert labels_of(figure)[:-1] == [f"{curve}, measured" for curve in curves]
    assert "load of 0.5" in " ".join(figure.get_suptitle().split())


def test_a_routing_without_the_parameter_on_the_axis_is_level(tmp_path):
    vary = ("ugal-pf.threshold=0.3,0.5,0.9",)
    write = result_folders.write_sweep
    figure = drawn(write(tmp_path / "sweep", ("min", "ugal-pf"), ("tornado",), loads=(0.5,), vary=vary))
    accepted, latency = figure.axes
    assert latency.get_xlabel() == "ugal-pf.threshold"
    assert curves_of(accepted) == [[0.3, 0.5, 0.9]]
    (level,) = (line for line in accepted.lines if line.get_linestyle() == "--")
    assert set(level.get_ydata()) == {0.3}
    wanted = {"min, measured", "ugal-pf, measured", "dashed: without ugal-pf.threshold"}
    assert wanted <= set(labels_of(figure))


def test_a_sweep_of_several_loads_is_drawn_over_offered_and_its_title_has_what_all_points_share(tmp_path):
    vary = ("queue=8,32", "frame-bytes=200,400")
    figure = drawn(result_folders.write_sweep(tmp_path / "sweep", ("min",), ("tornado",), vary=vary))
    title = figure.get_suptitle()
    assert "Mbit/s" in title
    assert "queues" not in title
    assert "frames" not in title
    assert figure.axes[1].get_xlabel() == "offered"
    assert len(labels_of(figure)) == 4 + 1


def test_curves_of_a_routing_have_markers_of_their_own_and_are_shades_of_a_colour():
    styles = curve_styles(["min, queue 8", "min, queue 32", "ugal-pf:threshold=0.5", "ugal-pf"])
    assert styles["min, queue 8"][0] == curve_styles(["min"])["min"][0]
    assert styles["ugal-pf:threshold=0.5"][0] == curve_styles(["ugal-pf"])["ugal-pf"][0]
    assert len({marker for marker, _ in styles.values()}) == 4
    assert len({color for _, color in styles.values()}) == 4


@pytest.mark.parametrize(
    ("pair", "routing"),
    [
        ("min / hierarchical", "min"),
        ("valiant / valiant-group", "valiant"),
        ("valiant-group / valiant, queue 8", "valiant"),
        ("ugal-group:threshold=0.5 / ugal-pf:threshold=0.5", "ugal-pf"),
        ("hierarchical / nca", "hierarchical"),
    ],
)
def test_a_pair_of_compared_routings_looks_like_the_known_one_of_both(pair, routing):
    assert curve_styles([pair])[pair] == curve_styles([routing])[routing]


def test_a_parameter_on_the_axis_is_not_in_the_names_of_curves_and_panels():
    axis = Axis("ugal-pf.threshold")
    assert Axis("perm1hop.seed").panel(point("min", "perm1hop:7")) == "perm1hop"
    for routing, curve in {
        "ugal-pf:threshold=0.5": "ugal-pf",
        "ugal-pf:threshold=0.5,margin=1": "ugal-pf:margin=1",
        "ugal:buckets=32": "ugal:buckets=32",
        "min": "min",
    }.items():
        assert axis.curve(point(routing)) == curve
    assert Axis("hotspot.hosts").panel(point("min", "hotspot:hosts=8")) == "hotspot"
