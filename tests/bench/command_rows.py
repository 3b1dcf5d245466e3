"""Whole commands, from their start to their end, alternated with the commit before or with another one.

The other commit is that of the variable BEFORE: `make bench ROWS=commands BEFORE=v0.2.0`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from rows import Row

_TREE = Path(__file__).parents[2]
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
    """Commands of this tree and of another commit in turn, after a first time that does not count."""
    commit = os.environ.get("BEFORE") or "HEAD^"
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "tree"
        _git("worktree", "add", "--quiet", "--detach", str(other), commit)
        try:
            return [_row(what, words, goal, commit, other) for what, words, goal in _COMMANDS]
        finally:
            _git("worktree", "remove", "--force", str(other))


def _row(what: str, words: tuple[str, ...], goal: float, commit: str, other: Path) -> Row:
    taken: dict[Path, list[float]] = {other: [], _TREE: []}
    for number in range(_REPEATED + 1):
        for tree, seconds in taken.items():
            one = _seconds(words, tree)
            if number:
                seconds.append(one)
    before, now = map(median, taken.values())
    return Row(
        f"{what} (median of {_REPEATED})",
        f"{commit}: {before:.2f} s",
        f"{now:.2f} s",
        f"{goal:g} s",
        now <= goal,
    )


def _seconds(words: tuple[str, ...], tree: Path) -> float:
    """Returns the wall time of a program of a tree."""
    with tempfile.TemporaryDirectory() as folder:
        named = [f"{folder}/out" if word == _OUT else word for word in words]
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        started = time.perf_counter()
        subprocess.run([sys.executable, "-P", *named], capture_output=True, check=True, env=environment)
        return time.perf_counter() - started


def _git(*words: str) -> None:
    subprocess.run(["git", "-C", str(_TREE), *words], check=True)
