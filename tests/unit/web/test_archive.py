"""Folders of results that the page offers: nothing of them leads elsewhere."""

import io
import os
import zipfile

import pytest
from support.fixtures.alarms import no_longer_than
from support.fixtures.foreign_folders import AS_ROOT, exchanging, give_all

from polarlab.web import archive
from polarlab.web.archive import Results
from topology.errors import ParameterError, UsageError


@pytest.fixture
def folder(tmp_path):
    """A folder of results."""
    made = tmp_path / "results" / "run"
    (made / "hosts" / "h1_1").mkdir(parents=True)
    (made / "summary.json").write_text("{}")
    (made / "hosts" / "h1_1" / "out.txt").write_text("pong")
    return made


@pytest.fixture
def results(folder):
    """The results of a session that has measured it."""
    measured = Results()
    measured.add(folder)
    return measured


def files_of(results):
    name, content = results.archive("run")
    assert name == "run"
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        return {one: opened.read(one) for one in opened.namelist()}


KEPT = {"run/hosts/h1_1/out.txt": b"pong", "run/summary.json": b"{}"}


def test_all_files_of_a_folder_are_in_its_archive(results, folder, monkeypatch):
    monkeypatch.chdir("/")
    assert results.names == ["run"]
    assert files_of(results) == KEPT


def test_what_is_no_file_of_its_own_is_left_out(results, folder, tmp_path):
    secret, linked = tmp_path / "secret", tmp_path / "linked"
    secret.write_text("root's")
    linked.write_text("root's")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "secret").write_text("root's")
    (folder / "link.csv").symlink_to(secret)
    (folder / "second.csv").hardlink_to(linked)
    (folder / "folder").symlink_to(tmp_path / "more")
    (folder / "gone").symlink_to("nowhere")
    os.mkfifo(folder / "fifo")
    assert files_of(results) == KEPT


@pytest.mark.parametrize("written_s", [0, -(10**9), 10**10])
def test_programs_on_hosts_give_files_any_names_and_any_times(results, folder, written_s):
    named = folder / "hosts" / "h1_1" / "\udcff\n"
    named.write_text("theirs")
    os.utime(named, (written_s, written_s))
    kept = files_of(results)
    assert {one: kept.pop(one) for one in list(kept) if one not in KEPT}.popitem()[1] == b"theirs"
    assert kept == KEPT


@AS_ROOT
def test_folders_that_are_exchanged_for_pipes_hold_nothing_up(public):
    run = public / "run"
    (run / "a").mkdir(parents=True)
    (run / "a" / "file").write_text("theirs")
    os.mkfifo(run / "b")
    give_all(run)
    measured = Results()
    measured.add(run)
    with exchanging(run / "a", run / "b") as times, no_longer_than(20):
        found = [set(files_of(measured)) for _ in range(200)]
    assert times[0] > 1_000
    assert {"run/a/file"} in found


def test_a_folder_of_endless_folders_is_refused(results, folder):
    inner = folder
    for _ in range(70):
        inner /= "x"
        inner.mkdir()
    with pytest.raises(UsageError, match="at most"):
        results.archive("run")


@pytest.mark.parametrize("where", ["link", "other", "above"])
def test_a_folder_that_another_one_has_replaced_is_refused(results, folder, tmp_path, where):
    other = tmp_path / "other"
    (other / "run").mkdir(parents=True)
    (other / "run" / "secret").write_text("root's")
    moved = folder.parent if where == "above" else folder
    moved.rename(tmp_path / "moved")
    if where == "other":
        (other / "run").rename(folder)
    else:
        moved.symlink_to(other if where == "above" else other / "run")
    with pytest.raises(UsageError):
        results.archive("run")


@pytest.mark.parametrize("name", ["", "..", "run/", "../results/run", "etc"])
def test_other_folders_are_refused(results, name):
    with pytest.raises(ParameterError):
        results.archive(name)


def test_a_folder_that_is_too_large_is_refused(results, folder, monkeypatch):
    monkeypatch.setattr(archive, "MAX_ARCHIVE_BYTES", 1_000)
    (folder / "large.csv").write_bytes(b"x" * 1_001)
    with pytest.raises(UsageError, match="at most"):
        results.archive("run")


@pytest.mark.parametrize("kind", ["files", "folders"])
def test_paths_and_entries_count_even_if_they_are_empty(results, folder, monkeypatch, kind):
    """Programs on hosts name what they leave: a path has up to 16 KiB."""
    monkeypatch.setattr(archive, "MAX_ARCHIVE_BYTES", 1 << 20)
    inner = folder.joinpath(*["d" * 250] * 10)
    inner.mkdir(parents=True)
    for number in range(300):
        (inner / str(number)).touch() if kind == "files" else (inner / str(number)).mkdir()
    with pytest.raises(UsageError, match="at most"):
        results.archive("run")
