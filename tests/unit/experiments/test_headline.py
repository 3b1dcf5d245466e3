"""Headlines of failures: the course of made-up failovers, as it happens and at the end."""

from dataclasses import replace

import pytest
from support.builders.result_folders import FAILOVER

from controller.reports import Replanned
from experiments.events.headline import Headline
from experiments.failover.course import final_headline
from experiments.failover.live import LiveCourse
from experiments.fault_injector import StartedFault
from experiments.observation.failure_story import FailureStory
from experiments.observation.model import IncidentState, TrafficSilence
from topology.faults import CONTROLLER, Fault, link_component, parse_components
from topology.registry import make_topology
from traffic.engine.telemetry import TrafficSnapshot
from traffic.metrics.measurements import Clock
from traffic.metrics.silence import Silence

GRAPH = make_topology("polarfly", {"q": 3})
[LINK] = parse_components("link:s1-s10", GRAPH, 0)
CUT_S = 102.0  # on the clock of the probes, which start at 100 s


class Faults:
    """A schedule whose link has been cut, and the controller's plans for it."""

    def __init__(self, *plans_s):
        self.done = [StartedFault(Fault(2.0, LINK), 2.0, 0.01)]
        self._plans_s = plans_s

    def start(self, _clock):
        pass

    def replans(self, _clock):
        return [(at, Replanned("s1-s10", 1, 1, 0, (), 0.01, 0.02, monotonic_s=at)) for at in self._plans_s]

    def ports_set(self, _clock):
        return []


def course(faults, *silences):
    """Returns the headlines of a failover whose collector has reported these silences, one after another."""
    told = []
    live = LiveCourse(faults, lambda event: told.append(event) if isinstance(event, Headline) else None)
    live.start(Clock(epoch_ns=0, monotonic_ns=100 * 10**9))
    for count in range(1, len(silences) + 1):
        live.update(TrafficSnapshot(0.0, 0.0, 0.0, None, None, silences=silences[:count]))
    return told


def reports(heard_s, lost=12):
    """Returns reports every quarter of a second of a failure that ends at a time; then packets are late."""
    found = []
    for at_s in (CUT_S - 0.5 + 0.25 * number for number in range(12)):
        down = CUT_S < at_s < heard_s
        ended = [(CUT_S, heard_s), (heard_s + 0.08, heard_s + 0.2)] if at_s - 0.25 <= heard_s < at_s else []
        missing = 3 + lost * (at_s > max(CUT_S, heard_s))
        silence = Silence(at_s, at_s, 0.1, 1, 0.1, 1, missing, at_s - CUT_S if down else 0.001, ended)
        found.append(silence)
    return found


@pytest.mark.parametrize(
    ("plans_s", "heard_s", "by"),
    [
        ((2.2,), CUT_S + 0.031, "switches"),
        ((2.1,), CUT_S + 0.2, "controller"),
        ((), CUT_S + 0.031, "switches"),
    ],
)
def test_losses_and_who_repaired_them_are_known_while_the_link_is_still_down(plans_s, heard_s, by):
    [told] = course(Faults(*plans_s), *reports(heard_s))
    assert (told.failed, told.lost, told.repaired_by) == (("link:s1-s10",), 12, by)
    assert told.repaired_ms == pytest.approx((heard_s - CUT_S) * 1e3)
    assert told.level == "repaired"
    assert all(word in str(told) for word in ("s1-s10", "12 packets", by))


def test_pairs_that_stay_silent_are_told_before_anybody_has_repaired():
    first, last = course(Faults(3.0), *reports(CUT_S + 1.01))
    assert (first.level, first.repaired_by) == ("bad", "")
    assert (last.level, last.repaired_by) == ("repaired", "controller")


def test_packets_that_are_lost_on_and_on_are_not_repaired():
    losing = [replace_missing(one, 20 * number) for number, one in enumerate(reports(CUT_S + 0.031))]
    assert course(Faults(), *losing) == []


def replace_missing(silence, missing):
    return silence._replace(missing=missing)


def test_a_failover_is_right_again_only_if_all_pairs_delivered_as_before():
    right = final_headline(replace(FAILOVER, restored=True))
    assert (right.level, right.back) == ("good", True)
    assert all(word in str(right) for word in ("s4", "19 packets", "17 ms", "switches", "as before"))
    wrong = final_headline(replace(FAILOVER, restored=False, negative="3 pairs stayed silent"))
    assert wrong.level == "bad"
    assert "3 pairs stayed silent" in str(wrong)
    assert "as before" not in str(wrong)
    assert final_headline(replace(FAILOVER, interrupted=True)).level == "repaired"  # not checked


def test_only_the_end_gives_losses_as_final():
    """On a busy machine the reports of the live course differ from the counts of all packets."""
    [live] = course(Faults(2.2), *reports(CUT_S + 0.031))
    assert "12 packets lost so far" in str(live)
    assert "so far" not in str(final_headline(replace(FAILOVER, restored=True)))


