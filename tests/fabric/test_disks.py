"""Disks that are full, fill up during a run, or may not be written to: nothing measured is lost."""

import json
import os
import re
import subprocess

import pytest
from conftest import TIMEOUT_S, eventually, one_line, polarlab, start_polarlab, wait_for_line

from experiments.results.run_directory import NEEDED_BYTES

pytestmark = pytest.mark.usefixtures("no_leftovers")

ER2 = ["run", "polarfly", "--q", "2", "--link-rate", "500kbit"]


@pytest.fixture
def small_disk(tmp_path):
    """A file system with little more room than a run asks for."""
    folder = tmp_path / "disk"
    folder.mkdir()
    size = NEEDED_BYTES + (1 << 20)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def run_into(folder):
    """Runs into a folder and returns the status and the last line that was said."""
    done = polarlab(*ER2, "--duration", "1", "--out", str(folder))
    return done.returncode, one_line(done.stderr)


def test_a_full_disk_is_told_before_anything_is_built(small_disk):
    fill(small_disk, NEEDED_BYTES // 2)
    status, line = run_into(small_disk / "run")
    assert status == 3
    assert "no room on the disk" in line
    assert not (small_disk / "run").exists()


def test_a_results_folder_that_cannot_be_written(small_disk):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    status, line = run_into(small_disk / "run")
    assert status == 3
    assert "cannot be written" in line


def fill(folder, left_bytes):
    """Takes all room of a file system but some."""
    with (folder / "other").open("wb", buffering=0) as file:  # others may write meanwhile, too
        room = os.statvfs(folder)
        file.write(bytes(max(0, room.f_bavail * room.f_frsize - left_bytes)))


@pytest.mark.parametrize("left_bytes", [0, pytest.param(24 << 10, marks=pytest.mark.slow)])
def test_a_disk_that_is_full_loses_no_result(small_disk, left_bytes):
    out = small_disk / "run"
    process = start_polarlab(*ER2, "--warmup", "0.2", "--duration", "1", "--out", str(out))
    wait_for_line(process, "of the injection capacity")
    fill(small_disk, left_bytes)
    _, said = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 3
    assert re.search(f"no room left to write .*{re.escape(str(out))} holds", one_line(said))
    # The disk was full before the end: what came first is there, and nothing of it is removed.
    assert (out / "manifest.json").exists()
    assert (out / "summary.json").exists() == (left_bytes > 0)
    kept = re.search(r"its summary: (\{.*\})", said)
    assert "accepted" in json.loads(kept[1])
    assert json.loads(kept[1])["packets"]["sent"] > 0
    # What is there is whole.
    for path in out.glob("*.json"):
        json.loads(path.read_text())
    for path in out.glob("*.csv"):
        assert path.read_text().endswith("\n")
        assert len({line.count(",") for line in path.read_text().splitlines()}) == 1
    assert not list(out.glob(".*"))


QUICK = [*ER2, "--warmup", "0.2", "--duration", "1"]
# Commands that measure several times or until the end of a session, what they say when little is left to do,
# and how often.
OTHERS = {
    "repeated run": ([*QUICK, "--repeat", "2"], "of the injection capacity", 2),
    "sweep": (
        ["sweep", *QUICK[1:], "--patterns", "uniform", "--loads", "0.1"],
        "of the injection capacity",
        1,
    ),
    "failover series": (["demo", "failover", "polarfly", "--q", "2", "--repeat", "2"], "seed 2, failover", 1),
    "session": (["up", "polarfly", "--q", "2", "--exec", "h1_1 sleep 2"], "have installed their rules", 1),
}


@pytest.mark.parametrize(("words", "line", "times"), OTHERS.values(), ids=OTHERS)
def test_every_measurement_is_printed_if_the_disk_is_full_at_its_end(small_disk, words, line, times):
    process = start_polarlab(*words, "--out", str(small_disk / "run"))
    for _ in range(times):
        wait_for_line(process, line)
    eventually((small_disk / "run" / "manifest.json").exists)
    fill(small_disk, 0)
    _, said = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 3
    assert "no room left to write" in one_line(said)
    assert json.loads(re.search(r"its summary: (\{.*\})", said)[1])
