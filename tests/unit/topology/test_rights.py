"""Who called sudo, of whom the environment of the command tells."""

import os
import subprocess
import sys

import pytest
from support.fixtures.documents import ROOT
from support.fixtures.foreign_folders import AS_ROOT, NOBODY

from topology.files.rights import caller

pytestmark = AS_ROOT


def called_by(monkeypatch, user, group):
    monkeypatch.setenv("SUDO_UID", user)
    monkeypatch.setenv("SUDO_GID", group)
    return caller()


@pytest.mark.parametrize(("user", "group"), [("1000", "1001"), ("0", "0"), (str(2**32 - 2), "1")])
def test_the_caller_of_sudo_is_known_by_two_numbers(monkeypatch, user, group):
    assert called_by(monkeypatch, user, group) == (int(user), int(group))


@pytest.mark.parametrize(
    "wrong",
    ["", "-1", "+1", "01", "1_0", " 1", "1\n", "1000 0", "٣", "0x1", "root", str(2**32 - 1), "9" * 5000],
)
def test_what_sudo_does_not_write_is_no_caller(monkeypatch, wrong):
    assert called_by(monkeypatch, wrong, "1") is None
    assert called_by(monkeypatch, "1", wrong) is None


def test_who_is_not_root_can_say_anything_of_a_caller():
    code = f"from topology.files.rights import caller; import os; os.setuid({NOBODY.pw_uid}); print(caller())"
    environment = {**os.environ, "SUDO_UID": "0", "SUDO_GID": "0", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert done.stdout == b"None\n"
