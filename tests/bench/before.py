"""The tree as it is and as it was at an older commit, in turn: `make bench ROWS=before BEFORE=COMMIT`.

The older commit, by default the one before this, is a clone in build/before/ with an environment of its own,
which stays there. A command is charged all the processor time that it and whatever it started took, as its
control group counts it.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from results_file import ROOT
from rows import Row
from scale import TakenMemory

_TIMES = 3
_GIB = 1 << 30
_MAX_INCREASE = 0.05


@dataclass(frozen=True)
class Cost:
    """What a command took: wall and processor time in seconds, and memory at its peak in bytes."""

    wall_s: float
    processor_s: float
    peak_bytes: int


# What `before-er7` and so on time: a title, and the words after `polarlab`.
_UP = ("--link-rate", "20Mbit", "--exec", "h1_1 true")
COMMANDS = {
    "er7": ("ER_7 up and down", ("up", "polarfly", "--q", "7", *_UP)),
    "er17": ("ER_17 up and down", ("up", "polarfly", "--q", "17", *_UP)),
    "er31": ("ER_31 up and down", ("up", "polarfly", "--q", "31", *_UP)),
    "simulate-er7": (
        "ER_7 simulated, with figures",
        ("simulate", "polarfly", "--q", "7", "--hosts", "4", "--load", "0.5"),
    ),
    "simulate-er31": (
        "ER_31 simulated, with figures",
        ("simulate", "polarfly", "--q", "31", "--hosts", "16", "--load", "0.5"),
    ),
    "verify-er31": ("ER_31 planned and proven", ("verify", "polarfly", "--q", "31", "--routing", "min")),
}


def compared(name: str) -> list[Row]:
    """What a command takes now and took at the older commit, run in turn.

    Args:
        name: one of `COMMANDS`.
    """
    title, words = COMMANDS[name]
    costs: dict[Path, list[Cost]] = {older_tree(): [], ROOT: []}
    for _ in range(_TIMES):
        for tree, measured in costs.items():
            measured.append(_cost(tree, *words))
    before, after = costs.values()
    return [
        _row(f"{title}: wall time", "s", [[one.wall_s for one in c] for c in (before, after)]),
        _row(f"{title}: processor time", "s", [[one.processor_s for one in c] for c in (before, after)]),
        _row(
            f"{title}: memory at the peak",
            "GiB",
            [[one.peak_bytes / _GIB for one in c] for c in (before, after)],
        ),
    ]


def _row(what: str, unit: str, figures: list[list[float]]) -> Row:
    """Returns the row of a quantity from its figures before and now."""
    before, now = (median(one) for one in figures)
    texts = [", ".join(f"{figure:.2f}" for figure in one) + f" {unit}" for one in figures]
    more = now / before - 1
    return Row(
        what,
        f"at {commit()}: {texts[0]}",
        f"{texts[1]}: {more:+.1%}",
        "at most 5 % more",
        more <= _MAX_INCREASE,
    )


def commit() -> str:
    """Returns the older commit's short name."""
    words = ["git", "rev-parse", "--short", "--verify", os.environ.get("BEFORE", "HEAD~1") + "^{commit}"]
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def older_tree() -> Path:
    """Returns the folder of the older commit, ready to run."""
    tree = ROOT / "build" / "before" / commit()
    if not tree.exists():
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", ROOT, tree], check=True)
        subprocess.run(["git", "checkout", "--quiet", commit()], cwd=tree, check=True)
    subprocess.run(["sh", "vagrant/provision.sh", "tests"], cwd=tree, check=True, stdout=subprocess.DEVNULL)
    return tree


def _cost(tree: Path, *words: str) -> Cost:
    """Returns what the command of a tree takes, on a machine whose file caches are empty."""
    Path("/proc/sys/vm/drop_caches").write_text("3")
    memory = TakenMemory()
    with _control_group() as group, memory.watched():
        # The shell joins the group, and so does all that it starts.
        join = ["sh", "-c", f'echo 0 > {group}/cgroup.procs; exec "$@"', "join", ".venv/bin/polarlab", *words]
        started = time.perf_counter()
        subprocess.run(join, cwd=tree, check=True, capture_output=True)
        wall_s = time.perf_counter() - started
        used = re.search(r"usage_usec (\d+)", (group / "cpu.stat").read_text())
    assert used
    return Cost(wall_s, int(used[1]) / 1e6, memory.peak_bytes)


@contextmanager
def _control_group() -> Iterator[Path]:
    """Gives a new control group, which the kernel charges with the processor time of its members."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    group = Path(next(mount[1] for mount in mounts if mount[2] == "cgroup2"), f"polarlab-bench-{os.getpid()}")
    group.mkdir()
    try:
        yield group
    finally:
        group.rmdir()
