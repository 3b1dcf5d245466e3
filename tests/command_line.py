"""Command lines run within the tests' own process: their one line of error, or their one JSON object."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from typing import Any
from unittest import mock

import pytest

from polarlab.cli import main as entry


def fails(capsys: pytest.CaptureFixture[str], arguments: str | list[str], status: int) -> str:
    """Runs a command line that fails and returns its one line on standard error."""
    words = arguments.split() if isinstance(arguments, str) else arguments
    assert entry.main(words) == status
    out, err = capsys.readouterr()
    assert out == ""
    lines = [line for line in err.splitlines(keepends=True) if not line.startswith("[")]  # no progress
    assert len(lines) == 1, err
    assert lines[0].startswith("polarlab: ")
    assert lines[0].endswith("\n")
    return lines[0]


def prints_json(capsys: pytest.CaptureFixture[str], arguments: str, status: int = 0) -> dict[str, Any]:
    """Runs a command line that prints exactly one JSON object on standard output."""
    assert entry.main(arguments.split()) == status
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    result = json.loads(out)
    assert isinstance(result, dict)
    return result


def unnamed(line: str, words: str) -> list[str]:
    """Returns those of some words (names, values, options) that a line does not have as words."""
    return [word for word in words.split() if not re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", line)]


def options_in_help(command: str) -> dict[str, str]:
    """Returns the options in the help of a command: as they are written -> what is said of each."""
    out = io.StringIO()
    environment = {"COLUMNS": "10000"}  # no text is broken
    with mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(out), pytest.raises(SystemExit):
        entry.main([command, "--help"])
    found = re.findall(r"^  (-.*?)(?:  +|\n {10,})(.*)$", out.getvalue(), re.MULTILINE)
    return {written: text for written, text in found if "--help" not in written}


def flags_of(written: str) -> list[str]:
    """Returns the names of an option of the help, as `--local-repair` and `--no-local-repair`."""
    return re.findall(r"--[\w-]+", written)
