#!/usr/bin/env python3
"""Prints the entries of vagrant/requirements.lock that some extras of setup.cfg need, for pip to install.

    vagrant/locked.py ryu test      the requirements of these extras and of PolarLab itself
    vagrant/locked.py               the requirements of vagrant/requirements.in, which are installed first

The comments behind `via` in the lock file name the packages that need each entry.
"""

import configparser
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENTRY = re.compile(r"^([A-Za-z0-9][\w.-]*)==.*\n(?:[ ].*\n)*", re.MULTILINE)
VIA = re.compile(r"^ +#(?: via)? +([\w.-]+)(?: \(.*\))?$|^ +#(?: via)? +-r (.*)$", re.MULTILINE)
BASE = "requirements.in"


def normal(name: str) -> str:
    """Returns the normalized name of a distribution, as in package indexes."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(lock: str, setup: str, extras: list[str]) -> str:
    """Returns the entries of a lock file that extras need; without extras, those for requirements.in."""
    settings = configparser.ConfigParser()
    settings.read_string(setup)
    wanted = {BASE}
    if extras:
        lists = [settings["options.extras_require"][extra] for extra in extras]
        lines = "\n".join([settings["options"]["install_requires"], *lists]).splitlines()
        wanted = {normal(name) for line in lines for name in re.findall(r"^[A-Za-z0-9][\w.-]*", line)}
    entries = {normal(found[1]): found[0] for found in ENTRY.finditer(lock)}
    users = {
        name: {normal(found[1]) if found[1] else Path(found[2]).name for found in VIA.finditer(text)}
        for name, text in entries.items()
    }
    chosen: set[str] = set()
    while more := {name for name in entries if name in wanted or users[name] & wanted} - chosen:
        chosen |= more
        wanted |= more
    return "".join(entries[name] for name in entries if name in chosen)


if __name__ == "__main__":
    lock_file, settings_file = ROOT / "vagrant" / "requirements.lock", ROOT / "setup.cfg"
    print(locked(lock_file.read_text(), settings_file.read_text(), sys.argv[1:]), end="")
