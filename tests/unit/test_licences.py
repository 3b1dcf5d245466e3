"""The page on licences has every package of the lock file, with the licence that the package states."""

import importlib.metadata
import re
import sys
from pathlib import Path

import licences_page
from support.fixtures.documents import ROOT

ROWS = dict(re.findall(r"^\| ([\w.-]+) \| (.+) \| .+ \|$", licences_page.PAGE.read_text(), re.MULTILINE)[1:])
LOCK = (ROOT / "vagrant" / "requirements.lock").read_text()
LOCKED = dict(re.findall(r"^([A-Za-z0-9][\w.-]*)==(\S+)", LOCK, re.MULTILINE))


def test_the_page_has_every_package_of_the_lock_file():
    assert sorted(ROWS) == sorted(LOCKED), "make licences"


def test_the_licences_are_those_that_the_packages_state():
    installed = {
        one.name.lower().replace("_", "-").replace(".", "-"): one.version
        for one in importlib.metadata.distributions()
        if Path(str(one.locate_file(""))).is_relative_to(sys.prefix)  # not Debian's packages
    }
    same = {name for name, version in LOCKED.items() if installed.get(name) == version}
    assert len(same) > 50
    assert {name: ROWS[name] for name in same} == {name: licences_page.licence_of(name) for name in same}


def test_every_package_states_a_licence():
    assert [name for name, licence in ROWS.items() if licence == "not stated"] == []
