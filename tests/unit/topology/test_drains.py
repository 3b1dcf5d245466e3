"""Drains: elements that may be drained, parts that a drain would cut off, and drains in fault schedules."""

import pytest
from support.builders.graphs import FABRICS

from topology.drains import (
    NO_DRAIN,
    check_schedule,
    cut_off,
    cut_off_text,
    drain_of,
    with_drained,
    without_drained,
)
from topology.errors import ParameterError
from topology.failures import NO_FAILURE, failure_of
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import Component, ComponentKind, link_component, parse_drained, parse_schedule

GRAPH = PolarFly(3)
LINE, BARBELL = FABRICS["line"](), FABRICS["barbell"]()


def switch(router):
    return Component(ComponentKind.SWITCH, (router,))


def test_parts_that_a_drain_would_cut_off_are_named():
    assert cut_off(LINE, NO_FAILURE, NO_DRAIN, drain_of(LINE, [switch(1)])) == (("s1",),)
    (bridge,) = parse_drained("link:s4-s5", BARBELL)
    assert cut_off(BARBELL, NO_FAILURE, NO_DRAIN, drain_of(BARBELL, [bridge])) == (("s5", "s6", "s7", "s8"),)
    assert all(not cut_off(GRAPH, NO_FAILURE, NO_DRAIN, drain_of(GRAPH, [switch(r)])) for r in range(13))


def test_what_is_cut_off_already_is_not_the_drains_doing():
    first, both = drain_of(LINE, [switch(2)]), drain_of(LINE, [switch(2), switch(4)])
    assert cut_off(LINE, NO_FAILURE, first, both) == ()
    assert cut_off(LINE, failure_of(LINE, [switch(2)]), NO_DRAIN, drain_of(LINE, [switch(4)])) == ()


def test_hosts_of_a_drained_switch_among_drained_ones_are_cut_off():
    both = drain_of(LINE, [switch(0), switch(1)])
    assert cut_off(LINE, NO_FAILURE, drain_of(LINE, [switch(0)]), both) == (("s1",),)


def test_many_switches_that_are_cut_off_are_counted():
    assert cut_off_text([tuple(f"s{n}" for n in range(1, 14)), ("s20",)]) == (
        "s1, s2, s3, s4, s5, s6, s7, s8, s9, s10 and 3 more; s20"
    )


@pytest.mark.parametrize(
    "text", ["hang:s3", "controller", "random:2", "x3", "s", "link", "", "s99", "link:s1-s9", "link:s1-h1_1"]
)
def test_what_cannot_be_drained_is_refused(text):
    with pytest.raises(ParameterError):
        parse_drained(text, GRAPH)


def test_a_name_like_that_of_an_element_is_told_the_nearest():
    with pytest.raises(ParameterError, match="'switch:s1'"):
        parse_drained("swtch:s3", GRAPH)


def test_elements_to_drain_are_named_like_failing_ones_or_by_the_switch_alone():
    link = link_component(GRAPH.link_list[0])
    assert parse_drained(f"s3, switch:s5,{link.name},s3", GRAPH) == (switch(2), switch(4), link)
    assert drain_of(GRAPH, [link, switch(4), switch(2)]).name == f"s3, s5, {link.location}"


def test_an_element_is_drained_once_while_it_is_up_and_nothing_is_cut_off():
    drain = with_drained(GRAPH, NO_DRAIN, [switch(2)], NO_FAILURE)
    with pytest.raises(ParameterError, match="already drained"):
        with_drained(GRAPH, drain, [switch(2)], NO_FAILURE)
    with pytest.raises(ParameterError, match="s5 is down"):
        with_drained(GRAPH, drain, [switch(4)], failure_of(GRAPH, [switch(4)]))
    link = link_component(GRAPH.link_list[0])
    with pytest.raises(ParameterError, match=f"{link.location} is down"):
        with_drained(GRAPH, drain, [link], failure_of(GRAPH, [link]))
    with pytest.raises(ParameterError, match="would cut off s4, s5;"):
        with_drained(LINE, NO_DRAIN, [switch(2)], NO_FAILURE)
    assert with_drained(LINE, NO_DRAIN, [switch(2)], NO_FAILURE, force=True).routers == {2}


def test_only_a_drain_that_there_is_can_end():
    drain = drain_of(GRAPH, [switch(2), switch(4)])
    assert without_drained(GRAPH, drain, [switch(2)]) == drain_of(GRAPH, [switch(4)])
    with pytest.raises(ParameterError, match=r"^s1 is not .* s3, s5"):
        without_drained(GRAPH, drain, [switch(0)])
    with pytest.raises(ParameterError, match="drained: none"):
        without_drained(GRAPH, NO_DRAIN, [switch(0)])


def test_each_of_several_parallel_links_can_be_drained_and_all_be_used_again_together():
    twice = FABRICS["a ring with every link twice"]()
    one, other = parse_drained("link:s1-s2.1,link:s1-s2.2", twice)
    drain = with_drained(twice, NO_DRAIN, [one], NO_FAILURE)
    drain = with_drained(twice, drain, [other], NO_FAILURE)
    assert len(drain.ends) == 4
    assert without_drained(twice, drain, parse_drained("link:s1-s2", twice)) == NO_DRAIN


