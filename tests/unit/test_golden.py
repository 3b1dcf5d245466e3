"""Golden results: those that 0.2.0 wrote are opened, reported, compared and drawn as 0.2.0 did it."""

import json
import os
import xml.etree.ElementTree as ET

import golden
import pytest
from golden import OPENED, PAPERS, RESULTS, differences

import polarlab
from experiments.figures.replications import draw_replications
from experiments.results.replications import combine

EXPECTED = json.loads(golden.EXPECTED.read_text(encoding="utf-8"))
# Reports and figures that take a moment; the others show at least one of each kind.
_QUICK_PAGES = ("programs", "simulation", "sweep-varied", "simulated-sweep-varied", "failover", "failovers")
_QUICK_FIGURES = ("failovers", PAPERS)


def cases(names, quick):
    """Returns the parameters of a test, of which only some are quick."""
    slow = pytest.mark.slow
    return [name if name in quick else pytest.param(name, marks=slow) for name in dict.fromkeys(names)]


def of_kind(kind):
    return [one.name for one in OPENED if one.kind == kind]


def same(found, kept):
    """Checks that a value is the one that was kept."""
    assert list(differences(found, kept)) == []


def content(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPECTED["files"])
def test_all_files_are_there(name):
    assert golden.files(golden.FOLDER / name) == EXPECTED["files"][name]


@pytest.mark.parametrize("one", OPENED, ids=lambda one: one.name)
def test_records_have_the_values_of_the_files(tmp_path, one):
    [folder] = golden.copied(tmp_path, one.name)
    results = polarlab.open_results(folder)
    assert type(results).__name__ == one.kind
    same(results.manifest, content(folder / "manifest.json"))
    tables = sorted(name.removesuffix(".csv") for name in os.listdir(folder) if name.endswith(".csv"))
    if "Sweep" in one.kind:
        same_points(results, folder)
    else:
        same(results.summary, content(folder / "summary.json"))
        first, *_ = getattr(results, "replications", [results])
        for part in getattr(results, "replications", []):
            same(part.summary, content(part.folder / "summary.json"))
        tables = sorted(
            path.stem for path in (first if "repeated" in one.name else results).folder.glob("*.csv")
        )
    assert list(results.tables) == tables
    assert results.folder.name in repr(results)


def ordered(rows):
    """Sorts rows of points by what was asked for: their columns before those of results."""
    return sorted(rows, key=lambda row: [str(row[name]) for name in list(row)[: list(row).index("offered")]])


def same_points(results, folder):
    """Checks the points of a sweep, and the summary of each."""
    kept = golden.rows(folder / "points.csv")
    same(ordered(row.by_column() for row in results.points.values()), ordered(kept))
    summaries = sorted(folder.glob("points/*.json")) + sorted(folder.glob("points/*/summary.json"))
    found = {point.name: results.summary(point) for point in results.points}
    assert len(summaries) == len(kept) == len(found)
    for path in summaries:
        name = path.parent.name if path.name == "summary.json" else path.stem
        same(found[name], content(path))


@pytest.mark.parametrize("name", EXPECTED["experiments"])
def test_experiments_are_read_again(tmp_path, name):
    [folder] = golden.copied(tmp_path, name)
    [one] = [one for one in OPENED if one.name == name]
    same(golden.experiment(one, folder), EXPECTED["experiments"][name])


@pytest.mark.parametrize("kind", EXPECTED["comparisons"])
def test_comparisons_have_the_same_keys_and_values(tmp_path, kind):
    same(golden.comparison(golden.copied(tmp_path, *of_kind(kind))), EXPECTED["comparisons"][kind])


@pytest.mark.parametrize("name", EXPECTED["figures"])
def test_figures_have_the_same_panels_and_curves(tmp_path, name):
    [folder] = golden.copied(tmp_path, name)
    assert golden.figures(folder) == EXPECTED["figures"][name]


@pytest.mark.parametrize("name", cases(EXPECTED["figures"], _QUICK_FIGURES))
def test_figures_are_written(tmp_path, name):
    [folder] = golden.copied(tmp_path, name)
    before = golden.files(folder)
    written = json.loads(golden.printed("plot", str(folder), "--json"))["figures"]
    made = {f"{figure}.{ending}" for figure in EXPECTED["figures"][name] for ending in ("png", "svg")}
    assert {os.path.relpath(path, folder) for path in written} == made
    assert set(golden.files(folder)) == made | set(before)
    for figure in EXPECTED["figures"][name]:
        assert (folder / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert ET.parse(folder / f"{figure}.svg").getroot().tag.endswith("svg")


@pytest.mark.parametrize("name", cases(EXPECTED["pages"], _QUICK_PAGES))
def test_reports_have_the_same_texts_and_tables(tmp_path, name):
    [folder] = golden.copied(tmp_path, name)
    same(golden.page(folder), EXPECTED["pages"][name])


@pytest.mark.slow
@pytest.mark.usefixtures("compiled_kernels")
@pytest.mark.parametrize("one", [one for one in OPENED if not one.emulated], ids=lambda one: one.name)
def test_simulations_have_the_same_values_again(tmp_path, monkeypatch, one):
    [kept] = golden.copied(tmp_path / "kept", one.name)
    golden.copied(tmp_path / "again")
    monkeypatch.chdir(tmp_path / "again")
    golden.printed(*one.words)
    assert golden.changed_files(tmp_path / "again" / one.name, kept) == []


@pytest.mark.usefixtures("compiled_kernels")
@pytest.mark.parametrize(
    "name", cases(["saturation", "crosscheck", "crosscheck-sweep"], ["saturation", "crosscheck-sweep"])
)
def test_printed_simulations_have_the_same_values_again(tmp_path, monkeypatch, name):
    [one] = [one for one in RESULTS if one.name == f"{name}.json"]
    golden.copied(tmp_path, "run", "sweep")
    monkeypatch.chdir(tmp_path)
    found = json.loads(golden.printed(*one.words))
    kept = content(golden.FOLDER / one.name)
    assert list(differences(found, kept, without=golden.OF_THEIR_TIME)) == []


@pytest.mark.slow
@pytest.mark.usefixtures("compiled_kernels")
def test_items_of_papers_have_the_same_values_again(tmp_path, monkeypatch):
    [kept] = golden.copied(tmp_path / "kept", PAPERS)
    monkeypatch.chdir(tmp_path)
    for one in (one for one in RESULTS if one.name == PAPERS):
        golden.printed(*one.words)
    changed = golden.changed_files(tmp_path / PAPERS, kept)
    # Since then, --quick says why claims are not computed, and claims cite the places that were looked up.
    later = ("fig9.json.remark is", ".section is")
    assert [line for line in changed if not any(text in line for text in later)] == []


@pytest.mark.parametrize("name", ["run-repeated", "simulation-repeated"])
def test_seeds_are_combined_to_the_same_result(name):
    results = polarlab.open_results(golden.FOLDER / name)
    again = combine([one.summary for one in results.replications], results.summary.repeat.asked)
    same(again, content(results.folder / "summary.json"))


def test_seeds_whose_load_is_not_carried_are_crossed_out(tmp_path):
    [folder] = golden.copied(tmp_path, "simulation-repeated")
    file = folder / "seed-2" / "summary.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"stable": False}))
    figure = draw_replications(polarlab.Simulation(folder))["replications"]
    named = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert "crossed out: not stable" in named
