"""The files that a virtual machine gets."""

import re
from fnmatch import fnmatch
from itertools import chain
from pathlib import PurePath

from support.fixtures.documents import PACKAGES, ROOT

VAGRANTFILE = ROOT / "vagrant" / "Vagrantfile"


def excluded(path: PurePath, pattern: str) -> bool:
    """Tells whether rsync leaves a file out, for the kinds of patterns that the Vagrantfile has."""
    wanted = pattern.strip("/")
    if pattern.startswith("/"):
        depth = wanted.count("/") + 1
        return fnmatch("/".join(path.parts[:depth]), wanted)
    folders = path.parts[:-1] if pattern.endswith("/") else path.parts
    return any(fnmatch(part, wanted) for part in folders)


def test_every_file_of_the_project_is_copied_into_the_virtual_machine():
    patterns = re.search(r"MADE_THERE = %w\[(.*?)\]", VAGRANTFILE.read_text())[1].split()
    modules = chain.from_iterable((ROOT / package).rglob("*.py") for package in (*PACKAGES, "tests"))
    paths = [PurePath(module.relative_to(ROOT)) for module in modules]
    assert [p for p in paths for pattern in patterns if excluded(p, pattern)] == []
    assert excluded(PurePath("results/run/summary.json"), "/results/")
    assert len(paths) > 300
