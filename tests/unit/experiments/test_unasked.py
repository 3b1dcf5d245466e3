"""What a controller took out of use though nobody failed, drained or scheduled it."""

import pytest

from controller.reports import PortSet, Replanned
from experiments.validity.unasked import Asked, Plan, unasked_doubt
from topology.addressing import switch_name
from topology.faults import Fault, parse_components, parse_drained
from topology.registry import make_topology

WHOLE = Plan("none", "none")


@pytest.fixture(scope="module")
def topology():
    """ER_3."""
    return make_topology("polarfly", {"q": 3})


def asked(topology, failed="", drained=""):
    return Asked(
        topology,
        parse_components(failed, topology, 1) if failed else (),
        parse_drained(drained, topology) if drained else (),
    )


def link_of(topology, router):
    """The name of a switch's first link."""
    ends = sorted((router, int(topology.neighbours(router)[0])))
    return "-".join(map(switch_name, ends))


def replanned(monotonic_s, failed, drained="none"):
    return Replanned(failed, 1, 1, 0, (), 0.0, 0.0, drained, monotonic_s=monotonic_s)


def test_a_plan_for_what_was_asked_for_avoids_nothing_else(topology):
    link, other = link_of(topology, 3), link_of(topology, 7)
    failed = asked(topology, f"link:{link},switch:s5,hang:s6,controller", f"s2,link:{other}")
    assert failed.beyond([WHOLE, Plan(f"{link}, s5, s6", f"s2, {other}")]) == []
    assert failed.lacking(Plan(f"{link}, s5, s6", "none")) == []


def test_links_of_a_switch_that_loses_its_power_are_lost_first(topology):
    assert asked(topology, "switch:s4").beyond([Plan(link_of(topology, 3), "none")]) == []


def test_what_a_plan_avoids_beyond_that_is_named_once(topology):
    link = link_of(topology, 3)
    plans = [Plan(link, "none"), Plan(f"{link}, s9", "s2"), WHOLE]
    assert asked(topology).beyond(plans) == [link, "s9", "s2"]
    assert asked(topology, f"link:{link}").beyond(plans) == ["s9", "s2"]


def test_failures_and_drains_of_all_links_of_a_switch_do_not_explain_that_it_is_gone(topology):
    ends = [sorted((3, int(other))) for other in topology.neighbours(3)]
    links = ",".join("link:" + "-".join(map(switch_name, pair)) for pair in ends)
    assert asked(topology, links, links).beyond([Plan("s4", "none")]) == ["s4"]
    assert asked(topology, links, links).beyond([Plan("none", "s4")]) == ["s4"]


def test_a_drain_does_not_explain_a_failure(topology):
    link = link_of(topology, 3)
    assert asked(topology, drained=f"link:{link}").beyond([Plan(link, "none")]) == [link]


def test_a_port_that_is_set_without_a_plan_is_named_by_its_link(topology):
    link = link_of(topology, 3)
    assert asked(topology).beyond([WHOLE], [PortSet("s4", 1, "down")]) == [link]
    assert asked(topology).beyond([WHOLE], {("s4", 1)}) == [link]
    assert asked(topology, f"link:{link}").beyond([WHOLE], {("s4", 1)}) == []


def test_a_failure_that_has_no_plan_yet_is_named(topology):
    link = link_of(topology, 3)
    failed = asked(topology, f"link:{link},switch:s9,controller")
    assert failed.lacking(WHOLE) == [link, "s9"]
    assert failed.lacking(Plan("s9", "none")) == [link]


def test_a_schedule_explains_no_plan_and_no_port_before_its_faults_begin(topology):
    link = link_of(topology, 3)
    begun = [(2.0, Fault(0.2, *parse_components(f"link:{link}", topology, 1)))]
    begun += [(5.0, Fault(0.5, *parse_drained("s2", topology), maintenance=True))]
    early = [PortSet("s4", 1, "down", monotonic_s=1.9)], [replanned(4.9, link, "s2")]
    late = [PortSet("s4", 1, "down", monotonic_s=2.1)], [replanned(2.1, link), replanned(5.1, link, "s2")]
    assert asked(topology).unexplained(begun, *late) == []
    assert asked(topology).unexplained(begun, *early) == ["s2", link]
    assert asked(topology).unexplained([], *late) == [link, "s2"]


def test_the_reason_names_few_of_many():
    reason = unasked_doubt([f"s{number}" for number in range(1, 400)])
    assert "s1, s2" in reason
    assert "394 more" in reason
    assert len(reason) < 160
