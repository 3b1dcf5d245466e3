"""Fault schedules: elements, lines, and the errors of other texts."""

import numpy as np
import pytest

from topology.addressing import hosts_of, switch_name
from topology.errors import ParameterError
from topology.failures import failure_of, link_failures
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import (
    CONTROLLER,
    Component,
    ComponentKind,
    Fault,
    host_link,
    link_component,
    parse_components,
    parse_drained,
    parse_schedule,
)
from topology.shortest_paths import SearchedTopology, adjacency_from_links

GRAPH = PolarFly(3)
FIRST = GRAPH.link_list[0]
LINK = f"link:s{FIRST.a + 1}-s{FIRST.b + 1}"


@pytest.mark.parametrize(
    ("text", "component"),
    [
        (LINK, Component(ComponentKind.LINK, (FIRST.a, FIRST.b))),
        (f"link:s{FIRST.b + 1}-s{FIRST.a + 1}", Component(ComponentKind.LINK, (FIRST.a, FIRST.b))),
        ("switch:s4", Component(ComponentKind.SWITCH, (3,))),
        ("hang:s13", Component(ComponentKind.HANG, (12,))),
        ("controller", CONTROLLER),
    ],
)
def test_a_name_is_read_as_its_element(text, component):
    assert parse_components(text, GRAPH, 1) == (component,)


def test_an_elements_name_is_read_as_the_element():
    for text in (LINK, "switch:s4", "hang:s2", "controller"):
        assert parse_components(text, GRAPH, 1)[0].name == text


def test_random_links_are_different_and_the_same_for_a_seed():
    three = parse_components("random:3", GRAPH, 5)
    assert len(set(three)) == 3
    assert three == parse_components("random:3", GRAPH, 5)
    assert three != parse_components("random:3", GRAPH, 6)
    assert len(parse_components(f"random:{GRAPH.links}", GRAPH, 1)) == GRAPH.links


def test_several_elements_occur_once_each():
    assert parse_components(f"switch:s4, {LINK},switch:s4", GRAPH, 1) == (
        Component(ComponentKind.SWITCH, (3,)),
        Component(ComponentKind.LINK, (FIRST.a, FIRST.b)),
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("link:s1-s1", f"{switch_name(int(GRAPH.neighbours(0)[0]))}, .*'link:s1-s1'"),
        ("link:s1", "link:s1-s2, .*got 'link:s1'"),
        ("switch:s14", "s1 to s13, got 's14'"),
        ("hang:", "s1 to s13, got ''"),
        ("random:0", "1 to 24, got 0"),
        ("random:" + "9" * 5_000, "component"),
        ("random:25", "1 to 24, got 25"),
        ("random:x", "random:3 .*got 'random:x'"),
        ("host:h1_1", "switch:s4, .*got 'host:h1_1'"),
        ("", "controller, got ''"),
    ],
)
def test_elements_that_the_fabric_does_not_have_are_refused(text, named):
    with pytest.raises(ParameterError, match=named):
        parse_components(text, GRAPH, 1)


def test_a_schedule_is_read_in_order_of_time():
    text = f"""
    # a cable
    3.5 restore {LINK}   # comes back
    .5 fail {LINK}
    1 fail controller
    """
    link = Component(ComponentKind.LINK, (FIRST.a, FIRST.b))
    assert parse_schedule(text, GRAPH) == (
        Fault(0.5, link),
        Fault(1.0, CONTROLLER),
        Fault(3.5, link, restores=True),
    )


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("1 break switch:s1", "got '1 break switch:s1'"),
        ("-1 fail switch:s1", "got '-1 fail switch:s1'"),
        ("fail switch:s1", "got 'fail switch:s1'"),
        ("99999 fail switch:s1", "0 to 86400 s, got 99999"),
        ("1 fail switch:s99", "got 's99'"),
    ],
)
def test_a_wrong_line_is_named(line, named):
    with pytest.raises(ParameterError, match=r"^line 2: ") as raised:
        parse_schedule(f"1 fail switch:s1\n{line}\n", GRAPH)
    assert named in str(raised.value)