def test_a_session_has_the_headline_of_its_last_failure_until_the_next():
    story = FailureStory(GRAPH)
    assert story.line == ("", "quiet")
    story.begin(["link:s1-s10"])
    state = IncidentState(1, "fail link:s1-s10", 4, 10.0, sent=8, lost=2)
    story.observe(["link:s1-s10"], state, whole=False)
    assert story.line[1] == "bad"
    state = replace(state, lost=3, repaired_ms=20.0, repaired_by="switches")
    story.observe(["link:s1-s10"], state, whole=False)
    text, level = story.line
    assert level == "repaired"
    assert all(word in text for word in ("s1-s10", "3 packets", "20 ms", "switches"))
    story.observe([], IncidentState(2, "restore all", 4, 10.0), whole=False)
    assert story.line[1] == "repaired"
    story.observe([], IncidentState(2, "restore all", 4, 10.0, repaired_ms=0.0), whole=True)
    assert story.line[1] == "good"
    story.observe(["controller"], IncidentState(2, "restore all", 4, 10.0), whole=False)
    assert "s1-s10" not in story.line[0]
    assert story.failed == (CONTROLLER.name,)


def test_failures_without_probes_are_all_named_and_nothing_is_said_of_delivery():
    links = ["link:s1-s10", "link:s1-s11", "link:s1-s12"]
    story = FailureStory(GRAPH)
    for count in (1, 2, 3):  # a line of the prompt makes one after another fail
        story.observe(links[:count], None, whole=False)
    assert all(link.partition(":")[2] in story.line[0] for link in links)
    story.observe([], None, whole=True)
    assert "back" in story.line[0]
    assert "deliver" not in story.line[0]


def test_probes_say_nothing_of_a_later_failure_or_return_without_probes():
    story = FailureStory(GRAPH)
    story.begin(["link:s1-s10"])
    probes = IncidentState(1, "fail link:s1-s10", 4, 10.0, lost=3, repaired_ms=20.0, repaired_by="switches")
    story.observe(["link:s1-s10"], probes, whole=False)
    assert "3 packets" in story.line[0]
    story.observe(["link:s1-s10", "link:s1-s11"], probes, whole=False)
    assert "s1-s11" in story.line[0]
    assert "deliver" not in story.line[0]
    story.observe([], probes, whole=True)
    assert "deliver" not in story.line[0]
    story.observe(["link:s1-s10"], probes, whole=False)
    assert "3 packets" not in story.line[0]


def test_a_failure_of_a_session_that_was_refused_has_no_headline():
    story = FailureStory(GRAPH)
    story.begin(["link:s1-s10"])
    story.observe([], None, whole=True)
    assert story.line[0] == ""


@pytest.mark.parametrize(
    ("failed", "planned_ms", "by"),
    [
        ("link:s1-s10", 80.0, "switches"),
        ("link:s1-s10", 15.0, ""),
        ("link:s1-h1_1", None, ""),
        ("hang:s4", 80.0, "controller"),
    ],
)
def test_traffic_is_lost_though_no_probe_is(failed, planned_ms, by):
    """A probe of a link's pairs that arrives without it took another way, which somebody must have chosen."""
    story = FailureStory(GRAPH)
    story.begin([failed])
    traffic = TrafficSilence(300.0, "h2_1 to h3_1", 40.0, 5)
    probes = IncidentState(1, f"fail {failed}", 4, 10.0, sent=80, planned_ms=planned_ms, traffic=traffic)
    story.observe([failed], replace(probes, repaired_by="nothing was broken"), whole=False)
    text, level = story.line
    assert level == "repaired"
    assert "5 packets lost" in text
    assert all((f"repaired by the {word}" in text) == (word == by) for word in ("switches", "controller"))


def test_pairs_that_no_path_connects_are_told_with_the_repair_of_the_others():
    story = FailureStory(GRAPH)
    links = [link_component(link).name for link in GRAPH.link_list if link.a == 0]
    story.begin(links)
    probes = IncidentState(1, f"fail {','.join(links)}", 4, 10.0, sent=8, lost=1, repaired_ms=48.0)
    story.observe(links, replace(probes, repaired_by="switches"), whole=False)
    assert "24 pairs of switches are cut off; all other probed pairs deliver again" in story.line[0]
    story.observe(links[:1], replace(probes, repaired_by="switches"), whole=False)
    assert "cut off" not in story.line[0]


def test_probes_that_nothing_repaired_say_so():
    story = FailureStory(GRAPH)
    story.begin(["switch:s4"])
    ended = IncidentState(1, "fail switch:s4", 4, 10.0, sent=80, lost=40, running=False)
    story.observe(["switch:s4"], ended, whole=False)
    assert story.line[1] == "bad"
    assert "not repaired" in story.line[0]
