"""PolarLab on other releases of Debian: set-up, demo and tests, or an installed release and the demo.

    make test-systems                                       Debian 12, 13 and testing
    make test-systems SYSTEMS=trixie TESTS="tests/unit -k doctor"

Each system is a root file system made with debootstrap, which has no more than a new user needs to begin:
git, make, and certificates. The checkout is copied into it. Then it is entered with namespaces of its
own, like a container: `make setup` with this machine's network, `make demo` and `make test` without. Each
step's output is kept in results/systems/. The system is removed at the end; one in which a step failed
stays in build/systems/, and `tests/vm/enter.sh build/systems/trixie bash` enters it.

`make release` gives a wheel and a source archive (`--wheel`, `--sources`) instead of the checkout: an
ordinary user runs what needs no root with the wheel, and the unpacked sources are set up and run the demo.

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

import release
from vm import root_filesystem
from vm.steps import StepError, step

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


_WHEELS = "/opt/wheels"
_INSTALL_WHEEL = f"""
export DEBIAN_FRONTEND=noninteractive
apt-get -q update
apt-get -q install -y --no-install-recommends python3-venv
python3 -m venv /opt/wheel
/opt/wheel/bin/pip install -qq {_WHEELS}/*.whl
"""
_TRY_WHEEL = """
home=$(mktemp -d)
chown nobody "$home"
cd "$home"
export HOME="$home" PATH="/opt/wheel/bin:$PATH"
exec setpriv --reuid=nobody --regid=nogroup --clear-groups sh -euxc "$1"
"""


class Step(NamedTuple):
    """What is done in a system.

    Attributes:
        name: its name.
        argv: the program and its arguments; its working folder is the checkout.
        network: whether it has this machine's network.
    """

    name: str
    argv: list[str]
    network: bool = False


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
    parser.add_argument("--wheel", type=Path, help="wheel of a release, to be tried with --sources")
    parser.add_argument("--sources", type=Path, help="source archive of that release")
    parser.add_argument("--tests", nargs=argparse.REMAINDER, default=[], help="pytest's arguments")
    given = parser.parse_args(argv)
    if os.geteuid() != 0:
        print("test-systems: mounting a root file system needs root; run it with sudo", file=sys.stderr)
        return 3
    passed = True
    for suite in given.suites:
        try:
            passed &= (
                _test_release(suite, given.wheel, given.sources)
                if given.wheel
                else _test_checkout(suite, given.tests)
            )
        except StepError as error:
            print(f"test-systems: {suite}: {error}", file=sys.stderr)
            return error.exit_status
    return 0 if passed else 1


def _test_checkout(suite: str, tests: list[str]) -> bool:
    root, results = _fresh_root(suite, suite)
    root_filesystem.copy_project(root)
    chosen = [_PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    steps = [
        Step("setup", ["make", "setup"], network=True),
        Step("demo", ["make", "demo"]),
        # `make test` installs these itself; without a network it finds them installed.
        Step("tests-setup", ["vagrant/provision.sh", "tests"], network=True),
        Step("tests", chosen if tests else ["make", "test"]),
    ]
    return _run_all(steps, suite, root, results)


def _test_release(suite: str, wheel: Path, sources: Path) -> bool:
    root, results = _fresh_root(suite, f"{suite}-release")
    wheels, checkout = root / _WHEELS[1:], root / root_filesystem.FOLDER
    for folder in (wheels, checkout):
        folder.mkdir(parents=True)
    shutil.copy(wheel, wheels)
    unpack = ["tar", "--extract", "--no-same-owner", "--strip-components=1", "--file", sources]
    subprocess.run([*unpack, "--directory", checkout], check=True)
    steps = [
        Step("wheel-setup", ["sh", "-euc", _INSTALL_WHEEL], network=True),
        Step("wheel", ["sh", "-euc", _TRY_WHEEL, "sh", "\n".join(release.LINES)]),
        Step("setup", ["make", "setup"], network=True),
        Step("demo", ["make", "demo"]),
    ]
    return _run_all(steps, suite, root, results)


def _run_all(steps: list[Step], suite: str, root: Path, results: Path) -> bool:
    """Runs steps in a system, reports them, and removes the system if all passed.

    After a step with the network, which installs something, the others run only if it passed.
    """
    outcomes = []
    for one in steps:
        outcomes.append(_run(root, one, results))
        if one.network and not outcomes[-1].passed:
            break
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


def _fresh_root(suite: str, name: str) -> tuple[Path, Path]:
    """Returns a root file system in which nobody has done anything yet, and the folder of its results."""
    results = RESULTS / name
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    base, root = WORK / "base" / suite, WORK / name
    base.parent.mkdir(parents=True, exist_ok=True)
    root_filesystem.bootstrap(base, suite, PACKAGES, results / "debootstrap.log")
    with step(f"copying it to {root.relative_to(PROJECT)}"):
        shutil.rmtree(root, ignore_errors=True)
        subprocess.run(["cp", "-a", base, root], check=True)
    return root, results


def _run(root: Path, one: Step, results: Path) -> Outcome:
    """Runs a step in the checkout of a system."""
    log = results / f"{one.name}.log"
    in_checkout = ["sh", "-c", f'cd {_CHECKOUT} && exec "$@"', "sh", *one.argv]
    passed, started = True, time.monotonic()
    with step(f"{root.name}: {one.name}"):
        try:
            root_filesystem.run_in(root, in_checkout, log, network=one.network)
        except StepError as error:
            passed = False
            print(f"test-systems: {root.name}: {error}", file=sys.stderr)
    seconds = round(time.monotonic() - started, 1)
    return Outcome(one.name, passed, seconds, "; ".join(_COUNTS.findall(log.read_text(errors="replace"))))


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