@pytest.mark.parametrize("name", ["switch:s4", "hang:s4", LINK, "controller", "random:2"])
def test_names_of_components_are_read_in_any_case(name):
    assert parse_components(name.upper(), GRAPH, 1) == parse_components(name, GRAPH, 1)
    assert parse_drained("S4,Link:S1-S10", GRAPH) == parse_drained("s4,link:s1-s10", GRAPH)


def test_a_faults_line_is_read_as_the_fault():
    fault = Fault(2.5, Component(ComponentKind.HANG, (3,)), restores=True)
    assert parse_schedule(fault.line, GRAPH) == (fault,)


def test_parallel_links_have_names_of_their_own_and_one_together():
    graph = SearchedTopology(adjacency_from_links(3, np.array([[0, 1], [0, 1], [1, 2]])))
    names = [link_component(link).name for link in graph.link_list]
    assert names == ["link:s1-s2.1", "link:s1-s2.2", "link:s2-s3"]
    for name, ends in (
        ("link:s1-s2.2", {(0, 2), (1, 2)}),
        ("link:s2-s1", {(0, 1), (0, 2), (1, 1), (1, 2)}),
        ("link:s2-s3.1", {(1, 3), (2, 1)}),
    ):
        failure = failure_of(graph, parse_components(name, graph, 1))
        assert failure.failed_ends == ends
    assert [failure.name for failure in link_failures(graph)] == [
        "link s1-s2.1",
        "link s1-s2.2",
        "link s2-s3",
    ]
    for wrong, known in (("link:s1-s2.3", 2), ("link:s1-s2.x", 2), ("link:s2-s3.2", 1)):
        with pytest.raises(ParameterError, match=f"1 to {known}, got '{wrong}'"):
            parse_components(wrong, graph, 1)


def test_links_of_hosts_have_names_where_they_may_fail():
    hosts = hosts_of(GRAPH, 2)
    (component,) = parse_components("link:h2_2-s2", GRAPH, 1, hosts)
    assert component == host_link(hosts[3])
    assert component.name == "link:s2-h2_2"
    assert parse_components("link:s2-h2_2,link:h2_2-s2", GRAPH, 1, hosts) == (component,)
    assert not any(component.covers(link) for link in GRAPH.link_list)
    for word in ("link:s1-h2_2", "link:s2-h2_3", "link:s2-h99_1", "link:h2_1-h2_2"):
        with pytest.raises(ParameterError, match=r"link|switch"):
            parse_components(word, GRAPH, 1, hosts)


def test_a_fault_schedule_refuses_links_of_hosts_and_says_where_they_can_fail():
    with pytest.raises(ParameterError, match="prompt"):
        parse_schedule("1 fail link:s1-h1_1", GRAPH)


def test_a_line_of_a_schedule_lists_components_as_the_prompt_does():
    faults = parse_schedule(f"2 fail switch:s4, {LINK}\n4 restore switch:s4 ,{LINK}", GRAPH)
    assert [fault.line for fault in faults] == [
        "2 fail switch:s4",
        f"2 fail {LINK}",
        "4 restore switch:s4",
        f"4 restore {LINK}",
    ]


def test_restore_all_restores_what_is_down_at_its_time():
    before = f"1 fail controller, {LINK}\n2 drain s5\n3 restore controller\n3 fail hang:s2"
    faults = parse_schedule(f"9 fail switch:s1\n4 restore all\n{before}", GRAPH)
    restored = [fault.line for fault in faults if fault.time_s == 4]
    assert restored == [f"4 restore {LINK}", "4 restore hang:s2"]
    with pytest.raises(ParameterError, match="up to 4 s"):
        parse_schedule("4 restore all\n5 fail switch:s1", GRAPH)
