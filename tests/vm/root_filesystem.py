"""Root file systems of Debian with PolarLab in them, set up by vagrant/provision.sh."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from steps import logged, step

SUITE = "bookworm"
# Of the machine that makes a root file system: a mirror, and further settings of apt for it.
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
APT_SETTINGS = os.environ.get("APT_SETTINGS", "")
# What a Vagrant box has beyond the smallest Debian: an init system, a kernel, sudo and who may use it.
PACKAGES = ("systemd-sysv", "dbus", "udev", "initramfs-tools", "linux-image-cloud-amd64", "kmod", "sudo")
PACKAGES += ("ca-certificates", "procps")
FOLDER = Path("opt/polarlab")
IMAGE_SIZE = "6G"  # sparse

_LEFT_OUT = ("*.egg-info", "__pycache__", ".*_cache", ".hypothesis")
_LEFT_OUT_AT_THE_TOP = (".git", ".venv", ".venv.lock", "build", "dist", "results", "site")
ENTER = Path(__file__).with_name("enter.sh")
_TEST_TIMEOUT_S = 300
_UNIT = """[Unit]
Description=PolarLab's tests
After=multi-user.target

[Service]
Type=oneshot
Environment=POLARLAB_TEST_PATIENCE={patience} PYTEST_TIMEOUT={timeout_s}
ExecStart=/opt/polarlab/tests/vm/guest.sh

[Install]
WantedBy=multi-user.target
"""


def make(work: Path, project: Path) -> Path:
    """Makes the virtual machine's root file system below a work folder and returns it.

    What debootstrap made is kept for the next time; the project is copied and provisioned every time.

    Args:
        work: the folder.
        project: the checkout to be tested.

    Raises:
        StepError: something could not be installed.
    """
    root, log = work / "root", work / "log"
    work.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    bootstrap(root, SUITE, PACKAGES, log)
    copy_project(project, root)
    with step("provisioning it with vagrant/provision.sh guest"):
        run_in(root, ["/opt/polarlab/vagrant/provision.sh", "guest"], log)
    with step("provisioning it again"):
        run_in(root, ["/opt/polarlab/vagrant/provision.sh", "guest"], log)
    with step("installing what its tests need"):
        run_in(root, ["/opt/polarlab/vagrant/provision.sh", "dev"], log)
    return root


def bootstrap(root: Path, suite: str, packages: Iterable[str], log: Path) -> None:
    """Makes a root file system with debootstrap, unless the same one is there from an earlier run.

    It trusts the authorities that this machine's administrator added: a mirror's certificate may be of one.

    Args:
        root: the folder.
        suite: Debian's name of the release.
        packages: what it has beyond the smallest Debian.
        log: the file that gets debootstrap's output.

    Raises:
        StepError: debootstrap failed.
    """
    stamp = root.with_name(f"{root.name}.made")
    wanted = f"{suite} {MIRROR} {' '.join(packages)} {APT_SETTINGS}\n"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    with step(f"making a Debian {suite} root file system"):
        shutil.rmtree(root, ignore_errors=True)
        include = f"--include={','.join(packages)}"
        logged(["debootstrap", "--variant=minbase", include, suite, str(root), MIRROR], log)
        (root / "etc/apt/apt.conf.d/polarlab-tests").write_text(APT_SETTINGS)
        added = list(Path("/usr/local/share/ca-certificates").glob("*.crt"))
        for certificate in added:
            shutil.copy(certificate, root / "usr/local/share/ca-certificates")
        if added:
            run_in(root, ["update-ca-certificates"], log)
        stamp.write_text(wanted)


def write_image(root: Path, work: Path) -> Path:
    """Writes the root file system into an image of a disk and returns its path."""
    image = work / "disk.img"
    image.unlink(missing_ok=True)
    logged(["mke2fs", "-q", "-t", "ext4", "-d", str(root), str(image), IMAGE_SIZE], work / "log")
    return image


def copy_project(project: Path, root: Path) -> None:
    """Replaces the checkout's files in a root file system; the virtual environment stays."""
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.name == ".venv":
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    left_out = shutil.ignore_patterns(*_LEFT_OUT)
    left_out_at_the_top = shutil.ignore_patterns(*_LEFT_OUT, *_LEFT_OUT_AT_THE_TOP)

    def ignored(directory: str, names: list[str]) -> set[str]:
        return (left_out_at_the_top if Path(directory) == project else left_out)(directory, names)

    shutil.copytree(project, folder, dirs_exist_ok=True, symlinks=True, ignore=ignored)


def add_tests(root: Path, work: Path, tests: list[str], patience: int) -> None:
    """Has the machine run tests when it is up, and somebody who may use sudo in it.

    Args:
        root: the root file system.
        work: the folder that `make` was given.
        tests: pytest's arguments.
        patience: how many times longer than on a real machine things may take.
    """
    log = work / "log"
    (root / "etc/polarlab-tests").write_text(shlex.join(tests) + "\n")
    (root / "etc/systemd/system/polarlab-tests.service").write_text(
        _UNIT.format(patience=patience, timeout_s=_TEST_TIMEOUT_S * patience)
    )
    (root / "etc/hostname").write_text("polarlab\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost polarlab\n")
    # Who logs in to a box: no root, but sudo without a password.
    add_user = "id vagrant >/dev/null 2>&1 || useradd --create-home --shell /bin/bash vagrant"
    run_in(root, ["sh", "-c", add_user], log)
    (root / "etc/sudoers.d/vagrant").write_text("vagrant ALL=(ALL) NOPASSWD: ALL\n")
    run_in(root, ["systemctl", "enable", "--quiet", "polarlab-tests.service"], log)
    # The console is for the tests; nobody logs in, nothing is updated.
    needless = ["serial-getty@ttyS0.service", "apt-daily.timer", "apt-daily-upgrade.timer"]
    run_in(root, ["systemctl", "mask", "--quiet", *needless], log)


def run_in(root: Path, argv: Sequence[str], log: Path, *, network: bool = True) -> None:
    """Runs a program as root in a root file system, in namespaces of its own.

    Args:
        root: the root file system.
        argv: the program and its arguments.
        log: the file to which the program's output is appended.
        network: whether the program has this machine's network, or loopback only.

    Raises:
        StepError: the program failed.
    """
    logged([str(ENTER), *(["--network"] if network else []), str(root), *argv], log)
