"""Whole commands, from their start to their end, of this tree and of an older commit in turn."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

import before
from results_file import ROOT
from rows import Row

_REPEATED = 9
_OUT = "OUT"  # stands for a new folder
# What is measured, its words, and its goal in s.
_COMMANDS = (
    ("polarlab --help", ("-m", "polarlab", "--help"), 0.12),
    ("polarlab topology polarfly --q 7", ("-m", "polarlab", "topology", "polarfly", "--q", "7"), 0.3),
    ("import polarlab", ("-c", "import polarlab"), 0.05),
    (
        "polarlab simulate polarfly --q 7 --hosts 4 --load 0.5, with its figures",
        tuple(f"-m polarlab simulate polarfly --q 7 --hosts 4 --load 0.5 --out {_OUT}".split()),
        1.5,
    ),
)


def commands() -> list[Row]:
    """Commands of both trees, after a first time that does not count."""
    older = before.older_tree()
    return [_row(what, words, goal, older) for what, words, goal in _COMMANDS]


def _row(what: str, words: tuple[str, ...], goal: float, older: Path) -> Row:
    taken: dict[Path, list[float]] = {older: [], ROOT: []}
    for number in range(_REPEATED + 1):
        for tree, seconds in taken.items():
            one = _seconds(words, tree)
            if number:
                seconds.append(one)
    then, now = map(median, taken.values())
    return Row(
        f"{what} (median of {_REPEATED})",
        f"at {before.commit()}: {then:.2f} s",
        f"{now:.2f} s",
        f"{goal:g} s",
        now <= goal,
    )


def _seconds(words: tuple[str, ...], tree: Path) -> float:
    """Returns the wall time of a program of a tree."""
    with tempfile.TemporaryDirectory() as folder:
        named = [f"{folder}/out" if word == _OUT else word for word in words]
        started = time.perf_counter()
        subprocess.run([tree / ".venv/bin/python", "-P", *named], cwd=tree, capture_output=True, check=True)
        return time.perf_counter() - started
