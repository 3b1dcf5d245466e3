"""The script that provisions machines: wrong uses are refused in one line."""

import subprocess

from documents import ROOT


def test_two_kinds_of_machine_are_refused():
    script = ROOT / "vagrant" / "provision.sh"
    done = subprocess.run([script, "guest", "tests"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "got 'guest tests'" in done.stderr


def test_an_unknown_kind_of_machine_is_refused_in_one_line():
    script = ROOT / "vagrant" / "provision.sh"
    done = subprocess.run([script, "laptop"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "tests, vm-test, guest, got 'laptop'" in done.stderr
    assert done.stderr.count("\n") == 1
