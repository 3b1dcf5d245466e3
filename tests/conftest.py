"""What all tests share: fabric tests are skipped, with the reason, where they cannot run."""

from __future__ import annotations

import os
import shutil

import pytest

NEEDED = ("ovs-vswitchd", "ovsdb-server", "mnexec", "tc", "ip")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = _why_not()
    for item in items:
        if item.path.parent.name == "fabric":
            item.add_marker(pytest.mark.fabric)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


def _why_not() -> str:
    if os.geteuid() != 0:
        return "fabrics of real switches need root"
    missing = [name for name in NEEDED if shutil.which(name) is None]
    return f"{missing[0]} is not installed" if missing else ""