def test_one_of_several_parallel_links_can_be_used_again_after_all_were_drained():
    twice = FABRICS["a ring with every link twice"]()
    both, one, other = (parse_drained(f"link:s1-s2{copy}", twice) for copy in ("", ".1", ".2"))
    drain = without_drained(twice, drain_of(twice, both), one)
    assert drain == drain_of(twice, other)
    with pytest.raises(ParameterError, match=r"^s1-s2.1 is not drained; drained: s1-s2.2"):
        without_drained(twice, drain, one)


# ---- schedules ----

SCHEDULE = "1 drain s3\n2 fail switch:s3\n3 restore switch:s3\n4 undrain s3\n5 drain link:s1-s2 --force\n"


def test_drains_of_a_schedule_are_told_as_they_are_written():
    graph = FABRICS["hypercube"]()
    faults = parse_schedule(SCHEDULE, graph)
    check_schedule(faults, graph)
    lines = [fault.line for fault in faults]
    assert lines == SCHEDULE.replace("drain s3", "drain switch:s3").splitlines()
    assert parse_schedule("\n".join(lines), graph) == faults


@pytest.mark.parametrize(
    "text",
    [
        "1 drain s3\n2 drain s3",
        "1 undrain s3",
        "1 fail switch:s3\n2 drain s3",
        "1 drain s3\n2 undrain s4",
        "1 fail controller\n2 drain s3",
    ],
)
def test_a_drain_that_cannot_be_at_its_time_is_refused_with_its_line(text):
    with pytest.raises(ParameterError, match=f"`{text.splitlines()[-1].replace(' s', ' switch:s')}`: "):
        check_schedule(parse_schedule(text, GRAPH), GRAPH)


@pytest.mark.parametrize(
    "text",
    [
        "1 restore link:s1-s10",
        "1 fail switch:s3\n2 restore hang:s3",
        "1 fail link:s1-s10\n2 restore link:s1-s10\n3 restore link:s1-s10",
    ],
)
def test_only_what_has_failed_at_its_time_is_restored(text):
    with pytest.raises(ParameterError, match=f"^`{text.splitlines()[-1]}`: .* must have failed"):
        check_schedule(parse_schedule(text, GRAPH), GRAPH)


@pytest.mark.parametrize(
    "text",
    [
        "1 fail link:s1-s2\n2 restore link:s1-s2.1\n3 restore link:s1-s2.2",
        "1 fail link:s1-s2.1,link:s1-s2.2\n2 restore link:s1-s2\n3 fail switch:s3\n4 restore all",
        "1 fail link:s1-s2\n2 fail link:s1-s2.2\n3 restore link:s1-s2.1\n3 restore all",
        "1 fail link:s1-s2.2\n2 fail link:s1-s2\n3 restore link:s1-s2.1\n3 restore all",
    ],
)
def test_parallel_links_are_restored_alone_or_together(text):
    twice = FABRICS["a ring with every link twice"]()
    faults = parse_schedule(text, twice)
    check_schedule(faults, twice)
    assert faults[-1].line in ("3 restore link:s1-s2.2", "4 restore switch:s3")


def test_a_drain_has_each_link_once_and_in_one_order():
    twice = FABRICS["a ring with every link twice"]()
    both, one, other = (parse_drained(f"link:s1-s2{copy}", twice) for copy in ("", ".1", ".2"))
    assert drain_of(twice, [*other, *one]).components == (*one, *other)
    assert drain_of(twice, [*one, *both]).components == tuple(both)


def test_a_parallel_link_that_was_restored_alone_is_up():
    twice = FABRICS["a ring with every link twice"]()
    begin = "1 fail link:s1-s2\n2 restore link:s1-s2.1\n3 "
    check_schedule(parse_schedule(begin + "drain link:s1-s2.1", twice), twice)
    for line in ("restore link:s1-s2.1", "drain link:s1-s2.2"):
        with pytest.raises(ParameterError, match=f"`3 {line}`: "):
            check_schedule(parse_schedule(begin + line, twice), twice)
    faults = parse_schedule(begin + "restore all", twice)
    assert faults[-1].line == "3 restore link:s1-s2.2"


def test_a_schedule_that_would_cut_a_fabric_in_two_needs_force():
    with pytest.raises(ParameterError, match="would cut off"):
        check_schedule(parse_schedule("1 drain s3", LINE), LINE)
    check_schedule(parse_schedule("1 drain s3 --force", LINE), LINE)


@pytest.mark.parametrize(
    "text", ["1 drain", "1 fail s3 --force", "1 drain s3 force", "1 undrain s3 --force", "drain s3"]
)
def test_a_line_of_another_form_is_refused(text):
    with pytest.raises(ParameterError):
        parse_schedule(text, GRAPH)
