"""The package as the page on installation installs it, with its requirements from a package index."""

import os
import re
import subprocess

import pytest
from support.builders import wheels
from support.builders.checkout import copy_project
from support.fixtures.documents import ROOT

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
    """The environment that the page on installation makes; its first line builds the wheel."""
    page = (ROOT / "docs" / "how-to" / "install.md").read_text()
    _, _, section = page.partition("## As a package\n")
    build, *lines = next(re.finditer(r"```sh\n(.*?)```", section, re.DOTALL))[1].splitlines()
    assert build == "make package"
    folder = tmp_path_factory.mktemp("installation")
    (folder / "dist").mkdir()
    wheels.build_wheel(folder / "dist")
    for line in lines:
        done = run(["sh", "-c", line.removeprefix("sudo ")], folder, HOME=str(folder))
        # A machine on which fabrics cannot be launched has status 3 from the doctor.
        assert done.returncode in (0, 3), done.stderr
    return folder / "polarlab" / "bin"


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


def test_a_figure_of_a_paper_is_drawn_from_a_checkout_with_an_empty_cache(tmp_path):
    page = (ROOT / "docs" / "how-to" / "install.md").read_text()
    _, _, section = page.partition("## Without root or Debian\n")
    lines = next(re.finditer(r"```bash\n(.*?)```", section, re.DOTALL))[1].splitlines()
    checkout = copy_project(tmp_path / "checkout")
    python = ["/usr/bin/python3", "-m", "venv", tmp_path / "uv"]
    for command in (python, [tmp_path / "uv" / "bin" / "pip", "install", "--quiet", "uv"]):
        assert run(command, tmp_path).returncode == 0
    path = f"{tmp_path / 'uv' / 'bin'}:/usr/bin:/bin"
    for line in lines:
        done = run(["sh", "-c", line], checkout, PATH=path, UV_CACHE_DIR=str(tmp_path / "cache"))
        assert done.returncode == 0, done.stderr
    assert "7 of 7 computed claims" in done.stdout
    assert (checkout / "results" / "papers" / "polarfly" / "fig2.png").exists()


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


def test_packages_of_the_system_are_loaded_and_none_of_a_home(environment, tmp_path):
    """As root runs them where `sudo -E` keeps HOME."""
    [library] = (environment.parent / "lib").iterdir()
    packages = tmp_path / ".local" / "lib" / library.name / "site-packages"
    packages.mkdir(parents=True)
    (packages / "own.pth").write_text(f"import pathlib; pathlib.Path({str(tmp_path / 'run')!r}).touch()\n")
    for command in (["polarlab", "--version"], ["python", "-c", "import mininet"]):
        done = run([environment / command[0], *command[1:]], tmp_path, HOME=str(tmp_path))
        assert done.returncode == 0, done.stderr
    assert not (tmp_path / "run").exists()


def test_types_are_known_to_those_who_use_the_package(environment, users_folder):
    (users_folder / "program.py").write_text(PROGRAM)
    checker = [wheels.BIN / "mypy", "--strict", "--python-executable", environment / "python", "program.py"]
    done = run(checker, users_folder)
    assert done.returncode == 1, done.stdout
    assert 'Revealed type is "int"' in done.stdout.replace("builtins.", "")
    assert 'Revealed type is "bool"' in done.stdout.replace("builtins.", "")
    [error] = [line for line in done.stdout.splitlines() if "error:" in line]
    assert "read-only" in error
