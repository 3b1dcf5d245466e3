"""The package in an environment of its own, with its requirements from a package index."""

import os
import re
import subprocess

import pytest
import wheels

pytestmark = pytest.mark.slow

PROGRAM = """
import polarlab

graph = polarlab.topology("polarfly", q=3)
reveal_type(graph.routers)
reveal_type(polarlab.prove(polarlab.plan(graph)).ok)
graph.routers = 4
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installation")
    return wheels.environment_of_its_own(folder / "environment", wheels.build_wheel(folder))


@pytest.fixture
def users_folder(tmp_path):
    (tmp_path / "traffic.py").write_text('raise SystemExit("user\'s file")\n')
    return tmp_path


def run(command, folder, **variables):
    shell = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(
        command,
        cwd=folder,
        env=shell | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("polarlab --version", r"^polarlab \d"),
        ("polarlab topology polarfly --q 7 --figure er7.png", r"^routers +57$"),
        ("polarlab verify polarfly --q 5 --routing ugal-pf", r"^ok +yes$"),
        ("polarlab predict polarfly --q 5 --hosts 3 --pattern tornado --load 1", r"^accepted +0\.2"),
    ],
)
def test_the_command_works_with_what_the_wheel_requires(environment, users_folder, line, text):
    name, *words = line.split()
    done = run([environment / name, *words], users_folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(text, done.stdout, re.MULTILINE), done.stdout


def test_fabrics_have_all_of_their_python_packages(environment, users_folder):
    done = run([environment / "polarlab", "doctor", "--json"], users_folder)
    features = dict(re.findall(r'"feature": "([^"]+)", "ready": (\w+)', done.stdout))
    assert features["controller on os-ken"] == "true"
    assert features["controller on ryu"] == "false"
    assert features["figures and reports"] == "true"
    assert features["tests (make test, make lint)"] == "false"


def test_types_are_known_to_those_who_use_the_package(environment, users_folder):
    (users_folder / "program.py").write_text(PROGRAM)
    checker = [wheels.BIN / "mypy", "--strict", "--python-executable", environment / "python", "program.py"]
    done = run(checker, users_folder)
    assert done.returncode == 1, done.stdout
    assert 'Revealed type is "int"' in done.stdout.replace("builtins.", "")
    assert 'Revealed type is "bool"' in done.stdout.replace("builtins.", "")
    [error] = [line for line in done.stdout.splitlines() if "error:" in line]
    assert "read-only" in error
