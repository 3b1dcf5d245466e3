"""Copies of the checkout, without what is made of its files."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.fixtures.documents import ROOT

# Vagrant keeps its machine's private key in .vagrant.
_LEFT_OUT = ("*.egg-info", "__pycache__", ".*_cache", ".hypothesis", ".vagrant")
_LEFT_OUT_AT_THE_TOP = (".cache", ".git", ".venv", ".venv.lock", "build", "dist", "results", "site")


def copy_project(folder: Path) -> Path:
    """Copies the project's files into a folder, which may exist, and returns the folder."""

    def ignored(directory: str, names: list[str]) -> set[str]:
        top = _LEFT_OUT_AT_THE_TOP if Path(directory) == ROOT else ()
        return shutil.ignore_patterns(*_LEFT_OUT, *top)(directory, names)

    shutil.copytree(ROOT, folder, dirs_exist_ok=True, symlinks=True, ignore=ignored)
    return folder
