"""Words and figures on incidents: silences of traffic, courses in the timeline, progress of experiments."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from controller.reports import PortSet, Replanned
from experiments.events.marks import CollectiveStarted, ResultsWritten, TrafficStarted
from experiments.events.progress import CollectiveProgress, TrafficProgress
from experiments.observation.experiment import ExperimentProgress
from experiments.observation.incidents import Incident, IncidentCourses, traffic_silence
from experiments.observation.model import IncidentState, TrafficSilence
from experiments.observation.timeline import Timeline
from traffic.metrics.silence import Silence

HOSTS = ["h1_1", "h2_1", "h3_1"]


def reports(*rows):
    """Returns reports a quarter of a second apart from 100 s on: (ended, longest, pair, open, missing)."""
    return [
        Silence(100 + 0.25 * n, ended, longest, pair, open_s, 4, missing)
        for n, (ended, longest, pair, open_s, missing) in enumerate(rows)
    ]


def test_the_longest_silence_since_a_change_is_told_with_that_of_the_time_before():
    before = (99.9, 0.02, 1, 0.0, 3), (100.2, 0.04, 2, 0.0, 4)
    told_late = (100.29, 0.5, 2, 0.0, 4)
    told = reports(*before, told_late, (100.6, 0.3, 5, 0.01, 9), (0, 0, -1, 0, 9))
    assert traffic_silence(told, 100.3, HOSTS) == TrafficSilence(300.0, "h2_1 to h3_1", 500.0, 5)


def test_a_silence_that_goes_on_counts():
    told = reports((99.9, 0.02, 1, 0.0, 3), (0, 0, -1, 0.2, 3), (100.45, 0.05, 2, 0.45, 4))
    assert traffic_silence(told, 100.1, HOSTS) == TrafficSilence(450.0, "h2_1 to h2_1", 20.0, 1, ongoing=True)


def test_a_silence_as_long_as_those_before_is_not_unusual():
    told = reports((99.9, 0.3, 1, 0.0, 3), (0, 0, -1, 0.2, 3), (100.45, 0.05, 2, 0.45, 4))
    assert traffic_silence(told, 100.1, HOSTS) == TrafficSilence(450.0, "h2_1 to h2_1", 300.0, 1)


def test_pairs_that_send_seldom_have_no_silence_to_tell():
    told = reports((99.9, 8.8, 1, 0.0, 3), (0, 0, -1, 0.2, 3), (100.45, 9.7, 2, 0.45, 4))
    silence = traffic_silence(told, 100.1, HOSTS)
    assert (silence.seldom, silence.lost) == (True, 1)
    [(_, text)] = course(replace(HEARD, lost=0, running=False, traffic=silence))
    assert "8800" not in text
    assert "9700" not in text
    assert not traffic_silence(reports((99.9, 0.3, 1, 0.0, 3), (100.2, 0.4, 2, 0.0, 4)), 100.1, HOSTS).seldom


def test_before_the_traffic_has_told_anything_there_is_no_silence():
    assert traffic_silence([], 100.0, HOSTS) is None
    assert traffic_silence(reports((99.9, 0.02, 1, 0.0, 3)), 100.1, HOSTS) is None


class Controller:
    """A controller that has made some plans."""

    def __init__(self, *replans, ports_set=(), running=True):
        self.ports_set = ports_set
        self.replans, self.running, self.stopped = list(replans), running, not running

    def catch_up(self):
        pass


def plan(began_s, done_s, planning_s=0.01):
    """Returns the report of a plan that the controller began to install, and had installed, at some times."""
    seconds = done_s - began_s + planning_s
    return Replanned("s1-s2", 1, 1, 0, (), planning_s, seconds, monotonic_s=done_s)


PORT_SET = PortSet("s1", 1, "down", monotonic_s=10.03)


@pytest.mark.parametrize(
    ("controller", "now_s", "lost", "local_repair", "by"),
    [
        (Controller(plan(10.08, 10.1)), 10.2, 3, True, "switches"),  # heard at 10.05 s
        (Controller(plan(10.02, 10.1)), 10.2, 3, True, "controller"),
        (Controller(plan(9.0, 9.5)), 10.2, 3, True, None),  # of an earlier failure: its report may come yet
        (Controller(plan(9.0, 9.5)), 11.0, 3, True, "switches"),
        (Controller(plan(10.08, 10.1), ports_set=[PORT_SET]), 10.2, 3, True, "controller"),  # a switch hung
        (Controller(), 11.0, 3, False, "controller"),
        (Controller(running=False), 10.2, 3, True, "switches"),
        (Controller(), 10.2, 0, True, "nothing was broken"),
    ],
)
def test_who_has_repaired_is_told_once_the_controller_had_the_time_to_say_so(
    controller, now_s, lost, local_repair, by
):
    options = SimpleNamespace(links=SimpleNamespace(rate_bps=10**7), local_repair=local_repair)
    told = []
    fabric = SimpleNamespace(options=options, controller=controller)
    incident = Incident(fabric, 1, "fail link:s1-s2", [], told.append)
    incident.changed_s = 10.0
    incident.state = replace(incident.state, lost=lost, repaired_ms=50.0)
    incident.decide(10.05, now_s)
    assert incident.state.repaired_by == by
    assert told == ([incident] if by else [])


def course(*states):
    """Returns what a timeline has of an incident with these states."""
    timeline = Timeline()
    courses = IncidentCourses(timeline)
    for state in states:
        courses.tell(SimpleNamespace(state=state, changed_s=time.monotonic()))
    return [(entry.kind, entry.text) for entry in timeline.entries()]


HEARD = IncidentState(
    1, "fail link:s1-s2", 4, 10.0, sent=99, lost=3, silence_ms=41.5, repaired_ms=50.0, repaired_by="switches"
)
LOSSES = "all 4 probed pairs deliver again, repaired by the switches: longest silence 41.5 ms, 3 probes lost"


def test_a_repair_is_told_once_and_what_comes_of_it_only_where_it_differs():
    assert course(HEARD, replace(HEARD, running=False)) == [("repair", LOSSES)]
    longer = replace(HEARD, running=False, silence_ms=90.0, lost=8)
    assert course(HEARD, longer) == [
        ("repair", LOSSES),
        ("repair", "by the end of the probes: longest silence 90 ms, 8 probes lost"),
    ]
    whole = replace(HEARD, lost=0, repaired_by="nothing was broken")
    assert course(whole, replace(whole, running=False, silence_ms=12.0)) == [
        ("repair", "none of the 4 probed pairs lost a packet")
    ]


def test_pairs_that_stay_silent_and_the_traffic_are_told_at_the_end():
    traffic = TrafficSilence(300.0, "h2_1 to h3_1", 40.0, 5)
    [(kind, text), last] = course(replace(HEARD, repaired_ms=None, running=False, traffic=traffic))
    assert (kind, text) == ("warning", "probed pairs stay silent: 3 of 99 probes lost")
    words = "the traffic's longest silence since then: 300 ms, h2_1 to h3_1 (before: 40 ms)"
    assert last == ("traffic", f"{words}; 5 of its packets lost")
    traffic = replace(traffic, ongoing=True)
    *_, last = course(replace(HEARD, repaired_ms=None, running=False, traffic=traffic))
    assert last == ("traffic", f"{words}; still ongoing; at least 5 of its packets lost")


def test_a_collective_is_told_with_its_progress_until_its_results_are_written(monkeypatch, tmp_path):
    progress = ExperimentProgress()
    assert progress.collective() is progress.traffic() is progress.held is None
    progress.take(CollectiveStarted("allreduce:ring", 26, "linear"))
    assert progress.collective() is None
    progress.take(CollectiveProgress(3.0, 77, 0.5, 8.0, 0.25))
    found = progress.collective()
    assert (found.pattern, found.ranks, found.done, found.expected_s) == ("allreduce:ring", 26, 0.25, 12.0)
    assert progress.traffic() is None
    progress.take(ResultsWritten(tmp_path, interrupted=False))
    assert progress.collective() is None
    progress.take(TrafficStarted("uniform", 0.3, 12.0, steady=False))
    progress.take(TrafficProgress(2.0, 12.0, 0.3, 0.29, 0.0, 5.0))
    assert (progress.traffic().pattern, progress.traffic().accepted) == ("uniform", 0.29)
    assert progress.collective() is None
    later = time.monotonic() + 10
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert progress.traffic() is None


@pytest.mark.parametrize("done", [None, 0.0, 0.01])
def test_the_end_of_a_collective_is_not_foretold_while_little_is_done(done):
    assert CollectiveProgress(3.0, 77, 0.5, None, done).expected_s is None
