"""Reports: one page, complete in itself, that a real browser shows and sorts."""

import errno
import html
import json
import os
import re
import shutil
import subprocess

import pytest
from support.builders import records, result_folders

import polarlab
from experiments.results.model import Fidelity
from experiments.results.run_directory import RunDirectory
from experiments.results.sweep_points import POINTS, columns_of, row_of
from experiments.spec.sweep import Point
from polarlab.cli import main as entry
from topology.errors import MachineError, ParameterError, Status, UsageError
from topology.files.writing import Folder

BROWSER = shutil.which("chromium")


def summary(accepted, valid):
    return records.summary(accepted=accepted, fidelity=Fidelity(valid, () if valid else ("<slow>",)))


@pytest.fixture
def sweep(tmp_path):
    directory = RunDirectory(tmp_path / "sweep", resume=True)
    directory.write_record("manifest.json", records.sweep_manifest())
    for routing, load, accepted, valid in (
        ("ugal-pf", 0.5, 0.49, True),
        ("min", 0.5, 0.3, False),
        ("min", 1.0, 0.28, True),
    ):
        point = Point(routing, "tornado", load)
        directory.write_record(f"points/{point.name}.json", summary(accepted, valid))
        directory.append_row(POINTS, columns_of(()), row_of(point, summary(accepted, valid)).cells())
    return directory.path


def test_a_report_asks_no_server_for_anything(sweep):
    page = polarlab.report(sweep).read_text()
    assert not re.search(r"(src|href)=[\"'](?!data:)", page)
    assert "@import" not in page
    assert "url(" not in page
    assert page.count("data:image/svg+xml;base64,") == 1


def test_what_is_in_the_files_cannot_become_markup(sweep):
    page = polarlab.report(sweep).read_text()
    assert "<slow>" not in page
    assert html.escape("<slow>") in page


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_results_that_cannot_be_written_name_the_way_to_write_elsewhere(sweep, monkeypatch, code):
    def refuse(folder, name, _content):
        raise OSError(code, os.strerror(code), str(folder.path / name))

    figures = polarlab.plot(sweep)
    monkeypatch.setattr(Folder, "write", refuse)
    with pytest.raises(MachineError, match=r"report\.html .*--out"):
        polarlab.report(sweep)
    with pytest.raises(MachineError, match="--out"):
        figures.save()


def test_figures_have_the_look_that_is_asked_for(tmp_path):
    sweep = result_folders.write_sweep(tmp_path / "sweep", ("min", "ugal-pf"), ("tornado", "uniform"))
    looks = ({}, {"order": "uniform"}, {"title": False})
    pages = [polarlab.report(sweep, **look).read_text() for look in looks]
    assert len(set(pages)) == len(pages)
    with pytest.raises(ParameterError, match=r"^order .*'torus'"):
        polarlab.report(sweep, order="torus")


def test_it_goes_where_it_is_told_and_overwrites_nothing_else(sweep, tmp_path):
    assert polarlab.report(sweep) == sweep / "report.html"
    assert polarlab.report(sweep) == sweep / "report.html"
    other = tmp_path / "page.html"
    polarlab.report(sweep, other)
    with pytest.raises(UsageError, match="already exists"):
        polarlab.report(sweep, other)


@pytest.mark.parametrize("content", ["{}", "[]", "no json"])
def test_a_foreign_folder_is_told(tmp_path, content):
    (tmp_path / "summary.json").write_text(content)
    with pytest.raises(ParameterError, match=r"damaged|contains no run"):
        polarlab.report(tmp_path)
    with pytest.raises(ParameterError, match="nowhere"):
        polarlab.report(tmp_path / "nowhere")
    assert not (tmp_path / "report.html").exists()


