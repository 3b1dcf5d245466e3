"""Results written as root into folders of other users, who exchange folders and files for links meanwhile."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.builders import records, result_folders
from support.fixtures.documents import ROOT
from support.fixtures.foreign_folders import NOBODY, exchanging, give, give_all

import polarlab
from experiments.results.run_directory import RunDirectory
from polarlab.cli.main import main
from polarlab.process import Status
from topology.errors import PolarLabError
from topology.files.writing import make_folder, open_folder, remove_tree, write_new

OTHER = 1  # user ID of daemon, neither root nor nobody
REBUILD = """
import sys
from pathlib import Path
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
from experiments.results.run_directory import graph_of_results
graph_of_results(Path(sys.argv[1]), "torus", {"shape": "3x3"}, None)
"""
SIMULATED = {"engine": "simulation", "q": 2, "routings": ["min"], "patterns": ["uniform"], "cycles": 200}


@pytest.fixture
def sentinel(public):
    """Returns a folder of root's that everybody may enter, with the files that would be written."""
    folder = public / "sentinel"
    folder.mkdir()
    for name in ("report.html", "overview.png", "manifest.json", "points.csv", "summary.json"):
        (folder / name).write_text("root's")
    return folder


def untouched(sentinel: Path) -> bool:
    """Returns whether a folder holds what it held, and root still owns it."""
    files = list(sentinel.rglob("*"))
    return (
        len(files) == 5
        and all(path.read_text() == "root's" for path in files)
        and {path.stat().st_uid for path in (sentinel, *files)} == {0}
    )


def test_a_link_as_a_file_of_results_is_replaced(nobodys, sentinel, capsys):
    result_folders.write_failover(nobodys / "run")
    for name in ("report.html", "failover.png", "failover.svg"):
        (nobodys / "run" / name).symlink_to(sentinel / "report.html")
    give_all(nobodys)
    assert main(["report", str(nobodys / "run")]) == 0
    assert main(["plot", str(nobodys / "run")]) == 0
    assert untouched(sentinel)
    written = nobodys / "run" / "report.html"
    assert not written.is_symlink()
    assert (written.stat().st_uid, written.stat().st_gid) == (NOBODY.pw_uid, NOBODY.pw_gid)


@pytest.mark.parametrize("of_results", ["readable", "link"])
def test_a_figure_shows_no_line_of_a_file_that_its_results_name(public, nobodys, of_results):
    text, link = public / "readable", public / "link"
    text.write_text("machine example login bob password hunter2\n")
    link.symlink_to(text)
    os.chown(link, OTHER, OTHER, follow_symlinks=False)
    if of_results == "link":
        os.chown(text, OTHER, OTHER)
        text.chmod(0o600)
    named = {"name": "graph", "params": {"from": str(public / of_results)}}
    result_folders.write_run(nobodys / "run", records.summary(**named), **named)
    give_all(nobodys)
    assert main(["plot", str(nobodys / "run")]) == 0
    figure = "".join((nobodys / "run" / "links.svg").read_text().split())
    assert "nomap:" in figure
    assert "hunter2" not in figure


def test_results_of_others_need_no_way_into_the_folder_of_polarlab(tmp_path, nobodys):
    (tmp_path / "code").symlink_to(ROOT)
    tmp_path.chmod(0o700)
    subprocess.run(
        [sys.executable, "-P", "-c", REBUILD, nobodys],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "code")},
        cwd="/",
        check=True,
    )


def test_a_table_that_grows_is_no_link(nobodys, sentinel):
    (nobodys / "points.csv").symlink_to(sentinel / "points.csv")
    give(nobodys / "points.csv")
    with pytest.raises(OSError, match="symbolic"):
        RunDirectory(nobodys, resume=True).append_row("points.csv", ("a",), {"a": 1})
    (nobodys / "points.csv").unlink()
    os.mkfifo(nobodys / "points.csv")
    with pytest.raises(OSError, match="points"):
        open_folder(nobodys).append("points.csv", b"1\n")
    assert untouched(sentinel)


