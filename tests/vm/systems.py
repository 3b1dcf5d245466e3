"""`make test-systems`: set-up, demo and all tests on other releases of Debian.

    make test-systems                                       Debian 12, 13 and testing
    make test-systems SYSTEMS=trixie TESTS="tests/unit -k doctor"

Each system is a root file system made with debootstrap, which has no more than a new user needs to begin:
git, make, and certificates. The checkout is copied into it. Then it is entered with namespaces of its
own, like a container: `make setup` with this machine's network, `make demo` and `make test` without. Each
step's output is kept in results/systems/. The system is removed at the end; one in which a step failed
stays in build/systems/, and `tests/vm/enter.sh build/systems/trixie bash` enters it.

DEBIAN_MIRROR names another mirror, and APT_SETTINGS adds settings of apt: with
'Acquire::Check-Valid-Until "false";' a mirror may be some weeks old. Exit status: 0 all passed, 1 not, 3 the
machine lacks something.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import root_filesystem
from steps import StepError, step

PROJECT = Path(__file__).parents[2]
WORK = PROJECT / "build" / "systems"
RESULTS = PROJECT / "results" / "systems"
PACKAGES = ("ca-certificates", "git", "make")

_CHECKOUT = f"/{root_filesystem.FOLDER}"
_PYTHON = ".venv/bin/python"
# What the system calls itself, and the versions of what fabrics stand on.
_FACTS = """
import importlib.metadata, json, platform, subprocess
def package(name):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""
def distribution(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
release = platform.freedesktop_os_release()
print(json.dumps({
    "system": release.get("DEBIAN_VERSION_FULL") or release["PRETTY_NAME"],
    "python": platform.python_version(),
    "openvswitch": package("openvswitch-switch"),
    "mininet": package("mininet"),
    "iproute2": package("iproute2"),
    "os-ken": distribution("os-ken"),
    "ryu": distribution("ryu"),
    "numpy": distribution("numpy"),
    "numba": distribution("numba"),
}))
"""
# The last line of a run of pytest: "8 failed, 120 passed, 3 skipped in 61.20s (0:01:01)".
_COUNTED = r"(?:\d+ (?:failed|passed|skipped|errors?|warnings?)(?:, )?)+"
_COUNTS = re.compile(rf"^(?:=+ )?({_COUNTED}) in [\d.]+s", re.MULTILINE)


class Outcome(NamedTuple):
    """How a step in a system ended.

    Attributes:
        name: the step.
        passed: whether it ended without an error.
        seconds: how long it took.
        detail: what its output says about it.
    """

    name: str
    passed: bool
    seconds: float
    detail: str

    def __str__(self) -> str:
        ended = "passed" if self.passed else "failed"
        return f"{ended} in {self.seconds:.0f} s{': ' if self.detail else ''}{self.detail}"


def main(argv: list[str]) -> int:
    """Tests systems and returns the exit status."""
    parser = argparse.ArgumentParser(prog="make test-systems")
    parser.add_argument("suites", nargs="+", help="Debian's names of releases")
    parser.add_argument("--tests", nargs=argparse.REMAINDER, default=[], help="pytest's arguments")
    given = parser.parse_args(argv)
    if os.geteuid() != 0:
        print("test-systems: mounting a root file system needs root; run it with sudo", file=sys.stderr)
        return 3
    passed = True
    for suite in given.suites:
        try:
            passed &= _test(suite, given.tests)
        except StepError as error:
            print(f"test-systems: {suite}: {error}", file=sys.stderr)
            return error.exit_status
    return 0 if passed else 1


def _test(suite: str, tests: list[str]) -> bool:
    results = RESULTS / suite
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    root = _fresh_root(suite, results / "debootstrap.log")
    outcomes = [_run(root, "setup", ["make", "setup"], results, network=True)]
    if outcomes[0].passed:
        outcomes.append(_run(root, "demo", ["make", "demo"], results))
        # `make test` installs these itself; without a network it finds them installed.
        outcomes.append(_run(root, "tests-setup", ["vagrant/provision.sh", "tests"], results, network=True))
        chosen = [_PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
        outcomes.append(_run(root, "tests", chosen if tests else ["make", "test"], results))
    passed = all(outcome.passed for outcome in outcomes)
    facts = _facts(root)
    _report(suite, facts, outcomes)
    content = {"suite": suite, **facts, "steps": [outcome._asdict() for outcome in outcomes]}
    (results / "result.json").write_text(json.dumps(content, indent=2) + "\n")
    if passed:
        shutil.rmtree(root)
    else:
        print(f"test-systems: {suite}: it stays in {root.relative_to(PROJECT)}", file=sys.stderr)
    return passed


def _fresh_root(suite: str, log: Path) -> Path:
    """Returns a root file system in which nobody has done anything yet, with the checkout in it."""
    base, root = WORK / "base" / suite, WORK / suite
    base.parent.mkdir(parents=True, exist_ok=True)
    root_filesystem.bootstrap(base, suite, PACKAGES, log)
    with step(f"copying it to {root.relative_to(PROJECT)}"):
        shutil.rmtree(root, ignore_errors=True)
        subprocess.run(["cp", "-a", base, root], check=True)
        root_filesystem.copy_project(PROJECT, root)
    return root


def _run(root: Path, name: str, argv: list[str], results: Path, *, network: bool = False) -> Outcome:
    """Runs a step in the checkout of a system."""
    log = results / f"{name}.log"
    in_checkout = ["sh", "-c", f'cd {_CHECKOUT} && exec "$@"', "sh", *argv]
    passed, started = True, time.monotonic()
    with step(f"{root.name}: {' '.join(argv)}"):
        try:
            root_filesystem.run_in(root, in_checkout, log, network=network)
        except StepError as error:
            passed = False
            print(f"test-systems: {root.name}: {error}", file=sys.stderr)
    seconds = round(time.monotonic() - started, 1)
    return Outcome(name, passed, seconds, "; ".join(_COUNTS.findall(log.read_text(errors="replace"))))


def _facts(root: Path) -> dict[str, str]:
    """Returns the versions of a system's programs, as far as they are installed."""
    done = subprocess.run(
        [root_filesystem.ENTER, root, f"{_CHECKOUT}/{_PYTHON}", "-c", _FACTS],
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(done.stdout) if done.returncode == 0 else {}


def _report(suite: str, facts: dict[str, str], outcomes: Iterable[Outcome]) -> None:
    """Prints the versions and a line for each step."""
    versions = ", ".join(f"{name} {version}" for name, version in facts.items() if version)
    print(f"{suite}: {versions}")
    for outcome in outcomes:
        print(f"{suite}: {outcome.name}: {outcome}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
