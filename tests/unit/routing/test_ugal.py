"""UGAL: the intermediate routers that a group's detours may have."""

import pytest

from routing.plan.model import GroupKind
from routing.registry import routing
from topology.families.low_diameter.polarfly import PolarFly


@pytest.fixture(scope="module")
def choices():
    """Returns intermediates -> the groups of the first switch that a controller adapts, of 133 or 307."""

    def of(q, intermediates):
        plan = routing(f"ugal:intermediates={intermediates}").make_plan(PolarFly(q), 1)
        return [group for group in plan.switches[0].groups if group.kind is GroupKind.SELECT]

    return {100: of(11, 100), 4094: of(17, 4094)}


def test_candidates_are_not_limited_by_the_buckets_of_a_group(choices):
    """A select group has 256 buckets at most; the routers among which the controller samples may be more."""
    assert {len(group.candidates) for group in choices[100]} == {101}
    assert {len(group.buckets) for group in choices[4094]} == {64}
    # All but the source, the 17 or 18 routers behind the minimal port and, toward a neighbour, neighbours.
    assert {len(group.candidates) - 1 for group in choices[4094]} <= set(range(306 - 18 - 18, 306 - 16))


def test_each_candidate_has_its_hops_and_ports(choices):
    for group in choices[4094]:
        assert len(group.candidates) == len(group.hops) == len(group.ports)
        assert group.hops[0] in (1, 2)
        assert all(1 < hops <= 4 for hops in group.hops[1:])
        assert not any(set(ports) & set(group.ports[0]) for ports in group.ports[1:])


def test_equal_hops_are_one_number_in_memory(choices):
    hops = [one for group in choices[4094] for one in group.hops[1:]]
    assert len({id(one) for one in hops}) == len(set(hops)) < len(hops) / 20