def test_new_files_and_folders_of_root_are_not_put_behind_links_of_others(nobodys, sentinel):
    (nobodys / "folder").symlink_to(sentinel)
    give(nobodys / "folder")
    with pytest.raises(PermissionError):
        write_new(nobodys / "folder" / "new.json", b"{}")
    with pytest.raises(PermissionError):
        make_folder(nobodys / "folder" / "a" / "b")
    with pytest.raises(PolarLabError):
        RunDirectory(nobodys / "folder", resume=True)
    assert untouched(sentinel)


def test_what_is_made_in_a_folder_belongs_to_its_owner(nobodys):
    make_folder(nobodys / "a" / "b").write("c/d.json", b"{}")
    made = list(nobodys.rglob("*"))
    assert len(made) == 4
    assert {path.stat().st_uid for path in made} == {NOBODY.pw_uid}


@pytest.mark.parametrize("verb", ["report", "plot", "sweep"])
def test_folders_that_are_exchanged_for_links_lead_root_nowhere(nobodys, sentinel, verb, compiled_kernels):
    out = nobodys / "results" / "run"
    result_folders.write_failover(out)
    (sentinel.parent / "elsewhere" / "results").mkdir(parents=True)
    (sentinel.parent / "elsewhere" / "results" / "run").symlink_to(sentinel)  # root's own link
    (nobodys / "link").symlink_to(sentinel.parent / "elsewhere" / "results")
    give_all(nobodys)
    figures = polarlab.open_results(out).plot()

    def write(number: int) -> None:
        if verb == "report":
            polarlab.report(out)
        elif verb == "plot":
            figures.save()
        else:
            polarlab.sweep("polarfly", **SIMULATED, loads=[0.2], out=out.with_name(f"run-{number}"))

    done = 0
    with exchanging(nobodys / "results", nobodys / "link") as times:
        for number in range(1_000):
            with contextlib.suppress(PolarLabError, OSError):
                write(number)
                done += 1
            if done == 3:
                break
    assert done == 3
    assert untouched(sentinel)
    assert times[0] > 1_000


def test_folders_however_deep_are_removed(tmp_path):
    (tmp_path / "deep").mkdir()
    place = os.open(tmp_path / "deep", os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("x", dir_fd=place)
        below = os.open("x", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=place))
    os.close(place)
    (tmp_path / "deep" / "link").symlink_to("/etc")
    above = os.open(tmp_path, os.O_RDONLY)
    remove_tree("deep", above)
    os.close(above)
    assert list(tmp_path.iterdir()) == []
    assert Path("/etc/passwd").exists()


def status_as_nobody(*words):
    """Returns the exit status of a command that a user without rights runs."""
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(NOBODY.pw_gid)
        os.setuid(NOBODY.pw_uid)
        os._exit(main([*map(str, words)]))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_an_archive_that_one_may_not_write_is_plotted_and_reported_elsewhere(public, nobodys):
    archive, elsewhere = public / "archive", nobodys / "elsewhere"
    result_folders.write_failover(archive)  # root's
    before = sorted(archive.iterdir())
    assert status_as_nobody("plot", archive) == status_as_nobody("report", archive) == Status.MACHINE
    assert status_as_nobody("plot", archive, "--out", elsewhere) == 0
    assert {path.suffix for path in elsewhere.iterdir()} == {".png", ".svg"}
    assert status_as_nobody("report", archive, "--out", nobodys / "page.html") == 0
    assert sorted(archive.iterdir()) == before


@pytest.mark.usefixtures("compiled_kernels")
def test_files_that_results_of_others_name_are_read_with_their_rights(nobodys, public):
    secret = public / "secret.csv"
    secret.write_text("source,destination,share\nh1_1,h3_1,1\n")
    secret.chmod(0o600)
    forged = records.summary(queueing_frame_times=1.5, pattern=f"matrix:{secret}")
    folder = result_folders.write_run(nobodys / "run", forged)
    give_all(nobodys)
    with pytest.raises(PolarLabError, match="secret"):
        polarlab.crosscheck(folder)
    assert not (folder / "crosscheck.json").exists()
