"""Libraries that look for settings in the working folder, and caches that root trusts."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.fixtures.documents import ROOT
from support.fixtures.foreign_folders import AS_ROOT, give, give_all

from topology.files.libraries import trusted_folder

POLARLAB = Path(sys.executable).with_name("polarlab")
OUTPUT = {"capture_output": True, "text": True, "timeout": 120}
SETTINGS = "font.size: 40\nfigure.facecolor: red\nbackend: nosuch\n"
DRAW = (
    "import sys; from polarlab.process import run_as_command; run_as_command();"
    "from experiments.figures.style import new_figure; import matplotlib;"
    "print(matplotlib.rcParams['font.size'], matplotlib.get_cachedir())"
)
HOMES = (
    "from polarlab.process import run_as_command; run_as_command();"
    "import os, experiments.figures, matplotlib, dask.config, scapy.main;"
    "print(os.path.expanduser('~'), matplotlib.get_configdir(), dask.config.paths,"
    " scapy.main.SCAPY_CACHE_FOLDER, *[text for name, text in os.environ.items() if name.startswith('XDG_')])"
)
COMPILE = (
    "from simulation.kernels.compiled import cache_folder; import os, numba;"
    "print(int(numba.config.OPT), cache_folder(), os.getcwd())"
)


def said(code: str, folder: Path, **environment: str) -> str:
    words = [sys.executable, "-P", "-W", "error", "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(words, cwd=folder, env=environment, check=False, **OUTPUT)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", ["text", "no text", "FIFO"])
def test_settings_in_the_working_folder_do_not_change_figures(tmp_path, kind):
    path = tmp_path / "matplotlibrc"
    if kind == "FIFO":
        os.mkfifo(path)
    else:
        path.write_bytes(SETTINGS.encode() if kind == "text" else b"\xff\xfe\x80")
    assert said(DRAW, tmp_path, MPLBACKEND="nosuch").startswith("10.0 ")


@AS_ROOT
def test_settings_in_the_working_folder_do_not_change_what_root_compiles(tmp_path):
    (tmp_path / ".numba_config.yaml").write_text("opt: 0\ncache_dir: /tmp\n")
    assert said(COMPILE, tmp_path).split()[::2] == ["3", str(tmp_path)]


def test_root_keeps_machine_code_and_fonts_in_no_folder_of_another_user(nobodys):
    others = dict.fromkeys(("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "MPLCONFIGDIR"), str(nobodys))
    assert str(nobodys) not in said(COMPILE, Path("/"), **others)
    assert str(nobodys) not in said(DRAW, Path("/"), **others)
    assert list(nobodys.iterdir()) == []


def test_packages_in_the_home_of_another_user_are_not_on_the_path(nobodys):
    """Of the user whose home `sudo -E` keeps: neither for the command, nor for Python in its environment."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = nobodys / ".local" / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    (packages / "theirs.pth").write_text(f"import os; os.mkdir({str(nobodys / 'pth')!r})\n")
    (packages / "usercustomize.py").write_text(f"import os; os.mkdir({str(nobodys / 'customized')!r})\n")
    give_all(nobodys)
    environment = {**os.environ, "HOME": str(nobodys), "PYTHONPATH": str(ROOT)}
    for words in ([POLARLAB], [sys.executable, "-m", "polarlab"]):
        done = subprocess.run([*words, "--version"], env=environment, check=False, **OUTPUT)
        assert done.returncode == 0
    assert [path.name for path in nobodys.iterdir()] == [".local"]


@pytest.mark.parametrize("way", ["folder", "link", "new"])
def test_roots_command_takes_nothing_from_the_home_of_another_user(nobodys, way):
    pytest.importorskip("dask")
    home = nobodys / "home"
    if way == "folder":
        home.mkdir()
        for name in ("matplotlib", "dask", "fontconfig"):
            (home / ".config" / name).mkdir(parents=True)
        (home / ".config" / "dask" / "own.yaml").write_text("theirs: true\n")
        give_all(nobodys)
    elif way == "link":
        home.symlink_to("/root")  # today
        give(home)
    bases = {f"XDG_{name}_HOME": str(home / name) for name in ("CONFIG", "CACHE", "DATA")}
    bases |= {"XDG_CONFIG_DIRS": f"/etc:{home}", "XDG_DATA_DIRS": "/usr/share"}
    told = said(HOMES, Path("/"), HOME=str(home), **bases)
    assert str(nobodys) not in told
    assert told.split()[-1] == "/usr/share"


@AS_ROOT
def test_root_trusts_a_folder_that_nobody_else_can_change(public, nobodys, monkeypatch):
    own = public / "own"
    own.mkdir(mode=0o700)
    shared = public / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    linked = nobodys / "link"
    linked.symlink_to(own)
    below = nobodys / "below"
    below.mkdir()
    give(linked)
    assert trusted_folder([nobodys, shared, below, nobodys / "new", own], "x") == own
    assert trusted_folder([own / "new"], "x") == own / "new"
    # In /tmp, somebody else could make the folder first.
    assert trusted_folder([public.parent / "polarlab-not-there", own], "x") == own
    monkeypatch.setattr(tempfile, "tempdir", str(nobodys))  # TMPDIR of a user who calls sudo
    fresh = trusted_folder([nobodys], "x")
    assert fresh.parent != nobodys
    assert fresh.stat().st_uid == 0
    assert fresh.stat().st_mode & 0o777 == 0o700


@AS_ROOT
def test_root_of_a_namespace_without_the_machines_root_is_refused_in_one_line():
    """There, folders of the machine's root belong to nobody."""
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    namespace = [*user, "unshare", "--user", "--map-root-user"]
    if subprocess.run([*namespace, "true"], check=False, capture_output=True).returncode:
        pytest.skip("users may not create user namespaces here")
    done = subprocess.run([*namespace, POLARLAB, "cite"], cwd="/", check=False, **OUTPUT)
    assert (done.returncode, done.stdout) == (3, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("polarlab: ")
    assert "/var/tmp" in line
