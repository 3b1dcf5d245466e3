"""Exit statuses: each kind of error has its own, one line, and no traceback on the screen."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import replace

import pytest
from support.builders import result_folders
from support.fixtures.command_line import fails
from support.fixtures.documents import ROOT
from support.fixtures.foreign_folders import AS_ROOT

import polarlab
from polarlab.api import experiments
from polarlab.cli import main as entry
from polarlab.cli import parser as cli
from polarlab.error_log import remove_old_logs, write_log
from topology.errors import (
    MachineError,
    NegativeResult,
    ParameterError,
    PolarLabError,
    Status,
    Terminated,
    UsageError,
    known_status,
)


def command_that_raises(monkeypatch, error: BaseException) -> None:
    def run(_arguments):
        raise error

    monkeypatch.setattr(cli, "run", run)


@pytest.mark.parametrize(
    ("error", "status", "named"),
    [
        (NegativeResult("lost"), 1, "lost"),
        (UsageError("no such thing"), 2, "no such thing"),
        (ParameterError("out of range"), 2, "out of range"),
        (MachineError("no room"), 3, "no room"),
        (OSError(errno.ENOSPC, "No space left on device", "f"), 3, " f"),
        (OSError(errno.EDQUOT, "Quota exceeded"), 3, ""),
        (OSError(errno.EACCES, "Permission denied", "f"), 3, "(Permission denied)"),
        (OSError(errno.EROFS, "Read-only", "f"), 3, "(Read-only)"),
        (OSError(errno.EFBIG, "File too large", "f"), 3, "f cannot be written (File too large)"),
        (OSError(errno.EMFILE, "Too many open files"), 3, "ulimit -n"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "f" * 300), 2, "f" * 60),
        (OSError(errno.ELOOP, "Too many levels of symbolic links", "f"), 2, "f "),
        (MemoryError(), 3, "memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (Terminated(), 130, "interrupted"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_errors_have_their_status_and_line(capsys, monkeypatch, error, status, named):
    command_that_raises(monkeypatch, error)
    assert named in fails(capsys, "topology", status)


@pytest.mark.parametrize(
    ("error", "text"),
    [(RuntimeError("two\nlines"), "RuntimeError: two lines"), (PolarLabError("failed"), "failed")],
)
def test_an_internal_error_is_one_line_that_names_the_log_with_its_traceback(
    capsys, monkeypatch, tmp_path, error, text
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    command_that_raises(monkeypatch, error)
    line = fails(capsys, "topology", Status.INTERNAL)
    [log] = tmp_path.iterdir()
    assert line.startswith(f"polarlab: {text} ")
    assert str(log) in line
    assert "Traceback" in log.read_text()


@pytest.mark.parametrize(("user", "remedy"), [(1000, "; try sudo\n"), (0, ")\n")])
def test_who_is_not_root_is_told_of_sudo(capsys, monkeypatch, user, remedy):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    command_that_raises(monkeypatch, PermissionError(errno.EACCES, "Permission denied", "f"))
    assert fails(capsys, "topology", Status.MACHINE).endswith(remedy)


def test_an_unknown_error_has_no_known_status():
    assert known_status(ValueError("x")) is None
    assert known_status(OSError(errno.ENOENT, "No such file")) is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signals_end_the_command_as_interrupted(capsys, monkeypatch, number):
    monkeypatch.setattr(cli, "run", lambda _arguments: signal.raise_signal(number))
    assert fails(capsys, "topology", Status.INTERRUPTED) == "polarlab: interrupted\n"


def test_a_folder_in_the_place_of_a_file_is_wrong_use(tmp_path):
    with pytest.raises(IsADirectoryError) as caught:
        tmp_path.write_text("x")
    status, line = known_status(caught.value)
    assert status is Status.USAGE
    assert str(tmp_path) in line


@pytest.mark.parametrize(
    "line", ["simulate polarfly --q 2", "topology graph --from g.txt", "run polarfly --q 2"]
)
def test_a_working_folder_that_was_removed_is_wrong_use(capsys, tmp_path, monkeypatch, line):
    (tmp_path / "removed").mkdir()
    monkeypatch.chdir(tmp_path / "removed")
    (tmp_path / "removed").rmdir()
    assert "folder" in fails(capsys, line, Status.USAGE)


def test_a_working_folder_that_was_removed_is_no_internal_error_of_the_module(tmp_path):
    script = 'mkdir "$1" && cd "$1" && rmdir "$1" && exec "$2" -m polarlab topology polarfly --q 2'
    words = ["sh", "-c", script, "sh", tmp_path / "removed", sys.executable]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("name ")


def test_old_logs_of_internal_errors_are_removed_and_recent_ones_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    old, recent = write_log(ValueError("old")), write_log(ValueError("recent"))
    (tmp_path / "notes.log").touch()
    for path in (old, tmp_path / "notes.log"):
        os.utime(path, (0, 0))
    assert remove_old_logs() == [old]
    assert {path.name for path in tmp_path.iterdir()} == {recent.name, "notes.log"}


@AS_ROOT
def test_root_writes_no_log_where_another_user_can_replace_it(nobodys, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(nobodys))
    log = write_log(ValueError("x"))
    assert log.parent != nobodys
    log.unlink()


@pytest.mark.parametrize(("negative", "status"), [(None, 0), ("7 probes were lost", 1)])
def test_a_failover_s_status_is_that_of_its_result(tmp_path, monkeypatch, negative, status):
    """Losses while the failure stands, which this result has, are measured, and not negative."""
    summary = replace(result_folders.FAILOVER, negative=negative)
    assert summary.packets_lost > 0
    folder = result_folders.write_failover(tmp_path / "demo", summary)
    results = polarlab.open_results(folder)
    monkeypatch.setattr(experiments, "failover_shown", lambda *_words, **_options: nullcontext(results))
    assert entry.main(["demo", "failover", "polarfly", "--q", "3"]) == status
