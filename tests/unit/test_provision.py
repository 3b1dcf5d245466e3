"""The script that provisions machines: wrong uses, its lock, and the packages that it installs."""

import configparser
import fcntl
import os
import platform
import re
import shutil
import stat
import subprocess
import sys

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from support.builders.checkout import copy_project
from support.fixtures.documents import ROOT
from support.fixtures.foreign_folders import give_all


def test_two_kinds_of_machine_are_refused():
    script = ROOT / "vagrant" / "provision.sh"
    done = subprocess.run([script, "guest", "tests"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "got 'guest tests'" in done.stderr


def test_an_unknown_kind_of_machine_is_refused_in_one_line():
    script = ROOT / "vagrant" / "provision.sh"
    done = subprocess.run([script, "laptop"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "got 'laptop'" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture
def checkout(tmp_path):
    """A checkout with only the script."""
    folder = tmp_path / "checkout"
    (folder / "vagrant").mkdir(parents=True)
    shutil.copy(ROOT / "vagrant" / "provision.sh", folder / "vagrant")
    return folder


def test_a_second_set_up_in_one_checkout_waits_for_the_first(checkout):
    first = os.open(checkout / ".venv.lock", os.O_RDONLY | os.O_CREAT, 0o600)
    fcntl.flock(first, fcntl.LOCK_EX)
    script = checkout / "vagrant" / "provision.sh"
    with subprocess.Popen([script], stderr=subprocess.PIPE, text=True, start_new_session=True) as second:
        assert second.stderr.readline() == "setup: another set-up runs; waiting\n"
        assert second.poll() is None
        os.killpg(second.pid, 9)  # before it installs anything
    os.close(first)
    assert sorted(os.listdir(checkout)) == [".venv.lock", "vagrant"]


def set_up_packages(checkout):
    """Runs the script on a machine that has all packages; returns what it prints."""
    query = checkout.parent / "bin" / "dpkg-query"
    query.parent.mkdir()
    query.write_text("#!/bin/sh\necho ii\n")
    query.chmod(0o755)
    words = [checkout / "vagrant" / "provision.sh", "packages"]
    environment = os.environ | {"PATH": f"{query.parent}:{os.environ['PATH']}"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True, timeout=20)
    return done.stderr


def test_a_lock_on_the_folder_of_the_checkout_which_everybody_can_take_stops_no_set_up(checkout):
    other = os.open(checkout, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    assert set_up_packages(checkout) == ""
    os.close(other)


def test_only_root_and_the_owner_of_the_checkout_can_open_the_lock_of_a_set_up(checkout):
    give_all(checkout)
    set_up_packages(checkout)
    made, above = (checkout / ".venv.lock").stat(), checkout.stat()
    assert (stat.S_IMODE(made.st_mode), made.st_uid, made.st_gid) == (0o600, above.st_uid, above.st_gid)


def test_the_lock_of_a_set_up_is_not_made_through_a_link(checkout):
    target = checkout.parent / "target"
    (checkout / ".venv.lock").symlink_to(target)
    assert "cannot lock" in set_up_packages(checkout)
    assert not target.exists()


def test_an_unreadable_lock_ends_the_set_up(tmp_path):
    """Nothing may count as installed then."""
    for name in ("provision.sh", "locked.py", "requirements.lock"):
        (tmp_path / "vagrant").mkdir(exist_ok=True)
        shutil.copy(ROOT / "vagrant" / name, tmp_path / "vagrant" / name)
    (tmp_path / "vagrant" / "locked.py").write_text("raise SystemExit('unreadable')\n")
    (tmp_path / "setup.cfg").write_text("[metadata]\nname = polarlab\n[options]\npy_modules =\n")
    (tmp_path / "pyproject.toml").write_text("")
    shell = {**os.environ, "POLARLAB_SETUP": "python"}  # only what needs no root
    command = ["sh", tmp_path / "vagrant" / "provision.sh"]
    done = subprocess.run(command, env=shell, capture_output=True, text=True, check=False)
    assert (done.returncode, "unreadable" in done.stderr) == (3, True), done.stderr
    assert not (tmp_path / ".venv" / ".provisioned").exists()


# A project with the command polarlab, which pip builds without an index.
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
BACKEND = """
import zipfile

def build_editable(folder, settings=None, metadata=None):
    files = {
        "METADATA": "Metadata-Version: 2.1\\nName: polarlab\\nVersion: 1\\nProvides-Extra: ryu\\n",
        "WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        "entry_points.txt": "[console_scripts]\\npolarlab = polarlab:main\\n",
    }
    files["RECORD"] = "".join(f"polarlab-1.dist-info/{name},,\\n" for name in [*files, "RECORD"])
    with zipfile.ZipFile(f"{folder}/polarlab-1-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(f"polarlab-1.dist-info/{name}", text)
    return "polarlab-1-py3-none-any.whl"
"""


def test_a_set_up_runs_no_code_of_the_working_folder_or_home_and_installs_nowhere_else(tmp_path):
    checkout, others = tmp_path / "checkout", tmp_path / "others"
    (checkout / "vagrant").mkdir(parents=True)
    others.mkdir()
    shutil.copy(ROOT / "vagrant" / "provision.sh", checkout / "vagrant")
    files = {"pyproject.toml": PROJECT, "backend.py": BACKEND, "setup.cfg": "", "vagrant/locked.py": ""}
    version = ".".join(platform.python_version_tuple()[:2])
    for name, text in (files | {"vagrant/requirements.lock": f"with Python {version}\n"}).items():
        (checkout / name).write_text(text)
    hostile = f"import os; open({str(others / 'run')!r}, 'w')\n"
    for name in ("venv", "sysconfig", "site", "pip"):
        (others / f"{name}.py").write_text(hostile)
    home = tmp_path / "home"
    packages = home / ".local" / "lib" / f"python{version}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "hostile.pth").write_text(hostile)
    variables = {"POLARLAB_SETUP": "python", "HOME": str(home), "PIP_DRY_RUN": "1"}
    variables |= {"PIP_TARGET": str(others / "target"), "PIP_prefix": str(others / "prefix")}
    command = ["sh", checkout / "vagrant" / "provision.sh"]
    done = subprocess.run(
        command, cwd=others, env=os.environ | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(others)) == ["pip.py", "site.py", "sysconfig.py", "venv.py"]
    assert (checkout / ".venv" / "bin" / "polarlab").exists()


LOCK = ROOT / "vagrant" / "requirements.lock"
EXTRAS = ("ryu", "test", "notebooks", "cluster", "docs")  # that the script installs


def locked(*extras):
    """Returns the versions of the locked packages that some extras need, and their entries."""
    script = [sys.executable, ROOT / "vagrant" / "locked.py", *extras]
    text = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    entries = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]
    return {canonicalize_name(entry.partition("==")[0]): entry for entry in entries}


def requirements(*extras):
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    lists = [settings["options"]["install_requires"]]
    lists += [settings["options.extras_require"][extra] for extra in extras]
    return [Requirement(line) for line in "\n".join(lists).splitlines() if line and not line.startswith("#")]


def test_the_lock_file_has_a_version_that_setup_cfg_admits_and_hashes_of_every_package():
    entries = locked(*EXTRAS)
    for wanted in requirements(*EXTRAS):
        version = entries[canonicalize_name(wanted.name)].partition("==")[2].split()[0]
        assert wanted.specifier.contains(version), f"{wanted}: `make lock`"
    assert all("--hash=sha256:" in entry for entry in entries.values())


def test_of_the_lock_file_those_packages_are_taken_that_extras_need():
    least, most, base = locked("ryu"), locked(*EXTRAS), locked()
    assert {"numpy", "h11", "greenlet", "ryu", "os-ken"} <= least.keys() < most.keys()
    assert not {"pytest", "mypy", "pandas", "distributed"} & least.keys()
    assert {"pytest", "iniconfig", "tornado", "ipykernel"} <= most.keys()
    assert {"setuptools", "wheel", "pbr", "pyopenssl", "cryptography"} <= base.keys()
    assert len(most | base) == len(re.findall(r"^\w.*==", LOCK.read_text(), re.MULTILINE))


def test_the_lock_file_names_no_index_and_no_folder():
    assert not re.findall(r"://|--(?:extra-)?index|--find|@ |(?<!vagrant)/\w", LOCK.read_text())


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_packages_are_installed_by_the_owner_of_the_checkout_and_only_with_their_hashes(tmp_path):
    """In a folder with a space in its name, whose owner is not even a known user."""
    checkout = copy_project(tmp_path / "a checkout")
    owner = 54_321
    for path in (tmp_path, *tmp_path.parents[:2]):
        path.chmod(0o755)
    for path in (checkout, *checkout.rglob("*")):
        os.chown(path, owner, owner)
    (checkout / ".venv").mkdir()  # root's, of an earlier set-up
    lock = checkout / "vagrant" / "requirements.lock"
    right = lock.read_text()
    lock.write_text(
        re.sub(r"(?m)^(pbr==.*\n)(?: +--hash.*\n)+", r"\1    --hash=sha256:" + "0" * 64 + "\n", right)
    )
    command = ["sh", checkout / "vagrant" / "provision.sh"]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 3
    assert "MATCH THE HASHES" in refused.stderr
    lock.write_text(right)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (checkout / ".venv" / "bin" / "polarlab").exists()
    assert [path for path in (checkout / ".venv").rglob("*") if path.lstat().st_uid != owner] == []
