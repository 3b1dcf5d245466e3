"""`make vm-test`: PolarLab in a Debian 12 machine whose kernel has Open vSwitch, netem and htb.

    make vm-test                                    the tests of the kernel's datapath
    make vm-test TESTS="tests/fabric/test_sweep.py" any tests, with pytest's options if need be

A root file system is made with debootstrap, provisioned by the script that Vagrant and `make setup` run, and
booted in qemu with Debian's cloud kernel; a machine that can virtualise is not needed. What the tests said
and the serial console's log come back to results/vm-test/. Exit status: 0 all passed, 1 not, 3 the machine
lacks something.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from vm import root_filesystem
from vm.emulator import (
    CPUS,
    MEMORY_MIB,
    Accelerator,
    Boot,
    choose_accelerator,
    run_to_power_off,
)
from vm.steps import StepError, not_installed, step

PROJECT = Path(__file__).parents[2]
WORK = PROJECT / "build" / "vm"
RESULTS = PROJECT / "results" / "vm-test"
# Those that make sure that what is tested in userspace is so in the kernel, too; all others are for TESTS.
_MODULES = ("kernel_datapath", "kernel_commands", "impaired_links", "live_fabric", "adaptive_groups")
_EVERY_LINK = "test_local_repair_packets.py::test_every_pair_goes_on_whichever_link_dies[ER_3-min]"
_TWO_CHOICES = "test_families.py::test_two_choices_on_a_way_are_independent"
DEFAULT_TESTS = [
    *(f"tests/fabric/test_{module}.py" for module in _MODULES),
    *(f"tests/fabric/{test}" for test in (_EVERY_LINK, _TWO_CHOICES)),
]
TIME_LIMIT_S = 40 * 60  # twice what they take: shared machines were seen to be half as fast for an hour
_TIMES_LIMIT_FOR_CHOSEN_TESTS = 6


def main(tests: list[str]) -> int:
    """Runs the tests in a machine of their own and returns the exit status."""
    started = time.monotonic()
    try:
        passed = _run(tests, started)
    except StepError as error:
        print(f"vm-test: {error}", file=sys.stderr)
        return error.exit_status
    return 0 if passed else 1


def _run(tests: list[str], started: float) -> bool:
    if platform.machine() != "x86_64":
        raise StepError(f"this machine is {platform.machine()}; the one that is emulated is x86_64 only")
    with step("validating the Vagrantfile"):
        _validate_vagrantfile()
    root = root_filesystem.make(WORK)
    with step("choosing how to emulate"):
        accelerator = choose_accelerator(root)
    root_filesystem.add_tests(root, WORK, tests or DEFAULT_TESTS, accelerator.patience)
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    limit_s = TIME_LIMIT_S * (_TIMES_LIMIT_FOR_CHOSEN_TESTS if tests else 1)
    with step(f"booting with {accelerator.name}, {CPUS} cores and {MEMORY_MIB} MiB"):
        disk = root_filesystem.write_image(root, WORK)
        run_to_power_off(Boot(root, disk, accelerator, limit_s, RESULTS))
    return _report(accelerator, time.monotonic() - started)


def _validate_vagrantfile() -> None:
    if shutil.which("vagrant") is None:
        raise StepError(not_installed("vagrant"))
    for system in ("debian-12", "debian-13", "ubuntu-24.04"):
        done = subprocess.run(
            ["vagrant", "validate"],
            cwd=PROJECT / "vagrant",
            env={**os.environ, "POLARLAB_SYSTEM": system},
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            said = " ".join((done.stderr or done.stdout).split())
            raise StepError(f"`vagrant validate` refuses vagrant/Vagrantfile: {said}", exit_status=1)


def _report(accelerator: Accelerator, seconds: float) -> bool:
    """Prints what the guest's tests said, as the table of docs/lab/vm-test.md, and keeps it as JSON."""
    junit = RESULTS / "tests.xml"
    if not junit.exists():
        raise StepError(f"the guest left no result; see {RESULTS}/serial.log", exit_status=1)
    cases = [_case(element) for element in ElementTree.parse(junit).iter("testcase")]
    guest = json.loads((RESULTS / "guest.json").read_text())
    rows = [
        ("kernel, Open vSwitch", f"{guest['kernel']}, {guest['open_vswitch']}"),
        ("emulated by", f"{accelerator.name}, {CPUS} cores, {MEMORY_MIB} MiB"),
        ("boot until tests begin", f"{guest['boot_s']:.0f} s"),
        *((f"`{module}`", _told(group)) for module, group in _by_module(cases).items()),
        ("all of it", f"{seconds / 60:.1f} min, {_told(cases)}"),
    ]
    print("| in the machine | |\n|---|---|")
    print("\n".join(f"| {name} | {value} |" for name, value in rows))
    for case in cases:
        if case.outcome == "failed":
            print(f"vm-test: failed: {case.module}::{case.name}", file=sys.stderr)
    print(f"vm-test: {RESULTS.relative_to(PROJECT)}/serial.log has the console", file=sys.stderr)
    content = {
        "host": platform.release(),
        "accelerator": accelerator.name,
        "seconds": round(seconds, 1),
        "guest": guest,
        "tests": [case._asdict() for case in cases],
    }
    (RESULTS / "result.json").write_text(json.dumps(content, indent=2) + "\n")
    outcomes = {case.outcome for case in cases}
    return "passed" in outcomes and "failed" not in outcomes


class _Case(NamedTuple):
    """A test that was run in the machine."""

    module: str
    name: str
    outcome: str
    seconds: float


def _case(element: ElementTree.Element) -> _Case:
    if element.find("failure") is not None or element.find("error") is not None:
        outcome = "failed"
    elif element.find("skipped") is not None:
        outcome = "skipped"
    else:
        outcome = "passed"
    module = element.get("classname", "").rpartition(".")[2]
    return _Case(module, element.get("name", ""), outcome, float(element.get("time", "0")))


def _by_module(cases: list[_Case]) -> dict[str, list[_Case]]:
    return {
        module: [c for c in cases if c.module == module] for module in dict.fromkeys(c.module for c in cases)
    }


def _told(cases: list[_Case]) -> str:
    """Returns how many tests passed, failed and were skipped, and how long they took."""
    counts = Counter(case.outcome for case in cases)
    counted = ", ".join(
        f"{counts[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped") if counts[outcome]
    )
    return f"{counted or 'no tests'} ({sum(case.seconds for case in cases):.0f} s)"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
