"""Drawn fault schedules: their statistics, their order, and the errors of other texts."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topology.drawn_faults import FaultProcess, draw_faults, parse_process
from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import ComponentKind, parse_components, parse_schedule

GRAPH = PolarFly(3)
LINK, SWITCH, CONTROLLER = ComponentKind.LINK, ComponentKind.SWITCH, ComponentKind.CONTROLLER
SECONDS = st.floats(0.05, 20)
PROCESSES = st.builds(
    FaultProcess, st.dictionaries(st.sampled_from([LINK, SWITCH, CONTROLLER]), SECONDS, min_size=1), SECONDS
)


def drawn(text, seed=1, end_s=10.0):
    return draw_faults(parse_process(text), GRAPH, seed, end_s)


@given(PROCESSES, st.integers(0, 2**63 - 1), st.floats(0.1, 30))
def test_only_elements_that_are_up_fail_and_only_those_that_are_down_are_restored(process, seed, end_s):
    down = set()
    for fault in draw_faults(process, GRAPH, seed, end_s):
        assert 0 <= fault.time_s < end_s
        assert fault.component.kind in process.mtbf_s
        if fault.restores:
            down.remove(fault.component)
            continue
        assert fault.component not in down
        if fault.component.kind is LINK:
            assert not {component.routers[0] for component in down if component.kind is SWITCH} & set(
                fault.component.routers
            )
        down.add(fault.component)


@given(PROCESSES, st.integers(0, 2**63 - 1))
def test_a_drawn_schedule_is_read_back_from_its_lines_as_it_was(process, seed):
    faults = draw_faults(process, GRAPH, seed, 20.0)
    assert parse_schedule("\n".join(fault.line for fault in faults), GRAPH) == faults
    assert faults == draw_faults(process, GRAPH, seed, 20.0)


def test_failures_and_repairs_have_the_means_that_were_asked_for():
    end_s, mtbf_s, mttr_s = 20_000.0, 5.0, 3.0
    faults = drawn("mtbf:links=5s,mttr=3s", end_s=end_s)
    failed = {}
    repairs, failures = [], []
    for fault in faults:
        if fault.restores:
            repairs.append(fault.time_s - failed.pop(fault.component))
        else:
            failed[fault.component] = fault.time_s
            failures.append(fault.time_s)
    # The number of failures is Poisson's; gaps and repairs are exponential: as much deviation as mean.
    assert len(failures) == pytest.approx(end_s / mtbf_s, abs=4 * np.sqrt(end_s / mtbf_s))
    for values, mean in ((np.diff(failures), mtbf_s), (repairs, mttr_s)):
        assert np.mean(values) == pytest.approx(mean, rel=0.08)
        assert np.std(values) == pytest.approx(mean, rel=0.1)


def test_all_links_fail_equally_often():
    elements = [
        fault.component for fault in drawn("mtbf:links=1s,mttr=10ms", end_s=9_000.0) if not fault.restores
    ]
    counts = np.array([elements.count(component) for component in set(elements)])
    assert len(counts) == GRAPH.links
    expected = len(elements) / GRAPH.links
    assert ((counts - expected) ** 2 / expected).sum() < 50  # chi squared of 23 degrees of freedom, 99.9 %


def test_times_of_links_do_not_depend_on_other_kinds():
    alone, both = (
        [
            fault.time_s
            for fault in drawn(text, end_s=60.0)
            if fault.component.kind is LINK and not fault.restores
        ]
        for text in ("mtbf:links=2s,mttr=1s", "mtbf:links=2s,mttr=1s,controller=3s")
    )
    assert alone == both


def test_seeds_draw_different_schedules():
    schedules = [drawn("mtbf:links=1s,mttr=1s", seed) for seed in range(20)]
    assert all(first != second for first, second in itertools.combinations(schedules, 2))


def test_a_failure_without_an_element_that_is_up_is_left_out():
    faults = drawn("mtbf:controller=100ms,mttr=1min", end_s=5.0)
    assert [fault.line.partition(" ")[2] for fault in faults] == ["fail controller"]


def test_a_process_is_read_in_any_order_and_unit():
    process = parse_process("mtbf:mttr=500ms, switches=2min,controller=.5s,links=30s")
    assert process == FaultProcess({LINK: 30.0, SWITCH: 120.0, CONTROLLER: 0.5}, 0.5)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("mtbf:", "links, switches, controller and mttr, .*, got 'mtbf:'"),
        ("mtbf:links=30s", "must have mttr"),
        ("mtbf:mttr=3s", "one of links, switches, controller"),
        ("mtbf:links=30,mttr=3s", "links of .* must be a time .* got '30'"),
        ("mtbf:links=0s,mttr=3s", "links of .* must be a time of 1ms to 86400s, .* got '0s'"),
        ("mtbf:links=-1s,mttr=3s", "got '-1s'"),
        ("mtbf:links=٣s,mttr=3s", "got '٣s'"),
        ("mtbf:links=3s,mttr=2000min", "mttr of .* must be a time"),
        ("mtbf:hosts=3s,mttr=3s", "got 'mtbf:hosts=3s,mttr=3s'"),
        ("mtbf:links=3s,links=4s,mttr=3s", "links only once"),
    ],
)
def test_another_text_is_refused(text, named):
    with pytest.raises(ParameterError, match=named):
        parse_process(text)


def test_schedules_without_end_are_refused():
    with pytest.raises(ParameterError, match=r"10000\b.* 86400 in 86\.4 s"):
        drawn("mtbf:links=1ms,mttr=1s", end_s=86.4)


def test_random_elements_are_drawn_anew_by_each_seed():
    for text, kind, count in (("random-link", LINK, GRAPH.links), ("random-switch", SWITCH, GRAPH.routers)):
        elements = {parse_components(text, GRAPH, seed) for seed in range(400)}
        assert {component.kind for (component,) in elements} == {kind}
        assert len(elements) == count
        assert parse_components(text, GRAPH, 3) == parse_components(text, GRAPH, 3)


def test_a_random_link_is_the_first_of_one_random_links():
    assert parse_components("random-link", GRAPH, 7) == parse_components("random:1", GRAPH, 7)
