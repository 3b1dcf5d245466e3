"""The script that provisions machines: wrong uses are refused in one line."""

import fcntl
import os
import shutil
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


def test_a_second_set_up_in_one_checkout_waits_for_the_first(tmp_path):
    script = tmp_path / "vagrant" / "provision.sh"
    script.parent.mkdir()
    shutil.copy(ROOT / "vagrant" / "provision.sh", script)
    first = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(first, fcntl.LOCK_EX)
    with subprocess.Popen([script], stderr=subprocess.PIPE, text=True, start_new_session=True) as second:
        assert second.stderr.readline() == "setup: another set-up runs; waiting\n"
        assert second.poll() is None
        os.killpg(second.pid, 9)  # before it installs anything
    os.close(first)
    assert os.listdir(tmp_path) == ["vagrant"]
