"""Folders of another user than root, and a process of theirs that exchanges folders and links."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = pwd.getpwnam("nobody")
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="root has other users' rights")
# The second has the place of the first for an eighth of the time, so that reading often goes well.
_EXCHANGE = """
import ctypes, os, sys, time
os.setgroups([]); os.setgid(int(sys.argv[4])); os.setuid(int(sys.argv[3]))
first, second = (word.encode() for word in sys.argv[1:3])
rename = ctypes.CDLL(None, use_errno=True).renameat2
print("ready", flush=True)
count = 0
os.set_blocking(0, False)
while True:
    for wait_s in (0.0001, 0.0008):
        if rename(-100, first, -100, second, 2):
            raise OSError(ctypes.get_errno(), "renameat2")
        time.sleep(wait_s)
    count += 2
    try:
        if count > 1_000 and os.read(0, 1) == b"":
            break
    except BlockingIOError:
        pass
print(count)
"""


def give(*paths: Path) -> None:
    """Makes nobody the owner of files, or of links themselves."""
    for path in paths:
        os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid, follow_symlinks=False)


def give_all(folder: Path) -> None:
    """Makes nobody the owner of a folder and all that is in it, if root runs the tests."""
    if os.geteuid() == 0:
        give(folder, *folder.rglob("*"))


@contextmanager
def exchanging(first: Path, second: Path) -> Iterator[list[int]]:
    """Exchanges two entries of a folder as nobody, over 1,000 times; at its end the list has the number."""
    words = [first.name, second.name, str(NOBODY.pw_uid), str(NOBODY.pw_gid)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", _EXCHANGE, *words], cwd=first.parent, **pipes) as process:
        assert process.stdout.readline() == b"ready\n"
        times: list[int] = []
        yield times
        process.stdin.close()
        times.append(int(process.stdout.read()))


@contextmanager
def public_folder() -> Iterator[Path]:
    """Gives a folder of root's in which everybody may look around, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="polarlab-test-") as folder:
        path = Path(folder)
        path.chmod(0o755)
        yield path
