"""The table of a sweep: what goes in, what a torn or damaged one is taken for, and the figure of it."""

import csv
import json
from dataclasses import replace

import pytest
from support.builders import records, result_folders
from support.fixtures.foreign_folders import AS_ROOT

import polarlab
from experiments.codec import plain
from experiments.figures.sweep import simulated_curve
from experiments.results.model import Adaptation, Predicted
from experiments.results.open import Sweep, open_results
from experiments.results.run_directory import RunDirectory
from experiments.results.sweep_points import POINTS, columns_of, row_of
from experiments.spec.sweep import Point, SweepOptions
from experiments.spec.variations import read_variations
from topology.errors import ParameterError

SETTINGS = records.sweep_manifest().sweep
COLUMNS = columns_of(())


def measured_points(folder):
    return set(Sweep(folder).kept())


def held_settings(folder):
    manifest = Sweep(folder).begun()
    return manifest and manifest.sweep


@pytest.fixture
def sweep(tmp_path):
    directory = RunDirectory(tmp_path / "sweep", resume=True)
    directory.write_record("manifest.json", records.sweep_manifest())
    adaptation = Adaptation("netlink", 7)
    for point, values in (
        (Point("min", "tornado", 0.5), records.summary(accepted=0.29, predicted=Predicted(0.3))),
        (Point("ugal-pf", "tornado", 0.5), records.summary(accepted=0.49, adaptation=adaptation)),
        (Point("ugal-pf", "perm2hop", 0.333333), records.summary(accepted=0.33, adaptation=adaptation)),
    ):
        directory.append_row(POINTS, COLUMNS, row_of(point, values).cells())
    return directory


def test_booleans_of_the_table_are_those_of_pandas_and_old_ones_are_still_read(sweep):
    file = sweep.path / POINTS
    text = file.read_text()
    valid = [row["valid"] for row in csv.DictReader(text.splitlines())]
    assert valid == ["true", "true", "true"]
    file.write_text(text.replace(",true,", ",yes,"))
    assert all(row.valid is True for row in Sweep(sweep.path).points.values())


def test_points_are_read_as_they_were_written(sweep):
    assert measured_points(sweep.path) == {
        Point("min", "tornado", 0.5),
        Point("ugal-pf", "tornado", 0.5),
        Point("ugal-pf", "perm2hop", 0.333333),
    }
    held = Sweep(sweep.path).points
    rows = [held[point] for point in SweepOptions(("ugal-pf", "min"), ("tornado",), (0.5,)).points()]
    assert [(row.routing, row.accepted) for row in rows] == [("ugal-pf", 0.49), ("min", 0.29)]
    assert (rows[1].valid, rows[1].groups_modified, rows[1].predicted_accepted) == (True, None, 0.3)
    assert rows[0].groups_modified == 7


def test_a_torn_row_is_dropped_and_the_others_stay(sweep):
    before = measured_points(sweep.path)
    with open(sweep.path / POINTS, "a") as file:
        file.write("min,tornado,0.9,0.8")
    for _ in range(2):
        sweep.drop_torn_row(POINTS)
        assert measured_points(sweep.path) == before
    again = Point("min", "tornado", 0.9)
    sweep.append_row(POINTS, COLUMNS, row_of(again, records.summary()).cells())
    assert measured_points(sweep.path) == before | {again}


@pytest.mark.parametrize("content", ["", "routing,pat"])
def test_a_table_without_a_whole_row_is_none(sweep, content):
    (sweep.path / POINTS).write_text(content)
    sweep.drop_torn_row(POINTS)
    assert measured_points(sweep.path) == set()


