"""Boots a root file system in qemu with the kernel that it holds, and brings its results back."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import threading
from dataclasses import dataclass
from pathlib import Path

from vm.steps import StepError, not_installed

CPUS = 2
MEMORY_MIB = 4096
TRIAL_S = 15
_RESULT_DISK_BYTES = 256 << 20
# From this line on, what the console says is the tests' own.
TESTS_BEGIN = "vm-test guest:"


@dataclass(frozen=True)
class Accelerator:
    """A way in which qemu computes.

    Attributes:
        name: in words.
        options: qemu's.
        patience: how many times longer than on a real machine things may take in it.
    """

    name: str
    options: tuple[str, ...]
    patience: int


# QEMU 7.2 gets AVX2 wrong: argsort of NumPy 2 crashes where some of the numbers are equal.
_EMULATED_CPU = "max,avx2=off"
# Best first; all cores are threads of their own.
_ACCELERATORS = (
    Accelerator("hardware virtualisation", ("-accel", "kvm", "-cpu", "host"), 2),
    Accelerator("software emulation", ("-accel", "tcg,thread=multi,tb-size=1024", "-cpu", _EMULATED_CPU), 10),
)
_KERNEL_WORDS = (
    "console=ttyS0 root=/dev/vda rw panic=-1 mitigations=off tsc=reliable systemd.show_status=false"
)


@dataclass(frozen=True)
class Boot:
    """One start of the machine.

    Attributes:
        root: the root file system; its kernel is booted.
        disk: the image that holds it.
        accelerator: what `choose_accelerator` returned.
        limit_s: after so many seconds it is ended.
        results: the folder to which the console's log and the guest's files come.
    """

    root: Path
    disk: Path
    accelerator: Accelerator
    limit_s: float
    results: Path


def choose_accelerator(root: Path) -> Accelerator:
    """Returns the first way of emulating with which the kernel says a word.

    A machine may have /dev/kvm and yet boot nothing with it; only a trial tells.
    """
    for accelerator in _ACCELERATORS:
        argv = [*_qemu(root, accelerator), "-append", "console=ttyS0 panic=-1"]
        try:
            said = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=TRIAL_S
            ).stdout
        except subprocess.TimeoutExpired as expired:
            said = expired.stdout or b""
        except FileNotFoundError:
            raise StepError(not_installed(argv[0])) from None
        if b"Linux version" in said:
            return accelerator
    raise StepError("qemu boots the kernel neither with hardware virtualisation nor in software")


def run_to_power_off(boot: Boot) -> None:
    """Boots the machine, shows its tests' output, and fetches its results once it has powered itself off.

    Raises:
        StepError: it did not end in time; the console's log is there all the same.
    """
    result_disk = boot.disk.with_name("results.img")
    with result_disk.open("wb") as image:
        image.truncate(_RESULT_DISK_BYTES)
    argv = _qemu(boot.root, boot.accelerator)
    for image in (boot.disk, result_disk):
        argv += ["-drive", f"file={image},format=raw,if=virtio,cache=unsafe"]
    argv += ["-append", _KERNEL_WORDS]
    process = subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    too_late = threading.Event()
    timer = threading.Timer(boot.limit_s, lambda: (too_late.set(), process.kill()))
    timer.start()
    try:
        _follow(process, boot.results / "serial.log")
        status = process.wait()
    finally:
        timer.cancel()
        process.kill()
        process.wait()
    _fetch(result_disk, boot.results)
    if status and not too_late.is_set():
        raise StepError(f"qemu ended with status {status}; see {boot.results}/serial.log", 1)
    if too_late.is_set():
        raise StepError(f"the machine was not done in {boot.limit_s:.0f} s; see {boot.results}/serial.log", 1)


def _follow(process: subprocess.Popen[bytes], log: Path) -> None:
    shown = False
    assert process.stdout
    with log.open("wb") as file:
        for line in process.stdout:
            file.write(line)
            file.flush()
            text = line.decode(errors="replace").rstrip()
            shown = shown or TESTS_BEGIN in text
            if shown:
                print(f"  {text}", file=sys.stderr, flush=True)


def _fetch(disk: Path, folder: Path) -> None:
    """The guest writes an archive straight to the second disk: no file system, nothing to mount."""
    try:
        with tarfile.open(disk) as archive:
            archive.extractall(folder)
    except tarfile.ReadError:
        return  # it did not get as far
    finally:
        disk.unlink()


def _qemu(root: Path, accelerator: Accelerator) -> list[str]:
    kernel, initrd = (max((root / "boot").glob(pattern)) for pattern in ("vmlinuz-*", "initrd.img-*"))
    machine = ["qemu-system-x86_64", *accelerator.options, "-smp", str(CPUS)]
    machine += ["-m", str(MEMORY_MIB), "-nodefaults", "-nographic", "-no-reboot", "-nic", "none"]
    return [*machine, "-serial", "stdio", "-kernel", str(kernel), "-initrd", str(initrd)]
