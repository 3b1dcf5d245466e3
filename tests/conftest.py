"""All tests: fabric tests that cannot run are skipped, marked ones are tried again, and both are counted."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

NEEDED = ("ovs-vswitchd", "ovsdb-server", "mnexec", "tc", "ip")
# A test that a busy machine can spoil is tried so often before it counts as failed.
MOST_ATTEMPTS = 3
_PAUSE_S = 2.0  # by then what disturbed it may be over
_ATTEMPTS = "attempts"
# The beginning of the reason of every skip that is due to the kernel.
KERNEL_LACKS = "this kernel has"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that launch real switches, and skips them where the machine cannot."""
    reason = _missing()
    for item in items:
        if item.path.parent.name == "fabric":
            item.add_marker(pytest.mark.fabric)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


def _missing() -> str:
    if os.geteuid() != 0:
        return "fabrics of real switches need root"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    return f"{missing[0]} is not installed" if missing else ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Runs a test with the marker `tried_again` until it passes, `MOST_ATTEMPTS` times at most."""
    if item.get_closest_marker("tried_again") is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    attempts, reports = 1, runtestprotocol(item, nextitem=nextitem, log=False)
    while attempts < MOST_ATTEMPTS and any(report.failed for report in reports):
        time.sleep(_PAUSE_S * attempts)
        attempts, reports = attempts + 1, runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        report.user_properties.append((_ATTEMPTS, attempts))
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


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
