"""Commands that need no fabric, where the parts of Linux that macOS lacks are hidden."""

import json
import os
import subprocess
import sys

import pytest
from support.fixtures.documents import ROOT

# Command line -> exit status. Later ones use the results of earlier ones.
LINES = {
    "cite polarfly": 0,
    "topology polarfly --q 5 --figure graph.png": 0,
    "topology polarfly --q 5 --export graphml graph.graphml": 0,
    "verify polarfly --q 3 --failures links": 0,
    "verify graph --from graph.graphml": 0,
    "predict polarfly --q 3 --hosts 2 --pattern tornado --load 0.6": 0,
    "explain polarfly --q 3 s1 s5": 0,
    "rules polarfly --q 3 s1": 0,
    "paper polarfly fig2": 0,
    "simulate polarfly --q 3 --out one": 0,
    "simulate polarfly --q 3 --load 0.5 --out two": 0,
    "sweep polarfly --q 3 --engine simulation --loads 0.3,0.6 --workers 2 --out sweep": 0,
    "report one": 0,
    "report sweep": 0,
    "plot sweep": 0,
    "compare one two": 0,
    "doctor": 3,
    "run polarfly --q 3": 3,
}
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}


@pytest.fixture(scope="module")
def statuses(tmp_path_factory):
    """The exit status of each line, and what all of them printed on standard error."""
    folder = tmp_path_factory.mktemp("macos")
    done = subprocess.run(
        [sys.executable, "-m", "support.builders.macos", json.dumps([line.split() for line in LINES])],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    found = [line.split(" ", 2) for line in done.stdout.splitlines() if line.startswith("status ")]
    assert (folder / "results" / "papers" / "polarfly" / "fig2.png").exists()
    return {line: int(status) for _, status, line in found}, done.stderr


@pytest.mark.parametrize("line", LINES)
def test_commands_without_a_fabric_work_without_what_macos_lacks(statuses, line):
    found, errors = statuses
    assert found[line] == LINES[line], errors


AS_ROOT = """
import os
from support.builders.macos import hide_linux
hide_linux()
os.geteuid = lambda: 0
from topology.errors import MachineError
from topology.files.reading import read_text
try:
    read_text("file.txt", 100)
except MachineError as error:
    print(error)
"""


def test_root_reads_and_writes_no_files_there(tmp_path):
    """What protects root from other users' links exists on Linux only."""
    (tmp_path / "file.txt").write_text("text")
    done = subprocess.run(
        [sys.executable, "-c", AS_ROOT],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Linux" in done.stdout, done.stderr


def test_fabrics_are_refused_with_the_reason(statuses):
    _, errors = statuses
    assert errors.splitlines()[-1].startswith("polarlab: ")
    assert "Linux" in errors.splitlines()[-1]
