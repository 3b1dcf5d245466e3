"""The wheel: its files, its requirements, and the command that it installs outside of the project."""

import json
import os
import re
import subprocess
import tarfile
import zipfile
from email.parser import Parser

import pytest
from release import declared_version
from support.builders import wheels
from support.fixtures.documents import PACKAGES, ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return wheels.build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    return wheels.environment_beside(tmp_path_factory.mktemp("environment") / "e", wheel)


@pytest.fixture
def users_folder(tmp_path):
    """A folder with a file that has the name of one of the packages."""
    (tmp_path / "traffic.py").write_text('raise SystemExit("user\'s file")\n')
    return tmp_path


def run(environment, line, folder):
    """Runs a command line of an environment in a folder, from a shell that does not know the project."""
    shell = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command, *words = line.split()
    return subprocess.run(
        [environment / command, *words],
        cwd=folder,
        env=shell,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_wheel_has_all_files_of_the_packages_and_no_others(wheel):
    project = wheel.parent / "project"
    files = {
        path.relative_to(project).as_posix()
        for package in PACKAGES
        for path in (project / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == files
    assert {f"{package}/py.typed" for package in PACKAGES} < packed


def test_the_archive_of_the_sources_is_complete(wheel):
    """It has what `make test` and `make docs` need."""
    project = wheel.parent / "project"
    made = ("__pycache__", ".egg-info")
    files = {
        path.relative_to(project).as_posix()
        for path in project.rglob("*")
        if path.is_file() and not any(part.endswith(made) for part in path.parts)
    }
    [archive] = wheel.parent.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert sorted(files - names) == []
    assert "tests/unit/test_package.py" in names


def test_the_wheel_needs_os_ken_and_offers_ryu(wheel):
    with zipfile.ZipFile(wheel) as archive:
        [licence] = [name for name in archive.namelist() if name.endswith("/LICENSE")]
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        fields = Parser().parsestr(archive.read(metadata).decode())
    assert fields["Version"] == declared_version()
    assert fields["Requires-Python"] == ">=3.11"
    needed = [line for line in fields.get_all("Requires-Dist") if "extra ==" not in line]
    assert any(line.startswith("os-ken") for line in needed)
    assert not any(re.match("(ryu|mininet|galois|pytest)", line, re.IGNORECASE) for line in needed)
    assert {"ryu", "docs", "notebooks", "test"} <= set(fields.get_all("Provides-Extra"))


def test_the_installed_command_works_outside_of_the_project(environment, users_folder):
    done = run(environment, "polarlab --version", users_folder)
    assert (done.returncode, done.stdout) == (0, f"polarlab {declared_version()}\n"), done.stderr
    done = run(environment, "polarlab topology polarfly --q 7 --figure er7.png", users_folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^routers +57$", done.stdout, re.MULTILINE)
    done = run(environment, "polarlab verify polarfly --q 4 --routing ugal-pf", users_folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_installed_packages_are_those_of_the_wheel(environment, users_folder):
    code = "import polarlab, topology, controller.service as s; print(topology.__path__[0], s.__file__)"
    (users_folder / "program.py").write_text(code)
    done = run(environment, "python program.py", users_folder)
    assert done.returncode == 0, done.stderr
    assert all(path.startswith(str(environment.parent)) for path in done.stdout.split())


# ---- other distributions with packages of the same names ----


def install(environment, folder, name, files):
    """Builds the wheel of another distribution from its files, and installs it into an environment."""
    info = f"{name}-1.0.dist-info"
    texts = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*texts, f"{info}/RECORD"])
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**texts, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)
    wheels.install(environment, wheel)


@pytest.fixture(scope="module")
def shared_environment(wheel, tmp_path_factory):
    """An environment with a distribution that has replaced a file of `topology`, and a harmless one."""
    folder = tmp_path_factory.mktemp("shared")
    environment = wheels.environment_beside(folder / "e", wheel)
    install(
        environment, folder, "harmless", {"topological/__init__.py": "", "topology/extra_of_theirs.py": ""}
    )
    assert run(environment, "polarlab --version", folder).returncode == 0
    install(environment, folder, "graph_tools", {"topology/__init__.py": "import nothing_of_ours\n"})
    return environment


@pytest.mark.parametrize(
    "line", ["polarlab doctor", "polarlab topology polarfly --q 3", "python -m polarlab"]
)
def test_a_distribution_that_has_replaced_files_is_named_in_one_line(shared_environment, tmp_path, line):
    done = run(shared_environment, line, tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    [text] = done.stderr.splitlines()
    assert text.startswith("polarlab: ")
    assert "graph_tools 1.0" in text
    assert "topology/__init__.py" in text


def test_a_program_gets_an_error_that_names_the_distribution(shared_environment, tmp_path):
    (tmp_path / "program.py").write_text("import polarlab\npolarlab.topology('polarfly', q=3)\n")
    done = run(shared_environment, "python program.py", tmp_path)
    assert done.returncode == 1
    assert "graph_tools 1.0" in done.stderr.splitlines()[-1]


def test_the_doctor_names_a_distribution_whose_files_were_replaced(environment, wheel, tmp_path):
    """PolarLab works as long as the other distribution is not removed or installed again."""
    environment = wheels.environment_beside(tmp_path / "e", wheel)
    install(environment, tmp_path, "graph_tools", {"topology/__init__.py": "import nothing_of_ours\n"})
    wheels.install(environment, wheel, "--force-reinstall")
    done = run(environment, "polarlab doctor --json", tmp_path)
    assert done.returncode == 3, done.stderr
    [finding] = [one for one in json.loads(done.stdout)["findings"] if one["name"] == "own files"]
    assert "graph_tools 1.0" in finding["remedy"]
    assert "topology/__init__.py" in finding["remedy"]


# ---- one version ----


def test_the_version_is_the_same_everywhere():
    version = declared_version()
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1].strip("\"'") == version
    changes = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## (.+)$", changes, re.MULTILINE)
    released = [heading for heading in headings if heading != "Unreleased"]
    assert re.fullmatch(rf"{re.escape(version)} - \d{{4}}-\d\d-\d\d", released[0])
    date = re.search(r"^date-released: (.+)$", citation, re.MULTILINE)[1].strip("\"'")
    assert released[0].endswith(date)