def test_a_folder_of_something_else_is_no_sweep(tmp_path):
    assert held_settings(tmp_path) is None
    (tmp_path / ".manifest.json.partial").write_text("{")
    assert held_settings(tmp_path) is None
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ParameterError, match="is missing"):
        held_settings(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(ParameterError, match="a sweep"):
        held_settings(tmp_path)
    for damaged in ({}, [], {"name": "polarfly"}, {**plain(SETTINGS), "hosts": "3"}):
        (tmp_path / "manifest.json").write_text(json.dumps({"sweep": damaged}))
        with pytest.raises(ParameterError, match="is damaged"):
            held_settings(tmp_path)


def test_a_sweep_of_simulations_is_none_of_packets(sweep):
    manifest = sweep.path / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"engine": "simulation"}))
    with pytest.raises(ParameterError, match="a sweep"):
        held_settings(sweep.path)


@AS_ROOT
def test_what_somebody_else_put_into_a_folder_stays_theirs(tmp_path, monkeypatch):
    (tmp_path / "theirs").write_text("x")
    monkeypatch.setenv("SUDO_UID", "1234")
    monkeypatch.setenv("SUDO_GID", "1234")
    RunDirectory(tmp_path, resume=True).append_row(POINTS, ("a",), {"a": 1})
    assert (tmp_path / "theirs").stat().st_uid == 0
    assert (tmp_path / POINTS).stat().st_uid == 1234


def test_the_figure_of_a_sweep(sweep):
    assert isinstance(open_results(sweep.path), Sweep)
    png, svg = polarlab.plot(sweep.path).save()
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text()
    assert "<svg" in text
    assert len(text) > 20_000


@pytest.mark.parametrize("damage", ["min,tornado,0.5,abc\n", "x\n", "nan"])
def test_a_damaged_table_is_told(sweep, damage):
    path = sweep.path / POINTS
    path.write_text(path.read_text().replace("0.29", "nan") if damage == "nan" else path.read_text() + damage)
    with pytest.raises(ParameterError, match="damaged"):
        polarlab.plot(sweep.path).save()


def test_the_simulator_is_drawn_only_for_the_fabric_that_it_was_run_for():
    curve = simulated_curve(SETTINGS, "ugal-pf", "perm2hop")
    accepted = {point.offered: point.accepted for point in curve}
    assert accepted == {0.2: 0.1995, 0.4: 0.3986, 0.5: 0.4986}
    assert curve[0].latency_packets == 18.0 / 4
    assert simulated_curve(replace(SETTINGS, hosts=2), "ugal-pf", "perm2hop") == []
    assert simulated_curve(replace(SETTINGS, params={"q": 7}), "ugal-pf", "perm2hop") == []
    assert simulated_curve(replace(SETTINGS, name="ring"), "ugal-pf", "perm2hop") == []
    assert simulated_curve(SETTINGS, "ugal-pf", "tornado") == []


def test_a_sweep_of_an_older_version_is_read_drawn_and_gone_on_with(sweep):
    path = sweep.path / POINTS
    rows = [line.split(",") for line in path.read_text().splitlines()]
    later = [COLUMNS.index(name) for name in ("accepted_ci95", "latency_mean_ci95_ms")]
    older = [[cell for place, cell in enumerate(row) if place not in later] for row in rows]
    path.write_text("".join(",".join(row) + "\n" for row in older))
    assert polarlab.plot(sweep.path).save()
    count = len(measured_points(sweep.path))
    new = Point("min", "uniform", 0.7)
    sweep.append_row(POINTS, COLUMNS, row_of(new, records.summary(accepted=0.6)).cells())
    assert len(measured_points(sweep.path)) == count + 1
    assert {line.count(",") for line in path.read_text().splitlines()} == {len(older[0]) - 1}


VARIED = ("queue=8,32,100", "link-rate=500kbit,1Mbit", "local-repair=true,false")


