"""Suspension of garbage collection: nothing is searched during it and at its end; cycles are freed later."""

import gc
import subprocess
import sys
import weakref

import pytest
from support.fixtures.documents import ROOT

from routing.garbage_collection import without_garbage_collection


class Node:
    """An object that may refer to itself."""

    def __init__(self):
        self.itself = self


@pytest.fixture
def collections():
    """The generations that were searched."""
    searched = []

    def note(phase, info):
        if phase == "start":
            searched.append(info["generation"])

    gc.collect()
    gc.callbacks.append(note)
    yield searched
    gc.callbacks.remove(note)


def many_objects():
    return [[number] for number in range(20 * gc.get_threshold()[0])]


def test_without_suspension_many_objects_are_searched(collections):
    assert many_objects()
    assert collections


def test_many_new_objects_are_not_searched_when_the_suspension_ends(collections):
    with without_garbage_collection():
        objects = many_objects()
    assert gc.isenabled()
    assert collections == []
    assert gc.get_count()[0] < len(objects)
    assert any(one is objects[0] for one in gc.get_objects(generation=2))


FROZEN = """
import gc
gc.freeze()  # as Python 3.12 does with some hundred objects at its start
from routing.garbage_collection import without_garbage_collection
searched = []
gc.callbacks.append(lambda phase, info: searched.append(phase))
with without_garbage_collection():
    objects = [[number] for number in range(20 * gc.get_threshold()[0])]
print(len(searched), any(one is objects[0] for one in gc.get_objects(generation=2)))
"""


def test_objects_that_are_frozen_from_the_beginning_do_not_bring_searches_about():
    done = subprocess.run(
        [sys.executable, "-c", FROZEN], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split() == ["0", "True"]


def test_circular_garbage_from_the_suspension_is_found_by_a_later_search():
    with without_garbage_collection():
        gone = weakref.ref(Node())
    assert gone() is not None
    gc.collect()
    assert gone() is None


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        with without_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_objects_that_somebody_froze_stay_frozen():
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with without_garbage_collection():
            pass
        assert gc.get_freeze_count() >= frozen - 100  # some may have been freed
    finally:
        gc.unfreeze()
