"""The wheel: its files, its requirements, and the command that it installs outside of the project."""

import configparser
import os
import re
import subprocess
import tarfile
import zipfile
from email.parser import Parser

import pytest
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


def declared_version():
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    return settings["metadata"]["version"]


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
    made = ("__pycache__", ".egg-info", ".vagrant")  # the last by `make vm-test`
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
