"""`import polarlab` and the command in a folder whose files have the names of the project's packages."""

import configparser
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.fixtures.documents import ROOT

import polarlab
from polarlab.own_packages import NAMES

CONSOLE_SCRIPT = str(Path(sys.executable).with_name("polarlab"))
# The tree under test, wherever the environment has its own; and a user's working folder before it.
PATHS = {"plain": str(ROOT), "the working folder on PYTHONPATH": os.pathsep.join([".", str(ROOT)])}
every_path = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)


@pytest.fixture
def users_folder(tmp_path):
    """A folder with a file for each of the names, which ends whatever imports it."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text('raise SystemExit("user\'s file")\n')
    return tmp_path


def outcome(words, folder, path):
    """Runs a command in a folder and returns (exit status, standard output, standard error)."""
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


@every_path
def test_the_api_works_beside_files_of_the_same_names(users_folder, path):
    code = (
        "import polarlab\n"
        "graph = polarlab.topology('polarfly', q=3)\n"
        "proof = polarlab.prove(polarlab.plan(graph, hosts=2), 'links')\n"
        "print(graph.routers, proof.ok)\n"
    )
    assert outcome([sys.executable, "-c", code], users_folder, path) == (0, "13 True\n", "")


@every_path
@pytest.mark.parametrize(
    "command", [[CONSOLE_SCRIPT], [sys.executable, "-m", "polarlab"]], ids=["script", "-m"]
)
def test_the_command_works_beside_files_of_the_same_names(users_folder, path, command):
    words = [*command, "topology", "polarfly", "--q", "3", "--json"]
    status, out, err = outcome(words, users_folder, path)
    assert (status, err) == (0, "")
    assert '"routers": 13' in out


@every_path
def test_results_can_be_opened_beside_files_of_the_same_names(users_folder, path):
    code = (
        "import polarlab\n"
        "try:\n"
        "    polarlab.open_results('.')\n"
        "except polarlab.UsageError as error:\n"
        "    print(error)\n"
    )
    status, out, err = outcome([sys.executable, "-c", code], users_folder, path)
    assert (status, err) == (0, "")
    assert "summary.json" in out


def test_a_script_may_have_the_name_of_a_package(users_folder):
    (users_folder / "traffic.py").write_text(
        "import polarlab\nprint(polarlab.topology('polarfly', q=2).routers)\n"
    )
    assert outcome([sys.executable, "traffic.py"], users_folder, str(ROOT)) == (0, "7\n", "")


@pytest.mark.parametrize("kind", ["module", "folder"])
def test_a_foreign_module_that_is_loaded_already_is_named_with_the_remedy(tmp_path, kind):
    foreign = tmp_path / "traffic.py" if kind == "module" else tmp_path / "traffic" / "__init__.py"
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_text("")
    status, out, err = outcome([sys.executable, "-c", "import traffic, polarlab"], tmp_path, str(ROOT))
    assert (status, out) == (1, "")
    line = err.splitlines()[-1]
    assert line.startswith("ImportError: ")
    assert str(tmp_path / "traffic") in line
    assert "rename" in line


def test_a_users_module_behind_the_import_is_an_error_that_names_the_file_in_its_place(tmp_path):
    (tmp_path / "topology.py").write_text("mine = 1\n")
    (tmp_path / "my_script.py").write_text("import polarlab\nfrom topology import mine\n")
    status, out, err = outcome([sys.executable, "my_script.py"], tmp_path, str(ROOT))
    assert (status, out) == (1, "")
    line = err.splitlines()[-1]
    assert line.startswith("ImportError: ")
    assert str(ROOT / "topology" / "__init__.py") in line


def test_own_packages_that_are_loaded_already_do_no_harm(tmp_path):
    code = "import topology.registry, polarlab; print(polarlab.topology('polarfly', q=2).routers)"
    assert outcome([sys.executable, "-c", code], tmp_path, str(ROOT)) == (0, "7\n", "")


def test_children_import_the_projects_packages(users_folder):
    from traffic.engine.child_process import with_project_path

    environment = with_project_path({**os.environ, "PYTHONPATH": "."})
    code = "import traffic.engine.worker, controller.service; print('loaded')"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=users_folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "loaded\n"), done.stderr


def test_the_names_are_all_packages_of_the_project():
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    packages = settings["options.packages.find"]["include"].split()
    assert {name.rstrip("*") for name in packages} == {*NAMES, "polarlab"}


def test_importing_polarlab_loads_no_library(tmp_path):
    code = (
        "import polarlab, sys; print(sorted({'numpy', 'rich', 'topology', 'experiments'} & set(sys.modules)))"
    )
    assert outcome([sys.executable, "-c", code], tmp_path, str(ROOT)) == (0, "[]\n", "")


def test_every_name_of_the_package_is_there():
    assert set(polarlab.__all__) <= set(dir(polarlab))
    for name in polarlab.__all__:
        assert getattr(polarlab, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = polarlab.nonsense
