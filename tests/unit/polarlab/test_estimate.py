"""`--estimate`: points, time and memory of what would be done, without doing or writing anything."""

import json

import pytest

import polarlab
from polarlab.cli.main import main

pytestmark = pytest.mark.usefixtures("compiled_kernels")

KEYS = {
    *("points", "done", "missing", "seconds", "core_seconds"),
    *("memory_bytes", "free_memory_bytes", "basis"),
}
SWEEP = "sweep polarfly --q 3 --hosts 2 --engine simulation --routings min --patterns uniform,tornado"
PAPER = "paper polarfly fig9 --quick --curves PF-MIN:perm1hop"


def estimated(capfd, words):
    assert main([*words.split(), "--estimate", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found.keys() == KEYS
    assert found["points"] == found["done"] + found["missing"]
    return found


@pytest.mark.parametrize(
    ("words", "points"),
    [
        (f"{SWEEP} --loads 0.1,0.2", 4),
        (f"{SWEEP} --loads 0.1,0.2 --repeat 3", 4),
        ("sweep polarfly --q 5 --hosts 2 --patterns uniform --loads 0.1,0.2 --routings min,ugal-pf", 4),
        ("simulate polarfly --q 3 --load 0.5 --repeat 3", 3),
        ("simulate polarfly --q 3 --pattern allreduce:ring --message-bytes 1KiB", 1),
        ("saturation polarfly --q 3 --precision 0.1", 4),
        ("paper polarfly fig2", 0),
    ],
)
def test_nothing_is_done_or_written(tmp_path, capfd, monkeypatch, words, points):
    monkeypatch.chdir(tmp_path)
    found = estimated(capfd, words)
    assert (found["points"], found["done"]) == (points, 0)
    assert (found["seconds"] is None) == ("allreduce" in words or "fig2" in words)
    assert main([*words.split(), "--estimate"]) == 0
    lines = capfd.readouterr().out.splitlines()  # the last of which may go on in lines below
    assert {line.split()[0] for line in lines if not line.startswith(" ")} == KEYS
    assert not [*tmp_path.iterdir()]


def test_more_work_takes_more_time_and_larger_fabrics_more_memory(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    short, long, large = (
        estimated(capfd, f"simulate polarfly --load 0.5 --warmup 1000 {words}")
        for words in ("--q 3 --cycles 1000", "--q 3 --cycles 9000000", "--q 13 --cycles 1000")
    )
    assert long["seconds"] > 10 * short["seconds"]
    assert long["memory_bytes"] == short["memory_bytes"] < large["memory_bytes"]
    one, two = (
        estimated(capfd, f"{SWEEP} --loads 0.1,0.2 --workers {workers}")["seconds"] for workers in (1, 2)
    )
    assert one == pytest.approx(2 * two, rel=0.1, abs=0.1)


def test_what_a_folder_has_is_done(tmp_path, capfd):
    few = {"hosts": 2, "engine": "simulation", "routings": "min", "warmup": 100, "cycles": 200, "workers": 1}
    polarlab.sweep("polarfly", q=3, patterns="uniform", loads=[0.1], out=tmp_path / "swept", **few)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    found = estimated(capfd, f"{SWEEP} --loads 0.1,0.2 --warmup 100 --cycles 200 --out {tmp_path / 'swept'}")
    assert (found["points"], found["done"]) == (4, 1)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert main([*SWEEP.split(), "--cycles", "300", "--estimate", "--out", str(tmp_path / "swept")]) == 2


def test_points_of_a_figure_that_are_kept_are_done(tmp_path, capfd):
    words = f"{PAPER} --out {tmp_path}"
    before = estimated(capfd, words)
    assert before["done"] == 0 < before["missing"]
    assert main([*words.split(), "--workers", "1"]) == 0
    capfd.readouterr()
    after = estimated(capfd, words)
    assert (after["missing"], after["seconds"]) == (0, 0)
    assert 0 < after["done"] <= before["points"]
