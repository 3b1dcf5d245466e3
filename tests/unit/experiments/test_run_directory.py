"""What a run leaves on the disk: never overwritten, written whole, and checked when it is read."""

import errno
import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.builders import records
from support.fixtures.foreign_folders import AS_ROOT

from experiments.codec import read_record
from experiments.events.base import ignore
from experiments.results.run_directory import RunDirectory, kept_directory
from experiments.results.tables import read_csv
from experiments.spec.values import plain_name, words_of
from topology.errors import MachineError, ParameterError

# ---- the directory ----


@pytest.mark.parametrize("name", ["new", "a/b/c"])
def test_directory_is_made_with_its_parents(tmp_path, name):
    assert RunDirectory(tmp_path / name).path == tmp_path / name
    assert (tmp_path / name).is_dir()


def test_a_file_system_without_new_folders_is_named_as_such():
    with pytest.raises(MachineError, match="/proc/x cannot be written") as refused:
        RunDirectory(Path("/proc/x"))
    assert "removed" not in str(refused.value)


LEASE = """
import fcntl, os, signal, sys, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = os.open(sys.argv[1], os.O_RDWR if sys.argv[2] == "F_WRLCK" else os.O_RDONLY)
lease = getattr(fcntl, sys.argv[2])
fcntl.fcntl(file, fcntl.F_SETLEASE, lease)
print("leased", flush=True)
while fcntl.fcntl(file, fcntl.F_GETLEASE) == lease:
    time.sleep(0.05)
time.sleep(0.3)
"""


def test_a_row_waits_for_a_program_that_has_a_lease_on_the_table(tmp_path):
    directory = RunDirectory(tmp_path)
    directory.append_row("points.csv", ("a",), {"a": 1})
    words = [sys.executable, "-c", LEASE, tmp_path / "points.csv", "F_RDLCK"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as program:
        assert program.stdout.readline() == b"leased\n"
        directory.append_row("points.csv", ("a",), {"a": 2})
    assert (tmp_path / "points.csv").read_text() == "a\n1\n2\n"


def test_a_measurement_is_reported_if_its_table_cannot_be_read(tmp_path):
    directory, events = RunDirectory(tmp_path), []
    directory.append_row("points.csv", ("a",), {"a": 1})
    words = [sys.executable, "-c", LEASE, tmp_path / "points.csv", "F_WRLCK"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as program:
        assert program.stdout.readline() == b"leased\n"
        with pytest.raises(ParameterError), directory.reporting_loss(records.SUMMARY, events.append):
            directory.append_row("points.csv", ("a",), {"a": 2})
    assert [event.key for event in events] == ["results-not-written"]


def test_an_empty_directory_is_taken(tmp_path):
    RunDirectory(tmp_path)


def test_a_directory_that_holds_something_is_refused_and_left_alone(tmp_path):
    old = tmp_path / "summary.json"
    old.write_text("precious")
    with pytest.raises(ParameterError, match=r"not empty; .*--out"):
        RunDirectory(tmp_path)
    assert old.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [old]


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_file_in_the_way_is_refused(tmp_path, name):
    (tmp_path / "file").write_text("precious")
    with pytest.raises(ParameterError, match=r"not a directory; .*--out"):
        RunDirectory(tmp_path / name)
    assert (tmp_path / "file").read_text() == "precious"


def test_a_full_disk_is_told_before_the_run_and_nothing_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("os.fstatvfs", lambda _folder: SimpleNamespace(f_bavail=15 << 8, f_frsize=4096))
    with (
        pytest.raises(MachineError, match=r"15 MiB .* 16 MiB"),
        kept_directory(tmp_path / "out"),
    ):
        pass
    assert not (tmp_path / "out").exists()


def test_a_directory_without_write_permission_is_told(nobodys):
    nobodys.chmod(0o555)  # root writes with its owner's rights
    with pytest.raises(MachineError, match="read-only"):
        RunDirectory(nobodys)


def test_a_directory_is_discarded_until_it_has_a_summary(tmp_path):
    unused, used = RunDirectory(tmp_path / "a" / "b" / "unused"), RunDirectory(tmp_path / "used")
    for directory in (unused, used):
        directory.write_record("manifest.json", {})
    used.write_record("summary.json", {})
    unused.discard()
    used.discard()
    assert [path.name for path in tmp_path.iterdir()] == ["used"]
    assert len(list((tmp_path / "used").iterdir())) == 2


def test_a_directory_that_was_there_is_emptied_and_stays(tmp_path):
    directory = RunDirectory(tmp_path)
    directory.write_record("manifest.json", {})
    directory.discard()
    assert list(tmp_path.iterdir()) == []


def test_an_occupied_directory_is_left_as_it_is(tmp_path):
    (tmp_path / "theirs").write_text("x")
    with pytest.raises(ParameterError, match="is not empty"):
        RunDirectory(tmp_path)
    assert (tmp_path / "theirs").read_text() == "x"


@pytest.mark.parametrize("new", [False, True])
def test_who_may_only_read_a_directory_cannot_lock_it(tmp_path, new):
    folder = tmp_path / "out"
    if not new:
        RunDirectory(folder).write_record("summary.json", {})
    else:
        folder.mkdir()
    reader = os.open(folder, os.O_RDONLY)
    fcntl.flock(reader, fcntl.LOCK_EX)
    with kept_directory(folder, resume=True) as directory:
        directory.write_record("more.json", {})
        (lock,) = (path for path in folder.iterdir() if path.suffix != ".json")
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    os.close(reader)
    assert {path.suffix for path in folder.iterdir()} == {".json"}


def test_two_processes_do_not_write_into_one_directory(tmp_path):
    with (
        kept_directory(tmp_path / "out") as directory,
        pytest.raises(ParameterError, match="another process"),
        kept_directory(tmp_path / "out", resume=True),
    ):
        directory.keep()
    assert not (tmp_path / "out").exists()


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path):
    with kept_directory(tmp_path / "killed"):
        (lock,) = (tmp_path / "killed").iterdir()
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / lock.name).write_text("")
    with kept_directory(tmp_path / "out") as directory:
        directory.write_record("summary.json", {})
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["summary.json"]


