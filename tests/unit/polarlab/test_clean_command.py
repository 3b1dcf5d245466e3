"""`polarlab clean`: its lines."""

import argparse
import json
from pathlib import Path

import pytest

import polarlab
from emulation.cleanup import MarkedProcess
from polarlab.cli.commands import clean

SLEEP = MarkedProcess(4711, "sleep 1000")
FEW = tuple(MarkedProcess(number, f"sleep {number}") for number in range(1, 5))


@pytest.mark.parametrize(
    ("processes", "run_directory", "logs", "text"),
    [
        ((), False, (), "nothing to remove"),
        ((SLEEP,), False, (), "removed a process of a fabric that had crashed: 4711 sleep 1000"),
        ((SLEEP, MarkedProcess(1, "x" * 900)), True, (), "crashed: 4711 sleep 1000, 1 [...]"),
        ((MarkedProcess(1, "\x1b[2Jx"),), True, (), "crashed: 1 \\x1b[2Jx"),
        (FEW, True, (), "removed 4 processes of a fabric that had crashed: 1 sleep 1, 2 sleep 2, "),
        ((*FEW, SLEEP, SLEEP), True, (), "4 sleep 4, 2 more"),
        ((), True, (), "removed the files of a fabric that had crashed"),
        ((), False, (Path("a"),), "removed a log of internal errors, older than an hour"),
        ((), False, (Path("a"), Path("b")), "removed 2 logs of internal errors, older than an hour"),
    ],
)
def test_the_line_names_what_was_removed(processes, run_directory, logs, text, monkeypatch, capsys):
    monkeypatch.setattr(polarlab, "clean", lambda: polarlab.Cleaned(processes, run_directory, logs))
    clean.run(argparse.Namespace(json=False))
    (line,) = capsys.readouterr().out.splitlines()
    assert text in line


def test_processes_that_outlive_their_end_are_named_so(monkeypatch, capsys):
    monkeypatch.setattr(polarlab, "clean", lambda: polarlab.Cleaned((), False, (), (SLEEP,)))
    clean.run(argparse.Namespace(json=False))
    (line,) = capsys.readouterr().out.splitlines()
    assert "did not end after SIGKILL" in line
    assert "4711 sleep 1000" in line
    clean.run(argparse.Namespace(json=True))
    assert json.loads(capsys.readouterr().out)["left_behind"] == [{"pid": 4711, "command": "sleep 1000"}]
