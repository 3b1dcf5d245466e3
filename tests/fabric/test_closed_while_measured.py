"""A fabric that is closed while something is measured on it: what was measured until then is kept."""

import os
import threading
from http import HTTPStatus
from pathlib import Path

import pytest
from support.fixtures.web_requests import ask

import polarlab

pytestmark = [pytest.mark.fabric, pytest.mark.xdist_group("web")]

LONG = {"pattern": "uniform", "load": 0.05, "duration": 60, "warmup": 0}


@pytest.fixture(scope="module")
def fabric(tmp_path_factory):
    """ER_2 under ugal-pf with its page, in a folder of its own; each test opens it."""
    os.chdir(tmp_path_factory.mktemp("closed"))
    fabric = polarlab.Fabric("polarfly", q=2, routing="ugal-pf", web="0")
    yield fabric
    fabric.close()


def by_page(fabric):
    """Measures by the page; returns the folder of the results."""
    status, answer = ask(fabric.url, "POST", "api/results", LONG)
    assert status == HTTPStatus.OK, answer
    return next(Path().rglob(answer["name"]))


def by_program(fabric):
    """Measures by the program; returns the folder of the results."""
    with pytest.raises(KeyboardInterrupt):
        fabric.traffic(**LONG, out="program")
    return Path("program")


def check_kept(folder):
    """Asserts that an interrupted measurement has kept its packets."""
    summary = polarlab.Run(folder).summary
    assert summary.interrupted
    assert summary.packets.received


@pytest.mark.parametrize("measure", [by_page, pytest.param(by_program, marks=pytest.mark.slow)])
def test_close_keeps_what_another_thread_has_measured(fabric, measure):
    flowing, folders = threading.Event(), []
    fabric.progress = lambda event: flowing.set() if "accepted" in str(event) else None
    with fabric:
        thread = threading.Thread(target=lambda: folders.append(measure(fabric)))
        thread.start()
        assert flowing.wait(60)
    thread.join(30)
    check_kept(folders[0])


@pytest.mark.slow
def test_close_by_the_thread_that_measures_ends_the_measurement_first(fabric):
    fabric.open()
    fabric.progress = lambda event: fabric.close() if "accepted" in str(event) else None
    with pytest.raises(KeyboardInterrupt):
        fabric.traffic(**LONG, out="own")
    assert not fabric.up
    check_kept(Path("own"))
