"""All tests: fabric tests that cannot run are skipped, marked ones are tried again, and both are counted."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import sys
import time
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from _pytest.runner import runtestprotocol
from support.fixtures.file_locks import open_lock_file

NEEDED = ("ovs-vswitchd", "ovsdb-server", "mnexec", "tc", "ip")
# A test that a busy machine can spoil is tried so often before it counts as failed.
MAX_ATTEMPTS = 3
_SLOW_TIMEOUT_S = 3600
_PAUSE_S = 2.0  # by then what disturbed it may be over
_ATTEMPTS = "attempts"
# A busy machine takes as long as it takes.
hypothesis.settings.register_profile("no deadline", deadline=None)
hypothesis.settings.load_profile("no deadline")

_NO_MININET = r"No module named 'mininet'"
_PROVISIONED = Path(__file__).parents[1] / ".venv"
# The beginning of the reason of every skip that is due to the kernel.
KERNEL_LACKS = "this kernel has"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests of real switches, skips them where they cannot run, and gives slow tests time."""
    reason = _missing()
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(_SLOW_TIMEOUT_S))
        if item.path.parent.name == "fabric":
            item.add_marker(pytest.mark.fabric)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


def _missing() -> str:
    if os.geteuid() != 0:
        return "fabrics of real switches need root"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    return f"{missing[0]} is not installed" if missing else ""


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Skips modules that import Mininet where Python has none; that of `make setup` always has it."""
    report = yield
    return _skipped_without_mininet(report, str(collector.path))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Skips tests that import Mininet likewise."""
    report = yield
    return _skipped_without_mininet(report, str(item.path))


def _skipped_without_mininet(report: Any, path: str) -> Any:
    elsewhere = Path(sys.prefix) != _PROVISIONED
    if elsewhere and report.failed and re.search(_NO_MININET, str(report.longrepr)):
        report.outcome = "skipped"
        report.longrepr = (path, 0, "Skipped: this Python has no Mininet")
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Runs a test; one with the marker `tried_again` until it passes, `MAX_ATTEMPTS` times at most."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    most = 1 if item.get_closest_marker("tried_again") is None else MAX_ATTEMPTS
    with _machine(item, alone=False):
        attempts, reports = 1, runtestprotocol(item, nextitem=nextitem, log=False)
    while attempts < most and any(report.failed for report in reports):
        time.sleep(_PAUSE_S * attempts)
        with _machine(item, alone=True):
            attempts, reports = attempts + 1, runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        report.user_properties.append((_ATTEMPTS, attempts))
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@contextlib.contextmanager
def _machine(item: pytest.Item, *, alone: bool) -> Iterator[None]:
    """Lets tests of fabrics run side by side, but for one that is tried again: it has the machine alone."""
    if item.get_closest_marker("fabric") is None or os.geteuid() != 0:
        yield
        return
    folder = item.config.rootpath / ".pytest_cache" / "fabrics"
    folder.mkdir(parents=True, exist_ok=True)
    with open_lock_file(folder / "gate") as gate, open_lock_file(folder / "lock") as lock:
        # Whoever waits for the lock keeps the others from the gate, so that they cannot pass it by for ever.
        # These are a process's own locks: what a test forks, and leaves behind, does not hold them.
        fcntl.lockf(gate, fcntl.LOCK_EX)
        fcntl.lockf(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.lockf(gate, fcntl.LOCK_UN)
        yield


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tells how many tests were tried again, and how many were skipped for which kind of reason."""
    stats = terminalreporter.stats
    attempts = _attempts(report for name in ("passed", "failed") for report in stats.get(name, ()))
    again = {test: count for test, count in attempts.items() if count > 1}
    skipped = [str(report.longrepr) for report in stats.get("skipped", ())]
    by_kernel = sum(KERNEL_LACKS in reason for reason in skipped)
    terminalreporter.section("disturbances")
    for test, count in again.items():
        terminalreporter.line(f"tried {count} times: {test}")
    terminalreporter.line(
        f"{len(again)} tests tried again; {len(skipped)} skipped, {by_kernel} for what the kernel lacks"
    )


def _attempts(reports: Iterable[Any]) -> dict[str, int]:
    """Returns the most attempts that each test made."""
    most: dict[str, int] = {}
    for report in reports:
        for name, value in getattr(report, "user_properties", ()):
            if name == _ATTEMPTS:
                most[report.nodeid] = max(value, most.get(report.nodeid, 1))
    return most