def test_a_damaged_manifest_is_told(sweep):
    content = json.loads((sweep / "manifest.json").read_text())
    del content["hosts"]
    (sweep / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(ParameterError, match="damaged"):
        polarlab.report(sweep)


def test_the_command_tells_the_file(sweep, capsys):
    assert entry.main(["report", str(sweep), "--json"]) == Status.DONE
    assert json.loads(capsys.readouterr().out) == {"report": str(sweep / "report.html")}


def headings(page):
    return re.findall(r"<h2>(.*?)</h2>", page)


def test_the_report_of_replications_has_means_first_and_names_the_seeds(tmp_path):
    folder = result_folders.write_replications(tmp_path / "several", seeds=(4, 5), invalid=5)
    page = polarlab.report(folder).read_text()
    assert headings(page)[:3] == ["Means over seeds", "Seed 4", "Seed 5"]
    assert page.index("95 % confidence interval") < page.index("<img")
    assert column(page, "value")[1] == "accepted"
    assert column(page, "ci95")[1].startswith("±")
    assert 'alt="several replications"' in page
    assert 'alt="seed-5 throughput"' in page
    assert "too little of the CPU was idle" in page


def test_the_report_of_a_failover_has_its_phases_and_its_events(tmp_path):
    page = polarlab.report(result_folders.write_failover(tmp_path / "demo")).read_text()
    assert column(page, "phase") == ["before", "failed", "restored"]
    assert "Faults and plans" in headings(page)
    assert "<td class=text>2.045</td>" in page
    assert "longest silence of a watched pair was 17.6 ms" in page
    assert page.count("data:image/svg+xml;base64,") == 1


def test_the_report_of_a_run_with_faults_says_when_they_happened(tmp_path):
    summary = records.summary(faults=result_folders.FAULTS)
    page = polarlab.report(result_folders.write_run(tmp_path / "run", summary)).read_text()
    assert column(page, "time_s") == ["1.000", "1.040", "2.500", "4.000", "6.500", "6.530"]
    assert column(page, "event")[1] == "the controller&#39;s plan without link:s1-s10 is in place"


def test_a_sweeps_report_has_a_column_for_each_varied_key(tmp_path):
    folder = result_folders.write_sweep(tmp_path / "sweep", ("min",), ("tornado",), vary=("queue=8,100",))
    page = polarlab.report(folder).read_text()
    headings = re.findall(r"<th[^>]*>(.*?)</th>", page)
    assert "queue" in headings
    assert "<td>100</td>" in page


def test_a_sweeps_report_says_of_points_only_what_they_are(tmp_path):
    sound = result_folders.write_sweep(tmp_path / "sound", ("min",), ("tornado",))
    text = polarlab.report(sound).read_text()
    assert "3 points, all of them valid." in text
    assert "crossed out" not in text
    doubtful = result_folders.write_sweep(tmp_path / "doubtful", ("min",), ("tornado",), (0.2, 0.6, 1.0))
    text = polarlab.report(doubtful).read_text()
    assert "3 points, none of them valid; they are brown and crossed out" in text


def test_a_sweeps_report_has_validity_in_sight_and_the_worst_links_of_each_point(tmp_path):
    folder = result_folders.write_sweep(tmp_path / "sweep", ("min",), ("tornado",), (1.0,))
    page = polarlab.report(folder).read_text()
    assert column(page, "valid") == ["yes", "yes", "no"]
    head = re.search("<thead>(.*?)</thead>", page, re.S)[1]
    assert head.index("valid") < head.index("offered")
    worst = max(result_folders.link_rows(3, 7), key=lambda row: row[2])
    detail = page[page.index("<summary>min-tornado-1<") :]
    first = re.search("<tbody>\\s*<tr>(.*?)</tr>", detail, re.S)[1]
    assert worst[0] in first


def shown(page, tmp_path, fragment=""):
    """Returns the document as a browser has it, after its script ran."""
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
    words += ["--disable-background-networking", "--disable-component-update", "--disable-quic"]
    done = subprocess.run(
        [
            BROWSER,
            *words,
            f"--user-data-dir={tmp_path / 'browser'}",
            "--dump-dom",
            f"file://{page}{fragment}",
        ],
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    return done.stdout


def column(document, name):
    head, body = re.search(r"<thead>(.*?)</thead>\s*<tbody>(.*?)</tbody>", document, re.S).groups()
    place = [re.sub("<.*?>", "", cell) for cell in re.findall(r"<th[ >].*?</th>", head)].index(name)
    rows = [re.findall(r"<td.*?>(.*?)</td>", row) for row in re.findall(r"<tr.*?</tr>", body, re.S)]
    return [row[place] for row in rows]


@pytest.mark.skipif(BROWSER is None, reason="needs chromium; `make test` installs it")
def test_a_browser_shows_and_sorts_it(sweep, tmp_path):
    page = polarlab.report(sweep)
    assert column(shown(page, tmp_path), "accepted") == ["0.3", "0.28", "0.49"]
    assert column(shown(page, tmp_path, "#accepted"), "accepted") == ["0.28", "0.3", "0.49"]
    document = shown(page, tmp_path, "#-accepted")
    assert column(document, "accepted") == ["0.49", "0.3", "0.28"]
    assert 'aria-sort="descending"' in document
