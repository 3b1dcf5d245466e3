"""Results of the benchmark: single rows are added to a file, and the page is made of it."""

import json
import sys

import pytest
from support.fixtures.documents import ROOT

sys.path.append(str(ROOT / "tests" / "bench"))
import results_file
from benchmarks_page import PAGE, add_results, benchmarks_page
from rows import Row

ORDER = ["first", "second"]


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results" / "bench.json"


def test_rows_that_are_measured_again_replace_their_own_only(results):
    origin = results_file.provenance()
    results_file.write(
        results, {"second": [Row("speed", "10", "12", "over 11", reached=True)]}, origin, ORDER
    )
    results_file.write(results, {"first": [Row("size", "-", "3", "2", reached=False)]}, origin, ORDER)
    later = {**origin, "commit": "abc"}
    later = {**origin, "commit": "abc"}
    for name, row, source in (
        ("second", Row("speed", "10", "12", "over 11", reached=True), origin),
        ("first", Row("size", "-", "3", "2", reached=False), origin),
        ("second", Row("speed", "10", "13", "over 11", reached=True), later),
    ):
        results_file.write(results, {name: [row]}, source, ORDER)
    found = results_file.read(results)
    assert [entry["name"] for entry in found] == ORDER
    assert [entry["rows"][0]["measured"] for entry in found] == ["3", "13"]
    page = benchmarks_page(results)
    assert "| size | - | 3 | 2 (**not reached**) |" in page
    assert "commit abc" in page
    assert f"{origin['machine']['cores']} cores" in page


def test_results_of_another_machine_replace_older_ones_only(tmp_path):
    def measured(path, **dates):
        entries = [{"name": name, "date": date, "file": path.name} for name, date in dates.items()]
        path.write_text(json.dumps({"format": 1, "measurements": entries}))

    kept, new = tmp_path / "kept.json", tmp_path / "new.json"
    measured(kept, scale="2026-11-22 13:59 UTC", drain="2026-11-23 00:40 UTC")
    measured(new, drain="2026-11-24 10:00 UTC", scale="2026-11-21 10:00 UTC", proof="2026-11-24 10:00 UTC")
    add_results(new, kept)
    files = {entry["name"]: entry["file"] for entry in json.loads(kept.read_text())["measurements"]}
    assert files == {"scale": "kept.json", "drain": "new.json", "proof": "new.json"}


def test_a_file_of_another_format_is_written_anew(results):
    results.parent.mkdir()
    results.write_text('{"machine": {}, "rows": []}')
    results_file.write(results, {"first": []}, results_file.provenance(), ORDER)
    assert [entry["name"] for entry in results_file.read(results)] == ["first"]


def test_a_measurement_names_its_date_commit_and_machine():
    origin = results_file.provenance()
    assert origin["date"].endswith("UTC")
    assert origin["machine"]["memory_gib"] > 0
    assert origin["machine"]["processor"]


def test_the_page_of_benchmarks_is_up_to_date():
    assert PAGE.read_text() == benchmarks_page(), "run `python docs/generate/benchmarks_page.py`"
