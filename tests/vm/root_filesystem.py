"""A Debian 12 root file system with PolarLab in it, provisioned by vagrant/provision.sh."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from steps import logged, step

SUITE = "bookworm"
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
# What a Vagrant box has beyond the smallest Debian: an init system, a kernel, sudo and who may use it.
PACKAGES = ("systemd-sysv", "dbus", "udev", "initramfs-tools", "linux-image-cloud-amd64", "kmod", "sudo")
PACKAGES += ("ca-certificates", "procps")
FOLDER = Path("opt/polarlab")
IMAGE_SIZE = "6G"  # sparse

_LEFT_OUT = ("*.egg-info", "__pycache__", ".*_cache", ".hypothesis")
_LEFT_OUT_AT_THE_TOP = (".git", ".venv", "build", "dist", "results", "site")
# In namespaces of its own, so that what is mounted and started ends with the script.
_IN_ROOT = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc"]
_MOUNT_AND_RUN = """
mount -t proc proc "$1/proc"
mount --bind /dev "$1/dev"
cp -L /etc/resolv.conf "$1/etc/resolv.conf"
root=$1
shift
exec chroot "$root" "$@"
"""
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
    """Makes the root file system below a work folder and returns it.

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
    stamp = work / "debootstrap.done"
    wanted = f"{SUITE} {MIRROR} {' '.join(PACKAGES)}\n"
    if not stamp.exists() or stamp.read_text() != wanted:
        with step(f"making a Debian {SUITE} root file system"):
            shutil.rmtree(root, ignore_errors=True)
            include = f"--include={','.join(PACKAGES)}"
            logged(["debootstrap", "--variant=minbase", include, SUITE, str(root), MIRROR], log)
            stamp.write_text(wanted)
    _copy_project(project, root / FOLDER)
    with step("provisioning it with vagrant/provision.sh guest"):
        _trust_what_this_machine_trusts(root, log)
        _run_in(root, ["/opt/polarlab/vagrant/provision.sh", "guest"], log)
    with step("provisioning it again"):
        _run_in(root, ["/opt/polarlab/vagrant/provision.sh", "guest"], log)
    with step("installing what its tests need"):
        _run_in(root, ["/opt/polarlab/vagrant/provision.sh", "dev"], log)
    return root


def write_image(root: Path, work: Path) -> Path:
    """Writes the root file system into an image of a disk and returns its path."""
    image = work / "disk.img"
    image.unlink(missing_ok=True)
    logged(["mke2fs", "-q", "-t", "ext4", "-d", str(root), str(image), IMAGE_SIZE], work / "log")
    return image


def _copy_project(project: Path, folder: Path) -> None:
    """Puts the checkout's files in place of older ones; the virtual environment stays."""
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


def _trust_what_this_machine_trusts(root: Path, log: Path) -> None:
    """A package mirror may have a certificate of an authority that this machine's administrator added."""
    added = list(Path("/usr/local/share/ca-certificates").glob("*.crt"))
    for certificate in added:
        shutil.copy(certificate, root / "usr/local/share/ca-certificates")
    if added:
        _run_in(root, ["update-ca-certificates"], log)


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
    _run_in(root, ["sh", "-c", add_user], log)
    (root / "etc/sudoers.d/vagrant").write_text("vagrant ALL=(ALL) NOPASSWD: ALL\n")
    _run_in(root, ["systemctl", "enable", "--quiet", "polarlab-tests.service"], log)
    # The console is for the tests; nobody logs in, nothing is updated.
    needless = ["serial-getty@ttyS0.service", "apt-daily.timer", "apt-daily-upgrade.timer"]
    _run_in(root, ["systemctl", "mask", "--quiet", *needless], log)


def _run_in(root: Path, argv: list[str], log: Path) -> None:
    logged([*_IN_ROOT, _MOUNT_AND_RUN, "sh", str(root), *argv], log)
