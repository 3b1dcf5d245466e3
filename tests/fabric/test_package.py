"""A fabric of the installed package, in a folder whose files have the names of its packages."""

import json
import os
import subprocess

import pytest
from support.builders import wheels


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    return wheels.environment_beside(folder / "environment", wheels.build_wheel(folder)) / "polarlab"


@pytest.mark.slow
def test_the_installed_command_runs_an_experiment(command, tmp_path):
    for name in ("traffic", "controller", "emulation"):
        (tmp_path / f"{name}.py").write_text('raise SystemExit("user\'s file")\n')
    line = "run polarfly --q 2 --link-rate 1Mbit --load 0.2 --duration 1 --routing ugal-pf --out run --json"
    shell = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [command, *line.split()],
        cwd=tmp_path,
        env=shell,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["accepted"] > 0.1
    assert {"manifest.json", "summary.json", "throughput.csv"} <= {
        path.name for path in (tmp_path / "run").iterdir()
    }
