"""The package, built from a copy of the project, and environments with it outside of the project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from support.fixtures.documents import ROOT

_LEFT_OUT = (".*_cache", ".hypothesis", "__pycache__", "*.egg-info")
_LEFT_OUT_AT_THE_TOP = (".cache", ".git", ".venv", ".venv.lock", "build", "dist", "results", "site")
TIMEOUT_S = 600
BIN = Path(sys.executable).parent  # of this environment


def copy_project(folder: Path) -> Path:
    """Copies the project's files, without those that are made of them, and returns the folder."""

    def ignored(directory: str, names: list[str]) -> set[str]:
        top = _LEFT_OUT_AT_THE_TOP if Path(directory) == ROOT else ()
        return shutil.ignore_patterns(*_LEFT_OUT, *top)(directory, names)

    shutil.copytree(ROOT, folder, ignore=ignored)
    return folder


def build_wheel(folder: Path) -> Path:
    """Builds an archive of the sources, and the wheel from it, in a folder; returns the wheel's path.

    `make package` does the same with the newest setuptools, and this with that of the environment, offline.
    """
    project = copy_project(folder / "project")
    program = f"from setuptools.build_meta import build_sdist; build_sdist({str(folder)!r})"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=project, capture_output=True, check=False, timeout=TIMEOUT_S
    )
    assert done.returncode == 0, done.stderr.decode()
    [archive] = folder.glob("*.tar.gz")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", str(folder)]
    _pip("wheel", *options, str(archive))
    [wheel] = folder.glob("*.whl")
    return wheel


def environment_beside(folder: Path, wheel: Path) -> Path:
    """Makes an environment with the wheel and this environment's libraries, and returns its `bin`.

    Quick, and without a package index: this project's checkout is not in it, all else is.
    """
    venv.create(folder, system_site_packages=True, with_pip=False)
    install(folder / "bin", wheel)
    [site] = (folder / "lib").glob("python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def install(environment: Path, wheel: Path, *options: str) -> None:
    """Installs a wheel, and nothing that it requires, into the environment with this `bin`."""
    python = ["--python", str(environment / "python")]
    _pip(*python, "install", "--no-deps", "--no-index", "--quiet", *options, str(wheel))


def environment_of_checkout(folder: Path, package: Path) -> Path:
    """Makes an environment with this checkout, its libraries and another package; returns its `bin`."""
    venv.create(folder, system_site_packages=True, with_pip=False)
    [site] = (folder / "lib").glob("python*/site-packages")
    (site / "libraries.pth").write_text(f"{ROOT}\n{sysconfig.get_path('purelib')}\n")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    copy = shutil.copytree(package, folder / package.name)  # building writes beside the sources
    _pip("--python", str(folder / "bin" / "python"), "install", *options, str(copy))
    return folder / "bin"


def _pip(*words: str) -> None:
    """Runs this environment's pip; its text is shown by the test that fails.

    With the project on PYTHONPATH, pip would find the package installed already, and install nothing.
    """
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    shell = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(command, env=shell, check=True, timeout=TIMEOUT_S)
