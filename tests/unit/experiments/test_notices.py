"""Notices: each is made with a text of the table and with the values of that text."""

import ast
import inspect
import string

import pytest
from support.fixtures.documents import ROOT

from experiments.events.notices import TEXTS, Notice

ROOMS = ("topology", "routing", "controller", "emulation", "simulation", "traffic", "experiments", "polarlab")


def values_of(text):
    """Returns the names of the values that a text of the table has."""
    if callable(text):
        return set(inspect.signature(text).parameters)
    names = (name for _, name, _, _ in string.Formatter().parse(text) if name is not None)
    return {name.partition(".")[0] for name in names}


def made():
    """Returns the key and the names of the values of each notice that the product makes, with its place."""
    for path in (file for room in ROOMS for file in (ROOT / room).rglob("*.py")):
        text = path.read_text()
        if "Notice(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Notice":
                [key] = node.args
                yield f"{path.name}:{node.lineno}", key.value, {one.arg for one in node.keywords}


MADE = list(made())


@pytest.mark.parametrize(("place", "key", "names"), MADE, ids=[place for place, *_ in MADE])
def test_a_notice_has_the_values_of_its_text(place, key, names):
    assert names in (values_of(TEXTS[key]), {None})  # None: those of a mapping


def test_every_text_is_needed():
    assert {key for _, key, _ in MADE} == set(TEXTS)


def test_notices_with_the_same_values_are_equal_and_print_their_text():
    notice = Notice("point-started", number=2, points=9, name="min")
    assert notice == Notice("point-started", number=2, points=9, name="min")
    assert notice.key == "point-started"
    assert str(notice) == "point 2 of 9: min"
