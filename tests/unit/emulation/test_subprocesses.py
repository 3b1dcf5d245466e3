"""Programs run to their end: output, failures, time limits."""

import os
import subprocess
import time

import pytest

from emulation import subprocesses
from emulation.subprocesses import (
    CommandError,
    finish,
    marked_environment,
    require_programs,
    run,
    start,
)
from topology.errors import MachineError


@pytest.fixture(autouse=True)
def other_mark(monkeypatch):
    """The clean-up of a fabric that runs at the same time would end processes with the real mark."""
    monkeypatch.setattr(subprocesses, "MARK_VARIABLE", "POLARLAB_UNIT_TEST")


def test_the_output_of_a_program_is_returned():
    assert run(["cat"], stdin="text") == "text"


def test_a_failure_names_the_command_the_status_and_the_reason():
    with pytest.raises(CommandError, match=r"`sh -c .*` .* 3: no such link") as caught:
        run(["sh", "-c", "echo no such link >&2; exit 3"])
    assert caught.value.reason == "no such link"


def test_a_program_that_takes_too_long_is_ended():
    process = start(["sleep", "60"])
    begun_s = time.monotonic()
    with pytest.raises(CommandError, match=r"`sleep 60` .* 0\.2 s"):
        finish(process, timeout_s=0.2)
    assert time.monotonic() - begun_s < 30
    assert process.returncode is not None


def test_a_missing_program_is_named():
    with pytest.raises(MachineError, match=r"^no-such-program"):
        run(["no-such-program"])
    with pytest.raises(MachineError, match=r"^no-such-program .*its-package"):
        require_programs({"sh": "dash", "no-such-program": "its-package"})


def test_a_program_that_cannot_start_in_a_folder_is_not_called_missing(tmp_path):
    def begin(argv, **options):
        return subprocess.Popen(argv, cwd=tmp_path / "removed", **options)

    with pytest.raises(CommandError, match=r"^cannot start `sh -c true`"):
        run(["sh", "-c", "true"], begin=begin)


def test_children_carry_the_mark():
    assert run(["sh", "-c", "echo $POLARLAB_UNIT_TEST"]).strip().startswith(f"{os.getpid()}:")
    assert marked_environment({"EXTRA": "1"})["EXTRA"] == "1"