def test_results_that_came_before_the_lock_was_taken_are_kept(tmp_path, monkeypatch):
    folder, lock = tmp_path / "out", fcntl.flock

    def late(descriptor, how):
        (folder / "summary.json").write_text("precious")
        lock(descriptor, how)

    monkeypatch.setattr("fcntl.flock", late)
    with pytest.raises(ParameterError, match="not empty"), kept_directory(folder):
        pass
    assert (folder / "summary.json").read_text() == "precious"


@AS_ROOT
def test_what_sudo_wrote_belongs_to_its_caller(tmp_path, monkeypatch):
    monkeypatch.setenv("SUDO_UID", "1000")
    monkeypatch.setenv("SUDO_GID", "1001")
    directory = RunDirectory(tmp_path / "results" / "run")
    directory.write_record("summary.json", {})
    directory.write_csv("points/links.csv", ("a",), [])
    directory.append_row("points.csv", ("a",), {"a": 1})
    made = list(tmp_path.rglob("*"))
    assert len(made) == 6
    assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == {(1000, 1001)}


# ---- files ----


def test_json_is_read_as_it_was_written(tmp_path):
    content = {"q": 3, "nested": {"list": [1, 2.5, None, "é"]}}
    RunDirectory(tmp_path).write_record("summary.json", content)
    assert read_record(tmp_path / "summary.json", dict[str, object]) == content
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]


def test_a_write_that_breaks_off_leaves_the_old_file(tmp_path):
    directory = RunDirectory(tmp_path)
    directory.write_csv("t.csv", ("old",), [])

    def rows():
        yield ("1",)
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        directory.write_csv("t.csv", ("new",), rows())
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("t.csv", "old\n")]


def test_what_fits_is_kept_and_the_rest_is_named(tmp_path):
    def too_many():
        yield ("1",)
        raise OSError(errno.ENOSPC, "No space left on device")

    with kept_directory(tmp_path / "out") as directory:
        writing = directory.keeping_what_fits()
        writing.__enter__()
        directory.write_csv("links.csv", ("a",), too_many())
        directory.write_csv("cpu.csv", ("a",), [])
        with pytest.raises(MachineError, match=r"no room .*links\.csv; .*out"):
            writing.__exit__(None, None, None)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["cpu.csv"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts disks")
@pytest.mark.parametrize("rows", [0, 1])
def test_a_row_that_does_not_fit_leaves_nothing_of_itself(tmp_path, rows):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(tmp_path)], check=True)
    try:
        directory = RunDirectory(tmp_path)
        for number in range(rows):
            directory.append_row("t.csv", ("a",), {"a": number})
        before = [path.read_text() for path in tmp_path.iterdir()]
        with pytest.raises(OSError, match="No space left"):
            directory.append_row("t.csv", ("a",), {"a": "9" * 20_000})
        assert [path.read_text() for path in tmp_path.iterdir() if path.stat().st_size] == before
        directory.append_row("t.csv", ("a",), {"a": 7})
        assert read_csv(tmp_path / "t.csv", ("a",)) == {"a": [*map(str, range(rows)), "7"]}
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def test_rows_of_a_folder_that_is_renamed_have_one_header(tmp_path):
    directory = RunDirectory(tmp_path / "first")
    directory.append_row("t.csv", ("a",), {"a": 1})
    (tmp_path / "first").rename(tmp_path / "second")
    directory.append_row("t.csv", ("a",), {"a": 2})
    assert (tmp_path / "second" / "t.csv").read_text() == "a\n1\n2\n"


def test_a_measurement_that_cannot_be_written_is_in_the_error(tmp_path):
    def too_many():
        yield ("1",)
        raise OSError(errno.ENOSPC, "No space left on device")

    with (
        kept_directory(tmp_path / "out") as directory,
        pytest.raises(MachineError) as caught,
        directory.storing(records.summary(), ignore),
    ):
        directory.write_csv("links.csv", ("a",), too_many())
    assert any('"accepted"' in note for note in caught.value.__notes__)


