"""Times at which somebody stopped the controller, seen with a process in its stead."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from experiments.validity.controller_monitor import ControllerMonitor

# It does not run while it sleeps for longer, as if its control group were frozen.
PULSE = "trap 'sleep 0.8' USR1; while sleep 0.02; do :; done"


class Controller:
    """A process with a controller's pulse, and the attributes of a ControllerProcess that a monitor reads."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(["/bin/bash", "-c", PULSE])
        self.stopped = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self.stopped = True
        self.end()

    def stop_for_a_moment(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)
        os.kill(self.pid, signal.SIGCONT)


@contextmanager
def watched(controller: Controller) -> Iterator[ControllerMonitor]:
    with ControllerMonitor(SimpleNamespace(controller=controller)) as monitor:
        yield monitor


@pytest.fixture
def controller() -> Iterator[Controller]:
    process = Controller()
    yield process
    process.end()


def test_a_stop_that_is_shorter_than_the_time_between_two_looks_is_noticed(controller):
    with watched(controller) as monitor:
        controller.stop_for_a_moment()
    assert monitor.coverage.lacking
    assert monitor.coverage.share < 1


def test_a_controller_that_sleeps_too_long_is_stopped_whatever_its_state(controller):
    with watched(controller) as monitor:
        time.sleep(0.5)
        assert not monitor.samples.stops
        os.kill(controller.pid, signal.SIGUSR1)
        time.sleep(1.2)
    ((begin_s, end_s),) = monitor.samples.stops
    assert 0.5 < end_s - begin_s < 1.1
    assert monitor.coverage.lacking


def test_a_stop_in_a_run_within_a_session_is_noticed_by_both(controller):
    with watched(controller) as of_session, watched(controller) as of_run:
        controller.stop_for_a_moment()
    assert of_session.coverage.lacking
    assert of_run.coverage.lacking


def test_a_controller_that_somebody_ended_did_not_run(controller):
    with watched(controller) as monitor:
        controller.end()
    assert monitor.coverage.lacking


def test_a_controller_that_polarlab_ends_and_starts_again_is_not_stopped(controller):
    with watched(controller) as monitor:
        controller.stop()
    assert not monitor.coverage.lacking
    with watched(controller) as monitor:
        controller.start()
    assert not monitor.coverage.lacking
    with watched(controller) as monitor:
        controller.stop()
        controller.start()
        controller.stop_for_a_moment()
    assert monitor.coverage.lacking


def test_a_stop_before_the_run_is_none_of_its_own(controller):
    controller.stop_for_a_moment()
    with watched(controller) as monitor:
        pass
    assert not monitor.coverage.lacking
