"""What the tests themselves write: nothing through links of other users."""

import os
import subprocess
import sys

import pytest
from support.fixtures.documents import ROOT
from support.fixtures.foreign_folders import give


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs tests of fabrics")
def test_tests_of_fabrics_change_nothing_through_links_in_the_folder_for_temporary_files(tmp_path):
    target = tmp_path / "roots"
    target.write_text("content")
    folder = tmp_path / "temporary"
    folder.mkdir()
    folder.chmod(0o1777)
    for name in ("polarlab-tests.gate", "polarlab-tests.lock"):
        (folder / name).symlink_to(target)
        give(folder / name)
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/fabric/test_service_process.py",
    ]
    environment = os.environ | {"PATH": "/nowhere", "TMPDIR": str(folder)}  # so that all are skipped
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "skipped" in done.stdout
    assert target.read_text() == "content"
