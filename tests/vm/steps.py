"""What is being done, told on standard error with how long it took."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path


class StepError(Exception):
    """Something could not be done; the text says what, in one line."""

    def __init__(self, text: str, exit_status: int = 3) -> None:
        super().__init__(text)
        self.exit_status = exit_status


def not_installed(program: str) -> str:
    """Returns the line that says that a program is missing, and how to get it."""
    return f"{program} is not installed; `vagrant/provision.sh vm-test` installs it"


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """Tells what begins, and at its end how long it took."""
    print(f"tests/vm: {what}", file=sys.stderr, flush=True)
    started = time.monotonic()
    yield
    print(f"tests/vm: {what}: {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)


def logged(argv: Sequence[str], log: Path) -> None:
    """Runs a program whose output goes to the end of a log.

    Raises:
        StepError: it failed; the text has its last line.
    """
    with log.open("ab") as output:
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False)
        except FileNotFoundError:
            raise StepError(not_installed(argv[0])) from None
    if done.returncode:
        lines = log.read_text(errors="replace").strip().splitlines() or [""]
        raise StepError(f"{argv[0]} ended with status {done.returncode}: {lines[-1]} (all of it: {log})")