def test_a_table_has_a_column_for_each_varied_key_and_is_read_back_with_types(tmp_path):
    folder = result_folders.write_sweep(tmp_path / "sweep", ("min",), ("tornado",), loads=(0.5,), vary=VARIED)
    header = (folder / POINTS).read_text().splitlines()[0].split(",")
    assert header[:6] == ["routing", "pattern", "load", "queue", "link-rate", "local-repair"]
    sweep = open_results(folder)
    assert len(sweep.points) == 12
    first, *_, last = sweep.points.values()
    assert first.varied == {"queue": 8, "link-rate": "500kbit", "local-repair": False}
    assert last.varied == {"queue": 100, "link-rate": "1Mbit", "local-repair": True}
    assert sweep.summary(last.point).accepted == last.accepted
    assert sweep.link_loads(last.point)
    asked = SweepOptions(("min",), ("tornado",), (0.5, 0.7), vary=read_variations(VARIED[::-1])).points()
    assert {point for point in asked if point.load == 0.5} == measured_points(folder)
    assert plain(last)["varied"] == last.varied


def test_a_parameters_column_is_empty_where_a_point_has_no_such_parameter(tmp_path):
    vary = ("ugal-pf.threshold=0.5,0.9", "hotspot.hosts=1,2")
    patterns = ("uniform", "hotspot")
    write = result_folders.write_sweep
    folder = write(tmp_path / "sweep", ("min", "ugal-pf"), patterns, loads=(0.5,), vary=vary)
    with (folder / POINTS).open(newline="") as file:
        table = list(csv.DictReader(file))
    keys = ("ugal-pf.threshold", "hotspot.hosts")
    cells = {(row["routing"], row["pattern"]): tuple(row[key] for key in keys) for row in table}
    assert len(cells) == 9
    assert cells["min", "uniform"] == ("", "")
    assert cells["ugal-pf:threshold=0.9", "uniform"] == ("0.9", "")
    assert cells["ugal-pf:threshold=0.9", "hotspot"] == ("0.9", "1")
    assert cells["min", "hotspot:hosts=2"] == ("", "2")
    values = {(row.routing, row.pattern): row.varied for row in open_results(folder).points.values()}
    assert values["min", "uniform"] == {}
    assert values["ugal-pf:threshold=0.5", "hotspot"] == {"ugal-pf.threshold": 0.5, "hotspot.hosts": 1}
    asked = SweepOptions(("ugal-pf", "min"), patterns, (0.5,), vary=read_variations(vary)).points()
    assert set(asked) == measured_points(folder)


def test_a_cell_that_is_not_a_value_of_its_key_is_told(tmp_path):
    folder = result_folders.write_sweep(tmp_path / "sweep", ("min",), ("tornado",), vary=["queue=8,32"])
    path = folder / POINTS
    path.write_text(path.read_text().replace(",32,", ",many,"))
    with pytest.raises(ParameterError, match="damaged"):
        measured_points(folder)


def test_a_seed_that_varies_has_the_column_that_all_sweeps_have(tmp_path):
    folder = result_folders.write_sweep(tmp_path / "sweep", ("min",), ("tornado",), vary=["seed=1,2"])
    header = (folder / POINTS).read_text().splitlines()[0].split(",")
    assert header.count("seed") == 1
    assert {dict(point.options)["seed"] for point in measured_points(folder)} == {1, 2}


def test_settings_that_vary_do_not_keep_points_apart():
    held = replace(SETTINGS, vary={"queue": (8, 16)}, queue_packets=8)
    assert held.difference(replace(held, vary={"queue": (32,)}, queue_packets=32)) is None
    assert held.difference(replace(held, frame_bytes=500)) == "frame_bytes"
    assert SETTINGS.difference(replace(SETTINGS, queue_packets=8)) == "queue_packets"
    for key, names in {
        "warmup": ("warmup_s", "steady"),
        "link-rate": ("link_rate_bps",),
        "link-delay": ("link_delay_ms",),
        "seed": ("seed",),
        "faults": ("faults", "faults_asked"),
        "local-repair": ("local_repair",),
    }.items():
        assert all(replace(SETTINGS, vary={key: ()}).varies(name) for name in names)
    drawn = replace(SETTINGS, vary={"seed": ()}, faults_asked="mtbf:links=30s")
    assert drawn.varies("faults")
    assert not drawn.varies("faults_asked")
