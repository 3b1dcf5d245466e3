"""The script that provisions machines: what a user can get wrong."""

import subprocess

from documents import ROOT


def test_several_kinds_of_machine_are_one_too_many():
    script = ROOT / "vagrant" / "provision.sh"
    done = subprocess.run([script, "guest", "tests"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("setup: one word at most, got 'guest tests'")


def test_a_kind_of_machine_that_there_is_not_is_told_in_one_line():
    script = ROOT / "vagrant" / "provision.sh"
    done = subprocess.run([script, "laptop"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "setup: there is no 'laptop'; there are: tests, vm-test, guest\n"