def test_the_row_of_a_killed_writer_is_passed_over(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,0.94")
    assert read_csv(tmp_path / "t.csv", ("a", "b")) == {"a": ["1"], "b": ["2"]}


def test_csv_is_read_by_its_columns(tmp_path):
    RunDirectory(tmp_path).write_csv("t.csv", ("time_s", "host"), [(0.5, "h1_1"), (1.0, "h2_1")])
    assert (tmp_path / "t.csv").read_text() == "time_s,host\n0.5,h1_1\n1.0,h2_1\n"
    assert read_csv(tmp_path / "t.csv", ("host", "time_s")) == {
        "host": ["h1_1", "h2_1"],
        "time_s": ["0.5", "1.0"],
    }


def test_csv_may_have_more_columns_and_no_rows(tmp_path):
    (tmp_path / "more.csv").write_text("a,b,c\n1,2,3\n")
    assert read_csv(tmp_path / "more.csv", ("b",)) == {"b": ["2"]}
    (tmp_path / "none.csv").write_text("a,b\n")
    assert read_csv(tmp_path / "none.csv", ("a", "b")) == {"a": [], "b": []}


def test_missing_json_means_no_run(tmp_path):
    with pytest.raises(ParameterError, match=r"summary\.json is missing"):
        read_record(tmp_path / "summary.json", dict[str, object])


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"3", b'"text"', b"\xff\xfe\x00", b"{} {}"])
def test_damaged_json_is_told(tmp_path, content):
    (tmp_path / "summary.json").write_bytes(content)
    with pytest.raises(ParameterError, match=r"summary\.json is damaged"):
        read_record(tmp_path / "summary.json", dict[str, object])


def test_a_folder_in_place_of_json_is_told(tmp_path):
    with pytest.raises(ParameterError, match="got a directory"):
        read_record(tmp_path, dict[str, object])


def test_missing_csv_means_no_complete_run(tmp_path):
    with pytest.raises(ParameterError, match=r"t\.csv is missing"):
        read_csv(tmp_path / "t.csv", ("a",))


@pytest.mark.parametrize(
    "content",
    [b"", b"a\n1\n", b"a\n", b"x,y\n1,2\n", b"a,b\n1\n", b"a,b\n1,2\n3\n", b"a,b\n1,2,3\n"],
    ids=["empty", "one column", "one column, no rows", "others", "short row", "later short row", "long row"],
)
def test_csv_without_its_columns_is_damaged(tmp_path, content):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(ParameterError, match=r"t\.csv .* columns a, b"):
        read_csv(tmp_path / "t.csv", ("a", "b"))


def test_csv_that_is_no_text_is_damaged(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x80\n")
    with pytest.raises(ParameterError, match="UTF-8"):
        read_csv(tmp_path / "t.csv", ("a",))


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("polarfly", 7, "min", "uniform"), "polarfly-7-min-uniform"),
        (("graph", "/tmp/a b/g.edges", "matrix:../d.csv"), "graph-tmp-a-b-g.edges-matrix-..-d.csv"),
        (
            ("ugal-pf:threshold=0.5,buckets=8", "shift:3", "0.4"),
            "ugal-pf-threshold=0.5-buckets=8-shift-3-0.4",
        ),
    ],
)
def test_whatever_is_named_a_results_folder_is_one_folder(words, name):
    assert plain_name(*words) == name


def test_long_names_end_alike_and_are_told_apart():
    one, other = (plain_name(letter * 500, "end") for letter in "xy")
    assert len(one) == len(other) == 120
    assert one.endswith("xxx-end")
    assert plain_name("y", "x" * 500, "end") != one


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("min, ugal-pf,min", ["min", "ugal-pf", "min"]),
        (
            "min,ugal-pf:threshold=0.5,buckets=8,valiant",
            ["min", "ugal-pf:threshold=0.5,buckets=8", "valiant"],
        ),
        ("hotspot:8,share=0.5,shift:by=3,uniform", ["hotspot:8,share=0.5", "shift:by=3", "uniform"]),
        ("min,threshold=0.5", ["min", "threshold=0.5"]),
    ],
)
def test_a_list_keeps_the_parameters_of_a_name_together(text, words):
    assert words_of("routings", text) == words


def test_an_empty_list_is_refused():
    with pytest.raises(ParameterError, match=r"routings .* got ', '"):
        words_of("routings", ", ")


def test_a_directory_that_is_removed_meanwhile_is_named(tmp_path):
    directory = RunDirectory(tmp_path / "out")
    (tmp_path / "out").rmdir()
    for write in (
        lambda: directory.append_row("points.csv", ("a",), {"a": 1}),
        lambda: directory.write_csv("points.csv", ("a",), []),
        lambda: directory.write_record("summary.json", {}),
    ):
        with pytest.raises(MachineError, match=r"out.* was removed"):
            write()


def test_a_file_that_is_removed_while_it_is_written_is_named(tmp_path):
    directory = RunDirectory(tmp_path / "out")

    def rows():
        for path in (tmp_path / "out").iterdir():
            path.unlink()
        yield ("1",)

    with pytest.raises(MachineError, match=r"points\.csv was removed"):
        directory.write_csv("points.csv", ("a",), rows())
